"""What the texts that glint replaces promise, statement by statement and in their order: GaussMLE.jl's GPU support and epochly.gpu. Arrays, `accelerate()`, `oom_safe` and IPC are in test_runtime_promises.py. The tests with `taken`, `session` or
`crowded` need a GPU, which is simulated (tests/simgpu/run)."""
import getpass
import json
import os
import subprocess
import sys
import warnings

import glint
import numpy as np
import pytest
from conftest import same_table
from glint import gpu, offload

simulated_server = pytest.mark.skipif("SIMGPU_STATE" not in os.environ or not glint.has_gpu_kernels(),
                                      reason="not on the simulated server: tests/simgpu/run")
GPU = dict(backend="gpu", gpu_memory="64MiB", gpu_timeout=60)
MIB = 2**20


def run(code, **variables):
    """Standard output and standard error of another process."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, env=os.environ | variables)
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


@pytest.fixture
def taken(psf, camera, counts):
    """Both GPUs are: by fitters, which keep their leases."""
    fitters = [glint.Fitter(), glint.Fitter()]
    for fitter in fitters:
        fitter.fit(counts[:10], psf, camera, backend="gpu", gpu_memory="7000MiB", gpu_timeout=60)
    yield
    for fitter in fitters:
        fitter.close()


# ---- GaussMLE.jl: Quick start, backend selection


def test_gaussmle_a_fitter_is_a_reusable_configuration(psf, camera, counts):
    with glint.Fitter(psf, camera, backend="cpu", batch_size=100, threads=2) as fitter:
        fits = fitter.fit(counts)
        same_table(fits, glint.fit(counts, psf, camera, backend="cpu"))
        assert (fits.info.batches, fits.info.batch_size) == (5, 100)
        assert fitter.fit(counts, batch_size=250).info.batches == 2  # for one call
        assert fitter.fit(counts).info.batches == 5
        assert "batch_size=100" in repr(fitter)


@pytest.mark.parametrize("options, error", [
    (dict(batchsize=5000), TypeError), (dict(corners=None), TypeError), (dict(backend="tpu"), glint.OptionError),
    (dict(batch_size=0), glint.OptionError), (dict(auto_timeout=-1), glint.OptionError)])
def test_gaussmle_a_configuration_is_checked_when_it_is_made(options, error):
    with pytest.raises(error, match=next(iter(options))):
        glint.Fitter(**options)


@simulated_server
def test_gaussmle_gpu_is_required_and_batches_have_the_size_asked_for(psf, camera, counts):
    with glint.Fitter(psf, camera, batch_size=100, **GPU) as fitter:
        info = fitter.fit(counts).info
    assert (info.backend, info.n_batches, info.batch_size) == ("gpu", 5, 100)


@simulated_server
def test_gaussmle_auto_warns_after_a_timeout_and_uses_the_cpu(psf, camera, counts, taken):
    options = dict(gpu_memory="4GiB", auto_timeout=0.3, always_gpu=True)
    with pytest.warns(RuntimeWarning) as warned:
        fits = glint.fit(counts, psf, camera, backend="auto", **options)
    assert fits.info.timed_out and not fits.info.gpu_failed and fits.info.backend == "cpu"
    same_table(fits, glint.fit(counts, psf, camera, backend="cpu"))
    (words,) = [str(one.message) for one in warned]
    assert "no GPU had room within 0." in words and "auto_timeout=" in words
    for device in gpu.devices():  # of all GPUs, who has them
        assert f"{device.uuid}: leases on it: process {os.getpid()} of user {os.getuid()} ({getpass.getuser()})" in words
    with pytest.warns(RuntimeWarning), glint.Fitter(psf, camera, **options) as fitter:
        fitter.fit(counts)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            fitter.fit(counts)  # the same reason is reported once


@simulated_server
def test_gaussmle_auto_warns_of_a_timeout_for_a_movie(psf, camera, simulated, taken):
    with pytest.warns(RuntimeWarning, match="no GPU had room within"):
        locs = glint.localize(simulated.movie, psf, camera, gpu_memory="4GiB", auto_timeout=0.3, always_gpu=True)
    assert locs.info.fit.timed_out


def test_gaussmle_the_warning_names_processes_without_a_lease():
    if "SIMGPU_STATE" not in os.environ:
        pytest.skip("not on the simulated server: tests/simgpu/run")
    folder = os.environ["LD_LIBRARY_PATH"].split(":")[0]
    code = """
import glint
try:
    glint.gpu.lease("4GiB", timeout=0.2)
except glint.gpu.LeaseTimeout as error:
    print(error)
"""
    done = subprocess.run([os.path.join(os.path.dirname(__file__), "../../tests/simgpu/run"), folder, sys.executable, "-c", code],
                          capture_output=True, text=True, timeout=120,
                          env=os.environ | {"SIMGPU_DEVICES": "2x8GiB", "SIMGPU_STRANGERS": f"0:7GiB:95:{os.getpid()},1:7GiB:95:4000000"})
    assert done.returncode == 0, done.stderr
    assert f"processes without a lease: process {os.getpid()} (python" in done.stdout, done.stdout
    assert f"of user {os.getuid()} ({getpass.getuser()}) (7.0 GiB)" in done.stdout
    assert "process 4000000 (7.0 GiB)" in done.stdout  # of another GPU; it has ended, or is hidden


# ---- GaussMLE.jl: Batch processing


@pytest.mark.parametrize("size, batches", [(100, 5), (5000, 1), (499, 2), (1, 500)])
def test_gaussmle_the_cpu_honours_the_batch_size(psf, camera, counts, size, batches):
    fits = glint.fit(counts, psf, camera, backend="cpu", batch_size=size)
    assert (fits.info.batches, fits.info.batch_size) == (batches, min(size, 500))
    same_table(fits, glint.fit(counts, psf, camera, backend="cpu"))


def test_gaussmle_a_large_batch_is_divided_among_threads(psf, camera):
    rois, _ = glint.simulate_rois(10_000, psf, camera, size=7, seed=3)
    fits = glint.fit(rois, psf, camera, backend="cpu", batch_size=10_000, threads=2)
    assert fits.info.batches == 1 and fits.info.threads == 2
    same_table(fits, glint.fit(rois, psf, camera, backend="cpu", threads=1, batch_size=777))


def test_gaussmle_info_has_the_names_of_the_text(psf, camera, counts):
    info = glint.fit(counts, psf, camera, backend="cpu", batch_size=200).info
    assert f"Processed in {info.n_batches} batches of {info.batch_size}" == "Processed in 3 batches of 200"


def test_gaussmle_the_summary_shows_batches(psf, camera, counts, command, tmp_path):
    fits = glint.fit(counts, psf, camera, backend="cpu", batch_size=200)
    assert "in 3 batches" in repr(fits)
    np.save(tmp_path / "rois.npy", counts)
    said = command("fit", tmp_path / "rois.npy", "-o", tmp_path / "locs.csv", "--sigma", "130nm", "--pixel-size", "100nm", "--offset", 100,
                   "--gain", 0.5, "--backend", "cpu", "--batch-size", 200)
    assert "3 of at most 200 fits" in said


# ---- GaussMLE.jl and CUDA.jl: a GPU if one can be had


def test_prefer_gpu_is_for_every_call_and_command(psf, camera, counts, command, tmp_path, monkeypatch):
    """":auto" of GaussMLE.jl: the GPU if there is one, else the CPU, without an error."""
    monkeypatch.setenv("GLINT_BACKEND", "prefer-gpu")
    on_gpu = gpu.is_available() and glint.has_gpu_kernels()
    expected = "gpu" if on_gpu else "cpu"
    fits = glint.fit(counts, psf, camera, gpu_memory="64MiB")
    assert fits.info.backend == expected
    assert glint.fit(counts, psf, camera, backend="cpu").info.backend == "cpu"
    with offload.Session(gpu_memory="64MiB") as session:
        assert session.backend == "prefer-gpu"
        decision = offload.decide("matmul", 10, session=session)
        assert decision.choice == ("gpu" if gpu.is_available() else "cpu") and decision.basis == "forced"
    assert offload.environment()["GLINT_BACKEND"].value == "prefer-gpu"
    assert offload.best_backend().name == ("cuda" if gpu.is_available() else "cpu")
    np.save(tmp_path / "rois.npy", counts)
    flags = ("--sigma", "130nm", "--pixel-size", "100nm", "--offset", 100, "--gain", 0.5, "--gpu-memory", "64MiB", "--json")
    assert json.loads(command("fit", tmp_path / "rois.npy", "-o", tmp_path / "a.csv", *flags))["backend"] == expected
    monkeypatch.delenv("GLINT_BACKEND")
    assert json.loads(command("fit", tmp_path / "rois.npy", "-o", tmp_path / "b.csv", "--backend", "prefer-gpu", *flags))["backend"] == expected
    assert glint.fit(counts, psf, camera, backend="prefer-gpu", gpu_memory="64MiB").info.backend == expected


@simulated_server
def test_prefer_gpu_falls_back_with_a_warning_when_no_gpu_is_free(taken):
    with pytest.warns(RuntimeWarning, match="no GPU was free in time.*no GPU had room within 0"):
        with offload.Session("prefer-gpu", gpu_memory="4GiB", gpu_timeout=0.3) as session:
            np.testing.assert_allclose(offload.matmul(np.eye(3), np.eye(3), session=session), np.eye(3))
            assert session.statistics()["fallbacks"] == 1


# ---- epochly.gpu: detection and diagnostics


def test_epochly_devices_have_the_names_of_the_text():
    for device in gpu.devices():
        assert (device.device_name, device.memory_total) == (device.name, device.total_bytes) and device.compute_capability


def test_epochly_the_report_is_one_of_the_library(command, monkeypatch):
    """Python's, the command's and C++'s (diagnose_test.cpp) are the same."""
    report = gpu.diagnose()
    told = subprocess_json(command)
    assert told["overall"] == report.overall and {f["check"] for f in told["findings"]} == {f.check for f in report.findings}
    ours = json.loads(report.to_json())
    assert list(ours) == ["health", "overall", "problems", "warnings", "findings"]
    assert [list(f) for f in ours["findings"]] == [["health", "check", "gpu", "found", "remedy"]] * len(report.findings)
    assert str(report).endswith(f"overall: {report.overall}") and len(report.text(verbose=True)) >= len(str(report))
    assert gpu.installation_guide()


def subprocess_json(command):
    try:
        return json.loads(command("doctor", "--json"))
    except AssertionError:
        pytest.skip("glint doctor finds a problem on this machine")


# ---- epochly.gpu: statistics


@simulated_server
def test_epochly_fallbacks_count_falls_and_not_attempts():
    with offload.Session("gpu", gpu_memory="64MiB", gpu_timeout=60) as session:
        calls = []

        @offload.oom_safe(on_cpu=lambda: "cpu", session=session)
        def twice():
            calls.append(1)
            raise gpu.OutOfMemory("the GPU is full")

        with pytest.warns(RuntimeWarning):
            assert twice() == "cpu" and len(calls) == 2
        assert (session.statistics()["fallbacks"], session.statistics()["failures"]) == (1, 2)

        @offload.oom_safe(on_cpu=lambda: "cpu", session=session)
        def second_time():
            calls.append(1)
            if len(calls) % 2:
                raise gpu.OutOfMemory("the GPU is full")
            return "gpu"

        assert second_time() == "gpu"
        statistics = session.statistics()
        assert (statistics["fallbacks"], statistics["failures"], len(statistics["last_fallbacks"])) == (1, 3, 1)


# ---- epochly.gpu: GPUOffloadOptimizer(min_array_size)


def is_too_small(decision):
    return "smaller than the least size" in decision.reason


@simulated_server
@pytest.mark.parametrize("operation", ["matmul", "svd", "solve", "qr", "eigh", "fft"])
def test_epochly_min_array_size_is_one_of_data(operation):
    with offload.Session(gpu_memory="512MiB", gpu_timeout=60, least_bytes="50MiB") as session:
        session.open()  # so that the least size alone is in the way
        below = offload.explain(operation, bytes=50 * MIB - 1, session=session)
        assert below.choice == "cpu" and is_too_small(below)
        for bytes in (50 * MIB, 100 * MIB):
            decision = offload.explain(operation, bytes=bytes, session=session)
            assert not is_too_small(decision) and decision.basis != "forced", decision.reason
            assert offload.should_offload(bytes, operation, session=session) == (decision.choice == "gpu")
            if decision.basis == "rules":
                assert decision.choice == "gpu"


@simulated_server
def test_epochly_min_array_size_counts_the_operands_of_a_call():
    with offload.Session(gpu_memory="512MiB", gpu_timeout=60, least_bytes="50MiB") as session:
        session.open()
        for rows, too_small in ((2559, True), (2560, False)):  # two matrices of 2560 x 2560 float32 are 50 MiB
            assert is_too_small(offload.decide("matmul", (rows, 2560), (2560, 2560), session=session)) == too_small, rows
        for columns, too_small in ((3620, True), (3621, False)):
            assert is_too_small(offload.decide("svd", (3620, columns), session=session)) == too_small, columns
        # 60 MB of operands and result, 40 of operands
        assert is_too_small(offload.decide("matmul", (2236, 2236), (2236, 2236), session=session))


# ---- epochly.gpu: user-friendly errors


class NVMLError(Exception):
    pass


DRIVER = ("--gpus all", "WSL2", "doctor --guide")
FIRST_LINES = [
    # import
    (ModuleNotFoundError("No module named 'cupy'", name="cupy"), ("pip install cupy-cuda13x",)),
    (ModuleNotFoundError("No module named 'torch'"), ("pip install torch",)),
    (ModuleNotFoundError("No module named 'jax'"), ("jax[cuda13]",)),
    (ModuleNotFoundError("No module named 'numba.cuda'; 'numba' is not a package"), ("numba",)),
    (ModuleNotFoundError("No module named 'tensorflow'"), ("tensorflow[and-cuda]",)),
    (ModuleNotFoundError("No module named 'pynvml'"), ("nvidia-ml-py",)),
    # the loader: no driver, a container without --gpus, WSL2
    (OSError("libcuda.so.1: cannot open shared object file: No such file or directory"), DRIVER),
    (ImportError("libcuda.so.1: cannot open shared object file: No such file or directory"), DRIVER),
    (OSError("libnvidia-ml.so.1: cannot open shared object file: No such file or directory"), DRIVER),
    (ImportError("libcudart.so.12: cannot open shared object file: No such file or directory"), ("a library of CUDA is missing",)),
    (ImportError("libcudnn.so.9: cannot open shared object file: No such file or directory"), ("a library of CUDA is missing",)),
    (RuntimeError("CuPy failed to load libnvrtc.so.12: OSError: libnvrtc.so.12: cannot open shared object file: No such file or directory"),
     ("nvidia-cuda-nvrtc",)),
    # NVML and nvidia-smi
    (NVMLError("NVML Shared Library Not Found"), DRIVER),
    (NVMLError("Driver Not Loaded"), DRIVER),
    (NVMLError("RM has detected an NVML/RM version mismatch."), ("reboot",)),
    (RuntimeError("Failed to initialize NVML: Driver/library version mismatch"), ("reboot",)),
    (RuntimeError("Failed to initialize NVML: GPU access blocked by the operating system"), ("wsl --update",)),
    (RuntimeError("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the latest NVIDIA driver is "
                  "installed and running."), DRIVER),
    # CuPy
    (RuntimeError("cudaErrorInsufficientDriver: CUDA driver version is insufficient for CUDA runtime version"), ("driver 580", "--gpus all")),
    (RuntimeError("cudaErrorNoDevice: no CUDA-capable device is detected"), ("CUDA_VISIBLE_DEVICES", "--gpus all")),
    (ImportError("\n================================================================\nFailed to import CuPy.\n\nIf you installed CuPy via wheels "
                 "(cupy-cudaXXX), make sure that the package matches with the version of CUDA installed."), ("pip uninstall",)),
    (RuntimeError("Failed to find CUDA headers"), ("cupy-cuda13x[ctk]",)),
    # PyTorch
    (RuntimeError("Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU"), DRIVER),
    (RuntimeError("The NVIDIA driver on your system is too old (found version 11040). Please update your GPU driver"), ("driver 580",)),
    (AssertionError("Torch not compiled with CUDA enabled"), ("pytorch.org",)),
    (RuntimeError("No CUDA GPUs are available"), ("glint doctor",)),
    (RuntimeError("Unexpected error from cudaGetDeviceCount(). Did you run some cuda functions before calling NumCudaDevices() that might have "
                  "already set an error? Error 804: forward compatibility was attempted on non supported HW"), ("compat",)),
    (RuntimeError("Unexpected error from cudaGetDeviceCount(). Error 803: system has unsupported display driver / cuda driver combination"),
     ("reboot",)),
    (RuntimeError("Unexpected error from cudaGetDeviceCount(). Error 802: system not yet initialized"), ("fabricmanager",)),
    # JAX
    (RuntimeError("Unknown backend: 'gpu' requested, but no platforms that are instances of gpu are present. Platforms present are: cpu"),
     ("jax[cuda13]",)),
    (RuntimeError("Unknown backend cuda. Available backends are ['cpu']"), ("jax[cuda13]",)),
    (RuntimeError("Unable to initialize backend 'cuda': FAILED_PRECONDITION: No visible GPU devices. (set JAX_PLATFORMS='' to automatically "
                  "choose an available backend)"), ("glint doctor",)),
    (UserWarning("An NVIDIA GPU may be present on this machine, but a CUDA-enabled jaxlib is not installed. Falling back to cpu."),
     ("jax[cuda13]",)),
    (RuntimeError("Unable to load cuDNN. Is it installed?"), ("jax[cuda13]",)),
    # Numba
    (ImportError("Error at driver init: \n\nCUDA driver library cannot be found.\nIf you are sure that a CUDA driver is installed,\ntry setting "
                 "environment variable NUMBA_CUDA_DRIVER\nwith the file path of the CUDA driver shared library.\n:"), DRIVER),
    (ImportError("Error at driver init: Call to cuInit results in CUDA_ERROR_NO_DEVICE (100)"), ("CUDA_VISIBLE_DEVICES",)),
    (ImportError("Error at driver init: Call to cuInit results in CUDA_ERROR_SYSTEM_DRIVER_MISMATCH (803)"), ("reboot",)),
    (ImportError("libNVVM cannot be found. Do `conda install cudatoolkit`:\nlibnvvm.so: cannot open shared object file: No such file or directory"),
     ("numba-cuda",)),
    (ImportError("Error at driver init: CUDA is disabled due to setting NUMBA_DISABLE_CUDA=1 in the environment"), ("unset NUMBA_DISABLE_CUDA",)),
    # TensorFlow
    (RuntimeError("Could not load dynamic library 'libcuda.so.1'; dlerror: libcuda.so.1: cannot open shared object file: No such file or directory"),
     DRIVER),
    (UserWarning("Could not find cuda drivers on your machine, GPU will not be used."), DRIVER),
    (RuntimeError("failed call to cuInit: INTERNAL: CUDA error: Failed call to cuInit: UNKNOWN ERROR (303)"), DRIVER),
    (ValueError("Cannot assign a device for operation MatMul: Operation was explicitly assigned to /device:GPU:0 but available devices are "
                "[ /job:localhost/replica:0/task:0/device:CPU:0 ]"), ("tensorflow[and-cuda]",)),
    (UserWarning("Cannot dlopen some GPU libraries. Please make sure the missing libraries mentioned above are installed properly"),
     ("tensorflow[and-cuda]",)),
    # Docker
    (RuntimeError("docker: Error response from daemon: could not select device driver \"\" with capabilities: [[gpu]]."), ("Container Toolkit",)),
    (RuntimeError("nvidia-container-cli: requirement error: unsatisfied condition: cuda>=11.2, please update your driver to a newer version"),
     ("newer driver",)),
    (RuntimeError("nvidia-container-cli: initialization error: load library failed: libnvidia-ml.so.1: cannot open shared object file"),
     ("Container Toolkit",)),
]


@pytest.mark.parametrize("error, parts", FIRST_LINES, ids=lambda value: str(value).strip(" =\n")[:50] if isinstance(value, Exception) else "")
def test_epochly_errors_of_machines_without_a_working_gpu_are_explained(error, parts):
    message, suggestion = gpu.explain_error(error)
    for part in parts:
        assert part in suggestion, suggestion
    assert message in str(error) and message.strip(" =") and "\n" not in message
    assert gpu.explain_error(str(error)) == (message, suggestion) or tuple(gpu.explain_error(str(error))) == (message, suggestion)


def test_epochly_errors_that_real_packages_raise_here_are_explained():
    """On a machine without a driver: what the installed packages themselves raise."""
    if gpu.is_available():
        pytest.skip("this machine has a GPU")
    import ctypes

    errors = []
    for library in ("libcuda.so.1", "libnvidia-ml.so.1"):
        try:
            ctypes.CDLL(library)
        except OSError as error:
            errors.append(error)
    try:
        import nothing_of_that_name_cupy  # noqa: F401
    except ImportError:
        pass
    for name in ("cupy", "torch", "jax"):
        try:
            __import__(name)
        except ImportError as error:
            errors.append(error)
    try:
        from numba import cuda

        cuda.to_device(np.ones(3))
    except Exception as error:
        errors.append(error)
    assert errors
    for error in errors:
        assert "no such error is known" not in gpu.explain_error(error).suggestion, repr(error)


def test_epochly_other_errors_keep_their_message():
    for error in (FileNotFoundError(2, "No such file or directory", "nvrtc.log"), ValueError("seven"), KeyError("driver")):
        assert "no such error is known" in gpu.explain_error(error).suggestion
    assert "wait for other processes" not in str(gpu.explain_error(gpu.OutOfMemory("full")))
