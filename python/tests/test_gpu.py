"""Fits on a GPU: on a simulated server (tests/simgpu/run), with two GPUs of 8 GiB."""

import os
import subprocess
import threading
import time

import glint
import numpy as np
import pytest
from conftest import ctrl_c_after, same_table

pytestmark = [
    pytest.mark.skipif("SIMGPU_STATE" not in os.environ, reason="not on the simulated server: tests/simgpu/run"),
    pytest.mark.skipif(not glint.has_gpu_kernels(), reason="built without kernels for GPUs"),
]
GPU = dict(backend="gpu", gpu_memory="64MiB", gpu_timeout=60)


def test_fits_as_the_cpu_does(psf, camera, counts):
    reports = []
    on_gpu = glint.fit(counts, psf, camera, progress=lambda *report: reports.append(report), **GPU)
    on_cpu = glint.fit(counts, psf, camera, backend="cpu")
    assert on_gpu.info.backend == "gpu" and on_gpu.info.bytes_up < 1.01 * counts.nbytes  # sent unchanged
    assert reports[-1] == (500, 500)
    # The kernel is the same; sums are rounded in another order: 1 fit in 10,000 takes one iteration more.
    assert np.sum(np.abs(on_gpu.x_px - on_cpu.x_px) > 1e-3 * on_cpu.x_unc_px) <= 2
    np.testing.assert_array_equal(on_gpu.status, on_cpu.status)


def test_localizes(psf, camera, simulated):
    on_gpu = glint.localize(simulated.movie, psf, camera, **GPU)
    on_cpu = glint.localize(simulated.movie, psf, camera, backend="cpu")
    assert on_gpu.info.fit.backend == "gpu"
    # Joint fits agree to their tolerance, a hundredth, but for 2 rows in 1,000.
    assert np.sum(np.abs(on_gpu.x_px - on_cpu.x_px) > 1e-2 * on_cpu.lpx_px) <= 2


def test_more_than_a_gpu_has_is_out_of_memory(psf, camera, counts):
    with pytest.raises(glint.gpu.OutOfMemory) as error:
        glint.fit(counts, psf, camera, backend="gpu", gpu_memory="100GiB")
    assert isinstance(error.value, MemoryError) and isinstance(error.value, glint.GpuError)


@pytest.fixture
def taken(psf, camera, counts):
    """Both GPUs are: by fitters, which keep their leases."""
    fitters = [glint.Fitter(), glint.Fitter()]
    for fitter in fitters:
        fitter.fit(counts[:10], psf, camera, backend="gpu", gpu_memory="7000MiB", gpu_timeout=60)
    yield
    for fitter in fitters:
        fitter.close()


def test_a_gpu_that_does_not_come_is_a_timeout(psf, camera, counts, taken):
    with pytest.raises(TimeoutError) as error:
        glint.fit(counts, psf, camera, backend="gpu", gpu_memory="4GiB", gpu_timeout=0.3)
    assert isinstance(error.value, glint.gpu.LeaseTimeout)
    assert error.value.required_bytes > error.value.available_bytes
    told = []
    with pytest.warns(RuntimeWarning, match="no GPU had room"):
        fits = glint.fit(
            counts, psf, camera, backend="auto", gpu_memory="4GiB", auto_timeout=0.3, always_gpu=True, log=told.append
        )
    same_table(fits, glint.fit(counts, psf, camera, backend="cpu"))
    assert fits.info.backend == "cpu" and "no GPU had room" in fits.info.note
    assert fits.info.waited_seconds > 0 and any("no GPU had room" in words for words in told)


def test_waiting_is_reported_and_can_be_stopped(psf, camera, counts, taken):
    class Enough(Exception):
        pass

    def on_wait(elapsed_s, available, required):
        assert elapsed_s >= 0 and available < required and threading.current_thread() is threading.main_thread()
        raise Enough

    with pytest.raises(Enough):
        glint.fit(counts, psf, camera, backend="gpu", gpu_memory="4GiB", on_wait=on_wait)
    with ctrl_c_after() as waits, pytest.raises(KeyboardInterrupt):
        glint.fit(counts, psf, camera, backend="gpu", gpu_memory="4GiB", on_wait=waits)


def wait_for_the_end_of_others(program):
    """A worker that is still there shares the GPU with the next test."""

    def others():
        shown = subprocess.run([program, "top"], capture_output=True, text=True, check=True).stdout
        return [line for line in shown.splitlines() if " pid " in line and f" pid {os.getpid()} " not in line]

    end = time.monotonic() + 60
    while others():
        assert time.monotonic() < end, others()
        time.sleep(0.05)


def test_a_warm_worker_gives_the_same(psf, camera, simulated, counts, monkeypatch):
    monkeypatch.setenv("GLINT_GPU_WORKER_IDLE", "1")
    program = glint.arguments.worker_program("auto")
    if not os.path.exists(program):
        pytest.skip(f"{program} is not here: the module was built without it")
    photoelectrons, width = counts.astype(np.float32), glint.GaussianXYNB(sigma_px=1.3)
    for call in (
        lambda **worker: glint.localize(simulated.movie, psf, camera, **GPU, **worker),
        lambda **worker: glint.fit(photoelectrons, width, **GPU, **worker),
        lambda **worker: glint.fit(counts, psf, camera, **GPU, **worker),
    ):
        alone = call(gpu_worker="off")
        for _ in range(2):
            told = []
            same_table(call(gpu_worker="auto", log=told.append), alone)
            assert told == []  # such as that there is no worker
    monkeypatch.setenv("GLINT_GPU_WORKER", "auto")
    assert glint.arguments.worker_program(None) == program and glint.arguments.worker_program("off") == ""
    with pytest.raises(glint.OptionError, match="gpu_worker='on': give 'auto' or 'off', or None"):
        glint.fit(photoelectrons, width, gpu_worker="on")
    wait_for_the_end_of_others(program)
