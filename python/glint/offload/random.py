"""Random arrays on the CPU or the GPU: the same numbers on both, from any place in the sequence of a seed.

>>> glint.offload.random.uniform(3, seed=7).round(4)
array([0.8721, 0.2954, 0.4201])
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _core
from ..errors import OptionError
from .full_gpu import operation
from .operands import Result
from .sessions import Session, session_or_default

if TYPE_CHECKING:
    from .._types import DTypeLike


@operation
def uniform(
    shape: Any,
    *,
    seed: int,
    dtype: DTypeLike = "float64",
    first: int = 0,
    out: Any = None,
    on: str | None = None,
    session: Session | None = None,
) -> Any:
    """Numbers uniform in [0, 1), those of `numpy.random.Generator(numpy.random.Philox(key=seed)).random(shape, dtype)`,
    bit for bit.

    shape: of the result; a number n is (n,).
    seed: 0 to 2^64 - 1.
    dtype: float32 or float64.
    first: the number in the seed's sequence of the first element, so that parts of it can be made apart.
    out: receives the result; else `on` is its place, "host" (the default) or "device".
    """
    return _random(False, shape, seed, dtype, first, out, on, session)


@operation
def normal(
    shape: Any,
    *,
    seed: int,
    dtype: DTypeLike = "float64",
    first: int = 0,
    out: Any = None,
    on: str | None = None,
    session: Session | None = None,
) -> Any:
    """Normal numbers of mean 0 and variance 1, each two made of two of `uniform()` (Box and Muller): not NumPy's, and
    the same bits on every backend. Arguments as there. float32: of 24 random bits each, so at most 5.8.
    """
    return _random(True, shape, seed, dtype, first, out, on, session)


def _random(normals, shape, seed, dtype, first, out, on, session):
    session = session_or_default(session)
    dtype, seed, first = np.dtype(dtype), operator.index(seed), operator.index(first)
    shape = (
        (operator.index(shape),) if isinstance(shape, (int, np.integer)) else tuple(operator.index(n) for n in shape)
    )
    if dtype.name not in ("float32", "float64"):
        raise OptionError(f"random numbers of {dtype} are not made here: give float32 or float64")
    if not 0 <= seed < 2**64:
        raise OptionError(f"seed={seed}: give 0 to 2^64 - 1")
    if not 0 <= first < 2**63:
        raise OptionError(f"first={first}: give 0 to 2^63 - 1")
    if any(n < 0 for n in shape):
        raise OptionError(f"the shape {shape} has a negative extent")
    with Result(session, dtype, shape, out, on) as result:
        _core.random(session._core, dtype.name, normals, seed, first, result.core())
    return result.value
