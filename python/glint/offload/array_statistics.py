"""Reductions of whole arrays and along axes, each on the CPU or the GPU.

Operands and results are as in operations.py.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import OptionError
from .device_arrays import DeviceArray, contiguous, host_or_device
from .expressions import input
from .full_gpu import operation
from .operations import map, reduce
from .reductions import reduced
from .sessions import Session, session_or_default


@operation
def sum(a: Any, axis: Any = None, *, keepdims: bool = False, session: Session | None = None) -> Any:
    """The sum of all elements, in double precision, as a float; or sums along `axis`, one or several, as an array.

    >>> glint.offload.sum(np.ones((3, 4), np.float32))
    12.0
    >>> glint.offload.sum(np.ones((3, 4)), axis=0)
    array([3., 3., 3., 3.])
    """
    return _total("sum", a, axis, keepdims, session)


@operation
def mean(a: Any, axis: Any = None, *, keepdims: bool = False, session: Session | None = None) -> Any:
    """The mean of all elements, or means along `axis`; NaN without elements."""
    return _total("mean", a, axis, keepdims, session)


@operation
def minimum(a: Any, axis: Any = None, *, keepdims: bool = False, session: Session | None = None) -> Any:
    """The minimum of all elements, or minima along `axis`; NaN if any is NaN."""
    return _total("minimum", a, axis, keepdims, session)


@operation
def maximum(a: Any, axis: Any = None, *, keepdims: bool = False, session: Session | None = None) -> Any:
    """The maximum of all elements, or maxima along `axis`; NaN if any is NaN."""
    return _total("maximum", a, axis, keepdims, session)


@operation
def prod(a: Any, axis: Any = None, *, keepdims: bool = False, session: Session | None = None) -> Any:
    """The product of all elements, computed in double precision, or products along `axis`."""
    return _total("product", a, axis, keepdims, session)


@operation
def argmin(a: Any, axis: int | None = None, *, keepdims: bool = False, session: Session | None = None) -> Any:
    """The position of the first minimum in the flattened array, or along `axis`; of the first NaN if there is one."""
    return _total("argmin", a, axis, keepdims, session)


@operation
def argmax(a: Any, axis: int | None = None, *, keepdims: bool = False, session: Session | None = None) -> Any:
    """The position of the first maximum in the flattened array, or along `axis`; of the first NaN if there is one.

    >>> glint.offload.argmax([[1.0, 5.0], [7.0, 2.0]], axis=1)
    array([1, 0])
    """
    return _total("argmax", a, axis, keepdims, session)


@operation
def var(a: Any, axis: Any = None, *, ddof: float = 0, keepdims: bool = False, session: Session | None = None) -> Any:
    """The variance of all elements, or variances along `axis`: sums of squared distances from the mean over n -
    ddof.
    """
    session, a = session_or_default(session), _floats("var", a, session)
    axes = _axes("var", axis, a.ndim)
    n = int(np.prod([a.shape[k] for k in axes], dtype=np.int64))
    middle = _along("mean", a, axes, True, session)
    squares = map(lambda x, m: (x - m) ** 2, a, middle, session=session)
    factor = n / (n - ddof) if n > ddof else np.nan
    if axis is None and not keepdims:
        return mean(squares, session=session) * factor
    return map(lambda x: x * factor, _along("mean", squares, axes, keepdims, session), session=session)


@operation
def std(a: Any, axis: Any = None, *, ddof: float = 0, keepdims: bool = False, session: Session | None = None) -> Any:
    """The standard deviation of all elements, or standard deviations along `axis`: the root of `var()`."""
    variance = var(a, axis, ddof=ddof, keepdims=keepdims, session=session)
    return float(np.sqrt(variance)) if isinstance(variance, float) else map(np.sqrt, variance, session=session)


def _floats(what, a, session):
    """Returns the operand as float32 or float64."""
    a = host_or_device(a, session)
    if a.dtype.kind not in "buif" or a.dtype.itemsize > 8:
        raise OptionError(f"{what}: arrays of {a.dtype} are not computed with here: give float32 or float64")
    dtype = np.dtype(np.float32 if a.dtype.kind == "f" and a.dtype.itemsize <= 4 else np.float64)
    return contiguous(a, dtype) if isinstance(a, DeviceArray) else a.astype(dtype, copy=False)


def _axes(what, axis, ndim):
    if axis is None:
        return tuple(range(ndim))
    axes = tuple(axis) if isinstance(axis, (tuple, list)) else (axis,)
    for k in axes:
        if not -ndim <= k < ndim:
            raise OptionError(f"{what}: axis={axis} of an array of {ndim} dimensions")
    if len({k % ndim for k in axes}) < len(axes):
        raise OptionError(f"{what}: axis={axis} has an axis twice")
    return tuple(k % ndim for k in axes)


def _total(kind, a, axis, keepdims, session):
    session = session_or_default(session)
    if axis is None and not keepdims and kind in ("sum", "mean", "minimum", "maximum"):
        return reduce(kind, input(0), a, session=session)
    a = _floats(kind, a, session)
    result = _along(kind, a, _axes(kind, axis, a.ndim), keepdims, session)
    if axis is None and not keepdims:
        return result.item()
    return result


def _along(kind, a, axes, keepdims, session):
    result = reduced(kind, a, axes, a.dtype, session._core)
    return result.reshape(tuple(1 if k in axes else n for k, n in enumerate(a.shape))) if keepdims else result
