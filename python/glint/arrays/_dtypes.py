"""Types, and conversions between them."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import builtins
import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import OptionError
from ..offload.device_arrays import DTYPES, DeviceArray, broadcast, copied
from ._host import array_of

if TYPE_CHECKING:
    from .._types import DTypeLike, Shape

bool: np.dtype[np.bool_] = np.dtype("bool")
int8: np.dtype[np.int8] = np.dtype("int8")
int16: np.dtype[np.int16] = np.dtype("int16")
int32: np.dtype[np.int32] = np.dtype("int32")
int64: np.dtype[np.int64] = np.dtype("int64")
uint8: np.dtype[np.uint8] = np.dtype("uint8")
uint16: np.dtype[np.uint16] = np.dtype("uint16")
uint32: np.dtype[np.uint32] = np.dtype("uint32")
uint64: np.dtype[np.uint64] = np.dtype("uint64")
float16: np.dtype[np.float16] = np.dtype("float16")
float32: np.dtype[np.float32] = np.dtype("float32")
float64: np.dtype[np.float64] = np.dtype("float64")
complex64: np.dtype[np.complex64] = np.dtype("complex64")
complex128: np.dtype[np.complex128] = np.dtype("complex128")


def dtype_of(dtype: DTypeLike) -> np.dtype:
    dtype = np.dtype(dtype)
    if dtype.name not in DTYPES:
        raise OptionError(f"dtype={dtype}: give {', '.join(DTYPES)}")
    return dtype.newbyteorder("=")


def astype(x: DeviceArray, dtype: DTypeLike, /, *, copy: builtins.bool = True, device: Any = None) -> DeviceArray:
    """Converts the elements to another type on the GPU. With `copy=False`, returns the array itself if it has that
    type.

    Floats are truncated to integers. Raises OptionError for a conversion from complex to real: use `real(x)`.
    """
    dtype = dtype_of(dtype)
    array_of("astype", x)
    if device is not None:
        x = x.to_device(device)
    if x.dtype.kind == "c" and dtype.kind in "iuf":
        raise OptionError(
            f"astype: an array of {x.dtype} as {dtype} would lose its imaginary part: take real(x) or abs(x)"
        )
    return x if x.dtype == dtype and not copy else copied(x, dtype)


def broadcast_to(x: DeviceArray, /, shape: Shape) -> DeviceArray:
    """A view that repeats the elements, as numpy.broadcast_to. Do not write to it."""
    return broadcast(array_of("broadcast_to", x), shape)


def broadcast_shapes(*shapes: Sequence[int]) -> tuple[int, ...]:
    """The common shape, as numpy.broadcast_shapes."""
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        raise OptionError(f"shapes {shapes} do not go together") from None


def broadcast_arrays(*arrays: DeviceArray) -> list[DeviceArray]:
    """Returns views of the arrays, broadcast to their common shape."""
    shape = broadcast_shapes(*(x.shape for x in arrays))
    return [broadcast(x, shape) for x in arrays]


def _type(x):
    return x.dtype if isinstance(x, DeviceArray) else x


def can_cast(from_: Any, to: Any, /) -> builtins.bool:
    """Whether the rules of promotion allow a conversion of `from_` to `to`."""
    return np.can_cast(_type(from_), to, "safe")


def result_type(*arrays_and_dtypes: Any) -> np.dtype[Any]:
    """The type that operands are promoted to, as numpy.result_type."""
    return dtype_of(np.result_type(*(_type(x) for x in arrays_and_dtypes)))


_KINDS = {
    "bool": "b",
    "signed integer": "i",
    "unsigned integer": "u",
    "integral": "iu",
    "real floating": "f",
    "complex floating": "c",
    "numeric": "iufc",
}


def isdtype(dtype: DTypeLike, kind: Any) -> builtins.bool:
    """Whether the type is of a kind ("bool", "integral", "real floating", "numeric", ...), or of one of several
    kinds."""
    if isinstance(kind, tuple):
        return any(isdtype(dtype, one) for one in kind)
    if isinstance(kind, str):
        if kind not in _KINDS:
            raise OptionError(f"kind={kind!r}: give {', '.join(map(repr, _KINDS))} or a dtype")
        return np.dtype(dtype).kind in _KINDS[kind]
    return np.dtype(dtype) == kind


@dataclasses.dataclass(frozen=True)
class finfo_object:
    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: np.dtype


@dataclasses.dataclass(frozen=True)
class iinfo_object:
    bits: int
    max: int
    min: int
    dtype: np.dtype


def finfo(type: Any, /) -> finfo_object:
    """Limits of a floating-point type, or of an array's type. For a complex type, the limits of its parts."""
    info = np.finfo(_type(type))
    return finfo_object(
        info.bits, float(info.eps), float(info.max), float(info.min), float(info.smallest_normal), np.dtype(info.dtype)
    )


def iinfo(type: Any, /) -> iinfo_object:
    """Limits of an integer type, or of an array's type."""
    info = np.iinfo(_type(type))
    return iinfo_object(info.bits, int(info.max), int(info.min), np.dtype(info.dtype))
