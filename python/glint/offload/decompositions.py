"""Linear systems and decompositions of matrices, each on the CPU or the GPU.

Operands and results are as in operations.py.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from typing import Any

from .. import _core
from ..errors import OptionError
from .full_gpu import operation
from .operands import Result, core_of, real
from .sessions import Session, session_or_default


@operation
def svd(
    a: Any,
    compute_uv: bool = True,
    *,
    full_matrices: bool = False,
    on: str | None = None,
    session: Session | None = None,
) -> Any:
    """The singular value decomposition of a (m, n), as numpy.linalg.svd. Returns the singular values s (k,) in
    descending order, k = min(m, n); or with vectors (u, s, vt): u (m, k) and vt (k, n), with `full_matrices` u (m, m)
    and vt (n, n).

    Raises OptionError for a NaN or infinity.
    """
    session, a, dtype = _matrix("svd", a, session)
    m, n = a.shape
    k = min(m, n)
    shapes = [(k,)] if not compute_uv else [(m, m), (k,), (n, n)] if full_matrices else [(m, k), (k,), (k, n)]
    results = [Result(session, dtype, shape, None, on, a) for shape in shapes]
    u, s, vt = (r.core() for r in results) if compute_uv else (None, results[0].core(), None)
    _core.svd(session._core, dtype.name, core_of(a), s, u, vt)
    return tuple(r.value for r in results) if compute_uv else results[0].value


@operation
def solve(a: Any, b: Any, *, on: str | None = None, session: Session | None = None) -> Any:
    """Solves a x = b for a square matrix a (n, n), and b (n,) or (n, k), as numpy.linalg.solve.

    Raises OptionError for a singular matrix.

    >>> glint.offload.solve([[2.0, 0.0], [0.0, 4.0]], [2.0, 2.0])
    array([1. , 0.5])
    """
    session = session_or_default(session)
    (a, b), dtype = real(session, "solve", a, b)
    if b.ndim not in (1, 2):
        raise OptionError(f"solve: b has the shape {b.shape}: give (n,) or (n, k)")
    columns = b[:, None] if b.ndim == 1 else b
    result = Result(session, dtype, columns.shape, None, on, a, b)
    _core.solve(session._core, dtype.name, core_of(a), core_of(columns), result.core())
    return result.value[:, 0] if b.ndim == 1 else result.value


@operation
def eigh(a: Any, compute_v: bool = True, *, on: str | None = None, session: Session | None = None) -> Any:
    """Eigenvalues w (n,) in ascending order, and eigenvectors as columns of v (n, n), of a symmetric matrix, as
    numpy.linalg.eigh. Reads only the lower triangle. With `compute_v=False`, returns only w.

    Raises OptionError for a NaN or infinity.
    """
    session, a, dtype = _matrix("eigh", a, session)
    w = Result(session, dtype, a.shape[:1], None, on, a)
    v = Result(session, dtype, a.shape, None, on, a) if compute_v else None
    _core.eigh(session._core, dtype.name, core_of(a), w.core(), v.core() if v else None)
    return (w.value, v.value) if v else w.value


@operation
def qr(a: Any, *, on: str | None = None, session: Session | None = None) -> Any:
    """The QR decomposition of a (m, n), as numpy.linalg.qr: orthonormal columns q (m, k), and the upper triangle r (k,
    n), with k = min(m, n).
    """
    session, a, dtype = _matrix("qr", a, session)
    m, n = a.shape
    q, r = (Result(session, dtype, shape, None, on, a) for shape in ((m, min(m, n)), (min(m, n), n)))
    _core.qr(session._core, dtype.name, core_of(a), q.core(), r.core())
    return q.value, r.value


def _matrix(what, a, session):
    session = session_or_default(session)
    (a,), dtype = real(session, what, a)
    if a.ndim != 2:
        raise OptionError(f"{what}: a has the shape {a.shape}: give a matrix (m, n)")
    return session, a, dtype
