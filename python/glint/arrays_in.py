"""Converts users' arrays to the library's types, without a copy if possible."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from . import _core
from .arguments import shown
from .errors import OptionError

CUDA = 2  # DLPack's kDLCUDA
_HOST_DEVICES = (1, 3, 11)  # also pinned memory of CUDA and ROCm, which the host can read
_DIRECT = ("uint8", "uint16", "float32")


def pixels_of(rois: Any) -> Any:
    """Returns `rois` as an array (n, S, S) in C order. Arrays of uint8, uint16 or float32, on the host or a GPU, are
    returned themselves; else returns a float32 copy on the host."""
    stays = on_gpu(rois) and dtype_name(rois) in _DIRECT and not _core.inventory().why_none
    array = rois if stays else on_host(rois)
    if isinstance(array, np.ndarray) and array.dtype.kind not in "uif":
        raise OptionError(
            f"ROIs of {array.dtype} cannot be fitted: give integers or floats, as in rois.astype('float32')"
        )
    shape = tuple(array.shape)
    if len(shape) != 3 or shape[1] != shape[2]:
        raise OptionError(f"ROIs of shape {shape} are no stack of squares: give (n, S, S); one ROI is roi[None]")
    return _in_order(array) if isinstance(array, np.ndarray) else without_gaps(array)


def on_gpu(array: Any) -> bool:
    """Whether the array is on an NVIDIA GPU."""
    device = getattr(array, "__dlpack_device__", None)
    return device is not None and not isinstance(array, np.ndarray) and device()[0] == CUDA


def dtype_name(array: Any) -> str:
    """Returns NumPy's name for the dtype of any library's array."""
    return str(getattr(array, "dtype", "")).removeprefix("torch.")


def without_gaps(array: Any) -> Any:
    """Returns an array of PyTorch, CuPy or glint on a GPU in C order: the array itself, or a copy made by its
    library."""
    if hasattr(array, "_core"):
        return array if array._core.contiguous else array.copy()
    if hasattr(array, "is_contiguous"):
        return array if array.is_contiguous() else array.contiguous()
    if hasattr(array, "flags") and not array.flags.c_contiguous:
        return array.copy(order="C")
    return array


def capsule_of(array: Any) -> Any:
    """Returns the DLPack capsule of an array on a GPU. The default stream waits for the producer's work."""
    try:
        return array.__dlpack__(stream=1, max_version=(1, 0))
    except TypeError:
        return array.__dlpack__(stream=1)


def _in_order(array):
    native = array.dtype.newbyteorder("=")
    return np.require(array, native if native.name in _DIRECT else np.float32, "CA")


def on_host(array: Any) -> np.ndarray:
    """Returns a NumPy array over the same memory; a copy if the array is on a GPU. Raises OptionError for masked
    values."""
    refuse_mask("the array", array)
    if isinstance(array, np.ndarray):
        return array
    device = getattr(array, "__dlpack_device__", None)
    if device is None:
        try:
            array = np.asanyarray(array)  # keeps a mask that only the computed values have, as with Dask
        except ValueError:
            raise OptionError(f"{shown(array)} is no array: its rows have different lengths") from None
        refuse_mask("the array", array)
        return np.asarray(array)
    if device()[0] in _HOST_DEVICES:
        return np.from_dlpack(array)
    for method in ("get", "cpu"):  # the methods of CuPy and PyTorch that copy to the host
        if hasattr(array, method):
            return on_host(getattr(array, method)())
    return np.from_dlpack(array, device="cpu", copy=True)


def refuse_mask(name: str, values: Any) -> None:
    """Raises OptionError for a numpy.ma array with masked elements: the values below the mask would be used."""
    if np.ma.is_masked(values):
        raise OptionError(
            f"{name} has {np.ma.count_masked(values)} masked values, and would lose its mask: fill them, as in "
            "array.astype('float32').filled(numpy.nan), or leave them out"
        )


def integers(name: str, values: Any, shape: tuple[int, ...], dtype: Any = np.int32) -> np.ndarray:
    """Returns integers of this shape. Raises OptionError for values that the conversion would change."""
    array = on_host(values)
    if array.shape != shape:
        raise OptionError(f"{name} has the shape {array.shape}: give {shape}, one for each ROI")
    if array.dtype.kind not in "iuf":
        raise OptionError(f"{name} is of {array.dtype}: give whole numbers")
    limits = np.iinfo(dtype)
    with np.errstate(invalid="ignore"):
        good = (array >= limits.min) & (array <= limits.max) & (array == np.floor(array))
    if not good.all():
        raise OptionError(
            f"{name} has {array[~good].ravel()[0]}, which is no whole number from {limits.min} to {limits.max}"
        )
    return np.ascontiguousarray(array, dtype)


def columns_of(name: str, values: Any, n: int, widths: Sequence[int]) -> list[np.ndarray]:
    """Returns the columns of an array (n, k), k in `widths`, each as contiguous float32; an empty list for None."""
    if values is None:
        return []
    array = on_host(values)
    if array.ndim != 2 or array.shape[0] != n or array.shape[1] not in widths or array.dtype.kind not in "iuf":
        wanted = " or ".join(f"({n}, {width})" for width in widths)
        raise OptionError(
            f"{name} has the shape {array.shape} and the type {array.dtype}: give numbers of shape {wanted}"
        )
    return [np.ascontiguousarray(array[:, k], np.float32) for k in range(array.shape[1])]


def frames_of(frames: Any) -> np.ndarray:
    """Returns an array (frames, height, width) of uint8, uint16 or float32 in C order: the array itself, or a copy."""
    array = on_host(frames)
    if array.dtype.kind == "O" and array.ndim == 0:
        raise OptionError(
            f"{shown(frames)} is no movie: give the name of a file, or an array of shape (frames, height, width)"
        )
    if array.dtype.kind not in "uif" or array.ndim not in (2, 3) or 0 in array.shape[-2:]:
        raise OptionError(
            f"an array of shape {array.shape} of {array.dtype} is no movie: give numbers of shape "
            "(frames, height, width)"
        )
    array = array[None] if array.ndim == 2 else array
    return _in_order(array)
