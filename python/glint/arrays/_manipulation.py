"""Shapes: views where possible. Functions that join arrays write a new one on the GPU."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import OptionError
from ..offload.device_arrays import broadcast, copied, copy_to, empty_there, handle_for, reshaped, unified_with, view
from ._dtypes import result_type
from ._host import array_of, on_host

if TYPE_CHECKING:
    from .._types import Axes, Shape
    from ..offload.device_arrays import DeviceArray


def axis_of(name: str, axis: Any, ndim: int) -> int:
    """Returns `axis` as a number from 0. Raises OptionError if the axis does not exist."""
    axis = operator.index(axis)
    if not -ndim <= axis < ndim:
        raise OptionError(f"{name}: axis={axis} of an array of {ndim} dimensions: give {-ndim} to {ndim - 1}")
    return axis % ndim


def axes_of(name: str, axis: Any, ndim: int) -> tuple[int, ...]:
    """Returns all axes for None, else the given axes, counted from 0. Raises OptionError for a repeated axis."""
    if axis is None:
        return tuple(range(ndim))
    axes = tuple(axis_of(name, a, ndim) for a in (axis if isinstance(axis, (tuple, list)) else (axis,)))
    if len(set(axes)) < len(axes):
        raise OptionError(f"{name}: axis={axis} has an axis twice")
    return axes


def reshape(x: DeviceArray, /, shape: Shape, *, copy: bool | None = None) -> DeviceArray:
    """As numpy.reshape, in C order: a view of an array in C order, else a copy. With `copy=False`, raises an error if a
    copy is needed.
    """
    return reshaped(array_of("reshape", x), shape, copy)


def permute_dims(x: DeviceArray, /, axes: Sequence[int]) -> DeviceArray:
    """A view with the dimensions in another order."""
    order = axes_of("permute_dims", tuple(axes), array_of("permute_dims", x).ndim)
    if len(order) != x.ndim:
        raise OptionError(f"permute_dims: axes={tuple(axes)} of an array of {x.ndim} dimensions: give each once")
    return view(x, [x.shape[k] for k in order], [x._core.strides[k] for k in order])


def moveaxis(x: DeviceArray, source: int | Sequence[int], destination: int | Sequence[int], /) -> DeviceArray:
    """A view with axes moved to other positions, as numpy.moveaxis."""
    from_, to = axes_of("moveaxis", source, x.ndim), axes_of("moveaxis", destination, x.ndim)
    if len(from_) != len(to):
        raise OptionError(f"moveaxis: {len(from_)} axes to {len(to)} places")
    order = [k for k in range(x.ndim) if k not in from_]
    for place, axis in sorted(zip(to, from_)):
        order.insert(place, axis)
    return permute_dims(x, order)


def expand_dims(x: DeviceArray, /, *, axis: int = 0) -> DeviceArray:
    """A view with a dimension of one element at `axis`."""
    axes = sorted(axes_of("expand_dims", axis, x.ndim + (len(axis) if isinstance(axis, tuple) else 1)))
    shape, steps = list(x.shape), list(x._core.strides)
    for k in axes:
        shape.insert(k, 1), steps.insert(k, 0)
    return view(x, shape, steps)


def squeeze(x: DeviceArray, /, axis: Axes = None) -> DeviceArray:
    """A view without the dimensions `axis`, which must be of one element; by default, without all such dimensions."""
    axes = [k for k in range(x.ndim) if x.shape[k] == 1] if axis is None else axes_of("squeeze", axis, x.ndim)
    if wrong := [k for k in axes if x.shape[k] != 1]:
        raise OptionError(f"squeeze: axis {wrong[0]} of an array of the shape {x.shape} is not of one element")
    kept = [k for k in range(x.ndim) if k not in axes]
    return view(x, [x.shape[k] for k in kept], [x._core.strides[k] for k in kept])


def flip(x: DeviceArray, /, *, axis: Axes = None) -> DeviceArray:
    """A view with the elements along `axis` in reverse order; by default, along all axes."""
    axes = axes_of("flip", axis, x.ndim)
    return x[tuple(slice(None, None, -1) if k in axes else slice(None) for k in range(x.ndim))]


def concat(arrays: Sequence[DeviceArray], /, *, axis: int | None = 0) -> DeviceArray:
    """Joins arrays along an existing `axis`; for None, joins the flattened arrays."""
    arrays = list(arrays)
    if not arrays:
        raise OptionError("concat: give at least one array")
    if axis is None:
        arrays, axis = [x.reshape(-1) for x in arrays], 0
    first = array_of("concat", arrays[0])
    axis = axis_of("concat", axis, first.ndim)
    rest = first.shape[:axis] + first.shape[axis + 1 :]
    for x in arrays:
        if x.ndim != first.ndim or x.shape[:axis] + x.shape[axis + 1 :] != rest:
            raise OptionError(f"concat: shapes {[x.shape for x in arrays]} do not go together along axis {axis}")
    shape = list(first.shape)
    shape[axis] = sum(x.shape[axis] for x in arrays)
    whole, begin = empty_there(handle_for(*arrays), shape, result_type(*arrays), unified_with(*arrays)), 0
    for x in arrays:
        part = (slice(None),) * axis + (slice(begin, begin + x.shape[axis]),)
        copy_to(whole[part], x)
        begin += x.shape[axis]
    return whole


def stack(arrays: Sequence[DeviceArray], /, *, axis: int = 0) -> DeviceArray:
    """Joins arrays of one shape along a new axis."""
    return concat([expand_dims(x, axis=axis) for x in arrays], axis=axis)


def unstack(x: DeviceArray, /, *, axis: int = 0) -> tuple[DeviceArray, ...]:
    """Views of the parts along `axis`."""
    x = moveaxis(x, axis, 0)
    return tuple(x[k, ...] for k in range(len(x)))


def roll(x: DeviceArray, /, shift: int | Sequence[int], *, axis: Axes = None) -> DeviceArray:
    """As numpy.roll: moves elements by `shift` along `axis`, and the last elements to the front."""
    if axis is None:
        return reshape(roll(reshape(x, (-1,)), shift, axis=0), x.shape)
    axes = axis if isinstance(axis, tuple) else (axis,)
    shifts = shift if isinstance(shift, tuple) else (shift,) * len(axes)
    if len(shifts) != len(axes):
        raise OptionError(f"roll: {len(shifts)} shifts along {len(axes)} axes")
    for by, k in zip(shifts, axes):
        k = axis_of("roll", k, x.ndim)
        n = x.shape[k]
        if n and by % n:
            before = (slice(None),) * k
            x = concat([x[(*before, slice(n - by % n, None))], x[(*before, slice(n - by % n))]], axis=k)
    return copied(x)


def tile(x: DeviceArray, repetitions: int | Sequence[int], /) -> DeviceArray:
    """As numpy.tile."""
    n = max(x.ndim, len(repetitions))
    times = (1,) * (n - len(repetitions)) + tuple(repetitions)
    shape = (1,) * (n - x.ndim) + x.shape
    pairs = reshape(x, [extent for n in shape for extent in (1, n)])
    whole = broadcast(pairs, [extent for t, n in zip(times, shape) for extent in (t, n)])
    return reshape(copied(whole), [t * n for t, n in zip(times, shape)])


def repeat(x: DeviceArray, repeats: int | DeviceArray, /, *, axis: int | None = None) -> DeviceArray:
    """As numpy.repeat. Computed on the host if the numbers of repeats differ."""
    if axis is None:
        x, axis = reshape(x, (-1,)), 0
    if not hasattr(repeats, "__index__") or getattr(repeats, "ndim", 0):
        return _repeat_each(x, repeats, axis)
    axis, times = axis_of("repeat", axis, x.ndim), operator.index(repeats)
    split = x.shape[: axis + 1] + (1,) + x.shape[axis + 1 :]
    whole = broadcast(expand_dims(x, axis=axis + 1), split[: axis + 1] + (times,) + split[axis + 2 :])
    return reshape(copied(whole), x.shape[:axis] + (x.shape[axis] * times,) + x.shape[axis + 1 :])


@on_host
def _repeat_each(x, repeats, axis):
    return np.repeat(x, repeats, axis)
