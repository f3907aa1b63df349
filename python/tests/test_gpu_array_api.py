"""Arrays on a GPU by the array API standard: names and arguments, creation, exchange, SciPy."""

import inspect
import os
import subprocess
import sys

import glint
import glint.arrays as xp
import numpy as np
import pytest
from glint import offload
from on_device import EVERY, same, session, up, values  # noqa: F401

pytestmark = pytest.mark.skipif(
    "SIMGPU_STATE" not in os.environ, reason="not on the simulated server: tests/simgpu/run"
)


# ---- The standard


def test_creation(session):
    for found, expected in [
        (xp.asarray([1.5, 2], device=session), np.asarray([1.5, 2])),
        (xp.zeros((2, 3), dtype=xp.int8, device=session), np.zeros((2, 3), "i1")),
        (xp.ones(4, device=session), np.ones(4)),
        (xp.full((2,), 7, device=session), np.full(2, 7)),
        (xp.arange(1, 10, 3, device=session), np.arange(1, 10, 3)),
        (xp.eye(3, 4, k=1, device=session), np.eye(3, 4, 1)),
        (xp.linspace(0, 1, 5, device=session), np.linspace(0, 1, 5)),
        (xp.fft.fftfreq(6, d=0.1, device=session), np.fft.fftfreq(6, 0.1)),
    ]:
        same(found, expected)
    x = xp.asarray(values((2, 2), "f4"), device=session)
    same(xp.zeros_like(x), np.zeros((2, 2), "f4"))
    same(xp.full_like(x, 3, dtype=xp.int16), np.full((2, 2), 3, "i2"))
    same(xp.asarray([1.5], device=x.device), np.asarray([1.5]))
    with offload.Session("gpu", gpu_memory="64MiB", gpu_timeout=60) as other:
        there = xp.ones(3, device=other)
        same(xp.zeros(2, device=there.device) + there[:2], np.ones(2))  # of one session
        assert x.to_device(there.device).device == there.device
        for found in (
            x + there[:2],
            xp.concat([x, there.reshape(1, 3)[:, :2]]),
            x @ there[:2],
        ):  # of two, through the host
            assert found.device == x.device
        same(x @ there[:2], x.to_numpy() @ np.ones(2))
        x[0] = there[:2]
        same(x[0], np.ones(2, "f4"))
    assert xp.asarray(x) is x and not xp.asarray(x, copy=True)._core.shares_memory(x._core)
    assert xp.from_dlpack(x) is x and x.to_device(x.device) is x and isinstance(x.to_device("cpu"), np.ndarray)


def test_memory_of_any_type_and_layout_goes_by_dlpack(up):
    for dtype in EVERY:
        a = values((4, 6), dtype)
        x = up(a)[1:, ::2]
        assert np.from_dlpack(x, device="cpu").dtype == a.dtype
        np.testing.assert_array_equal(np.from_dlpack(x, device="cpu"), a[1:, ::2])
        interface = x.__cuda_array_interface__
        assert interface["strides"] == a[1:, ::2].strides
        assert x.__dlpack__(max_version=(1, 0)) is not None


def test_every_function_of_the_standard_is_there_with_its_arguments(up):
    strict = pytest.importorskip("array_api_strict")
    with strict.ArrayAPIStrictFlags(api_version="2023.12"):
        names = [name for name in strict.__all__ if name not in ("linalg", "fft", "Device")]
        missing = []
        for prefix, theirs, ours in (
            ("", strict, xp),
            ("linalg.", strict.linalg, xp.linalg),
            ("fft.", strict.fft, xp.fft),
        ):
            for name in names if not prefix else theirs.__all__:
                if name.startswith(("set_array", "get_array", "reset_array", "ArrayAPIStrict", "_")) or name in (
                    "__array_api_version__",
                    "__version__",
                ):
                    continue
                if not hasattr(ours, name):
                    missing.append(prefix + name)
                elif inspect.isfunction(getattr(theirs, name)):
                    wanted, given = (inspect.signature(getattr(of, name)).parameters for of in (theirs, ours))
                    lost = [p for p in wanted if p not in given and wanted[p].kind is inspect.Parameter.KEYWORD_ONLY]
                    if lost and not any(p.kind is inspect.Parameter.VAR_KEYWORD for p in given.values()):
                        missing.append(f"{prefix}{name}: {lost}")
    assert sorted(missing) == []
    x = up([1.0])
    assert x.__array_namespace__(api_version="2023.12") is xp and xp.__array_api_version__ == "2023.12"
    theirs = type(strict.asarray(1))
    methods = [
        name
        for name in dir(theirs)
        if callable(getattr(theirs, name))
        and (name.startswith("__") or not name.startswith("_"))
        and name != "__buffer__"
    ]  # which is for the host
    assert "__matmul__" in methods and "to_device" in methods
    assert [name for name in methods if not hasattr(x, name)] == []


def test_where_functions_are_computed(session, up):
    assert [xp.where_computed(name) for name in ("add", "sum", "fft.fftn", "linalg.qr", "linalg.det", "sort")] == [
        "gpu"
    ] * 4 + ["host"] * 2
    with pytest.raises(glint.OptionError):
        xp.where_computed("frobnicate")
    with pytest.raises(glint.OptionError):
        xp.sort([1, 2])
    with pytest.raises(glint.OptionError):
        xp.add(1, 2)


SCIPY = """
import numpy as np
from glint import gpu, offload
from scipy import fft, integrate, signal, special, stats

a = np.random.default_rng(1).normal(size=(20, 30))
functions = [
    lambda v: stats.zscore(v, axis=1), lambda v: stats.gmean(abs(v)), lambda v: stats.skew(v, axis=0),
    lambda v: stats.sem(v, axis=0), lambda v: stats.moment(v, 3, axis=0), lambda v: special.logsumexp(v, axis=1),
    lambda v: special.softmax(v, axis=0), lambda v: integrate.trapezoid(v, axis=1), fft.fftn,
    lambda v: fft.rfft(v, axis=0), lambda v: signal.hilbert(v, axis=0),
]

def main():
    with offload.Session("gpu", gpu_memory="64MiB", gpu_timeout=60) as session:
        x = gpu.to_device(a, session=session)
        for function in functions:
            found = function(x)
            assert isinstance(found, gpu.DeviceArray) and found.device == x.device
            np.testing.assert_allclose(found.to_numpy(), function(a), rtol=1e-10, atol=1e-10)
    print("done", len(functions))

main()
"""


def test_scipy_computes_with_it():
    """By the array API, which SciPy takes when this variable is set before it is imported."""
    done = subprocess.run(
        [sys.executable, "-c", SCIPY], env={**os.environ, "SCIPY_ARRAY_API": "1"}, capture_output=True, text=True
    )
    assert done.stdout.startswith("done 11"), done.stdout + done.stderr
