"""CUDA.jl, "Multiple GPUs": one test for each statement, in the order of the text.

runtime-promises.md lists the statements. Missing numbers are held by tests in C++. Most tests need two GPUs that
reach each other's memory, real or simulated (tests/simgpu/run).
"""

import gc
import pickle
import subprocess
import sys
import threading

import glint
import numpy as np
import pytest
from conftest import mpirun, needs_gpu, needs_two, session_on
from glint import gpu, offload


@pytest.fixture(autouse=True)
def closed():
    yield
    offload.close()


@pytest.fixture
def session():
    with session_on() as session:
        yield session


def values(*shape, dtype="f4"):
    return np.random.default_rng(5).normal(size=shape).astype(dtype)


# ---- Scenario 1: one GPU per process


WORKER = """
import sys
from glint import gpu, offload
with offload.Session("gpu", gpu_memory="64MiB", gpu_timeout=60, device=eval(sys.argv[1])) as session:
    x = session.xp.zeros(3) + 1
    print(x.device, gpu.devices()[x.device].uuid, x.sum().item(), flush=True)
    sys.stdin.readline()
"""


def workers(devices):
    """Starts a process for each, which keeps its GPU until all have one: number, UUID and result of each."""
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", WORKER, repr(device)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for device in devices
    ]
    printed = [process.stdout.readline().split() for process in processes]
    for process in processes:
        process.communicate("\n", timeout=120)
    assert [process.returncode for process in processes] == [0] * len(processes)
    return printed


@needs_two
def test_02_each_process_uses_the_gpu_that_is_assigned_to_it():
    devices = gpu.devices()[:2]
    assert workers([1, 0]) == [[str(k), devices[k].uuid, "3.0"] for k in (1, 0)]


@needs_two
def test_03_processes_without_an_assignment_are_spread_over_the_gpus():
    count = len(gpu.devices())
    assert len({uuid for _, uuid, _ in workers([None] * count)}) == count


def in_another_process(program, value):
    """What a program makes of a value: it unpickles the value from its standard input and pickles the result."""
    program = (
        f"import pickle, sys\nvalue = pickle.load(sys.stdin.buffer)\n{program}\npickle.dump(result, sys.stdout.buffer)"
    )
    done = subprocess.run([sys.executable, "-c", program], input=pickle.dumps(value), capture_output=True, timeout=120)
    assert done.returncode == 0, done.stderr.decode()
    return pickle.loads(done.stdout)


DOUBLE = """
from glint import gpu, offload
with offload.Session("gpu", gpu_memory="64MiB", gpu_timeout=60, device=1) as session:
    result = (gpu.to_device(value, session=session) * 2).to_numpy()
"""


@needs_two
def test_04_processes_communicate_via_the_cpu():
    with session_on(0) as session:
        x = gpu.to_device(values(50), session=session)
        result = gpu.to_device(in_another_process(DOUBLE, x.to_numpy()), session=session)
        np.testing.assert_array_equal(result.to_numpy(), 2 * values(50))


IMPORT = """
from glint import gpu, offload
with offload.Session("gpu", gpu_memory="64MiB", gpu_timeout=60, device=0) as session:
    x = gpu.import_array(value, session=session)
    result = x.shape == value.shape, int(x.device), x.sum().item()
    x[1] = x[0] * 2
    session.synchronize()
    del x
"""


@needs_gpu
def test_05_another_process_opens_an_array_by_its_ipc_handle():
    a = np.arange(12, dtype="f4").reshape(3, 4)
    with session_on(0) as session:
        x = gpu.export_array(a, session=session)
        np.testing.assert_array_equal(x.to_numpy(), a)
        assert in_another_process(IMPORT, x.ipc_handle) == (True, 0, a.sum())
        np.testing.assert_array_equal(x[1].to_numpy(), a[0] * 2)
        y = gpu.export_array(x[:, ::2], session=session)
        np.testing.assert_array_equal(y.to_numpy(), x.to_numpy()[:, ::2])
        with pytest.raises(glint.OptionError, match="export_array"):
            (x + 1).ipc_handle
        with pytest.raises(glint.OptionError, match="ipc_handle of an array"):
            gpu.import_array(b"", session=session)
        with pytest.raises(glint.OptionError, match="64"):
            gpu.import_array(gpu.IpcHandle(b"short", (3,), "float32"), session=session)


MESSAGES = """
import numpy as np
from glint import gpu, offload
from mpi4py import MPI
a = np.random.default_rng(5).normal(size=100).astype("f4")
with offload.Session("gpu", gpu_memory="64MiB", gpu_timeout=60) as session:
    x, y = (gpu.to_device(values, session=session, unified=True) for values in (a, np.zeros_like(a)))
    on_device = gpu.to_device(a, session=session)
    assert MPI.buffer(on_device).address == on_device.__cuda_array_interface__["data"][0]
    assert MPI.buffer(on_device).nbytes == on_device.nbytes
    MPI.COMM_SELF.Sendrecv(x, dest=0, recvbuf=y, source=0)
    np.testing.assert_array_equal((y + 1).to_numpy(), a + 1)
print("sent")
"""


@needs_gpu
def test_06_arrays_are_buffers_of_point_to_point_messages_of_mpi():
    """An MPI without CUDA exchanges arrays of unified memory."""
    assert mpirun(MESSAGES).split() == ["sent"]


COLLECTIVES = """
import numpy as np
from glint import gpu, offload
from mpi4py import MPI
a = np.random.default_rng(5).normal(size=100).astype("f4")
with offload.Session("gpu", gpu_memory="64MiB", gpu_timeout=60) as session:
    x, y = (gpu.to_device(values, session=session, unified=True) for values in (a, np.zeros_like(a)))
    MPI.COMM_SELF.Allreduce(x, y, op=MPI.SUM)
    np.testing.assert_array_equal((y + 1).to_numpy(), a + 1)
    y[:] = 0
    MPI.COMM_SELF.Allgather(x, y)
    np.testing.assert_array_equal((y + 1).to_numpy(), a + 1)
print("reduced and gathered")
"""


@needs_gpu
def test_07_arrays_are_buffers_of_collective_operations_of_mpi():
    assert mpirun(COLLECTIVES) == "reduced and gathered\n"


@needs_gpu
def test_08_mpi_is_given_the_address_on_the_gpu_and_no_copy(session):
    x = gpu.to_device(values(10, 10), session=session)
    y = x + 1
    before = session.statistics()["total"]["gpu"]["transfers"]
    interface = y.__cuda_array_interface__
    assert session.statistics()["total"]["gpu"]["transfers"] == before
    assert (interface["shape"], interface["typestr"], interface["strides"]) == ((10, 10), "<f4", None)
    rows = y[4:].__cuda_array_interface__
    assert rows["data"] == (interface["data"][0] + 4 * 10 * 4, False)


# ---- Scenario 2: multiple GPUs per process


@needs_two
def test_10_a_process_switches_to_a_device():
    for k in (0, 1, 0):
        with offload.on_device(k) as session:
            assert session.device == k and gpu.to_device(values(3)).device == (session.xp.zeros(3) + 1).device == k
    with offload.on_device(0):
        with offload.on_device(1):
            assert gpu.to_device(values(3)).device == 1
        assert gpu.to_device(values(3)).device == 0, "the outer one is active again"


@needs_gpu
def test_11_the_number_of_gpus_can_be_asked_for():
    usable = [device.ordinal for device in gpu.devices() if device.usable]
    assert usable == list(range(len(usable)))
    with pytest.raises(gpu.NoGpu), session_on(len(gpu.devices())) as none:
        none.open()


@needs_two
def test_12_allocations_are_tied_to_their_gpu_and_may_be_used_on_another():
    a, b = values(20), values(20)[::-1].copy()
    with offload.on_device(0):
        x = gpu.to_device(a)
    with offload.on_device(1):
        y = gpu.to_device(b)
        z = x + y
    assert (x.device, y.device, z.device) == (0, 1, 1), "text: take care to use data only on its device"
    np.testing.assert_array_equal(z.to_numpy(), a + b)


@needs_two
def test_13_each_gpu_has_a_memory_pool_of_its_own():
    sessions = [session_on(k) for k in range(2)]
    arrays = [gpu.to_device(np.zeros((k + 1) << 20, "u1"), session=sessions[k]) for k in range(2)]
    used = {memory.ordinal: memory.live_bytes for memory in gpu.memory()}
    assert used[0] >= 1 << 20 and used[1] >= 2 << 20
    arrays[1] = None
    after = {memory.ordinal: memory.live_bytes for memory in gpu.memory()}
    assert (after[0], after[1]) == (used[0], used[1] - (2 << 20))
    sessions[1].close()
    np.testing.assert_array_equal((arrays[0] + 1).to_numpy(), np.ones(1 << 20, "u1"))
    sessions[0].close()


@needs_two
def test_14_gpus_of_one_process_compute_concurrently():
    """Two threads, each with a GPU, take turns at random; each must find its own results."""
    results, failed, meet = {}, [], threading.Barrier(2)

    def work(k):
        try:
            with offload.on_device(k):
                meet.wait(60)
                x = gpu.to_device(np.full(1000, k, "i8"))
                for step in range(20):
                    x = x * 3 + step
                    np.zeros(10), glint.arrays.zeros(5000)  # memory that comes and goes
                results[k] = int(x.device), x.to_numpy()
        except BaseException as error:
            failed.append(error)
            raise

    threads = [threading.Thread(target=work, args=(k,)) for k in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    for k in range(2):
        expected = k
        for step in range(20):
            expected = expected * 3 + step
        assert results[k][0] == k and set(results[k][1]) == {expected}


@needs_two
def test_15_memory_of_another_gpu_is_written_by_peer_access():
    with offload.on_device(0) as zero:
        x = gpu.to_device(np.zeros(100, "f4"))
        zero.reset_statistics()
    with offload.on_device(1):
        y = gpu.to_device(values(100))
        x[:50] = y[50:]
        x += 1
    expected = np.ones(100, "f4")
    expected[:50] += values(100)[50:]
    np.testing.assert_array_equal(x.to_numpy(), expected)
    with offload.on_device(0):
        assert x.device == 0 and zero.statistics()["total"]["gpu"]["calls"] == 0, "GPU 1 wrote it"


@needs_two
def test_16_unified_memory_is_accessible_from_all_devices():
    with session_on(0) as session:
        x = gpu.to_device(np.zeros(100, "f4"), session=session, unified=True)
        for step, k in enumerate((0, 1, 1, 0, 1)):
            with offload.on_device(k):
                x += 1
                assert (x * 2).device == k
            assert x[99] == step + 1, "and from the CPU"


@needs_gpu
def test_17_unified_memory_can_be_the_memory_of_a_session():
    with session_on(unified=True) as session:
        xp = session.xp
        arrays = [
            xp.empty((3, 4, 2)),
            xp.zeros(5),
            xp.random.uniform(4, seed=1),
            gpu.to_device(values(3), session=session),
            gpu.to_device(values(3), session=session) + 1,
        ]
        assert all(array.unified and array.host_view().shape == array.shape for array in arrays)


class Buffer:
    """Memory with an owner, of which other libraries get the address (DLPack)."""

    def __init__(self, array):
        self.array, self.dtype, self.shape = array, array.dtype, array.shape

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)


@needs_gpu
def test_18_a_buffer_is_wrapped_as_an_array_without_a_copy():
    with session_on(0) as one, session_on(0) as other:
        buffer = Buffer(gpu.to_device(np.zeros((3, 4, 2), "f4"), session=one))
        wrapped = gpu.to_device(buffer, session=other)
        assert wrapped.adopted and (wrapped.shape, wrapped.dtype) == ((3, 4, 2), "f4")
        wrapped[1] = 7
        other.synchronize()
        assert buffer.array[1].sum().item() == 56


@needs_gpu
def test_19_the_buffer_lives_as_long_as_the_array():
    with session_on(0) as one, session_on(0) as other:
        buffer = Buffer(gpu.to_device(values(1 << 20), session=one))
        wrapped = gpu.to_device(buffer, session=other)
        used = sum(memory.live_bytes for memory in gpu.memory())
        del buffer
        gc.collect()
        assert sum(memory.live_bytes for memory in gpu.memory()) == used >= 4 << 20
        np.testing.assert_array_equal(wrapped.to_numpy(), values(1 << 20))
        del wrapped
        gc.collect()
        assert sum(memory.live_bytes for memory in gpu.memory()) <= used - (4 << 20)


@needs_gpu
@pytest.mark.parametrize("unified", [True, False])
def test_20_data_of_the_cpu_is_copied_into_an_array(session, unified):
    x = gpu.to_device(np.zeros((3, 4, 2), "f4"), session=session, unified=unified)
    address = x.__cuda_array_interface__["data"]
    assert gpu.copy(x, values(3, 4, 2)) is x
    np.testing.assert_array_equal(x.to_numpy(), values(3, 4, 2))
    gpu.copy(x[1], values(3, 4, 2)[0])
    np.testing.assert_array_equal(x[1].to_numpy(), values(3, 4, 2)[0])
    assert x.__cuda_array_interface__["data"] == address and x.unified == unified


@needs_gpu
def test_21_a_slice_of_the_outermost_dimension_is_a_view_of_contiguous_memory(session):
    x = gpu.to_device(values(2, 3, 4), session=session, unified=True)
    first = x.__cuda_array_interface__["data"][0]
    for k in range(2):
        part = x[k].__cuda_array_interface__
        assert (part["data"][0], part["shape"], part["strides"]) == (first + k * 48, (3, 4), None)
        part = x[k]
        part[...] = k
    np.testing.assert_array_equal(x.to_numpy(), np.arange(2, dtype="f4")[:, None, None] * np.ones((2, 3, 4), "f4"))


def slices_computed_by_their_gpus(a, b, session):
    """The text's example: GPU k adds slice k. The sum, and the sessions of the GPUs."""
    da, db = gpu.to_device(a, session=session), gpu.to_device(b, session=session)
    dc = gpu.to_device(np.zeros_like(a), session=session)
    sessions = []
    for k in range(len(a)):
        with offload.on_device(k) as active:
            dc[k] = da[k] + db[k]
            sessions.append(active)
    return dc, sessions


@needs_two
@pytest.mark.parametrize("unified", [True, False])
def test_22_each_gpu_computes_its_slice(unified):
    a, b = values(2, 3, 4), values(2, 3, 4)[::-1].copy()
    with session_on(0, unified=unified) as session:
        dc, sessions = slices_computed_by_their_gpus(a, b, session)
        assert dc.device == 0 and dc.unified == unified
        assert sessions[1].gpu_open, "GPU 1 has computed its slice"
        with offload.on_device(1):
            assert (dc[1] + dc[1]).device == 1


@needs_two
def test_23_the_devices_are_synchronized_before_a_download_or_by_it():
    a, b = values(2, 3, 4), values(2, 3, 4)[::-1].copy()
    for synchronize in (True, False):
        with session_on(0, unified=True) as session:
            dc, sessions = slices_computed_by_their_gpus(a, b, session)
            for active in sessions if synchronize else ():
                active.synchronize()
            np.testing.assert_array_equal(dc.host_view() if synchronize else dc.to_numpy(), a + b)


@needs_two
def test_25_the_downloaded_sum_is_that_of_the_cpu():
    a, b = (np.round(np.random.default_rng(k).random((2, 3, 4)).astype("f4") * 100) for k in range(2))
    for unified in (True, False):
        with session_on(0, unified=unified) as session:
            dc, _ = slices_computed_by_their_gpus(a, b, session)
            c = gpu.to_host(dc)
            assert isinstance(c, np.ndarray)
            np.testing.assert_array_equal(c, a + b)


# ---- Scenario 3: one GPU per thread


@needs_two
def test_26_each_thread_has_an_active_gpu_of_its_own():
    found, failed, meet = {}, [], threading.Barrier(2)

    def work(k):
        try:
            with offload.on_device(k):
                meet.wait(60)
                x = gpu.to_device(values(100)) * 2
                meet.wait(60)  # both are within their blocks
                found[k] = int(x.device), int((x + 1).device), offload.default_session().device, x.to_numpy()
        except BaseException as error:
            failed.append(error)
            raise

    with offload.on_device(0):
        threads = [threading.Thread(target=work, args=(k,)) for k in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert gpu.to_device(values(3)).device == 0
    assert not failed
    for k in range(2):
        assert found[k][:3] == (k, k, k)
        np.testing.assert_array_equal(found[k][3], 2 * values(100))


@needs_two
def test_27_threads_share_one_context_for_each_gpu():
    sessions, arrays = [], []

    def work():
        with offload.on_device(0) as session:
            sessions.append(session)
            arrays.append(gpu.to_device(values(100)))

    for _ in range(3):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert len(set(map(id, sessions))) == 1 and [memory.ordinal for memory in gpu.memory()] == [0]
    np.testing.assert_array_equal((arrays[0] + arrays[1] - arrays[2]).to_numpy(), values(100))
