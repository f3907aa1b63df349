"""Reductions along axes. Sums, products and means of floats are computed in double precision."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..errors import OptionError
from ..offload.device_arrays import contiguous, copy_to, empty_there, handle_for, unified_with
from ..offload.reductions import reduced
from ._compute import computed_in, parts_of
from ._creation import full_like
from ._dtypes import astype, dtype_of
from ._elementwise import apply
from ._host import array_of, else_on_host, on_host
from ._manipulation import axes_of, axis_of, concat, reshape

if TYPE_CHECKING:
    from .._types import Axes, DTypeLike
    from ..offload.device_arrays import DeviceArray


def _host_var(x, *, axis=None, correction=0.0, keepdims=False):
    return np.var(x, axis=axis, ddof=correction, keepdims=keepdims)


def _host_std(x, *, axis=None, correction=0.0, keepdims=False):
    return np.std(x, axis=axis, ddof=correction, keepdims=keepdims)


def _host_count(x, *, axis=None, keepdims=False):
    return np.asarray(np.count_nonzero(x, axis=axis, keepdims=keepdims), np.int64)


def _kept(shape, axes):
    return tuple(1 if k in axes else n for k, n in enumerate(shape))


def _reduced(kind, x, axis, keepdims, dtype):
    """Reduces along `axis`. Computes in the type for computations; the result has the type `dtype`."""
    axes = axes_of(kind, axis, x.ndim)
    result = reduced(kind, x, axes, computed_in(x.dtype), handle_for(x))
    return contiguous(reshape(result, _kept(x.shape, axes)) if keepdims else result, np.dtype(dtype))


def _of_parts(kind, x, axis, keepdims, dtype):
    """Applies a reduction to the real and imaginary parts of a complex array."""
    re, im = (_reduced(kind, part, axis, keepdims, part.dtype) for part in parts_of(x))
    if kind == "mean":  # NumPy divides by n + 0j: if one part is not finite, the other part becomes NaN
        re, im = re + 0.0 * im, im - 0.0 * re
    out = empty_there(re._core.session, re.shape, dtype, unified_with(re))
    for to, part in zip(parts_of(out), (re, im)):
        copy_to(to, part)
    return out


def _total(kind, x, axis, dtype, keepdims):
    array_of(kind, x)
    if dtype is not None:
        dtype = dtype_of(dtype)
    elif x.dtype.kind in "bui":
        dtype = np.dtype(np.uint64 if x.dtype.kind == "u" else np.int64)
    else:
        dtype = x.dtype
    if dtype.kind == "c":
        x = x if x.dtype.kind == "c" else astype(x, dtype)
        return (
            _complex_prod(x, axis=axis, keepdims=keepdims)
            if kind == "product"
            else _of_parts(kind, x, axis, keepdims, dtype)
        )
    if x.dtype.kind == "c" or (dtype.kind == "f" and (x.dtype.kind != "f" or dtype.itemsize > x.dtype.itemsize)):
        x = astype(x, dtype)
    return _reduced(kind, x, axis, keepdims, dtype)


@else_on_host(np.sum)
def sum(x: DeviceArray, /, *, axis: Axes = None, dtype: DTypeLike | None = None, keepdims: bool = False) -> DeviceArray:
    """As numpy.sum. The result is int64 or uint64 for integers, else has the array's type."""
    return _total("sum", x, axis, dtype, keepdims)


@else_on_host(np.prod)
def prod(
    x: DeviceArray, /, *, axis: Axes = None, dtype: DTypeLike | None = None, keepdims: bool = False
) -> DeviceArray:
    """As numpy.prod. The result is int64 or uint64 for integers, else has the array's type. Complex: on the host."""
    return _total("product", x, axis, dtype, keepdims)


def _complex_prod(x, **options):
    return _host_prod(x, **options)


@on_host
def _host_prod(x, **options):
    return np.prod(x, **options)


@else_on_host(np.mean)
def mean(x: DeviceArray, /, *, axis: Axes = None, keepdims: bool = False) -> DeviceArray:
    """As numpy.mean. The result is float64 for integers, else has the array's type."""
    if array_of("mean", x).dtype.kind in "bui":
        x = astype(x, np.float64)
    return (_of_parts if x.dtype.kind == "c" else _reduced)("mean", x, axis, keepdims, x.dtype)


@else_on_host(_host_var)
def var(x: DeviceArray, /, *, axis: Axes = None, correction: float = 0.0, keepdims: bool = False) -> DeviceArray:
    """The variance of n elements: the sum of squared distances from the mean, divided by n - correction."""
    dtype = np.dtype(np.float64) if array_of("var", x).dtype.kind in "bui" else x.dtype
    real = np.dtype(f"float{dtype.itemsize * 4}") if dtype.kind == "c" else dtype
    axes = axes_of("var", axis, x.ndim)
    n = int(np.prod([x.shape[k] for k in axes], dtype=np.int64))
    away = x - mean(x, axis=axes, keepdims=True)
    away = apply(np.absolute, away) if dtype.kind == "c" else away
    wide = away if real != np.float16 else astype(away, np.float32)
    total = sum(apply(np.square, wide), axis=axes, keepdims=keepdims)
    return astype(total / float(np.maximum(n - correction, 0)), real, copy=False)


@else_on_host(_host_std)
def std(x: DeviceArray, /, *, axis: Axes = None, correction: float = 0.0, keepdims: bool = False) -> DeviceArray:
    """The standard deviation, the root of `var()`."""
    return apply(np.sqrt, var(x, axis=axis, correction=correction, keepdims=keepdims))


def _extreme(kind, numpy_function, x, axis, keepdims):
    if array_of(kind, x).dtype == np.uint64:
        return _on_host_extreme(x, numpy_function, axis, keepdims)
    if x.dtype.kind == "c":
        raise OptionError(f"{kind}: complex numbers have no order: take abs(x)")
    return _reduced(kind, x, axis, keepdims, np.int64 if kind.startswith("arg") else x.dtype)


@on_host
def _on_host_extreme(x, function, axis, keepdims):
    return function(x, axis=axis, keepdims=keepdims)


@else_on_host(np.min)
def min(x: DeviceArray, /, *, axis: Axes = None, keepdims: bool = False) -> DeviceArray:
    """The minimum; NaN if any element is NaN. uint64 is computed on the host."""
    return _extreme("minimum", np.min, x, axis, keepdims)


@else_on_host(np.max)
def max(x: DeviceArray, /, *, axis: Axes = None, keepdims: bool = False) -> DeviceArray:
    """The maximum; NaN if any element is NaN. uint64 is computed on the host."""
    return _extreme("maximum", np.max, x, axis, keepdims)


@else_on_host(np.argmin)
def argmin(x: DeviceArray, /, *, axis: int | None = None, keepdims: bool = False) -> DeviceArray:
    """Position of the first minimum, or of the first NaN; without an axis, in the flattened array."""
    return _extreme("argmin", np.argmin, x, axis, keepdims)


@else_on_host(np.argmax)
def argmax(x: DeviceArray, /, *, axis: int | None = None, keepdims: bool = False) -> DeviceArray:
    """Position of the first maximum, or of the first NaN; without an axis, in the flattened array."""
    return _extreme("argmax", np.argmax, x, axis, keepdims)


def _truth(x):
    return apply(np.not_equal, x, 0) if array_of("any", x).dtype != bool else x


@else_on_host(np.any)
def any(x: DeviceArray, /, *, axis: Axes = None, keepdims: bool = False) -> DeviceArray:
    """Whether any element is not 0."""
    x = _truth(x)
    axes = axes_of("any", axis, x.ndim)
    return _or_of_nothing("maximum", False, x, axes, keepdims)


@else_on_host(np.all)
def all(x: DeviceArray, /, *, axis: Axes = None, keepdims: bool = False) -> DeviceArray:
    """Whether all elements are not 0."""
    x = _truth(x)
    axes = axes_of("all", axis, x.ndim)
    return _or_of_nothing("minimum", True, x, axes, keepdims)


def _or_of_nothing(kind, value, x, axes, keepdims):
    if 0 in (x.shape[k] for k in axes):
        return full_like(sum(x, axis=axes, keepdims=keepdims), value, dtype=np.bool_)
    return _reduced(kind, x, axes, keepdims, np.bool_)


@else_on_host(_host_count)
def count_nonzero(x: DeviceArray, /, *, axis: Axes = None, keepdims: bool = False) -> DeviceArray:
    """The number of elements that are not 0, as int64."""
    return sum(_truth(x), axis=axis, keepdims=keepdims)


def diff(
    x: DeviceArray,
    /,
    *,
    axis: int = -1,
    n: int = 1,
    prepend: DeviceArray | None = None,
    append: DeviceArray | None = None,
) -> DeviceArray:
    """Differences of neighbours along `axis`, taken n times. `prepend` and `append` first extend the array at both
    ends."""
    axis = axis_of("diff", axis, array_of("diff", x).ndim)
    x = concat([part for part in (prepend, x, append) if part is not None], axis=axis)
    before = (slice(None),) * axis
    for _ in range(n):
        later, earlier = x[(*before, slice(1, None))], x[(*before, slice(None, -1))]
        x = apply(np.not_equal if x.dtype == bool else np.subtract, later, earlier)
    return x


@on_host
def cumulative_sum(
    x: DeviceArray, /, *, axis: int | None = None, dtype: DTypeLike | None = None, include_initial: bool = False
) -> DeviceArray:
    """Cumulative sums along `axis`. Computed on the host."""
    return _cumulative("cumulative_sum", np.cumsum, 0, x, axis, dtype, include_initial)


@on_host
def cumulative_prod(
    x: DeviceArray, /, *, axis: int | None = None, dtype: DTypeLike | None = None, include_initial: bool = False
) -> DeviceArray:
    """Cumulative products along `axis`. Computed on the host."""
    return _cumulative("cumulative_prod", np.cumprod, 1, x, axis, dtype, include_initial)


def _cumulative(name, function, of_nothing, x, axis, dtype, include_initial):
    x = np.atleast_1d(x)
    if axis is None:
        if x.ndim != 1:
            raise OptionError(f"{name}: give the axis of an array of the shape {x.shape}")
        axis = 0
    axis = axis_of(name, axis, x.ndim)
    if dtype is None and x.dtype.kind in "bui":
        dtype = np.uint64 if x.dtype.kind == "u" else np.int64
    total = function(x, axis=axis, dtype=dtype or x.dtype)
    if not include_initial:
        return total
    first = np.full((*x.shape[:axis], 1, *x.shape[axis + 1 :]), of_nothing, total.dtype)
    return np.concatenate([first, total], axis=axis)
