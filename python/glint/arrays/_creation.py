"""Creation of arrays on a GPU. Arrays that NumPy creates on the host are copied there."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays_in import on_gpu
from ..errors import OptionError
from ..offload.device_arrays import (
    ArrayDevice,
    DeviceArray,
    broadcast,
    copied,
    copy_to,
    element,
    empty_there,
    host_or_device,
    to_device,
    unified_with,
    uploaded,
    handle_for as handle_for_arrays,
)
from ..offload.sessions import Session, session_or_default
from ._dtypes import astype, dtype_of
from ._host import array_of, handle_of, on_host

if TYPE_CHECKING:
    from .._types import DTypeLike, Shape


def handle_for(device: Any) -> Any:
    """Returns the C++ session of a `device`: an array's device, None, a Session, or the ordinal of the default GPU."""
    if isinstance(device, ArrayDevice):
        return device.handle
    if device is None or isinstance(device, Session):
        return session_or_default(device)._core
    session = session_or_default(None)
    if session.open() != device:
        raise OptionError(
            f"device={device!r}: the default session has GPU {session.open()}; give that, or a glint.offload.Session"
        )
    return session._core


def asarray(
    obj: Any, /, *, dtype: DTypeLike | None = None, device: Any = None, copy: bool | None = None
) -> DeviceArray:
    """Returns an array on the GPU from numbers, lists of numbers, a NumPy array, or an array of another library.

    A DeviceArray of the right type is returned itself unless `copy`. Arrays on the same GPU are used without a copy.
    """
    if isinstance(obj, DeviceArray) and device is None:
        array = obj
    elif on_gpu(obj) and not isinstance(obj, DeviceArray):
        array = host_or_device(obj, session_or_default(device if isinstance(device, Session) else None), open_gpu=True)
    elif isinstance(obj, DeviceArray):
        array = obj.to_device(device) if not isinstance(device, Session) else obj
    else:
        if copy is False:
            raise OptionError(f"copy=False: a {type(obj).__name__} on the host must be copied to a GPU")
        if isinstance(obj, (list, tuple)) and handle_of(obj) is not None:
            obj = np.asarray([x.to_numpy() if isinstance(x, DeviceArray) else x for x in obj])
        return uploaded(np.asarray(obj, dtype=None if dtype is None else dtype_of(dtype)), handle_for(device))
    if isinstance(array, np.ndarray):
        return uploaded(array if dtype is None else array.astype(dtype), handle_for(device))
    if dtype is not None and dtype_of(dtype) != array.dtype:
        if copy is False:
            raise OptionError(f"copy=False: an array of {array.dtype} must be copied to become {dtype}")
        return astype(array, dtype)
    return copied(array) if copy else array


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> DeviceArray:
    """Converts the array of another library, without a copy if the array is on the GPU already."""
    array = to_device(x, session=device if isinstance(device, Session) else None)
    return copied(array) if copy else array


def empty(shape: Shape, *, dtype: DTypeLike | None = None, device: Any = None) -> DeviceArray:
    """Returns an uninitialised array, by default of float64."""
    shape = (shape,) if hasattr(shape, "__index__") else tuple(shape)
    return empty_there(handle_for(device), shape, dtype_of(np.float64 if dtype is None else dtype))


def full(shape: Shape, fill_value: complex, *, dtype: DTypeLike | None = None, device: Any = None) -> DeviceArray:
    """Returns an array filled with one value, by default of the type that NumPy gives the value."""
    if dtype is None:
        dtype = fill_value.dtype if hasattr(fill_value, "dtype") else np.asarray(fill_value).dtype
    return _filled(empty(shape, dtype=dtype, device=device), fill_value)


def zeros(shape: Shape, *, dtype: DTypeLike | None = None, device: Any = None) -> DeviceArray:
    """Returns an array of zeros, by default of float64."""
    return full(shape, 0, dtype=np.float64 if dtype is None else dtype, device=device)


def ones(shape: Shape, *, dtype: DTypeLike | None = None, device: Any = None) -> DeviceArray:
    """Returns an array of ones, by default of float64."""
    return full(shape, 1, dtype=np.float64 if dtype is None else dtype, device=device)


def _filled(array, value):
    if not isinstance(value, DeviceArray):
        value = uploaded(
            np.asarray(value).astype(array.dtype) if np.ndim(value) else element(value, array.dtype),
            handle_for_arrays(array),
        )
    copy_to(array, broadcast(value, array.shape))
    return array


def empty_like(x: DeviceArray, /, *, dtype: DTypeLike | None = None, device: Any = None) -> DeviceArray:
    """Returns an uninitialised array like `x`: same shape and type, on the GPU of `x` or of `on_device()`."""
    handle = handle_for_arrays(array_of("empty_like", x)) if device is None else handle_for(device)
    return empty_there(
        handle, x.shape, dtype_of(x.dtype if dtype is None else dtype), unified_with(x) if device is None else None
    )


def full_like(
    x: DeviceArray, /, fill_value: complex, *, dtype: DTypeLike | None = None, device: Any = None
) -> DeviceArray:
    """Returns an array like `x` filled with one value: same shape and type, on the GPU of `x` or of `on_device()`."""
    return _filled(empty_like(x, dtype=dtype, device=device), fill_value)


def zeros_like(x: DeviceArray, /, *, dtype: DTypeLike | None = None, device: Any = None) -> DeviceArray:
    """Returns zeros like `x`: same shape and type, on the GPU of `x` or of `on_device()`."""
    return full_like(x, 0, dtype=dtype, device=device)


def ones_like(x: DeviceArray, /, *, dtype: DTypeLike | None = None, device: Any = None) -> DeviceArray:
    """Returns ones like `x`: same shape and type, on the GPU of `x` or of `on_device()`."""
    return full_like(x, 1, dtype=dtype, device=device)


def arange(
    start: float, /, stop: float | None = None, step: float = 1, *, dtype: DTypeLike | None = None, device: Any = None
) -> DeviceArray:
    """As numpy.arange."""
    start, stop = (0, start) if stop is None else (start, stop)
    return uploaded(np.arange(start, stop, step, dtype=dtype), handle_for(device))


def linspace(
    start: float,
    stop: float | None,
    /,
    num: int,
    *,
    dtype: DTypeLike | None = None,
    device: Any = None,
    endpoint: bool = True,
) -> DeviceArray:
    """As numpy.linspace."""
    return uploaded(np.linspace(start, stop, num, dtype=dtype, endpoint=endpoint), handle_for(device))


def eye(
    n_rows: int, n_cols: int | None = None, /, *, k: int = 0, dtype: DTypeLike | None = None, device: Any = None
) -> DeviceArray:
    """As numpy.eye."""
    return uploaded(np.eye(n_rows, n_cols, k, dtype=np.float64 if dtype is None else dtype), handle_for(device))


@on_host
def tril(x: DeviceArray, /, *, k: int = 0) -> DeviceArray:
    """Keeps the elements up to the k-th diagonal; zeros above. Computed on the host."""
    return np.tril(x, k)


@on_host
def triu(x: DeviceArray, /, *, k: int = 0) -> DeviceArray:
    """Keeps the elements from the k-th diagonal on; zeros below. Computed on the host."""
    return np.triu(x, k)


def meshgrid(*arrays: DeviceArray, indexing: str = "xy") -> list[DeviceArray]:
    """As numpy.meshgrid; returns new arrays."""
    if indexing not in ("xy", "ij"):
        raise OptionError(f"indexing={indexing!r}: give 'xy' or 'ij'")
    swap = indexing == "xy" and len(arrays) > 1
    order = [1, 0, *range(2, len(arrays))] if swap else range(len(arrays))
    shape = tuple(arrays[k].size for k in order)
    grids = []
    for k, x in enumerate(arrays):
        axis = list(order).index(k)
        grids.append(copied(broadcast(x.reshape((1,) * axis + (-1,) + (1,) * (len(arrays) - 1 - axis)), shape)))
    return grids
