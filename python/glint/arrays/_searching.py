"""Choosing, searching, sorting and sets. All functions except where() and take() compute on the host."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import collections
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _core
from ..errors import OptionError
from ..offload.device_arrays import contiguous, copy_to, empty_there, reshaped, unified_with
from ..offload.expressions import where as choose
from ._compute import computed_in, evaluate, handle_among, is_number, parts_of, parts_there, there
from ._dtypes import result_type
from ._elementwise import apply
from ._host import array_of, else_on_host, on_host
from ._manipulation import axis_of
from ._statistics import max as _max, min as _min

if TYPE_CHECKING:
    from .._types import Operand
    from ..offload.device_arrays import DeviceArray

unique_all_result = collections.namedtuple("unique_all_result", "values indices inverse_indices counts")
unique_counts_result = collections.namedtuple("unique_counts_result", "values counts")
unique_inverse_result = collections.namedtuple("unique_inverse_result", "values inverse_indices")


@else_on_host(np.where)
def where(condition: Operand, x1: Operand, x2: Operand, /) -> DeviceArray:
    """Elements of `x1` where the condition is not 0, else elements of `x2`; shapes are broadcast."""
    if array_of("where", condition).dtype != bool:
        condition = apply(np.not_equal, condition, 0)
    dtype = result_type(x1, x2) if not (is_number(x1) and is_number(x2)) else np.result_type(x1, x2)
    if dtype.kind != "c":
        return evaluate(choose, (condition, x1, x2), computed_in(dtype), dtype)
    re, im = (
        evaluate(choose, (condition, a, b), computed_in(dtype), computed_in(dtype))
        for a, b in zip(*(parts_there(x, handle_among([condition, x1, x2])) for x in (x1, x2)))
    )
    out = empty_there(handle_among([condition, x1, x2]), re.shape, dtype, unified_with(re))
    for to, part in zip(parts_of(out), (re, im)):
        copy_to(to, part)
    return out


def take(x: DeviceArray, indices: Operand, /, *, axis: int | None = None) -> DeviceArray:
    """The elements at `indices`, of any shape, along `axis`, as numpy.take.

    Raises IndexError for an index out of range.
    """
    if axis is None:
        if array_of("take", x).ndim != 1:
            raise OptionError(f"take: give the axis of an array of the shape {x.shape}")
        axis = 0
    axis = axis_of("take", axis, x.ndim)
    handle = handle_among([x, indices])
    at = contiguous(there(indices, handle))
    if at.dtype.kind not in "iu" and at.size:
        raise OptionError(f"take: indices of {at.dtype}: give integers")
    n, flat = x.shape[axis], reshaped(contiguous(at, np.dtype(np.int64)), (-1,))
    shape = (*x.shape[:axis], *at.shape, *x.shape[axis + 1 :])
    if n == 0 and 0 in shape:
        return empty_there(handle, shape, x.dtype, unified_with(x, indices))
    if at.size and not -n <= int(_min(flat)) <= int(_max(flat)) < n:
        raise IndexError(f"indices from {int(_min(flat))} to {int(_max(flat))} along a dimension of {n} elements")
    out = empty_there(handle, (*x.shape[:axis], at.size, *x.shape[axis + 1 :]), x.dtype, unified_with(x, indices))
    _core.device_take(handle, contiguous(x)._core, axis, flat._core, out._core)
    return reshaped(out, shape)


@on_host
def take_along_axis(x: DeviceArray, indices: Operand, /, *, axis: int = -1) -> DeviceArray:
    """As numpy.take_along_axis. Computed on the host."""
    return np.take_along_axis(x, indices, axis)


@on_host
def isin(x1: DeviceArray, x2: DeviceArray, /, *, invert: bool = False) -> DeviceArray:
    """Whether each element of x1 is among the elements of x2. Computed on the host."""
    return np.isin(x1, x2, invert=invert)


@on_host
def nonzero(x: DeviceArray, /) -> tuple[DeviceArray, ...]:
    """Indices of elements that are not 0, one array per dimension. Computed on the host."""
    if x.ndim == 0:
        raise OptionError("nonzero: an array without dimensions has no indices")
    return np.nonzero(x)


@on_host
def searchsorted(
    x1: DeviceArray, x2: DeviceArray, /, *, side: str = "left", sorter: DeviceArray | None = None
) -> DeviceArray:
    """Positions at which the elements of `x2` would be inserted into the sorted array `x1`. Computed on the host."""
    return np.searchsorted(x1, x2, side=side, sorter=sorter)


@on_host
def sort(x: DeviceArray, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> DeviceArray:
    """Sorts along `axis`, NaN last. Computed on the host."""
    found = np.sort(x, axis=axis, stable=stable or None)
    return np.flip(found, axis=axis) if descending else found


@on_host
def argsort(x: DeviceArray, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> DeviceArray:
    """Indices that sort along `axis`; equal elements stay in order if `stable`. Computed on the host."""
    if not descending:
        return np.argsort(x, axis=axis, kind="stable")
    n = x.shape[axis] if x.ndim else 1
    return n - 1 - np.flip(np.argsort(np.flip(x, axis=axis), axis=axis, kind="stable"), axis=axis)


@on_host
def unique_all(x: DeviceArray, /) -> Any:
    """Distinct elements, sorted, with their first indices, the inverse and their counts. Computed on the host."""
    values, indices, inverse, counts = np.unique(
        x, return_index=True, return_inverse=True, return_counts=True, equal_nan=False
    )
    return unique_all_result(values, indices, inverse.reshape(x.shape), counts)


@on_host
def unique_counts(x: DeviceArray, /) -> Any:
    """Distinct elements, sorted, and how often each occurs. Computed on the host."""
    return unique_counts_result(*np.unique(x, return_counts=True, equal_nan=False))


@on_host
def unique_inverse(x: DeviceArray, /) -> Any:
    """Distinct elements, sorted, and for each element of `x` its index among them. Computed on the host."""
    values, inverse = np.unique(x, return_inverse=True, equal_nan=False)
    return unique_inverse_result(values, inverse.reshape(x.shape))


@on_host
def unique_values(x: DeviceArray, /) -> DeviceArray:
    """Distinct elements, sorted. Computed on the host."""
    return np.unique(x, equal_nan=False)
