"""GPUs chosen by number, copies between them, unified memory, and what is switched for the whole process: on a
simulated server with two GPUs of 8 GiB."""

import asyncio
import contextlib
import os
import threading
import time

import glint
import numpy as np
import pytest
from conftest import needs_gpu, same_table
from glint import gpu, offload

simulated_server = pytest.mark.skipif(
    "SIMGPU_STATE" not in os.environ, reason="not on the simulated server: tests/simgpu/run"
)


def session_on(device, **options):
    return offload.Session("gpu", **{"gpu_memory": "64MiB", "gpu_timeout": 60, "device": device, **options})


def values(*shape):
    return np.random.default_rng(5).normal(size=shape).astype("f4")


# ---- On any machine


def test_sizes_in_bytes_are_those_of_the_operands():
    for operation, shape in [
        ("matmul", (512, 512)),
        ("svd", (724, 724)),
        ("fft2", (512, 512)),
        ("fft", (1 << 18,)),
        ("rfft", (1 << 19,)),
        ("sum", (1 << 19,)),
        (offload.input(0) + offload.input(1), (1 << 18,)),
    ]:
        by_bytes, by_shape = offload.decide(operation, bytes="2MiB"), offload.decide(operation, shape)
        assert (by_bytes.size, by_bytes.unit) == (by_shape.size, by_shape.unit)
        assert offload.should_offload(2 << 20, operation) == (by_shape.choice == "gpu")
    assert offload.explain("matmul", bytes=2 << 20).reason
    with pytest.raises(glint.OptionError, match="not both"):
        offload.decide("matmul", 5, bytes=100)
    with pytest.raises(glint.OptionError):
        offload.should_offload(0, "matmul")
    with pytest.raises(glint.OptionError, match="no operation"):
        offload.should_offload(100, "knit")


def test_the_backend_of_the_cpu_takes_arrays_as_they_are():
    a = values(3, 2)
    cpu = offload.backends()["cpu"]
    assert cpu.to_gpu(a) is a and cpu.to_cpu(a) is a


def test_a_device_that_is_none():
    with pytest.raises(glint.OptionError, match="device=-1"):
        offload.Session(device=-1)
    with pytest.raises(gpu.NoGpu):
        offload.Session("gpu", device=200).open()
    with offload.Session(device=200) as session:
        decision = offload.decide("matmul", 5000, session=session)
        assert decision.choice == "cpu" and decision.reason
        assert offload.sum([1.0, 2.0], session=session) == 3


def test_statistics_have_totals():
    with offload.Session("cpu") as session:
        offload.sum(np.ones(100), session=session)
        for _ in range(2):
            offload.matmul(np.eye(3), np.eye(3), session=session)
        total = session.statistics()["total"]
        assert (total["cpu"]["calls"], total["gpu"]["calls"], total["gpu_share"]) == (3, 0, 0)
        assert total["cpu"]["mean_seconds"] > 0 and total["gpu"]["transfers"] == 0
        session.reset_statistics()
        assert session.statistics()["total"]["cpu"]["calls"] == 0


def test_switches_of_the_process_are_restored():
    assert gpu.early_reclaim_enabled() and offload.oom_safe_enabled()
    with gpu.set_early_reclaim(False), offload.set_oom_safe(False):
        assert not gpu.early_reclaim_enabled() and not offload.oom_safe_enabled()
        with offload.Session("cpu") as session:
            assert session.oom_safe and not offload.oom_safe_enabled(session)
    assert gpu.early_reclaim_enabled() and offload.oom_safe_enabled()


@pytest.mark.parametrize(
    "set_it, is_on",
    [
        (gpu.set_scalar_access, gpu.scalar_access_enabled),
        (gpu.set_unified, gpu.unified_enabled),
        (gpu.set_early_reclaim, gpu.early_reclaim_enabled),
        (offload.set_oom_safe, offload.oom_safe_enabled),
    ],
)
def test_overlapping_blocks_leave_the_setting_as_it_was(set_it, is_on):
    before = is_on()
    first, second = set_it(not before), set_it(not before)
    with contextlib.ExitStack() as one, contextlib.ExitStack() as other:
        one.enter_context(first)
        other.enter_context(second)
        one.close()  # the one that began first ends first, as threads may
        assert is_on() is not before
    assert is_on() is before
    set_it(not before)
    assert is_on() is not before, "permanently"
    with set_it(before):
        assert is_on() is before
    assert is_on() is not before
    set_it(before)


def test_wrong_arguments_are_named():
    for wrong in (2**40, -1, 1.5, "0"):
        with pytest.raises(glint.OptionError, match=f"device={wrong!r}: give the number of a GPU"):
            offload.Session("gpu", device=wrong)
    with offload.Session("cpu", device=np.int64(3)) as session:
        assert session.device == 3
        for switch in (
            offload.set_oom_safe,
            gpu.set_early_reclaim,
            lambda on: offload.set_oom_safe(on, session),
            lambda on: setattr(session, "oom_safe", on),
        ):
            for wrong in ("no", None, 0):
                with pytest.raises(glint.OptionError, match=f"{wrong!r}: give True or False"):
                    switch(wrong)
        assert session.oom_safe and offload.oom_safe_enabled() and gpu.early_reclaim_enabled()
    with pytest.raises(glint.OptionError, match="to is a ndarray: give a DeviceArray"):
        gpu.copy(np.ones(4), np.ones(4))
    for wrong in ((None, None), (b"", "f"), ("", 3)):
        with pytest.raises(glint.OptionError, match="give the source in CUDA"):
            gpu.Kernel(*wrong)


# ---- On the simulated server


@simulated_server
def test_the_backend_of_gpus_takes_arrays_there():
    a = values(3, 2)
    cuda = offload.best_backend()
    assert cuda.name == "cuda"
    with session_on(1) as session:
        there = cuda.to_gpu(a, session=session)
        assert there.device == 1
        np.testing.assert_array_equal(cuda.to_cpu(there), a)


@simulated_server
@pytest.mark.parametrize("device", [0, 1])
def test_a_session_on_the_gpu_of_that_number(device):
    with session_on(device) as session:
        assert session.open() == device == session.device
        assert gpu.to_device(values(4), session=session).device == device
        with session_on(device) as another:  # a GPU may have several
            assert another.open() == device
    with pytest.raises(gpu.NoGpu, match="GPU 7 was asked for, and this process sees 2"):
        session_on(7).open()


@simulated_server
def test_a_session_waits_for_its_gpu_alone():
    with gpu.lease("7000MiB", timeout=60, avoid=(gpu.devices()[0].uuid,)):  # GPU 1
        with pytest.raises(gpu.LeaseTimeout):
            session_on(1, gpu_memory="4GiB", gpu_timeout=0.2).open()
        with session_on(0, gpu_memory="4GiB") as session:
            assert session.open() == 0


@simulated_server
def test_the_device_of_a_task():
    async def task(device):
        with offload.on_device(device) as session:
            session.backend = "gpu"
            x = gpu.to_device(values(8))
            await asyncio.sleep(0.01)  # the other task runs
            y = offload.map(lambda v: v + 1, x)
            return offload.default_session() is session, x.device, y.device

    async def both():
        return await asyncio.gather(task(0), task(1))

    try:
        assert asyncio.run(both()) == [(True, 0, 0), (True, 1, 1)]
        before = offload.default_session()
        with offload.on_device(1) as one:
            with offload.on_device(0) as zero:
                assert offload.default_session() is zero
            assert offload.default_session() is one
            of_thread = []
            thread = threading.Thread(target=lambda: of_thread.append(offload.default_session()))
            thread.start()
            thread.join()
            assert of_thread == [before], "the device is that of one thread"
            kept = gpu.to_device(values(3))
        assert offload.default_session() is before
        with offload.on_device(1):  # arrays of an earlier block are still there
            np.testing.assert_array_equal(kept.to_numpy(), values(3))
    finally:
        offload.close()
    assert gpu.memory() == []


@simulated_server
def test_copies_from_gpu_to_gpu():
    a = values(300, 7)
    with session_on(0) as zero, session_on(1) as one, session_on(0) as another:
        x = gpu.to_device(a, session=zero)
        assert gpu.to_device(x) is x and gpu.to_device(x, session=zero) is x
        for session, device in [(one, 1), (another, 0)]:
            y = gpu.to_device(x, session=session)
            assert y.device == device and y is not x
            np.testing.assert_array_equal(y.to_numpy(), a)
        z = gpu.to_device(np.zeros_like(a), session=one)
        assert gpu.copy(z, x) is z
        np.testing.assert_array_equal(z.to_numpy(), a)
        gpu.copy(z, a[::-1] * 2)
        np.testing.assert_array_equal(z.to_numpy(), a[::-1] * 2)
        # z there twice, y and z back thrice: what came from the GPU is no transfer over the host's link.
        assert one.statistics()["total"]["gpu"]["transfers"] == 5
        for wrong in (a[1:], a.astype("f8")):
            with pytest.raises(glint.OptionError, match="a copy of"):
                gpu.copy(z, wrong)


@simulated_server
def test_copies_both_ways_by_threads():
    with session_on(0) as zero, session_on(1) as one:
        x, y = gpu.to_device(values(1000), session=zero), gpu.to_device(np.zeros(1000, "f4"), session=one)
        threads = [
            threading.Thread(target=lambda a=a, b=b: [gpu.copy(a, b) for _ in range(20)]) for a, b in [(x, y), (y, x)]
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(timeout=120)
            assert not thread.is_alive(), "two threads wait for each other"
        np.testing.assert_array_equal(x.to_numpy(), y.to_numpy())


@simulated_server
def test_totals_with_copies_of_arrays():
    with session_on(0) as session:
        x = gpu.to_device(values(100), session=session)
        x.to_numpy()
        offload.sum(x, session=session)
        total = session.statistics()["total"]
        # The array there and back, and the sum's eight bytes.
        assert (total["gpu"]["calls"], total["gpu_share"]) == (1, 1)
        assert (total["gpu"]["bytes_up"], total["gpu"]["bytes_down"], total["gpu"]["transfers"]) == (400, 408, 3)


# ---- Unified memory


@simulated_server
def test_unified_arrays_are_the_hosts_too():
    a = values(50, 3)
    with session_on(0) as session:
        x = gpu.to_device(a, session=session, unified=True)
        assert x.unified and not gpu.to_device(a, session=session).unified
        view = x.host_view()
        np.testing.assert_array_equal(view, a)
        view[0] = 7  # written by the host
        y = offload.map(lambda v: v * 2, x, session=session)
        assert y.unified and view[0, 0] == 7, "results are where the operands are"
        np.testing.assert_array_equal(y.to_numpy()[1:], a[1:] * 2)
        offload.map(lambda v: v + 1, y, out=x, session=session)
        np.testing.assert_array_equal(view, y.to_numpy() + 1)  # written by the GPU
        with pytest.raises(glint.OptionError, match="unified=True"):
            gpu.to_device(a, session=session).host_view()
        np.testing.assert_array_equal(gpu.to_device(y, unified=True).host_view(), y.to_numpy())
    np.testing.assert_array_equal(view[1:], a[1:] * 2 + 1)  # the view keeps the memory
    np.testing.assert_array_equal(x.host_view(), view)
    assert len(gpu.memory()) == 1 and not session.gpu_open
    del x, y, view
    assert gpu.memory() == []


@simulated_server
def test_unified_memory_by_default():
    with session_on(0, unified=True) as session:
        x = gpu.to_device(values(9), session=session)
        y = offload.map(lambda v: v * 3, x, session=session)
        assert x.unified and y.unified
        np.testing.assert_array_equal(y.host_view(), values(9) * 3)
        session.unified = False
        assert not gpu.to_device(values(9), session=session).unified
        assert offload.map(lambda v: v * 3, x, session=session).unified, "as its operand"
        assert not gpu.to_device(x, unified=False).unified
        assert gpu.to_device(np.zeros((0, 2)), session=session, unified=True).host_view().shape == (0, 2)
        with pytest.raises(gpu.OutOfMemory):
            gpu.to_device(np.zeros(100 << 18, "f4"), session=session, unified=True)
        del x, y


# ---- Switched for the whole process


@simulated_server
def test_early_reclaim_at_run_time():
    def reclaimed(on):
        with gpu.set_early_reclaim(on), session_on(0) as session:
            gpu.to_device(np.ones(48 << 18, "f4"), session=session)  # freed immediately: the pool keeps it
            session.synchronize()
            (memory,) = gpu.memory()
            return memory.early_reclaimed_bytes

    assert reclaimed(True) >= 48 << 20 and reclaimed(False) == 0


@simulated_server
def test_oom_safety_holds_for_all_sessions_and_for_fits(psf, camera, counts, monkeypatch):
    monkeypatch.setenv("GLINT_GPU_MEMORY_LIMIT", "1KiB")  # less than any batch needs

    def fit():
        return glint.fit(counts[:50], psf, camera, backend="auto", always_gpu=True)

    with pytest.warns(RuntimeWarning):
        fits = fit()
    same_table(fits, glint.fit(counts[:50], psf, camera, backend="cpu"))
    assert fits.info.backend == "cpu"
    with offload.set_oom_safe(False):
        for _ in range(2):
            with pytest.raises(gpu.OutOfMemory):
                fit()
        with session_on(0) as session, pytest.raises(gpu.OutOfMemory):
            offload.matmul(values(300, 300), values(300, 300), session=session)


@simulated_server
def test_oom_safety_holds_for_movies(psf, camera, simulated, monkeypatch):
    monkeypatch.setenv("GLINT_GPU_MEMORY_LIMIT", "1KiB")

    def localize():
        return glint.localize(simulated.movie, psf, camera, backend="auto", always_gpu=True)

    with pytest.warns(RuntimeWarning):
        found = localize()
    same_table(found, glint.localize(simulated.movie, psf, camera, backend="cpu"))
    with offload.set_oom_safe(False), pytest.raises(gpu.OutOfMemory):
        localize()


def test_an_on_device_object_serves_several_blocks():
    block = offload.on_device(0)
    for _ in range(2):
        with block as session, block as inner:  # also within each other
            assert session is inner is offload.default_session() and session.device == 0
        assert offload.default_session() is not session
    both = {}

    def use(k):
        with block:
            time.sleep(0.05 * k)
            both[k] = offload.default_session().device

    threads = [threading.Thread(target=use, args=(k,)) for k in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert both == {0: 0, 1: 0, 2: 0} and repr(block) == "on_device(0)"

    @offload.on_device(1)
    def device():
        return offload.default_session().device

    assert device() == device() == 1
    with pytest.raises(glint.OptionError, match="device=-1"):
        offload.on_device(-1)
    with pytest.raises(KeyError), block:
        raise KeyError
    assert offload.default_session().device is None


@needs_gpu
def test_the_process_that_exports_an_array_does_not_import_it():
    with session_on(0) as session:
        x = gpu.export_array(np.arange(4.0), session=session)
        with pytest.raises(
            glint.OptionError,
            match="this process has exported this array itself.*use the array of glint.gpu.export_array",
        ):
            gpu.import_array(x.ipc_handle, session=session)
