"""Reductions along axes of arrays on the host or on a GPU, on the CPU or the GPU."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import _core
from ..errors import OptionError
from .device_arrays import DeviceArray, contiguous, empty_there, readable, reshaped, unified_with, view

_OF_NOTHING = {"sum": 0, "product": 1, "mean": math.nan}


def reduced(kind: str, array: Any, axes: Sequence[int], dtype: np.dtype[Any], handle: Any) -> Any:
    """Reduces the array along `axes`. Computes in `dtype` (float32, float64 or int64), which is the type of the result;
    positions are int64.

    kind: "sum", "product", "mean", "minimum", "maximum"; "argmin", "argmax" along one axis or all. The result is on the
    same side as the array.
    """
    out_dtype = np.dtype(np.int64) if kind.startswith("arg") else dtype
    rest = [k for k in range(array.ndim) if k not in axes]
    if kind.startswith("arg") and len(axes) not in (1, array.ndim):
        raise OptionError(f"{kind}: axis={axes}: give one axis, or None")
    n = math.prod(array.shape[k] for k in axes)
    shape = tuple(array.shape[k] for k in rest)
    if n == 0:
        if kind not in _OF_NOTHING:
            raise OptionError(
                f"{kind} of an array of the shape {array.shape} along {axes}: there is none of no elements"
            )
        return _filled(array, shape, out_dtype, _OF_NOTHING[kind], handle)
    outer = math.prod(array.shape[k] for k in rest if k < min(axes, default=0))
    together = sorted(axes) == list(range(min(axes, default=0), min(axes, default=0) + len(axes)))
    if not together:  # the axes last
        array, outer = _permuted(array, [*rest, *axes]), math.prod(shape)
    slab = (outer, n, math.prod(shape) // outer if outer else 0)
    if 0 in slab:
        return _filled(array, shape, out_dtype, 0, handle)
    if isinstance(array, DeviceArray):
        out = empty_there(handle, shape, out_dtype, unified_with(array))
        into = view(out, (slab[0], slab[2]), (slab[2], 1))
        _core.reduce_axis(handle, dtype.name, kind, reshaped(contiguous(array, dtype), slab)._core, into._core)
        return out
    out = np.empty((slab[0], slab[2]), out_dtype)
    _core.reduce_axis(handle, dtype.name, kind, readable(array.astype(dtype, copy=False).reshape(slab)), out)
    return out.reshape(shape)


def _filled(array, shape, dtype, value, handle):
    if not isinstance(array, DeviceArray):
        return np.full(shape, value, dtype)
    from ..arrays import full_like

    return full_like(empty_there(handle, shape, dtype, unified_with(array)), value)


def _permuted(array, order):
    if isinstance(array, DeviceArray):
        return view(array, [array.shape[k] for k in order], [array._core.strides[k] for k in order])
    return array.transpose(order)
