"""CUDA.jl 5.4, "Memory management mayhem": one test for each statement, in the order of the text.

runtime-promises.md lists the statements. Missing numbers are held by tests in C++. Most tests need a GPU, or two
that reach each other's memory, real or simulated (tests/simgpu/run).
"""

import asyncio
import functools
import gc
import json
import operator
import threading

import glint
import numpy as np
import pytest
from conftest import needs_gpu, needs_two, python, session_on, simulated_server
from glint import gpu, offload

MIB = 1 << 20


@pytest.fixture(autouse=True)
def closed():
    yield
    offload.close()


@pytest.fixture
def session():
    with session_on() as session:
        yield session


@pytest.fixture
def no_automatic_collection():
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def values(*shape, dtype="f4"):
    return np.random.default_rng(5).normal(size=shape).astype(dtype)


class Cycle:
    """An array that only the garbage collector frees."""

    def __init__(self, array):
        self.array, self.itself = array, self


def garbage(session, mib):
    Cycle(glint.arrays.empty(mib * MIB, dtype="u1", device=session.xp.empty(0).device))


def memory_of(session):
    device = session.open()
    (memory,) = [memory for memory in gpu.memory() if memory.ordinal == device]
    return memory


# ---- Eager garbage collection


@simulated_server
def test_01_garbage_is_collected_before_an_allocation_fails(session, no_automatic_collection):
    for _ in range(3):
        garbage(session, 48)
    memory = memory_of(session)
    assert 48 * MIB <= memory.live_bytes < 64 * MIB and memory.limit_bytes == 64 * MIB and memory.retries > 0


@needs_gpu
def test_02_memory_use_is_tracked(session):
    before = memory_of(session).live_bytes
    x = gpu.to_device(np.ones(3 * MIB, "u1"), session=session)
    view = x[:100]
    assert memory_of(session).live_bytes - before == 3 * MIB, "a view is no further memory"
    del x
    assert memory_of(session).live_bytes - before == 3 * MIB, "the view keeps it"
    del view
    memory = memory_of(session)
    assert memory.live_bytes == before and memory.peak_bytes >= before + 3 * MIB <= memory.reserved_bytes


@simulated_server
def test_03_garbage_is_collected_early_before_any_allocation_fails(session, no_automatic_collection):
    garbage(session, 48)
    assert memory_of(session).live_bytes >= 48 * MIB
    for _ in range(2):  # a result that the host waits for, and one more operation
        assert offload.sum(gpu.to_device(np.ones(10), session=session), session=session) == 10
    memory = memory_of(session)
    assert memory.live_bytes < MIB and memory.retries == 0


@simulated_server
def test_04_collection_happens_while_waiting_for_the_gpu(session, no_automatic_collection):
    garbage(session, 56)
    session.synchronize()
    memory = memory_of(session)
    assert (memory.live_bytes, memory.reserved_bytes, memory.retries) == (0, 0, 0)
    assert memory.early_reclaimed_bytes >= 56 * MIB


def train(xp, x, y, batch, epochs):
    """The text's example: a dense layer of one neuron, mean squared error, Adam."""
    weight, bias = xp.zeros((x.shape[1], 1), dtype=xp.float64), xp.zeros(1, dtype=xp.float64)
    parameters, moments = [weight, bias], [[p * 0, p * 0] for p in (weight, bias)]
    step = 0
    for _ in range(epochs):
        for first in range(0, x.shape[0], batch):
            rows = xp.asarray(x[first : first + batch], copy=True)
            residual = rows @ parameters[0] + parameters[1] - y[first : first + batch]
            gradients = [rows.T @ residual * (2 / rows.shape[0]), xp.mean(residual, axis=0) * 2]
            step += 1
            for k, gradient in enumerate(gradients):
                first_moment, second_moment = moments[k]
                first_moment = 0.9 * first_moment + 0.1 * gradient
                second_moment = 0.999 * second_moment + 0.001 * gradient * gradient
                moments[k] = [first_moment, second_moment]
                rate = 0.05 * (1 - 0.999**step) ** 0.5 / (1 - 0.9**step)
                parameters[k] = parameters[k] - rate * first_moment / (xp.sqrt(second_moment) + 1e-8)
            Cycle(rows)
    return parameters


@needs_gpu
def test_05_the_training_example_runs_within_a_memory_limit(session, no_automatic_collection):
    x = values(600, 7, dtype="f8")
    y = x @ np.arange(7.0)[:, None] + 3
    with offload.Session("cpu") as cpu:
        expected = train(cpu.xp, x, y, 128, 20)
    found = train(session.xp, gpu.to_device(x, session=session), gpu.to_device(y, session=session), 128, 20)
    assert all(isinstance(parameter, gpu.DeviceArray) for parameter in found)
    for ours, theirs in zip(found, expected):
        np.testing.assert_allclose(ours.to_numpy(), theirs, rtol=1e-9, atol=1e-9)
    loss = np.mean((x @ found[0].to_numpy() + found[1].to_numpy() - y) ** 2)
    assert loss < 0.5 * np.mean(y**2), "it has learned"
    assert memory_of(session).peak_bytes <= 64 * MIB


LIMITED = """
import numpy as np
from glint import gpu, offload
with offload.Session("gpu", gpu_memory="256MiB", gpu_timeout=60) as session:
    x = gpu.to_device(np.ones(20 << 20, "u1"), session=session)
    print(gpu.memory()[0].limit_bytes >> 20)
    try:
        gpu.to_device(np.ones(30 << 20, "u1"), session=session)
    except gpu.OutOfMemory as error:
        print(error)
"""


@needs_gpu
def test_06_a_variable_limits_the_memory_of_a_program():
    limit, error = python(LIMITED, GLINT_GPU_MEMORY_LIMIT="48MiB")[0].splitlines()
    assert limit == "48" and "limit of 48.0 MiB" in error
    assert python(LIMITED)[0].split() == ["256"]


RECLAIM = """
import numpy as np
from glint import gpu, offload
with offload.Session("gpu", gpu_memory="64MiB", gpu_timeout=60) as session:
    session.open(); session.synchronize()                      # what opening allocated is free again
    for _ in range(3):
        x = gpu.to_device(np.ones(40 << 20, "u1"), session=session)
        cycle = [x]; cycle.append(cycle); del x, cycle        # for the garbage collector alone
        SYNCHRONIZE
    print(gpu.memory()[0].early_reclaims, gpu.memory()[0].retries)
"""
EPOCHS = RECLAIM.replace("SYNCHRONIZE", "pass")


@simulated_server
def test_07_a_variable_switches_early_collection_off(session, no_automatic_collection):
    program = RECLAIM.replace("40 <<", "56 <<").replace("SYNCHRONIZE", "session.synchronize(); break")
    program = "import gc\ngc.disable()" + program
    assert python(program)[0].split() == ["1", "0"]
    assert python(program, GLINT_GPU_EARLY_RECLAIM="false")[0].split() == ["0", "0"]


@simulated_server
def test_08_each_collection_at_an_allocation_is_logged_with_what_it_freed():
    assert "freed" not in python(EPOCHS, GLINT_GPU_EARLY_RECLAIM="false")[1]
    logged = python(EPOCHS, GLINT_GPU_EARLY_RECLAIM="false", GLINT_GPU_LOG="1")[1]
    lines = [line for line in logged.splitlines() if "freed" in line]
    for line in lines:
        assert line.startswith("glint: GPU ") and "out of memory for 40.0 MiB: " in line
        assert " ms; the allocation succeeded" in line and " 0 bytes" not in line
    # One line per event; the first array may have to wait for what measured the link.
    collected = [line for line in lines if "the program's callbacks freed 40.0 MiB in " in line]
    assert len(collected) == 2 and len(lines) <= 3, lines


EARLY = """
import glint
from glint import gpu, offload
with offload.Session("gpu", gpu_memory="256MiB", gpu_timeout=60) as session:
    session.open(); session.synchronize()
    x = [glint.arrays.empty(48 << 20, dtype="u1", device=session.xp.empty(0).device) for _ in range(5)]
    del x
    session.synchronize()
"""


@simulated_server
def test_09_each_early_collection_is_logged_with_what_it_gave_back():
    logged = python(EARLY, GLINT_GPU_LOG="1")[1].splitlines()
    lines = [line for line in logged if "early" in line]
    assert lines and all("gave " in line and " ms" in line and " 0 bytes" not in line for line in lines), logged
    assert not any("out of memory" in line for line in logged), "no allocation failed"


@simulated_server
@pytest.mark.parametrize("early", [True, False])
def test_10_early_collection_gives_back_each_epochs_memory_instead_of_keeping_it(early):
    with gpu.set_early_reclaim(early), session_on(gpu_memory="512MiB") as session:
        device = session.xp.empty(0).device
        data = glint.arrays.empty(160 * MIB, dtype="u1", device=device)
        for _ in range(3):
            batches = [glint.arrays.empty(48 * MIB, dtype="u1", device=device) for _ in range(6)]
            del batches
            for _ in range(10_000 if early else 1):  # the collections are spaced in time
                session.synchronize()
                if memory_of(session).reserved_bytes <= 192 * MIB:
                    break
        memory = memory_of(session)
        assert data.size and memory.retries == 0
        if early:
            assert memory.reserved_bytes <= 192 * MIB and memory.early_reclaims >= 1
        else:
            assert memory.early_reclaimed_bytes == 0 and memory.reserved_bytes > 192 * MIB


@simulated_server
def test_12_the_heuristic_considers_the_memory_pressure(session, no_automatic_collection):
    garbage(session, 8)
    session.synchronize()
    memory = memory_of(session)
    assert memory.live_bytes >= 8 * MIB and memory.early_reclaims == 0, "there is room: nothing is collected"
    garbage(session, 48)
    session.synchronize()
    memory = memory_of(session)
    assert memory.live_bytes < MIB and memory.early_reclaims == 1


@simulated_server
def test_13_the_heuristic_considers_what_earlier_collections_freed():
    with session_on(gpu_memory="512MiB") as session:
        device = session.xp.empty(0).device
        # Two in each part of the pool.
        halves = [glint.arrays.empty(16 * MIB, dtype="u1", device=device) for _ in range(24)]
        session.synchronize()
        del halves[::2]
        for _ in range(100):
            session.synchronize()
        assert memory_of(session).early_reclaims == 1, "what gives nothing is not repeated"


# ---- Tracked memory allocations


@needs_two
def test_15_arrays_know_the_gpu_that_owns_their_memory():
    with offload.on_device(1):
        x = gpu.to_device(values(4, 5))
    with offload.on_device(0):
        y = gpu.to_device(values(4, 5))
        assert (x.device, y.device) == (1, 0) and x[1:, ::2].device == x.T.device == 1
        assert x.__dlpack_device__() == (2, 1) and y.__dlpack_device__() == (2, 0)


@needs_two
def test_16_memory_is_used_without_making_its_gpu_active_again():
    a = values(4, 5)
    with offload.on_device(1):
        x = gpu.to_device(a)
    np.testing.assert_array_equal((x + x).to_numpy(), a + a)
    with offload.on_device(0):
        np.testing.assert_array_equal((x + x).to_numpy(), a + a)
        np.testing.assert_array_equal(x.to_numpy(), a)


def on_one_gpu():
    """Two sessions on GPU 0, each with its own stream, and a function that counts waits of streams for each other."""
    one, other = session_on(0), session_on(0)
    one.open(), other.open()
    return one, other, lambda: sum(memory.event_waits for memory in gpu.memory())


@needs_gpu
def test_17_memory_is_used_without_regard_to_the_stream_that_used_it_last():
    one, other, _ = on_one_gpu()
    with one, other:
        a = values(1000)
        x = gpu.to_device(a, session=one)
        for k in range(5):
            x += 1
            doubled = offload.map(lambda v: v * 2, x, session=other)
            np.testing.assert_allclose(doubled.to_numpy(), 2 * (a + k + 1), rtol=1e-5)


AXPY = """extern "C" __global__ void axpy(float* y, const float* x, float a, unsigned n) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] += a * x[i];
}"""


def written_kernels(x):
    y = gpu.to_device(np.zeros(64, "f4"))
    try:
        gpu.Kernel(AXPY, "axpy")(1, 64, y, x, 2.0, 64)
    except gpu.LibraryMissing as missing:
        pytest.skip(f"{missing}")
    return y


def expressions(x):
    assert abs(offload.sum(x) - x.to_numpy().sum(dtype="f8")) < 1e-4
    return offload.map(lambda v: v * 2, x)


def assignments(x):
    x[:8] = 7
    x[8:16] = x[16:24] * 2
    x += 1
    x[x > 7] = 0
    expected = values(64)
    expected[:8] = 7
    expected[8:16] = expected[16:24] * np.float32(2)
    expected += 1
    expected[expected > 7] = 0
    np.testing.assert_array_equal(x.to_numpy(), expected)
    return None


@needs_two
@pytest.mark.parametrize("use", [written_kernels, expressions, assignments])
def test_18_kernels_use_memory_of_another_gpu(use):
    with offload.on_device(0) as zero:
        x = gpu.to_device(values(64))
        zero.reset_statistics()
    with offload.on_device(1) as one:
        found = use(x)
        assert x.device == 0, "the array stays where it is"
        if found is not None:
            assert found.device == 1
            np.testing.assert_array_equal(found.to_numpy(), 2 * values(64))
        assert one.gpu_open
    assert zero.statistics()["total"]["gpu"]["calls"] == 0, "its own GPU computed nothing"


def elsewhere(what):
    """The array on GPU 0, and the result of `what` of it with GPU 1 active, which must be there."""
    a = values(8, 8)
    with offload.on_device(0):
        x = gpu.to_device(a)
    with offload.on_device(1):
        found = what(x)
    assert x.device == 0
    np.testing.assert_array_equal(x.to_numpy(), a)
    for part in found if isinstance(found, tuple) else (found,):
        assert part.device == 1
    return a, found


FUNCTIONS = {
    "where": lambda xp, x: xp.where(x > 0, x, 0.0),
    "concat": lambda xp, x: xp.concat([x, x]),
    "stack": lambda xp, x: xp.stack([x, x]),
    "roll": lambda xp, x: xp.roll(x, 3),
    "tile": lambda xp, x: xp.tile(x, (2, 1)),
    "zeros_like": lambda xp, x: xp.zeros_like(x),
    "diff": lambda xp, x: xp.diff(x, axis=0),
    "sort": lambda xp, x: xp.sort(x),
    "cumulative_sum": lambda xp, x: xp.cumulative_sum(x, axis=0),
    "fft": lambda xp, x: xp.fft.fft(x),
    "rfftn": lambda xp, x: xp.fft.rfftn(x),
    "svdvals": lambda xp, x: xp.linalg.svdvals(x),
    "solve": lambda xp, x: xp.linalg.solve(x, x[:, 0]),
    "inv": lambda xp, x: xp.linalg.inv(x),
    "norm": lambda xp, x: xp.linalg.matrix_norm(x),
    "svd": lambda xp, x: xp.linalg.svd(x),
    "qr": lambda xp, x: xp.linalg.qr(x),
    "tensordot": lambda xp, x: xp.tensordot(x, x),
    "complex": lambda xp, x: xp.exp(xp.astype(x, xp.complex64)),
    "offload.matmul": lambda xp, x: offload.matmul(x, x),
    "offload.fft": lambda xp, x: offload.rfft(x),
    "eigvalsh": lambda xp, x: xp.linalg.eigvalsh(x @ x.T),
    "meshgrid": lambda xp, x: tuple(xp.meshgrid(x[0], x[1])),
    "trace": lambda xp, x: xp.linalg.trace(x),
    "outer": lambda xp, x: xp.linalg.outer(x[0], x[1]),
}


@needs_two
@pytest.mark.parametrize("name", FUNCTIONS)
def test_19_library_functions_use_memory_of_another_gpu(name):
    xp = glint.arrays
    a, found = elsewhere(lambda x: FUNCTIONS[name](xp, x))
    with offload.on_device(0):
        expected = FUNCTIONS[name](xp, gpu.to_device(a))
    for x, y in zip(*((v if isinstance(v, tuple) else (v,)) for v in (found, expected))):
        np.testing.assert_allclose(x.to_numpy(), y.to_numpy(), rtol=1e-5, atol=1e-5)


@needs_two
def test_20_the_active_gpu_is_never_switched():
    with session_on(1) as one:
        x = gpu.to_device(values(5), session=one)
        assert (x + 1).device == x.sum().device == glint.arrays.zeros_like(x).device == 1, "no GPU is active"
        with offload.on_device(0) as zero:
            assert (x + 1).device == 0 and offload.default_session() is zero
            assert gpu.to_device(values(3)).device == 0
        with offload.on_device(1):
            assert (x + 1)._core.session is one._core, "the session of the operands has that GPU already"


@needs_two
def test_21_access_between_gpus_is_set_up_automatically():
    a = values(1000)
    with offload.on_device(0) as zero:
        x = gpu.to_device(a)
        zero.reset_statistics()
    with offload.on_device(1) as one:
        one.open()
        one.reset_statistics()
        y = x + x
        totals = [session.statistics()["total"]["gpu"] for session in (zero, one)]
        assert [(total["transfers"], total["bytes_up"], total["bytes_down"]) for total in totals] == [(0, 0, 0)] * 2
        np.testing.assert_array_equal(y.to_numpy(), a + a)


OPERATIONS = {
    "a + 1": lambda x: x + 1,
    "1 - a": lambda x: 1 - x,
    "a * numpy": lambda x: x * np.ones((8, 8), "f4"),
    "a * a": lambda x: x * x,
    "-a": lambda x: -x,
    "abs": abs,
    "a < 0": lambda x: x < 0,
    "a @ a": lambda x: x @ x,
    "a.T + a[::-1]": lambda x: x.T + x[::-1],
    "sum": lambda x: x.sum(axis=0),
    "mean": lambda x: x.mean(),
    "std": lambda x: x.std(axis=1),
    "argmax": lambda x: x.argmax(axis=0),
    "any": lambda x: x.any(),
    "clip": lambda x: x.clip(-1, 1),
    "astype": lambda x: x.astype("f8"),
    "copy": lambda x: x.copy(),
    "take": lambda x: x.take(np.array([1, 2]), axis=0),
    "mask": lambda x: x[np.eye(8, dtype=bool)],
    "ravel": lambda x: x.T.ravel(),
    "exp": np.exp,
    "np.add": lambda x: np.add(x, 2),
    "repeat": lambda x: x.repeat(2, axis=0),
    "dot": lambda x: x.dot(x),
}


@needs_two
@pytest.mark.parametrize("name", OPERATIONS)
def test_22_an_operator_on_another_gpu_computes_there(name):
    a, found = elsewhere(OPERATIONS[name])
    np.testing.assert_allclose(found.to_numpy(), OPERATIONS[name](a), rtol=2e-5, atol=2e-5)


NO_PEER = """
import json
import numpy as np, glint
from glint import gpu, offload
a = np.arange(6, dtype="f4").reshape(2, 3)
with offload.on_device(0):
    x = gpu.to_device(a)
acts = {"operator": lambda: x + 1, "sum": lambda: x.sum(), "function": lambda: glint.arrays.exp(x),
        "assignment": lambda: x.__setitem__(0, 1), "matmul": lambda: x @ x.T,
        "map": lambda: offload.map(lambda v: v + 1, x), "reduction": lambda: offload.sum(x)}
errors, kinds, found = {}, {}, {}
with offload.on_device(1) as one:
    for name, act in acts.items():
        try:
            act()
        except gpu.GpuError as error:
            errors[name], kinds[name] = str(error), type(error).__name__
    found["other work"] = (gpu.to_device(a) + 1).to_numpy().tolist()
    with offload.on_device(0):
        found["switched"] = (x + 1).device, (x + 1).to_numpy().tolist()
    copy = x.copy()
    found["copied"] = copy.device, (copy + 1).device, (copy + 1).to_numpy().tolist()
    to = glint.arrays.empty((3, 2), dtype="f4")
    staged = gpu.copy(to, x.T), gpu.to_device(x, session=one).T
    found["staged"] = [[array.device, array.to_numpy().tolist()] for array in staged]
    found["unchanged"] = x.device, x.to_numpy().tolist()
offload.close()
print(json.dumps([errors, kinds, found]))
"""


@pytest.fixture(scope="module")
def no_peer():
    """Errors, their types and results of a program on GPUs that do not reach each other's memory."""
    if len(gpu.devices()) < 2:
        pytest.skip("needs two GPUs of the simulated server")
    return json.loads(python(NO_PEER, SIMGPU_NO_PEER="1", PYTHONWARNINGS="error")[0])


@simulated_server
def test_23_without_access_between_gpus_there_is_an_error_instead_of_an_illegal_access(no_peer):
    errors, kinds, found = no_peer
    assert list(errors) == ["operator", "sum", "function", "assignment", "matmul", "map", "reduction"]
    assert set(kinds.values()) == {"GpuError"}, "not DeviceLost"
    assert found["other work"] == [[1, 2, 3], [4, 5, 6]], "the GPU can still be used"


@simulated_server
def test_24_the_error_names_the_gpu_of_the_memory_and_the_one_that_computes(no_peer):
    assert len(no_peer[0]) == 7
    for error in no_peer[0].values():
        assert "in the memory of GPU 0 (" in error and ", and GPU 1 (" in error


@simulated_server
def test_25_the_error_says_that_access_is_not_possible(no_peer):
    assert len(no_peer[0]) == 7 and all("has no peer access" in error for error in no_peer[0].values())


@simulated_server
def test_26_the_error_suggests_to_switch_to_the_gpu_of_the_memory(no_peer):
    errors, _, found = no_peer
    assert all("`with glint.offload.on_device(0):`" in error for error in errors.values())
    assert found["switched"] == [0, [[1, 2, 3], [4, 5, 6]]], "and that helps"


@simulated_server
def test_27_the_error_suggests_a_copy(no_peer):
    errors, _, found = no_peer
    assert all("glint.gpu.copy(to, array)" in error for error in errors.values())
    assert found["copied"] == [1, 1, [[1, 2, 3], [4, 5, 6]]], "and that helps"


@needs_two
def test_28_memory_is_copied_between_gpus():
    a = values(40, 30)
    with offload.on_device(0), session_on(1) as one:
        x = gpu.to_device(a)
        y = gpu.to_device(np.zeros_like(a), session=one)
        assert gpu.copy(y, x) is y and (x.device, y.device) == (0, 1)
        np.testing.assert_array_equal(y.to_numpy(), a)
        part = y[::2, 1:]
        assert gpu.copy(part, x[1::2, :-1]) is part and part.device == 1
        expected = a.copy()
        expected[::2, 1:] = a[1::2, :-1]
        np.testing.assert_array_equal(y.to_numpy(), expected)
        gpu.copy(x, y)
        np.testing.assert_array_equal(x.to_numpy(), expected)


@simulated_server
def test_29_without_access_between_gpus_copies_are_staged_on_the_host(no_peer):
    transposed = [[0, 3], [1, 4], [2, 5]]
    assert no_peer[2]["staged"] == [[1, transposed], [1, transposed]]
    assert no_peer[2]["unchanged"] == [0, [[0, 1, 2], [3, 4, 5]]]


# ---- Multiple streams


@needs_gpu
def test_30_operations_of_a_stream_are_executed_in_order(session):
    x, expected = gpu.to_device(np.zeros(500, "i8"), session=session), np.zeros(500, "i8")
    for k in range(1, 30):
        x = (x + k) * 3 % 1009
        x[k::7] = k
        expected = (expected + k) * 3 % 1009
        expected[k::7] = k
    np.testing.assert_array_equal(x.to_numpy(), expected)


@needs_gpu
def test_32_independent_operations_of_two_streams_do_not_wait_for_each_other():
    one, other, waits = on_one_gpu()
    with one, other:
        x, y = gpu.to_device(values(1000), session=one), gpu.to_device(values(1000), session=other)
        before = waits()
        for _ in range(5):
            x += 1
            y += 1
        assert waits() == before


@needs_gpu
def test_33_a_task_that_produces_data_need_not_synchronize():
    one, other, _ = on_one_gpu()
    with one, other:
        x, produced = gpu.to_device(values(1000), session=one), []
        task = threading.Thread(target=lambda: produced.append((x + 1) * 2))
        task.start()
        task.join()
        doubled = offload.map(lambda v: v * 2, produced[0], session=other)
        np.testing.assert_allclose(doubled.to_numpy(), 4 * (values(1000) + 1), rtol=1e-6)


@needs_gpu
def test_34_a_task_that_uses_data_waits_for_its_last_use_automatically():
    one, other, waits = on_one_gpu()
    with one, other:
        x = gpu.to_device(values(1000), session=one)
        x += 1
        before, doubled = waits(), []

        def consume():
            doubled.append(offload.map(lambda v: v * 2, x, session=other))

        task = threading.Thread(target=consume)
        task.start()
        task.join()
        assert waits() > before, "the GPU waits, not the program"
        np.testing.assert_allclose(doubled[0].to_numpy(), 2 * (values(1000) + 1), rtol=1e-6)


@needs_gpu
def test_35_the_example_of_a_task_needs_no_synchronization(session):
    a, b = (session.xp.zeros((128, 128), dtype="f4") for _ in range(2))
    a += 1
    b += 2

    async def multiply():
        return a @ b

    async def main():
        return await asyncio.create_task(multiply()), await asyncio.to_thread(lambda: a @ b)

    for product in asyncio.run(main()):
        np.testing.assert_array_equal((product + 1).to_numpy(), np.full((128, 128), 257, "f4"))


# ---- Capturing APIs


class Foreign:
    """An array as another library has it: known by its address."""

    def __init__(self, array):
        self.array, self.dtype, self.shape = array, array.dtype, array.shape

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)


@needs_gpu
def test_36_whoever_gets_the_address_of_memory_finds_it_complete():
    one, other, _ = on_one_gpu()
    with one, other:
        x = gpu.to_device(values(1000), session=one)
        for k in range(3):
            x += 1
            adopted = gpu.to_device(Foreign(x), session=other)
            assert adopted.adopted and adopted.__cuda_array_interface__["data"] == x.__cuda_array_interface__["data"]
            np.testing.assert_allclose((adopted * 2).to_numpy(), 2 * (values(1000) + k + 1), rtol=1e-5)


@needs_gpu
def test_38_with_synchronization_memory_whose_address_was_kept_is_right():
    one, other, _ = on_one_gpu()
    with one, other:
        x = gpu.to_device(np.zeros(1000, "f4"), session=one)
        kept = gpu.to_device(Foreign(x), session=other)  # `one` knows nothing of what is done to it
        for k in range(1, 4):
            kept += 1
            other.synchronize()
            np.testing.assert_array_equal((x + 1).to_numpy(), np.full(1000, k + 1, "f4"))
            one.synchronize()


# ---- Unified memory iteration


def operations_of(session):
    """What the session has done: an operation takes at least a launch, some 10 us."""
    total = session.statistics()["total"]
    return [(total[side]["calls"], total[side]["transfers"]) for side in ("cpu", "gpu")]


@needs_gpu
def test_39_unified_memory_is_accessed_from_the_cpu_and_the_gpu(session):
    x = gpu.to_device(np.zeros(100, "f4"), session=session, unified=True)
    total = 0.0
    for k in range(5):
        assert x[7] == k and float(x[-1]) == k, "what the GPU wrote last"
        total += x[7]
        x += 1
    assert total == 10
    x[7] = 3
    x.host_view()[8] = 4
    assert x[7] == 3 and x[7:9].sum().item() == 7, "what the CPU wrote last"


@needs_gpu
def test_40_iteration_over_unified_memory_takes_no_operation_for_an_element(session):
    a = values(300)
    x = gpu.to_device(a, session=session, unified=True)
    before = operations_of(session)
    assert list(x) == list(a) and max(x) == max(a) and [v for v in reversed(list(x))] == list(a[::-1])
    assert operations_of(session) == before, "the CPU reads the memory itself"
    host = np.asarray(x)
    host[0] = 5
    assert x[0] == 5 and np.median(x) == np.median(host), "functions of the CPU use it in place"


@needs_gpu
def test_41_scalar_access_to_device_memory_is_for_whoever_allows_it(session):
    a = values(8)
    x = gpu.to_device(a, session=session)
    with gpu.set_scalar_access(True):
        assert gpu.scalar_access_enabled() and float(x[0]) == a[0]
        assert float(functools.reduce(operator.add, x)) == functools.reduce(operator.add, a)
    assert not gpu.scalar_access_enabled()
    gpu.set_scalar_access(True)
    try:
        assert [float(v) for v in x] == a.tolist()
    finally:
        gpu.set_scalar_access(False)
    with pytest.raises(glint.OptionError, match="True or False"):
        gpu.set_scalar_access("yes")


@needs_gpu
def test_42_an_element_of_unified_memory_is_read_without_an_operation(session):
    for a, key in ((values(1000), 3), (values(10, 10), (3, 4)), (np.ones(1, "i8"), 0)):
        x = gpu.to_device(a, session=session, unified=True)
        assert isinstance(x[key], np.generic) and x[key] == a[key]
        before = operations_of(session)
        assert {x[key] for _ in range(100)} == {a[key]} and x.item(key) == a.item(key)
        assert operations_of(session) == before
    with pytest.raises(IndexError):
        x[1]


@needs_gpu
def test_44_the_cpu_folds_unified_memory_without_an_operation(session):
    a = np.random.default_rng(1).random((256, 256)).astype("f4")
    x = gpu.to_device(a.ravel(), session=session, unified=True)
    expected = functools.reduce(operator.add, a.ravel())
    before = operations_of(session)
    assert functools.reduce(operator.add, x) == expected
    assert operations_of(session) == before, "the CPU reads the memory itself"
    assert sum(map(sum, gpu.to_device(a, session=session, unified=True))) == sum(map(sum, a))


@needs_gpu
def test_45_a_fold_over_device_memory_is_an_error(session):
    x = gpu.to_device(values(8), session=session)
    matrix = gpu.to_device(values(2, 2), session=session)
    for act in (
        lambda: functools.reduce(operator.add, x),
        lambda: list(x),
        lambda: float(x[0]),
        lambda: bool(x[0]),
        lambda: x[0] + 1,
        lambda: 0.0 + x[3],
        lambda: x[0] < x[1],
        lambda: max(x),
        lambda: -x[0],
        lambda: float(matrix[0, 0]),
    ):
        with pytest.raises(
            glint.OptionError,
            match="scalar access to device memory is disallowed.*to_numpy().*unified=True.*set_scalar_access",
        ):
            act()
    with pytest.raises(TypeError, match="to_numpy"):
        np.asarray(x)


@needs_gpu
def test_46_what_is_no_loop_over_elements_of_device_memory_is_allowed(session):
    a = values(4, 4)
    x = gpu.to_device(a, session=session)
    assert x.item(0, 1) == a[0, 1] and float(x.max()) == a.max() and float(x[0, 0, ...]) == a[0, 0]
    assert float(np.sqrt(abs(x).max())) > 0 and bool(glint.arrays.any(x[0, 0])), "functions of the array API"
    np.testing.assert_array_equal((x - x[0, 0]).to_numpy(), a - a[0, 0])
    assert [row.shape for row in x] == [(4,)] * 4 and len(glint.arrays.unstack(x[0])) == 4
    x[0, 0] = 5
    assert x.tolist()[0][0] == 5 and float(gpu.to_device(np.ones(1), session=session)[0]) == 1


def half_ported(x):
    """A program of which one part runs on the GPU, if `x` is there, and the other on the CPU, element by element."""
    total = 0.0
    for step in range(3):
        x *= 2
        x += step
        for k in range(0, len(x), 16):
            total += float(x[k])
            x[k] = k
        total += functools.reduce(operator.add, x[:10])
    return total, np.asarray(x)


@needs_gpu
def test_47_a_program_is_ported_to_the_gpu_part_by_part(session):
    a = values(64)
    total, result = half_ported(a.copy())
    ported, found = half_ported(gpu.to_device(a, session=session, unified=True))
    np.testing.assert_array_equal(found, result)
    assert ported == total
    assert operations_of(session)[1][0] > 0, "the GPU took part"


RESULTS = {
    "operator": lambda xp, x: x * 2 + 1,
    "mixed": lambda xp, x: x + xp.asarray(np.ones((8, 8), "f4"), device=x.device),
    "comparison": lambda xp, x: x > 0,
    "function": lambda xp, x: xp.exp(x),
    "where": lambda xp, x: xp.where(x > 0, x, 0.0),
    "sum": lambda xp, x: x.sum(axis=0),
    "std": lambda xp, x: x.std(axis=0),
    "argmax": lambda xp, x: x.argmax(axis=0),
    "matmul": lambda xp, x: x @ x,
    "copy": lambda xp, x: x.copy(),
    "astype": lambda xp, x: x.astype("f8"),
    "concat": lambda xp, x: xp.concat([x, x]),
    "mask": lambda xp, x: x[x > 0],
    "take": lambda xp, x: x[np.array([1, 2])],
    "sort": lambda xp, x: xp.sort(x),
    "cumulative_sum": lambda xp, x: xp.cumulative_sum(x, axis=0),
    "zeros_like": lambda xp, x: xp.zeros_like(x),
    "ones_like": lambda xp, x: xp.ones_like(x),
    "isnan": lambda xp, x: xp.isnan(x),
    "fft": lambda xp, x: xp.fft.fft(x),
    "padded": lambda xp, x: xp.fft.fft(x, n=9),
    "solve": lambda xp, x: xp.linalg.solve(x, x),
    "svd": lambda xp, x: xp.linalg.svd(x).S,
    "inv": lambda xp, x: xp.linalg.inv(x),
    "qr": lambda xp, x: xp.linalg.qr(x).R,
    "eigh": lambda xp, x: xp.linalg.eigh(x + x.T).eigenvectors,
    "svdvals": lambda xp, x: xp.linalg.svdvals(x),
    "eigvalsh": lambda xp, x: xp.linalg.eigvalsh(x + x.T),
    "norm": lambda xp, x: xp.linalg.vector_norm(x, axis=0),
    "complex": lambda xp, x: xp.real(xp.exp(x + 1j)),
    "offload.map": lambda xp, x: offload.map(lambda v: v * 2, x),
    "offload.matmul": lambda xp, x: offload.matmul(x, x),
    "offload.fft": lambda xp, x: offload.fft(x.astype("c8")),
    "offload.sum": lambda xp, x: offload.sum(x, axis=0),
    "tile": lambda xp, x: xp.tile(x, (2, 1)),
    "roll": lambda xp, x: xp.roll(x, 3),
    "prod": lambda xp, x: xp.prod(x, axis=0),
    "any": lambda xp, x: xp.any(x, axis=0),
    "integers": lambda xp, x: x.astype("i8") & 3,
    "ravel": lambda xp, x: x.T.ravel(),
    "full_like": lambda xp, x: xp.full_like(x, 3),
    "empty_like": lambda xp, x: xp.empty_like(x),
    "outer": lambda xp, x: xp.linalg.outer(x[0], x[1]),
}


@needs_gpu
@pytest.mark.parametrize("name", RESULTS)
def test_48_an_array_of_unified_memory_is_all_that_this_needs(name):
    with offload.on_device(0):
        with pytest.raises(glint.OptionError, match="unified=True"):
            half_ported(gpu.to_device(values(64)))
        result = RESULTS[name](glint.arrays, gpu.to_device(values(8, 8), unified=True))
        assert result.unified and not gpu.scalar_access_enabled(), "so are results"
        assert list(result.ravel()) == result.to_numpy().ravel().tolist() or name == "empty_like"
        assert not RESULTS[name](glint.arrays, gpu.to_device(values(8, 8))).unified


def test_49_unified_memory_can_be_the_default():
    assert not gpu.unified_enabled()
    session = offload.Session("cpu")
    with gpu.set_unified(True):
        assert gpu.unified_enabled() and session.unified and not offload.Session("cpu", unified=False).unified
    assert not session.unified and not gpu.unified_enabled()
    program = "import glint; print(glint.gpu.unified_enabled(), glint.offload.Session('cpu').unified)"
    assert python(program, GLINT_GPU_UNIFIED="true")[0].split() == ["True", "True"]
    assert python(program)[0].split() == ["False", "False"]
    if gpu.is_available():
        with session_on() as session, gpu.set_unified(True):
            x = gpu.to_device(values(64), session=session)
            assert x.unified and session.xp.zeros(3).unified and half_ported(x)
        with session_on() as session:
            assert not gpu.to_device(values(64), session=session).unified


@needs_gpu
def test_50_operations_on_unified_memory_are_synchronous(session):
    x = gpu.to_device(np.zeros(1000, "f4"), session=session, unified=True)
    view = x.host_view()
    for k in range(1, 5):
        x += 1
        assert view[0] == view[-1] == k, "complete when the operation returns"


@needs_gpu
def test_51_a_ported_program_goes_back_to_device_memory(session):
    a = values(64)
    x = gpu.to_device(a, session=session, unified=True)
    y = gpu.to_device(x, unified=False)
    assert x.unified and not y.unified and y._core.session is session._core
    np.testing.assert_array_equal(y.to_numpy(), a)
    session.unified = True
    assert session.xp.zeros(3).unified
    session.unified = False
    assert not session.xp.zeros(3).unified
    np.testing.assert_array_equal((y * 2 + 1).to_numpy(), np.asarray(x * 2 + 1))
