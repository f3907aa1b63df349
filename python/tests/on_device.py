"""What the tests of arrays on a GPU share: a session, values, and the comparison with NumPy.

Bounds: what NumPy computes by the same rounded steps must be equal; sums of n terms differ by less than n eps sum|x|;
functions such as exp() by some units in the last place.
"""

import numpy as np
import pytest
from glint import gpu, offload

RNG = np.random.default_rng(5)
INTEGERS = ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8")
FLOATS = ("f2", "f4", "f8")
COMPLEX = ("c8", "c16")
EVERY = ("?", *INTEGERS, *FLOATS, *COMPLEX)
ULPS = 16  # of functions, on a CPU and on a GPU


@pytest.fixture(scope="module")
def session():
    with offload.Session("gpu", gpu_memory="256MiB", gpu_timeout=60) as session:
        yield session


@pytest.fixture
def up(session):
    return lambda a: gpu.to_device(np.asarray(a), session=session)


def values(shape, dtype):
    dtype = np.dtype(dtype)
    if dtype.kind == "c":
        return (RNG.normal(size=shape) + 1j * RNG.normal(size=shape)).astype(dtype)
    if dtype.kind == "f":
        return RNG.normal(size=shape).astype(dtype) * 3
    if dtype.kind == "b":
        return RNG.integers(0, 2, shape).astype(bool)
    return RNG.integers(0 if dtype.kind == "u" else -100, 100, shape).astype(dtype)


def same(found, expected, ulps=0):
    """Checks for equal shape, type and values, up to `ulps` units in the last place of the largest value."""
    assert isinstance(found, gpu.DeviceArray)
    expected = np.asarray(expected)
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
    eps = np.finfo(expected.dtype).eps if expected.dtype.kind in "fc" else 0
    with np.errstate(all="ignore"):
        sizes = np.abs(expected)
        largest = np.max(sizes[np.isfinite(sizes)], initial=0) if eps else 0
    np.testing.assert_allclose(
        found.to_numpy(), expected, rtol=ulps * float(eps), atol=ulps * float(eps) * float(largest)
    )
