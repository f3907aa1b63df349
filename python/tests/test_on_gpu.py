"""glint beside PyTorch and CuPy in one process, on a real GPU. Leasing and releasing a share of the GPU must not
disturb them.

Run it manually on a machine with a GPU, PyTorch and CuPy: `python -m pytest -v python/tests/test_on_gpu.py`.
"""

import gc
import importlib.util
import math
import subprocess
import sys
import threading

import glint
import numpy as np
import pytest
from glint import gpu, offload

LACKING = [name for name in ("torch", "cupy") if importlib.util.find_spec(name) is None]
pytestmark = [
    pytest.mark.skipif(not gpu.is_available(), reason=f"no GPU: {gpu.why_none()}"),
    pytest.mark.skipif(bool(LACKING), reason=f"not installed: {', '.join(LACKING)}"),
]
if gpu.is_available() and not LACKING:
    import cupy
    import torch

MIB = 1 << 20


@pytest.fixture
def session():
    with offload.Session("gpu", gpu_memory="1GiB", gpu_timeout=120) as session:
        yield session


@pytest.fixture
def device(session):
    """The session's GPU as PyTorch knows it; CuPy's current one too."""
    number = session.open()
    with cupy.cuda.Device(number):
        yield torch.device("cuda", number)


def free_bytes(device):
    torch.cuda.synchronize(device)
    return torch.cuda.mem_get_info(device)[0]


class Others:
    """PyTorch and CuPy at work: tensors with known values, and streams with unfinished work."""

    def __init__(self, device):
        self.device = device
        generator = torch.Generator(device).manual_seed(1)
        self.tensor = torch.randn(1 << 22, device=device, generator=generator)
        self.array = cupy.asarray(self.tensor.cpu().numpy())
        self.copy = self.tensor.cpu().numpy()
        self.streams = [torch.cuda.Stream(device) for _ in range(3)]
        self.running = []

    def start(self, rounds=200):
        """Sums of ones in several streams that take a while and end with a known value."""
        for stream in self.streams:
            with torch.cuda.stream(stream):
                x = torch.zeros(1 << 22, device=self.device)
                for _ in range(rounds):
                    x += 1
                self.running.append((x, rounds))
        with cupy.cuda.Stream(non_blocking=True) as stream:
            y = cupy.zeros(1 << 22, "f4")
            for _ in range(rounds):
                y += 1
            self.in_cupy = (stream, y, rounds)

    def check(self):
        for stream in self.streams:
            stream.synchronize()
        for x, rounds in self.running:
            assert x.min().item() == x.max().item() == rounds
        stream, y, rounds = self.in_cupy
        stream.synchronize()
        assert float(y.min()) == float(y.max()) == rounds
        np.testing.assert_array_equal(self.tensor.cpu().numpy(), self.copy)
        np.testing.assert_array_equal(self.array.get(), self.copy)
        a = torch.randn(64, 64, device=self.device)  # their libraries and allocators still work
        torch.testing.assert_close((a @ a.T).cpu(), a.cpu() @ a.cpu().T, rtol=1e-3, atol=1e-3)
        before = torch.cuda.memory_reserved(self.device)
        big = torch.empty(64 * MIB, dtype=torch.uint8, device=self.device)
        assert torch.cuda.memory_reserved(self.device) >= before
        del big
        torch.cuda.empty_cache()
        assert float(cupy.linalg.norm(cupy.ones(100))) == pytest.approx(10)


@pytest.fixture
def others(device):
    others = Others(device)
    others.start()
    yield others
    others.check()
    assert torch.cuda.current_device() == 0 and torch.cuda.is_available()


# ---- Nothing is disturbed


def test_leases_come_and_go(others):
    for _ in range(5):
        with gpu.lease("1GiB", timeout=60) as lease:
            lease.publish_held(torch.cuda.memory_reserved(others.device))
            others.start(50)
        assert not lease.held


def test_sessions_open_and_close_while_kernels_run(others):
    for _ in range(3):
        others.start()
        with offload.Session("gpu", gpu_memory="512MiB", gpu_timeout=60) as session:
            a = np.random.default_rng(1).normal(size=(500, 300)).astype("f4")
            np.testing.assert_allclose(offload.matmul(a, a.T, session=session), a @ a.T, rtol=1e-3, atol=1e-2)
            others.start()
        others.check()


def test_fits_run_beside_them(others, psf, camera, counts):
    """Fits use the GPU's primary context, which is PyTorch's and CuPy's too."""
    stack = np.tile(counts, (100, 1, 1))
    expected = glint.fit(stack, psf, camera, backend="cpu")
    with glint.Fitter() as fitter:
        for _ in range(3):
            others.start()
            fits = glint.fit(stack, psf, camera, backend="gpu", gpu_memory="512MiB", gpu_timeout=60, fitter=fitter)
            assert fits.info.backend == "gpu"
            assert np.nanmax(np.abs(fits.x_px - expected.x_px) / expected.x_unc_px) < 1e-2
    others.check()


def test_a_graph_of_pytorchs_still_runs(others, session):
    x = torch.zeros(1000, device=others.device)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        x += 1
    offload.sum(np.ones(1000, "f4"), session=session)
    session.close()
    for _ in range(10):
        graph.replay()
    torch.cuda.synchronize(others.device)
    assert x.min().item() == x.max().item() == 10


def test_a_thread_computes_meanwhile(others):
    """PyTorch in a thread of its own while sessions open and close in this one."""
    failed, stop = [], threading.Event()

    def work():
        with torch.cuda.device(others.device):
            while not stop.is_set():
                x = torch.full((1 << 20,), 3.0, device=others.device)
                if (x * x).sum().item() != 9.0 * (1 << 20):
                    failed.append(1)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        for _ in range(5):
            with offload.Session("gpu", gpu_memory="256MiB", gpu_timeout=60) as session:
                assert offload.sum(np.ones(1 << 20, "f4"), session=session) == 1 << 20
    finally:
        stop.set()
        thread.join()
    assert not failed


def test_memory_comes_back(others, psf, camera, counts):
    """What a session and fits took is free again when they are closed."""

    def use():
        with offload.Session("gpu", gpu_memory="2GiB", gpu_timeout=60) as session:
            there = gpu.to_device(np.zeros(1 << 28, "f4"), session=session)  # 1 GiB
            assert offload.sum(there, session=session) == 0
            taken = free_bytes(others.device)
            a = np.ones((512, 512), "f4")
            offload.matmul(a, a, session=session)
            offload.fft(a.astype("c8"), session=session)
            offload.svd(a[:64, :64], session=session)
            del there
        glint.fit(counts, psf, camera, backend="gpu", gpu_memory="512MiB", gpu_timeout=60)
        return taken

    use()  # what a first use of libraries leaves, it leaves once
    others.check()
    before = free_bytes(others.device)
    taken = use()
    others.check()
    after = free_bytes(others.device)
    assert before - taken > 1 << 30, "it was there meanwhile"
    assert before - after < (before - taken) / 16 and len(gpu.memory()) == 1  # that of the fixture `device`


def test_other_processes_see_the_lease(others):
    with gpu.lease("1GiB", timeout=60):
        out = subprocess.run(
            [sys.executable, "-c", "from glint import gpu\nprint(sum(len(g.holders) for g in gpu.leases().gpus))"],
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert int(out.stdout) >= 1


# ---- Arrays from them


def test_tensors_are_used_where_they_lie(session, device):
    x = torch.randn(300, 200, device=device)
    adopted = gpu.to_device(x, session=session)
    assert adopted.adopted and adopted._core.address() == x.data_ptr()
    np.testing.assert_array_equal(adopted.to_numpy(), x.cpu().numpy())
    y = cupy.random.standard_normal((200, 100), dtype="f4")
    product = offload.matmul(x, y, session=session)
    np.testing.assert_allclose(product.to_numpy(), x.cpu().numpy() @ y.get(), rtol=1e-3, atol=1e-2)
    # Kernels of ours, not only copies, read and write memory of the primary context.
    assert offload.sum(x, session=session) == pytest.approx(x.double().sum().item(), rel=1e-5, abs=1e-2)
    room = torch.zeros_like(x)
    assert offload.map(lambda v: v * 2 + 1, x, out=room, session=session) is room
    torch.testing.assert_close(room, x * 2 + 1)


def test_what_is_still_being_computed_is_waited_for(session, device):
    """The producer's stream is not the default one, and is busy."""
    stream = torch.cuda.Stream(device)
    for _ in range(5):
        with torch.cuda.stream(stream):
            x = torch.zeros(1 << 24, device=device)
            for _ in range(100):
                x += 1
            total = offload.sum(x, session=session)
        assert total == 100 * (1 << 24)
    with cupy.cuda.Stream(non_blocking=True):
        y = cupy.zeros(1 << 24, "f4")
        for _ in range(100):
            y += 1
        assert offload.sum(y, session=session) == 100 * (1 << 24)


def test_gaps_and_other_types(session, device):
    x = torch.randn(100, 60, device=device)
    np.testing.assert_array_equal(gpu.to_device(x.T, session=session).to_numpy(), x.T.cpu().numpy())
    y = cupy.arange(100, dtype="f4").reshape(10, 10)
    np.testing.assert_array_equal(gpu.to_device(y[:, ::2], session=session).to_numpy(), y[:, ::2].get())
    z = torch.randn(8, 8, device=device, dtype=torch.complex64)
    np.testing.assert_allclose(
        offload.fft(z, session=session).to_numpy(), np.fft.fft(z.cpu().numpy()), rtol=1e-3, atol=1e-4
    )
    np.testing.assert_array_equal(
        gpu.to_device(torch.arange(5, device=device), session=session).to_numpy(), np.arange(5.0)
    )


def test_fits_of_a_tensor(psf, camera, counts, device):
    expected = glint.fit(counts, psf, camera, backend="cpu")
    for dtype in ("u2", "f4"):
        array = cupy.asarray(counts.astype(dtype))
        for there in (array, torch.from_dlpack(array)):
            fits = glint.fit(there, psf, camera, backend="gpu", gpu_memory="512MiB", gpu_timeout=60)
            assert fits.info.backend == "gpu" and fits.info.bytes_up == 0
            assert np.nanmax(np.abs(fits.x_px - expected.x_px) / expected.x_unc_px) < 1e-2
            np.testing.assert_array_equal(glint.fit(there, psf, camera, backend="cpu").x_px, expected.x_px)
    shifted = torch.from_dlpack(cupy.asarray(counts))[1:]  # at no address that a wide load could begin at
    fits = glint.fit(shifted, psf, camera, backend="gpu", gpu_memory="512MiB", gpu_timeout=60)
    assert np.nanmax(np.abs(fits.x_px - expected.x_px[1:]) / expected.x_unc_px[1:]) < 1e-2
    ours = gpu.to_device(counts.astype("f4"))
    fits = glint.fit(ours, psf, camera, backend="gpu", gpu_memory="512MiB", gpu_timeout=60)
    assert fits.info.bytes_up == 0 and np.nanmax(np.abs(fits.x_px - expected.x_px) / expected.x_unc_px) < 1e-2


def test_fits_follow_what_the_tensor_waits_for(psf, camera, counts, device):
    """The work of another stream that makes the pixels is done before they are read."""
    expected = glint.fit(counts, psf, camera, backend="cpu")
    made = torch.as_tensor(counts.astype("f4"), device=device)
    with torch.cuda.stream(torch.cuda.Stream(device)):
        slow = torch.zeros_like(made)
        torch.cuda._sleep(200_000_000)  # 0.1 s of the GPU
        slow += made
        fits = glint.fit(slow, psf, camera, backend="gpu", gpu_memory="512MiB", gpu_timeout=60)
    assert np.nanmax(np.abs(fits.x_px - expected.x_px) / expected.x_unc_px) < 1e-2


# ---- Arrays to them


def test_they_take_ours_where_they_lie(session, device):
    a = np.random.default_rng(2).normal(size=(200, 300)).astype("f4")
    ours = gpu.to_device(a, session=session)
    tensor, array = torch.from_dlpack(ours), cupy.from_dlpack(ours)
    interfaced = cupy.asarray(ours)  # by __cuda_array_interface__
    assert tensor.data_ptr() == array.data.ptr == interfaced.data.ptr == ours._core.address()
    # Kernels of theirs, in the primary context, read and write memory of the session's.
    np.testing.assert_array_equal((tensor * 2).cpu().numpy(), a * 2)
    np.testing.assert_allclose((tensor @ tensor.T).cpu().numpy(), a @ a.T, rtol=1e-2, atol=1e-1)
    np.testing.assert_array_equal((array + 1).get(), a + 1)
    tensor += 1
    torch.cuda.synchronize(device)
    np.testing.assert_array_equal(ours.to_numpy(), a + 1)
    cupy.multiply(interfaced, 2, out=interfaced)
    cupy.cuda.Device().synchronize()
    np.testing.assert_allclose(offload.sum(ours, session=session), ((a + 1) * 2).sum(dtype="f8"), rtol=1e-5)


@pytest.mark.parametrize("take", ["torch", "cupy"])
def test_what_they_took_outlives_the_session(device, take):
    a = np.arange(1 << 20, dtype="f4")
    with offload.Session("gpu", gpu_memory="256MiB", gpu_timeout=60) as session:
        theirs = {"torch": torch, "cupy": cupy}[take].from_dlpack(
            offload.map(lambda x: x + 1, a, on="device", session=session)
        )
    assert not session.gpu_open and len(gpu.memory()) >= 1
    assert float((theirs * 2).sum()) == pytest.approx(2 * (a + 1).sum(dtype="f8"), rel=1e-5)
    torch.cuda.synchronize(device)
    before = len(gpu.memory())
    del theirs
    gc.collect()
    assert len(gpu.memory()) == before - 1


# ---- Full


def test_a_full_gpu_of_pytorchs_and_cupys(session, device):
    def too_much_of_torch(x):
        return torch.empty(1 << 50, dtype=torch.uint8, device=device)

    def too_much_of_cupy(x):
        return cupy.empty(1 << 50, dtype="u1")

    for full in (too_much_of_torch, too_much_of_cupy):
        safe = offload.oom_safe(full, on_cpu=lambda x: x + 1, session=session)
        assert safe(1) == 2
        with pytest.raises(Exception) as error:
            full(1)
        assert offload.out_of_memory.is_out_of_memory(error.value)
        message, suggestion = gpu.explain_error(error.value)
        assert message and "less data per call" in suggestion
    assert session.statistics()["fallbacks"] == 2 and session.statistics()["failures"] == 4
    assert float(torch.ones(10, device=device).sum()) == 10


def test_decisions_by_what_was_measured(session):
    with offload.Session("auto", gpu_memory="4GiB", gpu_timeout=60) as automatic:
        calibration = offload.calibrate(automatic)
        assert not calibration.why_no_gpu and all(row.cpu_s > 0 for row in calibration.rows)
        large = offload.explain("matmul", 16384, session=automatic)
        assert large.choice == "gpu" and large.speedup > 1 and large.basis in ("measured", "estimated")
        assert offload.decide("matmul", 32, session=automatic).choice == "cpu"
        assert 32 < large.flips_at < 16384 and math.isfinite(large.gpu.total_s)
        assert all(row.ok for row in offload.self_test(automatic))
