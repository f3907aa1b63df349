"""Arrays of users as the library takes them, without a copy wherever that is possible."""
# SPDX-License-Identifier: MIT
from __future__ import annotations

import numpy as np

from .errors import OptionError

_HOST = (1, 0)  # DLPack's kDLCPU
_HOST_DEVICES = (1, 3, 11)  # and pinned memory of CUDA and ROCm, which the host reads as its own
_DIRECT = (np.dtype("uint8"), np.dtype("uint16"), np.dtype("float32"))


def pixels_of(rois):
    """(n, S, S) of uint8, uint16 or float32 in C order: `rois` itself where it is that, else a float32 copy."""
    array = on_host(rois)
    if array.dtype.kind not in "uif":
        raise OptionError(f"ROIs of {array.dtype} cannot be fitted: give integers or floats, as in rois.astype('float32')")
    if array.ndim != 3 or array.shape[1] != array.shape[2]:
        raise OptionError(f"ROIs of shape {array.shape} are no stack of squares: give (n, S, S); one ROI is roi[None]")
    return _in_order(array)


def _in_order(array):
    native = array.dtype.newbyteorder("=")
    return np.require(array, native if native in _DIRECT else np.float32, "CA")


def on_host(array):
    """A NumPy array over the same memory; from a GPU, a copy."""
    if isinstance(array, np.ndarray):
        return array
    device = getattr(array, "__dlpack_device__", None)
    if device is None:
        return np.asarray(array)
    if device()[0] in _HOST_DEVICES:
        return np.from_dlpack(array)
    for method in ("get", "cpu"):  # CuPy, PyTorch: themselves from then on, on the host
        if hasattr(array, method):
            return on_host(getattr(array, method)())
    return np.from_dlpack(array, device="cpu", copy=True)


def integers(name, values, shape, dtype=np.int32):
    """Whole numbers of this shape; refuses what would not survive the conversion."""
    array = on_host(values)
    if array.shape != shape:
        raise OptionError(f"{name} has the shape {array.shape}: give {shape}, one for each ROI")
    if array.dtype.kind not in "iuf":
        raise OptionError(f"{name} is of {array.dtype}: give whole numbers")
    limits = np.iinfo(dtype)
    with np.errstate(invalid="ignore"):
        good = (array >= limits.min) & (array <= limits.max) & (array == np.floor(array))
    if not good.all():
        raise OptionError(f"{name} has {array[~good].ravel()[0]}, which is no whole number from {limits.min} to {limits.max}")
    return np.ascontiguousarray(array, dtype)


def columns_of(name, values, n, widths):
    """Columns of an array (n, k) with k among `widths`, each contiguous float32; none for None."""
    if values is None:
        return []
    array = on_host(values)
    if array.ndim != 2 or array.shape[0] != n or array.shape[1] not in widths or array.dtype.kind not in "iuf":
        wanted = " or ".join(f"({n}, {width})" for width in widths)
        raise OptionError(f"{name} has the shape {array.shape} and the type {array.dtype}: give numbers of shape {wanted}")
    return [np.ascontiguousarray(array[:, k], np.float32) for k in range(array.shape[1])]


def frames_of(frames):
    """(frames, height, width) of uint8, uint16 or float32 in C order: the array itself where it is that, else a copy."""
    array = on_host(frames)
    if array.dtype.kind not in "uif" or array.ndim not in (2, 3) or 0 in array.shape[-2:]:
        raise OptionError(f"an array of shape {array.shape} of {array.dtype} is no movie: give numbers of shape "
                          "(frames, height, width)")
    array = array[None] if array.ndim == 2 else array
    return _in_order(array)
