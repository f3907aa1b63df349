"""What the texts about CUDA.jl, its multi-GPU page and epochly.gpu promise of arrays, statement by statement, in their order.

On the simulated server with two GPUs, or on two real GPUs that reach each other's memory.
"""
import contextlib
import functools
import operator
import os
import pathlib
import re
import subprocess
import sys

import glint
import numpy as np
import pytest
from glint import gpu, offload

ON_SERVER = "SIMGPU_STATE" in os.environ
needs_gpu = pytest.mark.skipif(not gpu.is_available(), reason="needs a GPU, or tests/simgpu/run")
needs_two = pytest.mark.skipif(len(gpu.devices()) < 2, reason="needs two GPUs, or tests/simgpu/run")
simulated = pytest.mark.skipif(not ON_SERVER, reason="needs the simulated server: tests/simgpu/run")


@pytest.fixture(autouse=True)
def closed():
    yield
    offload.close()


def session_on(device=None, **options):
    return offload.Session("gpu", **{"gpu_memory": "64MiB", "gpu_timeout": 60, "device": device, **options})


def values(*shape, dtype="f4"):
    return np.random.default_rng(5).normal(size=shape).astype(dtype)


def python(program, **environment):
    """A program in a process of its own."""
    return subprocess.run([sys.executable, "-c", program], env={**os.environ, **environment}, capture_output=True, text=True,
                          timeout=120)


# ---- "Memory management mayhem": tracked memory allocations, using multiple GPUs


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


OPERATIONS = {
    "a + 1": lambda x: x + 1, "1 - a": lambda x: 1 - x, "a * numpy": lambda x: x * np.ones((8, 8), "f4"), "a * a": lambda x: x * x,
    "-a": lambda x: -x, "abs": abs, "a < 0": lambda x: x < 0, "a @ a": lambda x: x @ x, "a.T + a[::-1]": lambda x: x.T + x[::-1],
    "sum": lambda x: x.sum(axis=0), "mean": lambda x: x.mean(), "std": lambda x: x.std(axis=1), "argmax": lambda x: x.argmax(axis=0),
    "any": lambda x: x.any(), "clip": lambda x: x.clip(-1, 1), "astype": lambda x: x.astype("f8"), "copy": lambda x: x.copy(),
    "take": lambda x: x.take(np.array([1, 2]), axis=0), "mask": lambda x: x[np.eye(8, dtype=bool)], "ravel": lambda x: x.T.ravel(),
    "exp": np.exp, "np.add": lambda x: np.add(x, 2), "repeat": lambda x: x.repeat(2, axis=0), "dot": lambda x: x.dot(x)}


@needs_two
@pytest.mark.parametrize("name", OPERATIONS)
def test_memory_of_one_gpu_is_used_on_another(name):
    a, found = elsewhere(OPERATIONS[name])
    np.testing.assert_allclose(found.to_numpy(), OPERATIONS[name](a), rtol=2e-5, atol=2e-5)


FUNCTIONS = {
    "where": lambda xp, x: xp.where(x > 0, x, 0.0), "concat": lambda xp, x: xp.concat([x, x]), "stack": lambda xp, x: xp.stack([x, x]),
    "roll": lambda xp, x: xp.roll(x, 3), "tile": lambda xp, x: xp.tile(x, (2, 1)), "zeros_like": lambda xp, x: xp.zeros_like(x),
    "diff": lambda xp, x: xp.diff(x, axis=0), "sort": lambda xp, x: xp.sort(x), "cumulative_sum": lambda xp, x: xp.cumulative_sum(x, axis=0),
    "fft": lambda xp, x: xp.fft.fft(x), "rfftn": lambda xp, x: xp.fft.rfftn(x), "svdvals": lambda xp, x: xp.linalg.svdvals(x),
    "solve": lambda xp, x: xp.linalg.solve(x, x[:, 0]), "inv": lambda xp, x: xp.linalg.inv(x), "norm": lambda xp, x: xp.linalg.matrix_norm(x),
    "svd": lambda xp, x: xp.linalg.svd(x), "qr": lambda xp, x: xp.linalg.qr(x), "tensordot": lambda xp, x: xp.tensordot(x, x),
    "complex": lambda xp, x: xp.exp(xp.astype(x, xp.complex64)), "eigvalsh": lambda xp, x: xp.linalg.eigvalsh(x @ x.T),
    "meshgrid": lambda xp, x: tuple(xp.meshgrid(x[0], x[1])), "trace": lambda xp, x: xp.linalg.trace(x), "outer": lambda xp, x: xp.linalg.outer(x[0], x[1])}


@needs_two
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_the_namespace_run_on_the_active_gpu(name):
    xp = glint.arrays
    a, found = elsewhere(lambda x: FUNCTIONS[name](xp, x))
    with offload.on_device(0):
        expected = FUNCTIONS[name](xp, gpu.to_device(a))
    for x, y in zip(*((v if isinstance(v, tuple) else (v,)) for v in (found, expected))):
        np.testing.assert_allclose(x.to_numpy(), y.to_numpy(), rtol=1e-5, atol=1e-5)


@needs_two
def test_operations_and_reductions_of_offload_run_on_the_active_gpu():
    a = values(16, 16)
    with offload.on_device(0):
        x = gpu.to_device(a)
    with offload.on_device(1) as one:
        one.reset_statistics()
        y = offload.map(lambda v: v * 2, x)
        assert y.device == 1
        np.testing.assert_array_equal(y.to_numpy(), a * 2)
        assert abs(offload.sum(x) - a.sum(dtype="f8")) < 1e-3
        assert offload.matmul(x, x).device == 1
        total = one.statistics()["total"]
        assert total["cpu"]["calls"] + total["gpu"]["calls"] == 3


@needs_two
def test_assignments_run_on_the_active_gpu():
    a = values(6, 4)
    with offload.on_device(0) as zero:
        x = gpu.to_device(a)
        zero.reset_statistics()
    with offload.on_device(1):
        x[0] = 7
        x[1:3] = x[3:5] * 2
        x += 1
        x[x > 7] = 0
    assert x.device == 0, "the array stays where it is"
    with offload.on_device(0):
        assert zero.statistics()["total"]["gpu"]["calls"] == 0, "no kernel ran on its own GPU"
    expected = a.copy()
    expected[0] = 7
    expected[1:3] = expected[3:5] * np.float32(2)
    expected += 1
    expected[expected > 7] = 0
    np.testing.assert_array_equal(x.to_numpy(), expected)


@needs_two
def test_without_an_active_gpu_operations_run_where_the_operands_are():
    with session_on(1) as one:
        x = gpu.to_device(values(5), session=one)
        assert (x + 1).device == x.sum().device == glint.arrays.zeros_like(x).device == 1
        with offload.on_device(1):
            assert (x + 1)._core.session is one._core, "the session of the operands has that GPU already"


NO_PEER = """
import numpy as np, glint
from glint import gpu, offload
with offload.on_device(0):
    x = gpu.to_device(np.arange(6, dtype="f4").reshape(2, 3))
with offload.on_device(1):
    for act in (lambda: x + 1, lambda: x.sum(), lambda: glint.arrays.exp(x), lambda: x.__setitem__(0, 1), lambda: x @ x.T,
                lambda: offload.map(lambda v: v + 1, x), lambda: offload.sum(x)):
        try:
            act()
        except gpu.GpuError as error:
            print(error)
        else:
            print("no error")
    print("copied", x.copy().device, (x.copy() + 1).to_numpy().tolist())
    to = glint.arrays.empty((2, 3), dtype="f4")
    print("copied", gpu.copy(to, x.T.T).device, to.to_numpy().tolist(), x.to_numpy().tolist())
offload.close()
"""


@simulated
def test_without_peer_access_an_error_names_memory_device_and_remedies():
    done = python(NO_PEER, SIMGPU_NO_PEER="1", PYTHONWARNINGS="error")
    assert done.returncode == 0, done.stderr
    *errors, one, other = done.stdout.splitlines()
    assert len(errors) == 7
    for error in errors:
        assert "in the memory of GPU 0 (" in error and ", and GPU 1 (" in error and "has no peer access" in error
        assert "`with glint.offload.on_device(0):`" in error and "glint.gpu.copy(to, array)" in error
    assert one == "copied 1 [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]", "copies are staged on the host"
    assert other == "copied 1 [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]] [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]"


# ---- The multi-GPU page: scenario 2, multiple GPUs per process


@needs_two
@pytest.mark.parametrize("unified", [True, False])
def test_each_gpu_computes_its_slice(unified):
    gpus = 2
    a, b = values(gpus, 3, 4), values(gpus, 3, 4)[::-1].copy()
    with session_on(0, unified=unified) as session:
        da, db = gpu.to_device(a, session=session), gpu.to_device(b, session=session)
        dc = gpu.to_device(np.zeros_like(a), session=session)
        sessions = []
        for k in range(gpus):
            with offload.on_device(k) as active:
                dc[k] = da[k] + db[k]
                sessions.append(active)
        for active in sessions:
            active.synchronize()
        np.testing.assert_array_equal(dc.to_numpy(), a + b)
        assert sessions[1].gpu_open, "GPU 1 has computed its slice"
        with offload.on_device(1):
            assert (da[1] + db[1]).device == 1


# ---- "Memory management mayhem": unified memory iteration


@pytest.fixture
def session():
    with session_on() as session:
        yield session


def operations_of(session):
    """What the session has done: an operation takes at least a launch, some 10 us."""
    total = session.statistics()["total"]
    return [(total[side]["calls"], total[side]["transfers"]) for side in ("cpu", "gpu")]


@needs_gpu
def test_an_element_of_unified_memory_is_read_without_an_operation(session):
    for a, key in ((values(1000), 3), (values(10, 10), (3, 4))):
        x = gpu.to_device(a, session=session, unified=True)
        assert isinstance(x[key], np.float32) and x[key] == a[key]
        before = operations_of(session)
        assert {x[key] for _ in range(100)} == {a[key]} and operations_of(session) == before
    with pytest.raises(IndexError):
        x[10, 0]


@needs_gpu
def test_elements_of_unified_memory_are_those_that_the_gpu_wrote(session):
    x = gpu.to_device(np.zeros(100, "f4"), session=session, unified=True)
    total = 0.0
    for k in range(5):
        assert x[7] == k and float(x[-1]) == k
        total += x[7]
        x += 1
    assert total == 10
    x[7] = 3
    assert x[7] == 3 and (x[7:9])[0] == 3


@needs_gpu
def test_the_cpu_folds_unified_memory_without_an_operation(session):
    a = np.random.default_rng(1).random(256 * 256).astype("f4")
    x = gpu.to_device(a, session=session, unified=True)
    assert functools.reduce(operator.add, x) == functools.reduce(operator.add, a)
    before = operations_of(session)
    functools.reduce(operator.add, x)
    assert operations_of(session) == before, "the CPU reads the memory itself"
    assert sum(map(sum, gpu.to_device(a.reshape(256, 256), session=session, unified=True))) == sum(map(sum, a.reshape(256, 256)))


@needs_gpu
def test_numpy_reads_unified_memory_in_place(session):
    a = values(64, 64)
    x = gpu.to_device(a, session=session, unified=True)
    host = np.asarray(x)
    np.testing.assert_array_equal(host, a)
    host[0, 0] = 5
    assert x[0, 0] == 5, "the same memory"
    assert np.median(x) == np.median(host) and np.asarray(x, "f8").dtype == np.float64
    copy = np.array(x)
    copy[0, 0] = 6
    assert x[0, 0] == 5


@needs_gpu
def test_scalar_access_to_device_memory_is_disallowed(session):
    x = gpu.to_device(values(8), session=session)
    for act in (lambda: functools.reduce(operator.add, x), lambda: list(x), lambda: float(x[0]), lambda: bool(x[0]), lambda: x[0] + 1,
                lambda: 0.0 + x[3], lambda: x[0] < x[1], lambda: max(x), lambda: -x[0],
                lambda: float(gpu.to_device(values(2, 2), session=session)[0, 0])):
        with pytest.raises(glint.OptionError, match="scalar access to device memory is disallowed.*to_numpy().*unified=True.*set_scalar_access"):
            act()
    with pytest.raises(TypeError, match="to_numpy"):
        np.asarray(x)


@needs_gpu
def test_scalar_access_can_be_allowed(session):
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
def test_what_is_no_loop_over_elements_stays_allowed(session):
    a = values(4, 4)
    x = gpu.to_device(a, session=session)
    assert x.item(0, 1) == a[0, 1] and float(x.max()) == a.max() and float(x[0, 0, ...]) == a[0, 0]
    assert float(np.sqrt(abs(x).max())) > 0 and bool(glint.arrays.any(x[0, 0])), "functions of the array API"
    np.testing.assert_array_equal((x - x[0, 0]).to_numpy(), a - a[0, 0])
    assert [row.shape for row in x] == [(4,)] * 4 and len(glint.arrays.unstack(x[0])) == 4
    x[0, 0] = 5
    assert x.tolist()[0][0] == 5 and float(gpu.to_device(np.ones(1), session=session)[0]) == 1


# ---- epochly.gpu: creating GPU-accelerated functions

SQUARE = np.eye(6) + values(6, 6, dtype="f8") / 10
ANY_FUNCTION = {
    "inv": (np.linalg.inv, SQUARE), "eig": (np.linalg.eig, SQUARE), "cholesky": (np.linalg.cholesky, SQUARE @ SQUARE.T),
    "norm": (np.linalg.norm, SQUARE), "fftn": (np.fft.fftn, SQUARE), "einsum": (np.einsum, "ij,jk->ik", SQUARE, SQUARE),
    "cumsum": (np.cumsum, SQUARE), "sort": (np.sort, SQUARE), "convolve": (np.convolve, SQUARE[0], SQUARE[1]),
    "less": (np.less, SQUARE, 0), "sorted": (sorted, [3, 1, 2]), "own": (lambda a: np.linalg.inv(a).sum(), SQUARE),
    "own with options": (lambda a, *, by: a[::by], SQUARE)}


@pytest.mark.parametrize("name", ANY_FUNCTION)
@pytest.mark.parametrize("backend", ["auto", "cpu"])
def test_any_function_can_be_accelerated(name, backend):
    function, *arguments = ANY_FUNCTION[name]
    options = {"by": 2} if "options" in name else {}
    with offload.Session(backend) as session:
        fast = offload.accelerate(function, session=session)
        found, expected = fast(*arguments, **options), function(*arguments, **options)
        assert type(found) is type(expected)
        for x, y in zip(*((v if isinstance(v, tuple) else (v,)) for v in (found, expected))):
            np.testing.assert_array_equal(x, y)
        (row,) = session.statistics()["operations"]
        assert (row["cpu"]["calls"], row["cpu"]["timed_calls"], row["gpu"]["calls"]) == (1, 1, 0), "it is measured on the CPU"
        explained = fast.explain(*arguments, **options)
        assert explained.choice == "cpu" and "no version of" in str(explained) and "accelerate(on_cpu, on_gpu)" in str(explained)


def test_a_function_without_a_version_takes_that_of_the_user():
    inv = offload.accelerate(np.linalg.inv, lambda a: "on the GPU", operation="inv")
    assert inv.decide(SQUARE).choice in ("cpu", "gpu")
    with offload.Session("cpu") as session:
        np.testing.assert_array_equal(offload.accelerate(np.linalg.inv, lambda a: "on the GPU", session=session)(SQUARE), np.linalg.inv(SQUARE))


def test_errors_of_the_function_are_its_own():
    with pytest.raises(np.linalg.LinAlgError):
        offload.accelerate(np.linalg.inv)(np.zeros((2, 2)))
    with pytest.raises(ZeroDivisionError):
        offload.accelerate(lambda a: [v / 0 for v in a])([1])


@needs_gpu
def test_any_function_takes_arrays_on_the_gpu(session):
    x = gpu.to_device(SQUARE, session=session)
    np.testing.assert_array_equal(offload.accelerate(np.linalg.inv, session=session)(x), np.linalg.inv(SQUARE))
    np.testing.assert_array_equal(offload.accelerate(np.cumsum, session=session)(a=x, axis=0), np.cumsum(SQUARE, axis=0))


# ---- epochly.gpu: the decorator for safe GPU operations


class CuPyArray:
    """As CuPy's arrays, for a machine without CuPy."""

    def __init__(self, a):
        self._a, self.dtype, self.shape = a, a.dtype, a.shape

    def __dlpack_device__(self):
        return 2, 0

    def get(self):
        return self._a

    def __matmul__(self, other):
        return self


@pytest.fixture
def cupy(monkeypatch):
    """A CuPy of which every function runs out of memory."""
    import types
    full = type("OutOfMemoryError", (MemoryError,), {"__module__": "cupy.cuda.memory"})

    def fail(*arguments, **options):
        calls.append(arguments)
        raise full("out of memory")

    calls = []
    module = types.ModuleType("cupy")
    module.linalg = types.ModuleType("cupy.linalg")
    module.linalg.svd, module.asarray, module.asnumpy, module.calls = fail, fail, fail, calls
    module.get_default_memory_pool = lambda: types.SimpleNamespace(free_all_blocks=lambda: None)
    monkeypatch.setitem(sys.modules, "cupy", module)
    monkeypatch.setitem(sys.modules, "cupy.linalg", module.linalg)
    monkeypatch.setitem(globals(), "cp", module)
    return module


cp = None  # "import cupy as cp", by the fixture
ran = 0


def same_svd(found, a, b):
    for x, y in zip(found, np.linalg.svd(a @ b)):
        np.testing.assert_array_equal(x, y)


@pytest.mark.filterwarnings("ignore:.*the GPU failed:RuntimeWarning")
@pytest.mark.parametrize("kind", [np.asarray, CuPyArray])
def test_an_operation_that_runs_out_of_memory_falls_back_to_the_cpu_by_itself(cupy, kind):
    @offload.oom_safe
    def my_gpu_function(x, y):
        return cp.linalg.svd(x @ y)

    a, b = values(5, 4), values(4, 5)
    same_svd(my_gpu_function(kind(a), kind(b)), a, b)
    assert len(cupy.calls) == 2, "twice on the GPU"
    assert sys.modules["cupy"] is cupy and cp is cupy


@pytest.mark.filterwarnings("ignore:.*the GPU failed:RuntimeWarning")
def test_the_cpu_does_it_wherever_cupy_was_imported(cupy):
    closed_over = cupy

    @offload.oom_safe
    def imports(x, y, *, full_matrices=True):
        global ran
        ran += 1
        import cupy as own
        from cupy.linalg import svd
        return own.asnumpy(svd(own.asarray(x) @ closed_over.asarray(y), full_matrices=full_matrices)[1])

    a, b = values(5, 4), values(4, 5)
    before = ran
    np.testing.assert_array_equal(imports(a, y=b, full_matrices=False), np.linalg.svd(a @ b)[1])
    assert ran == before + 3, "what it writes to its module stays"


@pytest.mark.filterwarnings("ignore:.*the GPU failed:RuntimeWarning")
def test_operations_of_offload_fall_back_with_the_function():
    backends = []

    @offload.oom_safe
    def function(x):
        backends.append(offload.default_session().backend)
        if backends[-1] != "cpu":
            raise gpu.OutOfMemory("the GPU is full")
        return offload.matmul(x, x)

    np.testing.assert_allclose(function(SQUARE), SQUARE @ SQUARE)
    assert backends == ["auto", "auto", "cpu"] and offload.default_session().backend == "auto"


@pytest.mark.filterwarnings("ignore:.*the GPU failed:RuntimeWarning")
def test_the_error_of_the_gpu_is_raised_if_the_cpu_fails_too(cupy):
    @offload.oom_safe
    def function(x):
        cp.asarray(x)
        return cp.cuda.Stream()

    with pytest.raises(MemoryError, match="out of memory"):
        function(SQUARE)
    with pytest.raises(MemoryError), offload.set_oom_safe(False):
        offload.oom_safe(lambda x: cp.asarray(x))(SQUARE)


# ---- epochly.gpu: the GPU context manager


def use_of(xp):
    x = xp.random.normal((20, 20), seed=3)
    u, s, vt = xp.linalg.svd(x)
    spectrum = xp.fft.fft(x)
    return x, s, spectrum, xp.zeros(3), xp.asarray([1, 2]), xp.fft.fftfreq(4), xp.sum(x, axis=0), xp.arange(3), xp.random.uniform(4, seed=1)


@needs_gpu
def test_the_context_of_a_session_gives_an_array_namespace():
    expected = use_of(offload.Session("cpu").xp)
    with session_on() as session:
        found = use_of(session.xp)
        for x, y in zip(found, expected):
            assert isinstance(x, gpu.DeviceArray) and x._core.session is session._core
            np.testing.assert_allclose(x.to_numpy(), y, atol=1e-10)
        assert session.xp.pi and "svd" in dir(session.xp.linalg) and "GPU" in repr(session.xp)
    assert gpu.memory() == [] or ON_SERVER is False, "cleaned up at the end"


@needs_two
def test_the_namespace_of_a_chosen_gpu():
    with offload.on_device(1) as session:
        assert session.xp.ones(3).device == session.xp.random.uniform(3, seed=1).device == 1


def test_the_namespace_without_a_gpu_is_numpys():
    with offload.Session("cpu") as session:
        assert all(isinstance(x, np.ndarray) for x in use_of(session.xp)[:6])
    done = python("import glint; s = glint.offload.Session(); x = s.xp.ones(3); print(type(x).__name__, float(s.xp.sum(x)))\n"
                  "try: glint.offload.Session('gpu').xp\nexcept glint.gpu.NoGpu: print('none')", GLINT_GPU_ENABLED="0", PYTHONWARNINGS="error")
    assert done.stdout.split() == ["ndarray", "3.0", "none"], done.stderr


# ---- GaussMLE.jl: the progress callback, and batches that are restarted


@simulated
def test_a_session_reports_its_wait():
    calls = []
    with gpu.lease("7000MiB", timeout=60), gpu.lease("7000MiB", timeout=60):  # both GPUs
        with session_on(gpu_memory="4GiB", gpu_timeout=1.2, on_wait=lambda *call: calls.append(call)) as session:
            with pytest.raises(gpu.LeaseTimeout):
                session.open()
        assert len(calls) >= 2 and all(0 <= elapsed < 5 and available < 2 << 30 and required >= 4 << 30 for elapsed, available, required in calls)

        def stop(*_):
            raise KeyError("enough")

        with session_on(gpu_memory="4GiB", on_wait=stop) as session, pytest.raises(KeyError, match="enough"):
            gpu.to_device(values(3), session=session)
    with pytest.raises(glint.OptionError, match="on_wait"):
        offload.Session(on_wait=3)


RESTART = """
import glint
psf, camera = glint.GaussianXYNB(sigma_um=0.13), glint.IdealCamera(pixel_size_um=0.1, offset=100, gain=0.5)
rois, _ = glint.simulate_rois(2000, psf, camera, size=9, seed=2)
fits = glint.fit(rois, psf, camera, backend="gpu", batch_size=100, gpu_timeout=20, restart_batches=RESTART)
print(fits.info.batches, fits.info.retries, fits.x_px.tobytes().hex())
"""


@simulated
def test_all_batches_are_restarted_if_asked():
    batches, tables = [], set()
    for restart in (False, True):
        done = python(RESTART.replace("RESTART", str(restart)), SIMGPU_FAULT="cuLaunchKernel:12:999")
        assert done.returncode == 0, done.stderr
        count, retries, table = done.stdout.split()
        assert retries == "1"
        batches.append(int(count)), tables.add(table)
    assert batches[1] > batches[0] + 5 and len(tables) == 1, batches
    with pytest.raises(glint.OptionError, match="restart_batches"):
        glint.fit(values(2, 7, 7), glint.GaussianXYNB(sigma_px=1.3), restart_batches="yes")


# ---- The multi-GPU page: scenario 1, IPC handles and buffers of MPI


OTHER_PROCESS = """
import pickle, sys
from glint import gpu, offload
handle = pickle.load(sys.stdin.buffer)
with offload.Session("gpu", gpu_memory="64MiB", gpu_timeout=60, device=0) as session:
    x = gpu.import_array(handle, session=session)
    assert x.shape == handle.shape and x.device == 0
    total = float(x.sum())
    x[1] = x[0] * 2
    session.synchronize()
    print(total)
    del x
"""


@needs_gpu
def test_another_process_opens_an_array_by_its_ipc_handle():
    import pickle
    a = np.arange(12, dtype="f4").reshape(3, 4)
    with session_on(0) as session:
        x = gpu.export_array(a, session=session)
        np.testing.assert_array_equal(x.to_numpy(), a)
        done = subprocess.run([sys.executable, "-c", OTHER_PROCESS], input=pickle.dumps(x.ipc_handle), capture_output=True, timeout=120)
        assert done.returncode == 0, done.stderr.decode()
        assert float(done.stdout) == a.sum()
        np.testing.assert_array_equal(x[1].to_numpy(), a[0] * 2)
        y = gpu.export_array(x[:, ::2], session=session)
        np.testing.assert_array_equal(y.to_numpy(), x.to_numpy()[:, ::2])
        with pytest.raises(glint.OptionError, match="export_array"):
            (x + 1).ipc_handle
        with pytest.raises(glint.OptionError, match="ipc_handle of an array"):
            gpu.import_array(b"", session=session)
        with pytest.raises(glint.OptionError, match="64"):
            gpu.import_array(gpu.IpcHandle(b"short", (3,), "float32"), session=session)


@needs_gpu
def test_arrays_are_buffers_of_mpi(session):
    """mpi4py takes them by their address; an MPI without CUDA exchanges those of unified memory."""
    MPI = pytest.importorskip("mpi4py.MPI")
    a = values(100)
    x, y = (gpu.to_device(v, session=session, unified=True) for v in (a, np.zeros_like(a)))
    device = gpu.to_device(a, session=session)
    assert MPI.buffer(device).address == device.__cuda_array_interface__["data"][0] and MPI.buffer(device).nbytes == a.nbytes
    MPI.COMM_SELF.Sendrecv(x, dest=0, recvbuf=y, source=0)
    np.testing.assert_array_equal(y.to_numpy(), a)
    MPI.COMM_SELF.Allreduce(x, y, op=MPI.SUM)
    np.testing.assert_array_equal((y + 1).to_numpy(), a + 1)


def test_a_function_that_changed_its_argument_is_not_repeated():
    @offload.oom_safe
    def f(x):
        x += 1
        raise gpu.OutOfMemory("full")

    x = np.zeros(5000)
    with pytest.warns(RuntimeWarning, match="f changed an argument"), pytest.raises(gpu.OutOfMemory):
        f(x)
    np.testing.assert_array_equal(x, 1)


@needs_gpu
@pytest.mark.filterwarnings("ignore:.*the GPU failed:RuntimeWarning")
def test_what_the_cpu_writes_into_arrays_of_the_gpu_is_copied_back(session):
    @offload.oom_safe(session=session)
    def f(x, out):
        if not isinstance(x, np.ndarray):
            raise gpu.OutOfMemory("full")
        out[:] = 2 * x

    def fill(v):
        v[:] = 7

    x, out = (gpu.to_device(a, session=session) for a in (values(60), np.zeros(60)))
    f(x, out)
    np.testing.assert_array_equal(out.to_numpy(), 2 * values(60))
    offload.accelerate(fill, session=session)(out)
    np.testing.assert_array_equal(out.to_numpy(), 7)


@pytest.mark.parametrize("set_it, is_on", [(gpu.set_scalar_access, gpu.scalar_access_enabled), (gpu.set_unified, gpu.unified_enabled),
                                           (gpu.set_early_reclaim, gpu.early_reclaim_enabled), (offload.set_oom_safe, offload.oom_safe_enabled)])
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


def test_the_page_of_promises_names_tests_that_exist():
    folder = pathlib.Path(__file__).parent
    page = (folder.parents[1] / "docs/runtime-promises.md").read_text()
    sources = "".join(path.read_text() for path in folder.glob("test_*.py"))
    named = re.findall(r"(?:^|::|`)(test_(?!runtime_promises)\w+)`", page)
    assert len(named) > 20 and [name for name in named if f"def {name}(" not in sources] == []
