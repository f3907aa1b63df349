"""Linear algebra: products and norms on the GPU, and decompositions."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _core
from ..errors import OptionError
from ..offload.device_arrays import broadcast, contiguous, copied, copy_to, empty_there, reshaped, unified_with, view
from ._compute import computed_in, handle_among, parts_of, there
from ._dtypes import astype, result_type

# Some names are only re-exported by this module.
from ._decompositions import (  # noqa: F401
    cholesky,
    det,
    eigh,
    eigvalsh,
    inv,
    matrix_rank,
    pinv,
    qr,
    slogdet,
    solve,
    svd,
    svdvals,
)
from ._elementwise import apply, conj
from ._host import array_of, else_on_host, on_host, through_host
from ._manipulation import axes_of, axis_of, expand_dims, moveaxis, permute_dims
from ._statistics import max as _max, min as _min, sum as _sum

if TYPE_CHECKING:
    from .._types import Axes, DTypeLike, Operand
    from ..offload.device_arrays import DeviceArray


# ---- Products


@else_on_host(np.matmul)
def matmul(x1: Operand, x2: Operand, /) -> DeviceArray:
    """As numpy.matmul, also for stacks and vectors. NumPy multiplies integers on the host, where they stay exact."""
    handle = handle_among((x1, x2))
    x1, x2 = there(x1, handle), there(x2, handle)
    if 0 in (x1.ndim, x2.ndim):
        raise OptionError("matmul: numbers are no matrices: use *")
    dtype = result_type(x1, x2)
    if dtype.kind in "bui":
        return through_host(np.matmul, x1, x2)
    a = expand_dims(x1, axis=0) if x1.ndim == 1 else x1
    b = expand_dims(x2, axis=1) if x2.ndim == 1 else x2
    if a.shape[-1] != b.shape[-2]:
        raise OptionError(
            f"matmul: x1 has the shape {x1.shape} and x2 {x2.shape}: x1's columns must be as many as x2's rows"
        )
    product = (_complex_product if dtype.kind == "c" else _product)(a, b, dtype)
    product = product[..., 0, :] if x1.ndim == 1 else product
    return product[..., 0] if x2.ndim == 1 else product


def _product(a, b, dtype):
    try:
        stack = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    except ValueError:
        raise OptionError(
            f"matmul: stacks of the shapes {a.shape[:-2]} and {b.shape[:-2]} do not go together"
        ) from None
    computed = computed_in(dtype)
    shape = (*stack, a.shape[-2], b.shape[-1])
    out = empty_there(handle_among((a, b)), shape, computed, unified_with(a, b))
    a, b = (contiguous(x, computed) for x in (a, b))
    if len(stack) > 2:
        a, b = (reshaped(broadcast(x, (*stack, *x.shape[-2:])), (-1, *x.shape[-2:])) for x in (a, b))
        _core.matmul(out._core.session, computed.name, a._core, b._core, reshaped(out, (-1, *shape[-2:]))._core)
    else:
        _core.matmul(out._core.session, computed.name, a._core, b._core, out._core)
    return contiguous(out, dtype)


def _complex_product(a, b, dtype):
    """Computes a complex product from the four products of the parts."""
    real = np.dtype(f"float{dtype.itemsize * 4}")
    (a_re, a_im), (b_re, b_im) = (
        (astype(x, real), None) if x.dtype.kind != "c" else tuple(contiguous(part, real) for part in parts_of(x))
        for x in (a, b)
    )
    multiply = functools.partial(_product, dtype=real)
    re, im = multiply(a_re, b_re), None
    if a_im is not None and b_im is not None:
        re, im = re - multiply(a_im, b_im), multiply(a_re, b_im) + multiply(a_im, b_re)
    else:
        im = multiply(a_re, b_im) if a_im is None else multiply(a_im, b_re)
    out = empty_there(re._core.session, re.shape, dtype, unified_with(re))
    for to, part in zip(parts_of(out), (re, im)):
        copy_to(to, part)
    return out


def matrix_transpose(x: DeviceArray, /) -> DeviceArray:
    """A view with the last two dimensions exchanged."""
    if array_of("matrix_transpose", x).ndim < 2:
        raise OptionError(f"matrix_transpose: an array of the shape {x.shape} is no matrix")
    return permute_dims(x, (*range(x.ndim - 2), x.ndim - 1, x.ndim - 2))


def outer(x1: DeviceArray, x2: DeviceArray, /) -> DeviceArray:
    """Products of all pairs of elements of two vectors."""
    if (x1.ndim, x2.ndim) != (1, 1):
        raise OptionError(f"outer: arrays of the shapes {x1.shape} and {x2.shape}: give vectors")
    return expand_dims(x1, axis=1) * expand_dims(x2, axis=0)


def tensordot(x1: DeviceArray, x2: DeviceArray, /, *, axes: Any = 2) -> DeviceArray:
    """As numpy.tensordot: sums of products over `axes`, which is a number of axes or two lists."""
    if hasattr(axes, "__index__"):
        of_1, of_2 = list(range(x1.ndim - axes, x1.ndim)), list(range(axes))
    else:
        of_1, of_2 = (list(axes_of("tensordot", tuple(a), x.ndim)) for a, x in zip(axes, (x1, x2)))
    if len(of_1) != len(of_2) or any(x1.shape[i] != x2.shape[k] for i, k in zip(of_1, of_2)):
        raise OptionError(f"tensordot: axes={axes} of the shapes {x1.shape} and {x2.shape} are not of equal extents")
    rest_1, rest_2 = ([k for k in range(x.ndim) if k not in of] for x, of in ((x1, of_1), (x2, of_2)))
    n = math.prod(x1.shape[k] for k in of_1)
    rows, columns = (math.prod(x.shape[k] for k in rest) for x, rest in ((x1, rest_1), (x2, rest_2)))
    product = matmul(
        reshaped(permute_dims(x1, rest_1 + of_1), (rows, n)), reshaped(permute_dims(x2, of_2 + rest_2), (n, columns))
    )
    return reshaped(product, [x1.shape[k] for k in rest_1] + [x2.shape[k] for k in rest_2])


def vecdot(x1: DeviceArray, x2: DeviceArray, /, *, axis: int = -1) -> DeviceArray:
    """Sums of products along `axis`, with the conjugate of x1."""
    x1, x2 = (moveaxis(x, axis_of("vecdot", axis, x.ndim), -1) for x in (x1, x2))
    if x1.shape[-1] != x2.shape[-1]:
        raise OptionError(f"vecdot: {x1.shape[-1]} and {x2.shape[-1]} elements along axis {axis}")
    x1 = conj(x1) if x1.dtype.kind == "c" else x1
    product = matmul(expand_dims(x1, axis=x1.ndim - 1), expand_dims(x2, axis=x2.ndim))
    return product[..., 0, 0]


@on_host
def cross(x1: DeviceArray, x2: DeviceArray, /, *, axis: int = -1) -> DeviceArray:
    """Cross products of three-dimensional vectors. Computed on the host."""
    if x1.shape[axis] != 3 or x2.shape[axis] != 3:
        raise OptionError(f"cross: {x1.shape[axis]} and {x2.shape[axis]} elements along axis {axis}: give 3")
    return np.cross(x1, x2, axis=axis)


def matrix_power(x: DeviceArray, n: int, /) -> DeviceArray:
    """The n-th power of a matrix; for n < 0, a power of its inverse."""
    if n < 0:
        return matrix_power(inv(x), -n)
    if n == 0:
        return through_host(np.linalg.matrix_power, x, 0)
    result = None
    for bit in bin(n)[2:]:
        result = x if result is None else matmul(result, result)
        result = matmul(result, x) if bit == "1" and result is not x else result
    return copied(x) if result is x else result


def diagonal(x: DeviceArray, /, *, offset: int = 0) -> DeviceArray:
    """A view of the diagonals of the last two dimensions."""
    rows, columns = array_of("diagonal", x).shape[-2:]
    *_, down, right = x._core.strides
    first = x._core.first + (offset * right if offset >= 0 else -offset * down)
    n = max(0, min(rows + min(offset, 0), columns - max(offset, 0)))
    return view(x, (*x.shape[:-2], n), (*x._core.strides[:-2], down + right), first if n else x._core.first)


def trace(x: DeviceArray, /, *, offset: int = 0, dtype: DTypeLike | None = None) -> DeviceArray:
    """Sums of the diagonals of the last two dimensions."""
    return _sum(diagonal(x, offset=offset), axis=-1, dtype=dtype)


# ---- Norms


def vector_norm(x: DeviceArray, /, *, axis: Axes = None, keepdims: bool = False, ord: Any = 2) -> DeviceArray:
    """As numpy.linalg.norm for vectors along `axis`; without an axis, for the flattened array."""
    x = apply(np.absolute, array_of("vector_norm", x))
    x = x if x.dtype.kind == "f" else astype(x, np.float64)
    options = {"axis": axis, "keepdims": keepdims}
    if ord == math.inf:
        return _max(x, **options)
    if ord == -math.inf:
        return _min(x, **options)
    if ord == 0:
        return astype(_sum(x != 0, **options), x.dtype)
    if ord == 1:
        return _sum(x, **options)
    if ord == 2:
        return apply(np.sqrt, _sum(apply(np.square, x), **options))
    return _sum(x**ord, **options) ** (1 / ord)


def matrix_norm(x: DeviceArray, /, *, keepdims: bool = False, ord: Any = "fro") -> DeviceArray:
    """As numpy.linalg.norm for matrices in the last two dimensions."""
    if ord == "fro":
        return vector_norm(x, axis=(-2, -1), keepdims=keepdims)
    if ord in (1, -1, math.inf, -math.inf):
        along, across = (-2, -1) if abs(ord) == 1 else (-1, -2)
        sums = vector_norm(x, axis=along, keepdims=True, ord=1)
        norm = (_max if ord > 0 else _min)(sums, axis=across, keepdims=True)
    elif ord in (2, -2, "nuc"):
        values = svdvals(x)
        norm = _sum(values, axis=-1) if ord == "nuc" else (_max if ord > 0 else _min)(values, axis=-1)
        return norm[..., None, None] if keepdims else norm
    else:
        raise OptionError(f"matrix_norm: ord={ord!r}: give 'fro', 'nuc', 1, -1, 2, -2, inf or -inf")
    return norm if keepdims else norm[..., 0, 0]
