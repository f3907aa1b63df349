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
    """Uniform numbers in [0, 1), bit for bit those of
    `numpy.random.Generator(numpy.random.Philox(key=seed)).random(shape, dtype)`.

    shape: of the result; a number n is (n,).
    seed: 0 to 2^64 - 1.
    dtype: float32 or float64.
    first: position of the first element in the seed's sequence, to create parts of the sequence separately.
    out: receives the result. on: without `out`, the location of the result, "host" (default) or "device".
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
    """Normal numbers of mean 0 and variance 1. Each pair is computed from two uniform numbers (Box and Muller). The
    numbers differ from NumPy's, but are bit for bit the same on every backend. Arguments are as in `uniform()`. A
    float32 is computed from 24 random bits, so its absolute value is at most 5.8.
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
