"""Types, and conversions between them."""
# SPDX-License-Identifier: MIT
from __future__ import annotations

import dataclasses

import numpy as np

from ..errors import OptionError
from ..offload.device_arrays import DTYPES, DeviceArray, broadcast, copied
from ._host import array_of

bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, float32, float64, complex64, complex128 = (
    np.dtype(name) for name in DTYPES)


def dtype_of(dtype) -> np.dtype:
    dtype = np.dtype(dtype)
    if dtype.name not in DTYPES:
        raise OptionError(f"dtype={dtype}: give {', '.join(DTYPES)}")
    return dtype.newbyteorder("=")


def astype(x, dtype, /, *, copy=True, device=None):
    """The elements as another type, converted on the GPU; the array itself for its own type with `copy=False`.

    Floats are truncated to integers. Raises OptionError for complex numbers as real ones: take `real(x)`.
    """
    dtype = dtype_of(dtype)
    array_of("astype", x)
    if device is not None:
        x = x.to_device(device)
    if x.dtype.kind == "c" and dtype.kind in "iuf":
        raise OptionError(f"astype: an array of {x.dtype} as {dtype} would lose its imaginary part: take real(x) or abs(x)")
    return x if x.dtype == dtype and not copy else copied(x, dtype)


def broadcast_to(x, /, shape):
    """A view that repeats the elements, as numpy.broadcast_to. Do not write to it."""
    return broadcast(array_of("broadcast_to", x), shape)


def broadcast_shapes(*shapes):
    """The common shape, as numpy.broadcast_shapes."""
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        raise OptionError(f"shapes {shapes} do not go together") from None


def broadcast_arrays(*arrays):
    """Views of the common shape."""
    shape = broadcast_shapes(*(x.shape for x in arrays))
    return [broadcast(x, shape) for x in arrays]


def _type(x):
    return x.dtype if isinstance(x, DeviceArray) else x


def can_cast(from_, to, /):
    """Whether `from_` goes to `to` by the rules of promotion."""
    return np.can_cast(_type(from_), to, "safe")


def result_type(*arrays_and_dtypes):
    """The type that operands are promoted to, as numpy.result_type."""
    return dtype_of(np.result_type(*(_type(x) for x in arrays_and_dtypes)))


_KINDS = {"bool": "b", "signed integer": "i", "unsigned integer": "u", "integral": "iu", "real floating": "f",
          "complex floating": "c", "numeric": "iufc"}


def isdtype(dtype, kind):
    """Whether the type is of a kind ("bool", "integral", "real floating", "numeric", ...), or of one of several."""
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


def finfo(type, /):
    """Limits of a floating-point type, or of that of an array; of a complex one, of its parts."""
    info = np.finfo(_type(type))
    return finfo_object(info.bits, float(info.eps), float(info.max), float(info.min), float(info.smallest_normal),
                        np.dtype(info.dtype))


def iinfo(type, /):
    """Limits of an integer type, or of that of an array."""
    info = np.iinfo(_type(type))
    return iinfo_object(info.bits, int(info.max), int(info.min), np.dtype(info.dtype))
