"""Operands of operations, and where their results go."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays_in import on_gpu, without_gaps
from ..errors import OptionError, OutOfMemory
from .device_arrays import (
    DeviceArray,
    adopt,
    broadcast,
    contiguous,
    copy_to,
    empty_there,
    host_or_device,
    readable,
    unified_with,
    usable,
    write,
)

if TYPE_CHECKING:
    from .._types import DTypeLike
    from .sessions import Session

max_dimensions = 4


def core_of(array: Any) -> Any:
    """Returns the array for C++: on a GPU in C order, or on the host in a form that C++ can use without a copy."""
    return contiguous(array)._core if isinstance(array, DeviceArray) else readable(array)


def real(session: Session, what: str, *arrays: Any) -> Any:
    """Returns the arrays converted to one type, float32 or float64, without a copy if possible."""
    arrays = [host_or_device(x, session) for x in arrays]
    for x in arrays:
        if x.dtype.kind not in "buif" or x.dtype.itemsize > 8:
            raise OptionError(f"{what}: arrays of {x.dtype} are not computed with here: give float32 or float64")
    deciding = [x for x in arrays if x.ndim or isinstance(x, DeviceArray)] or arrays  # ignores numbers beside arrays
    single = all(x.dtype.kind == "f" and x.dtype.itemsize <= 4 for x in deciding)
    dtype = np.dtype("float32" if single and arrays else "float64")
    return [as_dtype(x, dtype) for x in arrays], dtype


def native(array: Any) -> Any:
    """Returns the array in this machine's byte order."""
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def as_dtype(array: Any, dtype: DTypeLike) -> Any:
    if array.dtype == dtype:
        return array
    return contiguous(array, dtype) if isinstance(array, DeviceArray) else array.astype(dtype)


class Result:
    """The destination of a result: C++ writes to `core()`; `value` is returned to the caller after `with`."""

    value: Any

    def __init__(self, session: Any, dtype: Any, shape: Any, out: Any, on: str | None, *inputs: Any) -> None:
        if on not in (None, "host", "device"):
            raise OptionError(f"on={on!r}: give 'host' or 'device'")
        if out is not None and on is not None:
            raise OptionError("give out or on, not both")
        self.value, self._shape = out, tuple(shape)
        self._room = None  # a temporary array, for an `out` that C++ cannot use
        if out is None:
            on_device = on == "device" or (on is None and any(isinstance(x, DeviceArray) for x in inputs))
            self.value = (
                self._there(session, shape, dtype, unified_with(*inputs)) if on_device else np.empty(shape, dtype)
            )
        self._target = self._checked(session, dtype)

    @staticmethod
    def _there(session, shape, dtype, unified):
        try:
            return empty_there(session._core, shape, dtype, unified)
        except OutOfMemory as error:
            error.of_result = True  # for operation() in full_gpu.py
            raise

    def _checked(self, session, dtype):
        target = self.value
        if not isinstance(target, (np.ndarray, DeviceArray)):
            if not on_gpu(target) or without_gaps(target) is not target:
                raise OptionError(
                    f"out is a {type(target).__name__}: give a NumPy array, a DeviceArray, or an array without "
                    "gaps on a GPU"
                )
            target = adopt(target, session)
        if target.shape != self._shape or target.dtype.newbyteorder("=") != dtype:
            raise OptionError(f"out is {target.dtype} {target.shape}, and the result {dtype} {self._shape}")
        if isinstance(target, np.ndarray) and not target.flags.writeable:
            raise OptionError("out is read-only")
        return target

    def core(self, *inputs: Any) -> Any:
        """Returns the memory for C++, which must not overlap any of `inputs`."""
        target = self._target
        if isinstance(target, DeviceArray):
            shared = any(isinstance(x, DeviceArray) and x._core.shares_memory(target._core) for x in inputs)
            if shared or not target._core.contiguous:
                self._room = target = empty_there(target._core.session, self._shape, target.dtype)
            return (target.reshape(folded(self._shape)) if target.ndim > max_dimensions else target)._core
        overlaps = any(isinstance(x, np.ndarray) and np.may_share_memory(x, target) for x in inputs)
        if overlaps or not usable(target) or target.ndim > max_dimensions:
            self._room = np.empty(self._shape, target.dtype.newbyteorder("="))
            target = self._room
        return target.reshape(folded(self._shape)) if target.ndim > max_dimensions else target

    def __enter__(self) -> Result:
        return self

    def __exit__(self, failed: object, *_: object) -> None:
        if self._room is not None and not failed:
            put(self._target, self._room)


def put(target: Any, values: Any) -> None:
    """Writes an array into another of the same shape, on the host or on a GPU."""
    if isinstance(target, DeviceArray):
        copy_to(target, values) if isinstance(values, DeviceArray) else write(target, values)
    else:
        np.copyto(target, values.to_numpy() if isinstance(values, DeviceArray) else values)


def folded(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Returns the array with at most four dimensions, by merging the first ones."""
    first = len(shape) - max_dimensions + 1
    return (math.prod(shape[:first]), *shape[first:])


def common_shape(what: str, arrays: Any) -> tuple[int, ...]:
    try:
        return np.broadcast_shapes(*(x.shape for x in arrays))
    except ValueError:
        raise OptionError(f"{what}: shapes {[x.shape for x in arrays]} do not go together") from None


def spread(array: Any, shape: tuple[int, ...]) -> Any:
    """Returns a view broadcast to the common shape; an array of one element is unchanged."""
    if array.shape == shape or array.size == 1:
        return array
    return broadcast(array, shape) if isinstance(array, DeviceArray) else np.broadcast_to(array, shape)


def flat(array: Any, shape: tuple[int, ...]) -> Any:
    """Returns the array with at most four dimensions; with none if it has one element."""
    if array.size == 1:
        return array.reshape(())
    return array.reshape(folded(shape)) if len(shape) > max_dimensions else array
