"""What the text about epochly.gpu promises of arrays, statement by statement, in its order.

On the simulated server with two GPUs, or on two real GPUs that reach each other's memory.
"""
import contextlib
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


@pytest.fixture
def session():
    with session_on() as session:
        yield session


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
