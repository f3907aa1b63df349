"""Operations on arrays, each on the CPU or the GPU.

Arrays: NumPy's, with any strides; DeviceArray; or arrays of other libraries with DLPack. float32 is computed as
float32; float64 and integers as float64. `out` receives the result. Without `out`, `on` is the location of the result:
"host" or "device"; by default the GPU if any input is there, else the host. Memory shared with other libraries is
complete when a call returns. All raise OptionError, a ValueError, for invalid arguments.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from typing import Any

import numpy as np

from .. import _core
from ..errors import OptionError
from .device_arrays import DeviceArray, broadcast
from .expressions import expression_of
from .full_gpu import operation
from .operands import Result, common_shape, core_of, flat, folded, max_dimensions, put, real, spread
from .sessions import Session, session_or_default


@operation
def matmul(a: Any, b: Any, *, out: Any = None, on: str | None = None, session: Session | None = None) -> Any:
    """The matrix product of a (..., m, k) and b (..., k, n), or of stacks of these, as numpy.matmul.

    >>> glint.offload.matmul(np.eye(2), [[1.0, 2.0], [3.0, 4.0]])
    array([[1., 2.],
           [3., 4.]])
    """
    session = session_or_default(session)
    (a, b), dtype = real(session, "matmul", a, b)
    if 1 in (a.ndim, b.ndim):
        return _product_of_vectors(a, b, out, on, session)
    shape = _product_shape(a.shape, b.shape)
    if len(shape) > max_dimensions:
        a, b = (_as_stack(x, shape[:-2]) for x in (a, b))
    with Result(session, dtype, shape, out, on, a, b) as result:
        _core.matmul(session._core, dtype.name, core_of(a), core_of(b), result.core(a, b))
    return result.value


@operation
def map(function: Any, *arrays: Any, out: Any = None, on: str | None = None, session: Session | None = None) -> Any:
    """Evaluates an expression of the arrays element by element, in one pass over memory; shapes are broadcast.

    function: an Expression of input(0), input(1), ..., or a function that returns one.

    >>> glint.offload.map(lambda x, y: np.exp(-(x * x + y * y) / 2), np.zeros((2, 2)), 0.0)
    array([[1., 1.],
           [1., 1.]])
    """
    session = session_or_default(session)
    expression = expression_of(function, len(arrays))
    arrays, dtype = real(session, "map", *arrays)
    shape = common_shape("map", arrays)
    arrays = [spread(x, shape) for x in arrays]
    with Result(session, dtype, shape, out, on, *arrays) as result:
        _core.map(
            session._core, dtype.name, expression._core, [core_of(flat(x, shape)) for x in arrays], result.core(*arrays)
        )
    return result.value


@operation
def reduce(kind: str, function: Any, *arrays: Any, session: Session | None = None) -> float:
    """The "sum" (in double precision), "mean", "minimum" or "maximum" of an expression over all elements; NaN if any is
    NaN.

    >>> glint.offload.reduce("sum", lambda x, y: (x - y) ** 2, [1.0, 2.0], [1.0, 4.0])
    4.0
    """
    session = session_or_default(session)
    expression = expression_of(function, len(arrays))
    arrays, dtype = real(session, kind, *arrays)
    shape = common_shape(kind, arrays)
    inputs = [core_of(flat(spread(x, shape), shape)) for x in arrays]
    return _core.reduce(session._core, dtype.name, kind, expression._core, inputs)


# ---- Shapes of products


def _product_shape(a, b):
    if len(a) < 2 or len(b) < 2 or a[-1] != b[-2]:
        raise OptionError(f"matmul: a has the shape {a} and b {b}: a's columns must be as many as b's rows")
    try:
        return (*np.broadcast_shapes(a[:-2], b[:-2]), a[-2], b[-1])
    except ValueError:
        raise OptionError(f"matmul: stacks of the shapes {a[:-2]} and {b[:-2]} do not go together") from None


def _product_of_vectors(a, b, out, on, session):
    """As numpy.matmul: a vector is a row on the left, a column on the right."""
    if 0 in (a.ndim, b.ndim):
        raise OptionError("matmul: numbers are no matrices: use *")
    product = matmul(a[None] if a.ndim == 1 else a, b[:, None] if b.ndim == 1 else b, on=on, session=session)
    product = product[..., 0, :] if a.ndim == 1 else product
    product = product[..., 0] if b.ndim == 1 else product
    if out is not None:
        put(Result(session, product.dtype, product.shape, out, None)._target, product)
        return out
    return product


def _as_stack(array, batch):
    shape = (*batch, *array.shape[-2:])
    whole = broadcast(array, shape) if isinstance(array, DeviceArray) else np.broadcast_to(array, shape)
    return whole.reshape(folded(whole.shape))
