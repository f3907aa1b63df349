"""Random arrays compared with NumPy's, and user-defined kernels: on any machine, and more on a simulated server."""

import os
import subprocess
import sys

import glint
import numpy as np
import pytest
from glint import gpu, offload

simulated_server = pytest.mark.skipif(
    "SIMGPU_STATE" not in os.environ, reason="not on the simulated server: tests/simgpu/run"
)
AXPY = """extern "C" __global__ void axpy(float* y, const float* x, float a, unsigned n) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] += a * x[i];
}"""


def numpys(n, seed, dtype):
    return np.random.Generator(np.random.Philox(key=seed)).random(n, dtype=dtype)


@pytest.fixture(params=["cpu", pytest.param("gpu", marks=simulated_server)])
def session(request):
    with offload.Session(request.param, gpu_memory="64MiB", gpu_timeout=60) as session:
        yield session


# ---- Random arrays


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("seed", [0, 42, 2**64 - 1])
def test_uniform_numbers_are_numpys(session, dtype, seed):
    expected = numpys(100_003, seed, dtype)
    np.testing.assert_array_equal(offload.random.uniform(100_003, seed=seed, dtype=dtype, session=session), expected)
    for first, n in [(1, 5), (7, 1), (1021, 3000)]:  # from anywhere in a block of the sequence
        part = offload.random.uniform(n, seed=seed, dtype=dtype, first=first, session=session)
        np.testing.assert_array_equal(part, expected[first : first + n])
    with_gaps = np.zeros((50, 40), dtype)[::2, 1::3]
    assert offload.random.uniform(with_gaps.shape, seed=seed, dtype=dtype, out=with_gaps, session=session) is with_gaps
    np.testing.assert_array_equal(with_gaps.ravel(), expected[: with_gaps.size])
    assert offload.random.uniform((0, 3), seed=seed, session=session).shape == (0, 3)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_normal_numbers_are_box_and_mullers(session, dtype):
    n = 200_000
    u, v = np.random.Generator(np.random.Philox(key=3)).random(n, dtype=dtype).astype("f8").reshape(-1, 2).T
    radius = np.sqrt(-2 * np.log1p(-u))
    expected = np.stack([radius * np.cos(2 * np.pi * v), radius * np.sin(2 * np.pi * v)], axis=1).ravel()
    found = offload.random.normal(n, seed=3, dtype=dtype, session=session)
    # Rounded once to dtype; before that, both sides are within some ulp of a double, of the radius where the angle's
    # cosine is small.
    np.testing.assert_allclose(found, expected, rtol=np.finfo(dtype).eps, atol=50 * np.finfo("f8").eps)
    # Four standard errors of the mean, 1 / sqrt(n), and of the variance, sqrt(2 / n).
    assert abs(found.mean(dtype="f8")) < 4 / np.sqrt(n) and abs(found.var(dtype="f8") - 1) < 4 * np.sqrt(2 / n)


def test_random_arrays_of_nonsense_are_refused():
    for wrong in [
        dict(seed=-1),
        dict(seed=2**64),
        dict(seed=1, first=-1),
        dict(seed=1, dtype="i4"),
        dict(seed=1, shape=(-1,)),
        dict(seed=1, out=np.zeros(3, "f4")),
    ]:
        with pytest.raises(glint.OptionError):
            offload.random.uniform(**{"shape": 3, **wrong})
    with pytest.raises(TypeError):
        offload.random.uniform(3, seed=1.5)


@simulated_server
@pytest.mark.parametrize("kind", ["uniform", "normal"])
def test_random_arrays_on_the_device_have_the_cpus_bits(kind):
    make = getattr(offload.random, kind)
    with offload.Session("gpu", gpu_memory="64MiB", gpu_timeout=60) as session, offload.Session("cpu") as cpu:
        for dtype in ("f4", "f8"):
            there = make((300, 11), seed=5, first=3, dtype=dtype, on="device", session=session)
            assert isinstance(there, gpu.DeviceArray)
            np.testing.assert_array_equal(there.to_numpy(), make((300, 11), seed=5, first=3, dtype=dtype, session=cpu))
        large = make(20 << 20, seed=1, dtype="f4", session=session)  # 80 MiB: in pieces
        np.testing.assert_array_equal(large, make(20 << 20, seed=1, dtype="f4", session=cpu))
        assert session.statistics()["total"]["cpu"]["calls"] == 0


# ---- Kernels


@simulated_server
def test_a_kernel_runs_in_the_order_of_other_operations():
    axpy = gpu.Kernel(AXPY, "axpy")
    a = np.arange(1000, dtype="f4")
    with offload.Session("gpu", gpu_memory="64MiB", gpu_timeout=60) as session:
        x, y = gpu.to_device(a, session=session), gpu.to_device(np.ones_like(a), session=session)
        for scale, n in [(2.0, 1000), (np.float32(2), np.uint32(1000))]:
            axpy(4, 256, y, x, scale, n)
        doubled = offload.map(lambda v: v * 2, y, session=session)
        np.testing.assert_array_equal(doubled.to_numpy(), 2 * (1 + 4 * a))
        axpy(4, 256, y, x, 1.0, 10)
        np.testing.assert_array_equal(y.to_numpy(), 1 + 4 * a + np.where(a < 10, a, 0))
        for wrong, why in [
            ((y, x, 2.0), "4 parameters, and 3"),
            ((y, x, np.float64(2), 5), "parameter 2 .* 4 bytes, .* 8"),
            ((y, x, 2.0, 2**32), "do not hold"),
            ((y, x, "2", 5), "is a str"),
            ((y, x, 2.0, [5]), "is a list"),
            ((y, 1.5, 2.0, 5, 7), "5 were|5 arguments"),
        ]:
            with pytest.raises(glint.OptionError, match=why):
                axpy(4, 256, *wrong)
        for blocks, threads in [(0, 256), (4, 0), (4, 1025)]:
            with pytest.raises(glint.OptionError, match="give 1 or more"):
                axpy(blocks, threads, y, x, 2.0, 5)


@simulated_server
def test_a_kernel_that_does_not_compile_says_why():
    with offload.Session("gpu", gpu_memory="64MiB", gpu_timeout=60) as session:
        with pytest.raises(
            glint.OptionError, match="axpy does not compile for GPUs of compute capability 9.0:\n.*error: expected"
        ):
            gpu.Kernel(AXPY[:-1], "axpy")(1, 1, session=session)
        with pytest.raises(glint.OptionError, match="refuses an option.*\nunrecognized option fast"):
            gpu.Kernel(AXPY, "axpy", ["fast"])(1, 1, session=session)
        with pytest.raises(glint.OptionError, match='declare it as extern "C"'):
            gpu.Kernel(AXPY, "saxpy")(1, 1, session=session)


def test_machine_code_or_how_to_get_nvrtc():
    """Uses NVIDIA's NVRTC if it is installed, or that of the simulated server."""
    try:
        code = gpu.Kernel(AXPY, "axpy").compile("9.0")
    except gpu.LibraryMissing as missing:
        assert "pip install nvidia-cuda-nvrtc" in str(missing)
        return
    assert code.startswith(b"\x7fELF") or code.startswith(b"SIMGPU")
    with pytest.raises(glint.OptionError, match="error"):
        gpu.Kernel(AXPY[:-1], "axpy").compile(90)


def test_without_nvrtc_the_error_says_how_to_get_it(tmp_path):
    (tmp_path / "libnvrtc.so.13").write_text("no library")
    program = (
        "from glint import gpu\ntry:\n    gpu.Kernel('', 'k').compile(90)\n"
        "except gpu.LibraryMissing as error:\n    print(error)\n"
    )
    environment = {key: value for key, value in os.environ.items() if key not in ("CUDA_HOME", "CUDA_PATH")}
    result = subprocess.run(
        [sys.executable, "-c", program],
        text=True,
        capture_output=True,
        env=environment | {"LD_LIBRARY_PATH": str(tmp_path)},
    )
    if not result.stdout and not result.stderr:
        pytest.skip("NVRTC is in the default folder of a toolkit on this machine")
    assert "pip install nvidia-cuda-nvrtc" in result.stdout, result.stderr
