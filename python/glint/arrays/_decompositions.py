"""Decompositions of matrices and linear systems. cuSOLVER computes the common ones on the GPU for floats, one matrix of
a stack after the other. NumPy computes all other functions, and complex matrices, on the host."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import collections
import functools
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _core
from ..errors import OptionError
from ..offload.device_arrays import broadcast, contiguous, empty_there, unified_with
from ._compute import handle_among, there
from ._dtypes import astype, broadcast_shapes, result_type
from ._host import array_of, else_on_host, on_host, through_host
from ._manipulation import expand_dims

if TYPE_CHECKING:
    from ..offload.device_arrays import DeviceArray

EighResult = collections.namedtuple("EighResult", "eigenvalues eigenvectors")
QRResult = collections.namedtuple("QRResult", "Q R")
SlogdetResult = collections.namedtuple("SlogdetResult", "sign logabsdet")
SVDResult = collections.namedtuple("SVDResult", "U S Vh")


def _solved(x1, x2):
    return np.linalg.solve(x1, x2[:, None])[..., 0] if x2.ndim == 1 else np.linalg.solve(x1, x2)


def _host_svd(x, *, full_matrices=True):
    return SVDResult(*np.linalg.svd(x, full_matrices))


def _host_svdvals(x):
    return np.linalg.svd(x, compute_uv=False)


def _host_eigh(x):
    return EighResult(*np.linalg.eigh(x))


def _host_qr(x, *, mode="reduced"):
    return QRResult(*np.linalg.qr(x, mode))


def _each(function, *arrays):
    """Calls a C++ function for each matrix of the stacks; None stays None."""
    first, handle = arrays[0], handle_among(arrays)
    for index in np.ndindex(first.shape[:-2]):
        function(handle, first.dtype.name, *(None if x is None else x[index]._core for x in arrays))


def _floats(name, x, square=False):
    """Returns matrices as float32 or float64, without gaps; None if they must be computed on the host."""
    if array_of(name, x).ndim < 2 or (square and x.shape[-1] != x.shape[-2]):
        raise OptionError(f"{name}: an array of the shape {x.shape} is no {'square ' if square else ''}matrix")
    if x.dtype.kind in "bui":
        x = astype(x, np.float64)
    return contiguous(x) if x.dtype.name in ("float32", "float64") else None


@else_on_host(_host_svd)
def svd(x: DeviceArray, /, *, full_matrices: bool = True) -> Any:
    """Singular value decompositions u diag(s) vh of matrices, or of stacks of them.

    Complex matrices are computed on the host.
    """
    a = _floats("svd", x)
    if a is None or 0 in a.shape[-2:]:
        return SVDResult(*through_host(np.linalg.svd, x, full_matrices))
    *stack, m, n = a.shape
    k = min(m, n)
    rows, columns = (m, n) if full_matrices else (k, k)
    u, s, vh = (
        empty_there(handle_among([a]), shape, a.dtype, unified_with(a))
        for shape in ((*stack, m, rows), (*stack, k), (*stack, columns, n))
    )
    _each(_core.svd, a, s, u, vh)
    return SVDResult(u, s, vh)


@else_on_host(_host_svdvals)
def svdvals(x: DeviceArray, /) -> DeviceArray:
    """Singular values in descending order. Complex matrices are computed on the host."""
    a = _floats("svdvals", x)
    if a is None:
        return through_host(functools.partial(np.linalg.svd, compute_uv=False), x)
    s = empty_there(handle_among([a]), (*a.shape[:-2], min(a.shape[-2:])), a.dtype, unified_with(a))
    _each(_core.svd, a, s, None, None)
    return s


@else_on_host(_host_eigh)
def eigh(x: DeviceArray, /) -> Any:
    """Eigenvalues in ascending order, and eigenvectors, of symmetric or Hermitian matrices. Reads only the lower
    triangle. Complex matrices are computed on the host."""
    a = _floats("eigh", x, square=True)
    if a is None:
        return EighResult(*through_host(np.linalg.eigh, x))
    w, v = (empty_there(handle_among([a]), shape, a.dtype, unified_with(a)) for shape in (a.shape[:-1], a.shape))
    _each(_core.eigh, a, w, v)
    return EighResult(w, v)


@else_on_host(np.linalg.eigvalsh)
def eigvalsh(x: DeviceArray, /) -> DeviceArray:
    """Eigenvalues of symmetric or Hermitian matrices, in ascending order. Complex matrices are computed on the host."""
    a = _floats("eigvalsh", x, square=True)
    if a is None:
        return through_host(np.linalg.eigvalsh, x)
    w = empty_there(handle_among([a]), a.shape[:-1], a.dtype, unified_with(a))
    _each(_core.eigh, a, w, None)
    return w


@else_on_host(_host_qr)
def qr(x: DeviceArray, /, *, mode: str = "reduced") -> Any:
    """QR decompositions. Mode "complete" and complex matrices are computed on the host."""
    if mode not in ("reduced", "complete"):
        raise OptionError(f"qr: mode={mode!r}: give 'reduced' or 'complete'")
    a = _floats("qr", x)
    if a is None or (mode == "complete" and a.shape[-2] > a.shape[-1]):
        return QRResult(*through_host(np.linalg.qr, x, mode))
    *stack, m, n = a.shape
    q, r = (
        empty_there(handle_among([a]), shape, a.dtype, unified_with(a))
        for shape in ((*stack, m, min(m, n)), (*stack, min(m, n), n))
    )
    _each(_core.qr, a, q, r)
    return QRResult(q, r)


@else_on_host(_solved)
def solve(x1: DeviceArray, x2: DeviceArray, /) -> DeviceArray:
    """Solves x1 @ x = x2, where x2 is a vector or a matrix of columns. Complex numbers are computed on the host.

    Raises OptionError for a singular matrix.
    """
    handle = handle_among((x1, x2))
    x1, x2 = there(x1, handle), there(x2, handle)
    dtype = result_type(x1, x2, np.float32) if "f" in x1.dtype.kind + x2.dtype.kind else result_type(x1, x2, np.float64)
    if dtype.kind == "c":
        return through_host(_solved, x1, x2)
    a, b = (
        _floats("solve", astype(x1, dtype), square=True),
        astype(expand_dims(x2, axis=1) if x2.ndim == 1 else x2, dtype),
    )
    if b.ndim < 2 or b.shape[-2] != a.shape[-1]:
        raise OptionError(f"solve: x1 has the shape {x1.shape} and x2 {x2.shape}: they must have as many rows")
    stack = broadcast_shapes(a.shape[:-2], b.shape[:-2])
    a, b = (contiguous(broadcast(x, (*stack, *x.shape[-2:]))) for x in (a, b))
    x = empty_there(handle, b.shape, dtype, unified_with(a, b))
    _each(_core.solve, a, b, x)
    return x[..., 0] if x2.ndim == 1 else x


@on_host
def cholesky(x: DeviceArray, /, *, upper: bool = False) -> DeviceArray:
    """The Cholesky factor. Computed on the host."""
    factor = np.linalg.cholesky(x)
    return np.conj(np.swapaxes(factor, -1, -2)) if upper else factor


@on_host
def det(x: DeviceArray, /) -> DeviceArray:
    """Determinants. Computed on the host."""
    return np.linalg.det(x)


@on_host
def slogdet(x: DeviceArray, /) -> Any:
    """Sign and logarithm of determinants. Computed on the host."""
    return SlogdetResult(*np.linalg.slogdet(x))


@on_host
def inv(x: DeviceArray, /) -> DeviceArray:
    """Inverse matrices. Computed on the host."""
    return np.linalg.inv(x)


@on_host
def pinv(x: DeviceArray, /, *, rtol: Any = None) -> DeviceArray:
    """Pseudo-inverse matrices. Computed on the host."""
    return np.linalg.pinv(x, max(x.shape[-2:]) * np.finfo(x.dtype).eps if rtol is None else rtol)


@on_host
def matrix_rank(x: DeviceArray, /, *, rtol: Any = None) -> DeviceArray:
    """Ranks of matrices. Computed on the host."""
    s = np.linalg.svd(x, compute_uv=False)
    rtol = max(x.shape[-2:]) * np.finfo(s.dtype).eps if rtol is None else np.asarray(rtol)[..., None]
    return np.count_nonzero(s > s.max(axis=-1, keepdims=True, initial=0) * rtol, axis=-1)
