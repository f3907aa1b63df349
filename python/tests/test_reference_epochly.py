"""epochly.gpu, "GPU optimization strategy": one test for each statement, in the order of the text.

runtime-promises.md lists the statements. Some tests need a GPU, or the simulated server (tests/simgpu/run).
"""

import json
import os
import sys

import numpy as np
import pytest
from conftest import needs_gpu, needs_two, python, session_on, simulated_server
from glint import gpu, offload

MIB = 2**20
A = "import numpy as np, glint\nfrom glint import gpu, offload\n"
UNMEASURED = {"XDG_CACHE_HOME": "/dev/null", "GLINT_BACKEND": "auto"}  # decisions go by fixed rules


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


def choices(*questions, **environment):
    """Where operations would run on a machine on which nothing was measured yet: expressions of Python each. The first
    question is large enough to look for GPUs: for work that the CPU does before one is open they are left alone."""
    told, _ = python(
        A + "offload.decide('matmul', 20_000)\n" + "\n".join(f"print(({question}).choice)" for question in questions),
        **UNMEASURED,
        **environment,
    )
    return told.split()


# ---- "Why NumPy operations are not auto-intercepted", "When GPU acceleration helps"


def test_01_functions_of_numpy_are_never_replaced():
    python("""
import numpy as np
names = [(np, name) for name in ("matmul", "dot", "sum", "add", "exp")]
names += [(np.fft, "fft"), (np.linalg, "svd"), (np.ndarray, "__matmul__")]
before = [getattr(where, name) for where, name in names]
from glint import offload
with offload.Session("prefer-gpu", gpu_memory="64MiB") as session:
    fast = offload.accelerate(np.matmul, session=session)
    fast(np.eye(3), np.eye(3))
    assert fast is not np.matmul
    assert all(getattr(where, name) is function for (where, name), function in zip(names, before))
    session.reset_statistics()
    np.matmul(np.eye(3), np.eye(3))
    assert session.statistics()["operations"] == []
""")


@needs_gpu
def test_02_small_arrays_stay_on_the_cpu_and_large_ones_go_to_the_gpu():
    assert (
        choices(
            "offload.decide('matmul', (100, 100), (100, 100))",
            "offload.decide('matmul', (5000, 5000), (5000, 5000))",
            "offload.decide('fft', 9000)",
            "offload.decide('fft', 10**7)",
        )
        == ["cpu", "gpu"] * 2
    )


# 3 is not tested: it is the speed of a GPU.


@needs_gpu
def test_04_custom_functions_on_large_arrays_run_on_the_gpu(session):
    distance = offload.accelerate(lambda x, y: np.sqrt(x * x + y * y), session=session)
    a, b = values(300, 300), values(300, 300)
    np.testing.assert_allclose(distance(a, b), np.sqrt(a * a + b * b), rtol=1e-6)
    (row,) = session.statistics()["operations"]
    assert (row["gpu"]["calls"], row["cpu"]["calls"]) == (1, 0), "one operation for the whole expression"


def test_04_a_function_takes_the_version_for_the_gpu_that_the_user_has():
    inv = offload.accelerate(np.linalg.inv, lambda a: "on the GPU", operation="inv")
    assert inv.decide(SQUARE).choice in ("cpu", "gpu")
    with offload.Session("cpu") as session:
        np.testing.assert_array_equal(
            offload.accelerate(np.linalg.inv, lambda a: "on the GPU", session=session)(SQUARE), np.linalg.inv(SQUARE)
        )


@needs_gpu
def test_05_many_operations_share_the_cost_of_the_gpu_and_of_transfers(session):
    a = values(200, 200)
    session.open()
    opened = gpu.leases()
    for _ in range(5):
        offload.matmul(a, a, session=session)
        assert session.gpu_open and len(gpu.memory()) == 1
    assert [len(device.holders) for device in gpu.leases().gpus] == [len(device.holders) for device in opened.gpus]
    session.backend = "auto"
    once, often = (offload.decide("matmul", 300, reuse=reuse, session=session) for reuse in (1, 10))
    assert once.gpu.context_s == 0 and once.gpu.upload_s > 0
    assert often.gpu.upload_s == pytest.approx(once.gpu.upload_s / 10)


# ---- "GPU module API"


def test_06_whether_a_gpu_is_available_can_be_asked():
    assert gpu.is_available() == any(device.usable for device in gpu.devices()) == offload.backends()["cuda"].usable
    assert bool(gpu.why_none()) != gpu.is_available()
    told, _ = python(A + "print(gpu.is_available(), offload.backends()['cuda'].usable)", GLINT_GPU_ENABLED="false")
    assert told.split() == ["False", "False"]


def test_07_devices_tell_name_memory_and_compute_capability():
    for device in gpu.devices():
        assert (device.device_name, device.memory_total) == (
            device.name,
            device.total_bytes,
        ) and device.compute_capability


def subprocess_json(command):
    try:
        return json.loads(command("doctor", "--json"))
    except AssertionError:
        pytest.skip("glint doctor finds a problem on this machine")


def test_08_diagnostics_give_a_report(command, monkeypatch):
    """Python's, the command's and C++'s (diagnose_test.cpp) are the same."""
    report = gpu.diagnose()
    told = subprocess_json(command)
    assert told["overall"] == report.overall and {f["check"] for f in told["findings"]} == {
        f.check for f in report.findings
    }
    ours = json.loads(report.to_json())
    assert list(ours) == ["health", "overall", "problems", "warnings", "findings"]
    assert [list(f) for f in ours["findings"]] == [["health", "check", "gpu", "found", "remedy"]] * len(report.findings)
    assert str(report).endswith(f"overall: {report.overall}") and len(report.text(verbose=True)) >= len(str(report))
    assert gpu.installation_guide()


def test_08_a_verbose_report_tells_more():
    report = gpu.diagnose()
    brief, verbose = report.text(), report.text(verbose=True)
    assert report.overall in brief and all(finding.found in verbose for finding in report.findings)
    assert len(verbose) > len(brief) if gpu.devices() else len(verbose) >= len(brief)


def test_09_what_is_missing_is_told_with_the_commands_that_install_it():
    told, _ = python(A + "print(gpu.diagnose().overall); print(gpu.installation_guide())", GLINT_GPU_ENABLED="false")
    assert "unset GLINT_GPU_ENABLED" in told
    assert gpu.installation_guide().strip()


def test_10_the_process_has_one_default_session():
    assert offload.default_session() is offload.default_session()
    offload.reset_statistics()
    offload.sum(np.ones(3))
    assert (
        offload.statistics() == offload.default_session().statistics()
        and offload.statistics()["total"]["cpu"]["calls"] == 1
    )


@simulated_server
def test_11_whether_an_operation_on_so_much_data_is_for_the_gpu_can_be_asked():
    told, _ = python(
        A + "print([offload.should_offload(size, 'matmul') for size in (100 * 1024 * 1024, '100MiB', 1024)])",
        **UNMEASURED,
    )
    assert told.strip() == "[True, True, False]"


@needs_gpu
def test_12_arrays_go_to_the_gpu_and_come_back(session):
    a = values(100, 100, dtype="f8")
    x = gpu.to_device(a, session=session)
    assert isinstance(x, gpu.DeviceArray) and x.shape == a.shape and x.dtype == a.dtype
    back = gpu.to_host(x)
    assert isinstance(back, np.ndarray)
    np.testing.assert_array_equal(back, a)


def use_of(xp):
    x = xp.random.normal((20, 20), seed=3)
    u, s, vt = xp.linalg.svd(x)
    spectrum = xp.fft.fft(x)
    return (
        x,
        s,
        spectrum,
        xp.zeros(3),
        xp.asarray([1, 2]),
        xp.fft.fftfreq(4),
        xp.sum(x, axis=0),
        xp.arange(3),
        xp.random.uniform(4, seed=1),
    )


@needs_gpu
def test_13_the_context_manager_gives_an_array_namespace_and_cleans_up():
    expected = use_of(offload.Session("cpu").xp)
    with session_on() as session:
        found = use_of(session.xp)
        for x, y in zip(found, expected):
            assert isinstance(x, gpu.DeviceArray) and x._core.session is session._core
            np.testing.assert_allclose(x.to_numpy(), y, atol=1e-10)
        assert session.xp.pi and "svd" in dir(session.xp.linalg) and "GPU" in repr(session.xp)
    assert gpu.memory() == [] or "SIMGPU_STATE" not in os.environ, "cleaned up at the end"


@needs_two
def test_13_so_it_does_for_a_chosen_gpu():
    with offload.on_device(1) as session:
        assert session.xp.ones(3).device == session.xp.random.uniform(3, seed=1).device == 1


def test_14_without_a_gpu_the_namespace_is_numpys():
    with offload.Session("cpu") as session:
        assert all(isinstance(x, np.ndarray) for x in use_of(session.xp)[:6])
    told, _ = python(
        "import glint; s = glint.offload.Session(); x = s.xp.ones(3); print(type(x).__name__, float(s.xp.sum(x)))\n"
        "try: glint.offload.Session('gpu').xp\nexcept glint.gpu.NoGpu: print('none')",
        GLINT_GPU_ENABLED="0",
        PYTHONWARNINGS="error",
    )
    assert told.split() == ["ndarray", "3.0", "none"]


def test_14_without_a_gpu_a_context_manager_gives_none():
    told, _ = python(A + "with gpu.lease_or_none(timeout=0) as lease: print(lease)", GLINT_GPU_ENABLED="false")
    assert told.split() == ["None"]


@needs_gpu
def test_15_a_function_of_numpy_can_be_accelerated_and_uses_the_gpu_where_that_is_faster():
    a = values(150, 150)
    for backend in ("cpu", "gpu"):
        with offload.Session(backend, gpu_memory="64MiB", gpu_timeout=60) as session:
            gpu_matmul = offload.accelerate(np.matmul, session=session)
            np.testing.assert_allclose(gpu_matmul(a, a), a @ a, rtol=1e-3, atol=1e-3)
            total = session.statistics()["total"]
            assert (total["cpu"]["calls"], total["gpu"]["calls"]) == ((1, 0) if backend == "cpu" else (0, 1))
    matmul = "offload.accelerate(np.matmul).decide(*[np.ones((%d, %d), 'f4')] * 2)"
    assert choices(matmul % (50, 50), matmul % (1500, 1500)) == ["cpu", "gpu"]


SQUARE = np.eye(6) + values(6, 6, dtype="f8") / 10
ANY_FUNCTION = {
    "inv": (np.linalg.inv, SQUARE),
    "eig": (np.linalg.eig, SQUARE),
    "cholesky": (np.linalg.cholesky, SQUARE @ SQUARE.T),
    "norm": (np.linalg.norm, SQUARE),
    "fftn": (np.fft.fftn, SQUARE),
    "einsum": (np.einsum, "ij,jk->ik", SQUARE, SQUARE),
    "cumsum": (np.cumsum, SQUARE),
    "sort": (np.sort, SQUARE),
    "convolve": (np.convolve, SQUARE[0], SQUARE[1]),
    "less": (np.less, SQUARE, 0),
    "sorted": (sorted, [3, 1, 2]),
    "own": (lambda a: np.linalg.inv(a).sum(), SQUARE),
    "own with options": (lambda a, *, by: a[::by], SQUARE),
}


@pytest.mark.parametrize("name", ANY_FUNCTION)
@pytest.mark.parametrize("backend", ["auto", "cpu"])
def test_16_any_function_can_be_accelerated(name, backend):
    function, *arguments = ANY_FUNCTION[name]
    options = {"by": 2} if "options" in name else {}
    with offload.Session(backend) as session:
        fast = offload.accelerate(function, session=session)
        found, expected = fast(*arguments, **options), function(*arguments, **options)
        assert type(found) is type(expected)
        for x, y in zip(*((v if isinstance(v, tuple) else (v,)) for v in (found, expected))):
            np.testing.assert_array_equal(x, y)
        (row,) = session.statistics()["operations"]
        assert (row["cpu"]["calls"], row["cpu"]["timed_calls"], row["gpu"]["calls"]) == (1, 1, 0), (
            "it is measured on the CPU"
        )
        explained = fast.explain(*arguments, **options)
        assert (
            explained.choice == "cpu"
            and "no version of" in str(explained)
            and "accelerate(on_cpu, on_gpu)" in str(explained)
        )


@needs_gpu
def test_16_so_it_can_for_arrays_on_the_gpu(session):
    x = gpu.to_device(SQUARE, session=session)
    np.testing.assert_array_equal(offload.accelerate(np.linalg.inv, session=session)(x), np.linalg.inv(SQUARE))
    np.testing.assert_array_equal(
        offload.accelerate(np.cumsum, session=session)(a=x, axis=0), np.cumsum(SQUARE, axis=0)
    )


def test_16_its_errors_are_its_own():
    with pytest.raises(np.linalg.LinAlgError):
        offload.accelerate(np.linalg.inv)(np.zeros((2, 2)))
    with pytest.raises(ZeroDivisionError):
        offload.accelerate(lambda a: [v / 0 for v in a])([1])


@needs_gpu
def test_17_statistics_count_operations_times_and_transfers_and_are_reset(session):
    a, b = values(50, 50), values(50, 50)
    for backend, times in (("gpu", 3), ("cpu", 1)):
        session.backend = backend
        for _ in range(times):
            offload.matmul(a, b, session=session)
    total = session.statistics()["total"]
    assert (total["gpu"]["calls"], total["cpu"]["calls"], total["gpu_share"]) == (3, 1, 0.75)
    assert total["gpu"]["mean_seconds"] > 0 and total["gpu"]["transfers"] == 6, "there and back"
    assert total["gpu"]["bytes_up"] == 6 * a.nbytes and total["gpu"]["bytes_down"] == 3 * a.nbytes
    session.reset_statistics()
    total = session.statistics()["total"]
    assert (total["gpu"]["calls"], total["cpu"]["calls"], total["gpu"]["transfers"]) == (0, 0, 0)


@simulated_server
def test_17_fallbacks_count_operations_that_the_cpu_did():
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


# ---- "Intelligent memory management"


def test_18_early_reclaim_is_switched_on_and_off():
    assert gpu.early_reclaim_enabled()
    gpu.set_early_reclaim(False)
    assert not gpu.early_reclaim_enabled()
    gpu.set_early_reclaim(True)
    assert gpu.early_reclaim_enabled()
    told, _ = python(A + "print(gpu.early_reclaim_enabled())", GLINT_GPU_EARLY_RECLAIM="false")
    assert told.split() == ["False"]


@needs_gpu
def test_19_running_out_of_memory_is_prevented(session):
    for _ in range(4):  # 160 MiB of garbage under a limit of 64
        x = gpu.to_device(np.ones(40 * MIB, "u1"), session=session)
        cycle = [x]
        cycle.append(cycle)
        del x, cycle
    (memory,) = gpu.memory()
    assert memory.limit_bytes == 64 * MIB and memory.peak_bytes <= 64 * MIB


@simulated_server
def test_19_memory_is_cleaned_up_on_demand(session):
    with gpu.set_early_reclaim(False):
        gpu.to_device(np.ones(40 * MIB, "u1"), session=session)
        session.synchronize()
        (before,) = gpu.memory()
        gpu.clean_up()
        (after,) = gpu.memory()
    assert before.reserved_bytes >= 40 * MIB and after.reserved_bytes <= before.reserved_bytes - 32 * MIB


class CuPyArray:
    """A stand-in for CuPy's arrays, for a machine without CuPy."""

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
def test_20_a_function_that_runs_out_of_memory_runs_on_the_cpu(cupy, kind):
    @offload.oom_safe
    def my_gpu_function(x, y):
        return cp.linalg.svd(x @ y)

    a, b = values(5, 4), values(4, 5)
    same_svd(my_gpu_function(kind(a), kind(b)), a, b)
    assert len(cupy.calls) == 2, "twice on the GPU"
    assert sys.modules["cupy"] is cupy and cp is cupy


@pytest.mark.filterwarnings("ignore:.*the GPU failed:RuntimeWarning")
def test_20_it_does_wherever_cupy_was_imported(cupy):
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
def test_20_operations_of_offload_in_it_run_on_the_cpu():
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
def test_20_if_the_cpu_fails_too_the_error_of_the_gpu_is_raised(cupy):
    @offload.oom_safe
    def function(x):
        cp.asarray(x)
        return cp.cuda.Stream()

    with pytest.raises(MemoryError, match="out of memory"):
        function(SQUARE)
    with pytest.raises(MemoryError), offload.set_oom_safe(False):
        offload.oom_safe(lambda x: cp.asarray(x))(SQUARE)


def test_20_a_function_that_changed_its_argument_is_not_repeated():
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
def test_20_what_the_cpu_writes_into_arrays_of_the_gpu_is_copied_back(session):
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


@needs_gpu
@pytest.mark.filterwarnings("ignore:.*GPU:RuntimeWarning")
def test_21_safety_from_running_out_of_memory_is_switched_for_all_operations():
    a = values(300, 300)
    with session_on(gpu_memory="1KiB") as session:
        np.testing.assert_allclose(offload.matmul(a, a, session=session), a @ a, rtol=1e-3, atol=1e-3)
        assert session.statistics()["fallbacks"] == 1
        offload.set_oom_safe(False)
        try:
            assert not offload.oom_safe_enabled()
            with pytest.raises(gpu.OutOfMemory):
                offload.matmul(a, a, session=session)
        finally:
            offload.set_oom_safe(True)
        assert offload.oom_safe_enabled() and offload.matmul(a, a, session=session).shape == a.shape


# ---- "Multi-backend support"


def test_22_backends_are_cuda_and_the_cpu_with_devices_and_memory():
    backends = offload.backends()
    assert list(backends) == ["cuda", "cpu"], "of other vendors there are none"
    assert backends["cpu"].usable and backends["cpu"].memory_bytes[0] > 2**20
    usable = [device for device in gpu.devices() if device.usable]
    assert backends["cuda"].devices == tuple(device.name for device in usable)
    assert backends["cuda"].memory_bytes == tuple(device.total_bytes for device in usable)
    assert backends["cuda"].usable or backends["cuda"].why_not


def test_23_the_best_backend_takes_arrays_and_gives_them_back():
    a = values(30, 20)
    best = offload.best_backend()
    assert best.name == ("cuda" if gpu.is_available() else "cpu")
    there = best.to_gpu(a)
    assert isinstance(there, gpu.DeviceArray if gpu.is_available() else np.ndarray)
    np.testing.assert_array_equal(best.to_cpu(there), a)
    told, _ = python(
        A + "best = offload.best_backend(); print(best.name, type(best.to_gpu(np.ones(3))).__name__)",
        GLINT_GPU_ENABLED="false",
    )
    assert told.split() == ["cpu", "ndarray"], "without a GPU"


# ---- "GPU selection heuristics"

PAIR = "offload.accelerate(lambda a: a, lambda a: a, operation='own').decide(np.ones(%d, 'u1'))"


@needs_gpu
def test_24_arrays_above_10_mb_are_for_the_gpu():
    assert choices(PAIR % 9_900_000, PAIR % 10_100_000) == ["cpu", "gpu"]


@needs_gpu
def test_25_products_and_transforms_are_for_the_gpu_and_simple_arithmetic_for_the_cpu():
    assert choices(
        "offload.decide('matmul', 1100)",
        "offload.decide('fft', 110_000)",
        "offload.decide('map', 50_000_000)",
        "offload.decide('sum', 50_000_000)",
    ) == ["gpu", "gpu", "cpu", "cpu"]
    assert choices("offload.decide('matmul', 900)", "offload.decide('fft', 90_000)") == ["cpu", "cpu"], (
        "products of 1,000 rows, 100,000 elements"
    )


@needs_gpu
def test_26_data_on_the_gpu_stays_there(session):
    assert choices("offload.decide('sum', 10**7, resident=True)", "offload.decide('sum', 10**7)") == ["gpu", "cpu"]
    x = gpu.to_device(values(1000), session=session)
    session.reset_statistics()
    y = offload.map(lambda v: v * 2 + 1, x, session=session)
    assert isinstance(y, gpu.DeviceArray) and session.statistics()["total"]["gpu"]["transfers"] == 0


def is_too_small(decision):
    return "smaller than the minimum size" in decision.reason


@simulated_server
@pytest.mark.parametrize("operation", ["matmul", "svd", "solve", "qr", "eigh", "fft"])
def test_27_a_least_size_of_data_can_be_set(operation):
    with offload.Session(gpu_memory="512MiB", gpu_timeout=60, min_bytes="50MiB") as session:
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
def test_27_it_counts_the_operands_of_a_call():
    with offload.Session(gpu_memory="512MiB", gpu_timeout=60, min_bytes="50MiB") as session:
        session.open()
        for rows, too_small in ((2559, True), (2560, False)):  # two matrices of 2560 x 2560 float32 are 50 MiB
            assert is_too_small(offload.decide("matmul", (rows, 2560), (2560, 2560), session=session)) == too_small, (
                rows
            )
        for columns, too_small in ((3620, True), (3621, False)):
            assert is_too_small(offload.decide("svd", (3620, columns), session=session)) == too_small, columns
        # 60 MB of operands and result, 40 of operands
        assert is_too_small(offload.decide("matmul", (2236, 2236), (2236, 2236), session=session))


@needs_gpu
def test_28_an_analysis_tells_decision_speed_up_and_reason():
    with offload.Session(gpu_memory="512MiB", gpu_timeout=60) as session:
        session.open()
        analysis = offload.explain("matmul", bytes=100 * 1024 * 1024, session=session)
    assert analysis.choice in ("cpu", "gpu") and analysis.operation == "matmul float32"
    slower, faster = sorted((analysis.cpu.total_s, analysis.gpu.total_s), reverse=True)
    assert (
        analysis.speedup == pytest.approx(slower / faster, rel=1e-6)
        and f"on the {analysis.choice.upper()}" in analysis.reason
    )


# ---- "Environment variables"


def test_29_a_variable_switches_gpus_off():
    told, _ = python(
        A
        + """
print(offload.environment()["GLINT_GPU_ENABLED"].value, gpu.is_available(), offload.decide("matmul", 5000).choice)
""",
        GLINT_GPU_ENABLED="false",
    )
    assert told.split() == ["false", "False", "cpu"]
    assert "GLINT_GPU_ENABLED" in os.environ or offload.environment()["GLINT_GPU_ENABLED"].value == "true", (
        "by default they are used"
    )


@needs_gpu
def test_30_a_variable_limits_the_memory_of_a_gpu():
    told, _ = python(
        A
        + """
with offload.Session("gpu", gpu_timeout=60) as session:
    gpu.to_device(np.ones(3), session=session)
    print(gpu.memory()[0].limit_bytes)
    try:
        gpu.to_device(np.ones(60 << 20, "u1"), session=session)
    except gpu.OutOfMemory:
        print("refused")
""",
        GLINT_GPU_MEMORY_LIMIT="48MiB",
    )
    limit, refused = told.split()
    assert int(limit) == 48 * MIB and refused == "refused"
    assert offload.environment()["GLINT_GPU_MEMORY_LIMIT"].value == "auto" or "GLINT_GPU_MEMORY_LIMIT" in os.environ


def test_31_a_variable_sets_the_least_work_for_the_gpu():
    if "GLINT_OFFLOAD_THRESHOLD" not in os.environ:
        assert offload.environment()["GLINT_OFFLOAD_THRESHOLD"].value == "10MB"
    if gpu.is_available():
        assert choices(PAIR % 40_000, PAIR % 60_000, GLINT_OFFLOAD_THRESHOLD="50kB") == ["cpu", "gpu"]


# ---- "Troubleshooting"


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
    (
        ImportError("libcudart.so.12: cannot open shared object file: No such file or directory"),
        ("a library of CUDA is missing",),
    ),
    (
        ImportError("libcudnn.so.9: cannot open shared object file: No such file or directory"),
        ("a library of CUDA is missing",),
    ),
    (
        RuntimeError(
            "CuPy failed to load libnvrtc.so.12: OSError: libnvrtc.so.12: cannot open shared object file: "
            "No such file or directory"
        ),
        ("nvidia-cuda-nvrtc",),
    ),
    # NVML and nvidia-smi
    (NVMLError("NVML Shared Library Not Found"), DRIVER),
    (NVMLError("Driver Not Loaded"), DRIVER),
    (NVMLError("RM has detected an NVML/RM version mismatch."), ("reboot",)),
    (RuntimeError("Failed to initialize NVML: Driver/library version mismatch"), ("reboot",)),
    (RuntimeError("Failed to initialize NVML: GPU access blocked by the operating system"), ("wsl --update",)),
    (
        RuntimeError(
            "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that "
            "the latest NVIDIA driver is "
            "installed and running."
        ),
        DRIVER,
    ),
    # CuPy
    (
        RuntimeError("cudaErrorInsufficientDriver: CUDA driver version is insufficient for CUDA runtime version"),
        ("driver 580", "--gpus all"),
    ),
    (RuntimeError("cudaErrorNoDevice: no CUDA-capable device is detected"), ("CUDA_VISIBLE_DEVICES", "--gpus all")),
    (
        ImportError(
            "\n================================================================\nFailed to import "
            "CuPy.\n\nIf you installed CuPy via wheels "
            "(cupy-cudaXXX), make sure that the package matches with the version of CUDA installed."
        ),
        ("pip uninstall",),
    ),
    (RuntimeError("Failed to find CUDA headers"), ("cupy-cuda13x[ctk]",)),
    # PyTorch
    (RuntimeError("Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU"), DRIVER),
    (
        RuntimeError(
            "The NVIDIA driver on your system is too old (found version 11040). Please update your GPU driver"
        ),
        ("driver 580",),
    ),
    (AssertionError("Torch not compiled with CUDA enabled"), ("pytorch.org",)),
    (RuntimeError("No CUDA GPUs are available"), ("glint doctor",)),
    (
        RuntimeError(
            "Unexpected error from cudaGetDeviceCount(). Did you run some cuda functions before calling "
            "NumCudaDevices() that might have "
            "already set an error? Error 804: forward compatibility was attempted on non supported HW"
        ),
        ("compat",),
    ),
    (
        RuntimeError(
            "Unexpected error from cudaGetDeviceCount(). Error 803: system has unsupported display driver "
            "/ cuda driver combination"
        ),
        ("reboot",),
    ),
    (
        RuntimeError("Unexpected error from cudaGetDeviceCount(). Error 802: system not yet initialized"),
        ("fabricmanager",),
    ),
    # JAX
    (
        RuntimeError(
            "Unknown backend: 'gpu' requested, but no platforms that are instances of gpu are present. "
            "Platforms present are: cpu"
        ),
        ("jax[cuda13]",),
    ),
    (RuntimeError("Unknown backend cuda. Available backends are ['cpu']"), ("jax[cuda13]",)),
    (
        RuntimeError(
            "Unable to initialize backend 'cuda': FAILED_PRECONDITION: No visible GPU devices. (set "
            "JAX_PLATFORMS='' to automatically "
            "choose an available backend)"
        ),
        ("glint doctor",),
    ),
    (
        UserWarning(
            "An NVIDIA GPU may be present on this machine, but a CUDA-enabled jaxlib is not installed. "
            "Falling back to cpu."
        ),
        ("jax[cuda13]",),
    ),
    (RuntimeError("Unable to load cuDNN. Is it installed?"), ("jax[cuda13]",)),
    # Numba
    (
        ImportError(
            "Error at driver init: \n\nCUDA driver library cannot be found.\nIf you are sure that a CUDA "
            "driver is installed,\ntry setting "
            "environment variable NUMBA_CUDA_DRIVER\nwith the file path of the CUDA driver shared library.\n:"
        ),
        DRIVER,
    ),
    (
        ImportError("Error at driver init: Call to cuInit results in CUDA_ERROR_NO_DEVICE (100)"),
        ("CUDA_VISIBLE_DEVICES",),
    ),
    (
        ImportError("Error at driver init: Call to cuInit results in CUDA_ERROR_SYSTEM_DRIVER_MISMATCH (803)"),
        ("reboot",),
    ),
    (
        ImportError(
            "libNVVM cannot be found. Do `conda install cudatoolkit`:\nlibnvvm.so: cannot open shared "
            "object file: No such file or directory"
        ),
        ("numba-cuda",),
    ),
    (
        ImportError("Error at driver init: CUDA is disabled due to setting NUMBA_DISABLE_CUDA=1 in the environment"),
        ("unset NUMBA_DISABLE_CUDA",),
    ),
    # TensorFlow
    (
        RuntimeError(
            "Could not load dynamic library 'libcuda.so.1'; dlerror: libcuda.so.1: cannot open shared "
            "object file: No such file or directory"
        ),
        DRIVER,
    ),
    (UserWarning("Could not find cuda drivers on your machine, GPU will not be used."), DRIVER),
    (RuntimeError("failed call to cuInit: INTERNAL: CUDA error: Failed call to cuInit: UNKNOWN ERROR (303)"), DRIVER),
    (
        ValueError(
            "Cannot assign a device for operation MatMul: Operation was explicitly assigned to "
            "/device:GPU:0 but available devices are "
            "[ /job:localhost/replica:0/task:0/device:CPU:0 ]"
        ),
        ("tensorflow[and-cuda]",),
    ),
    (
        UserWarning(
            "Cannot dlopen some GPU libraries. Please make sure the missing libraries mentioned above are "
            "installed properly"
        ),
        ("tensorflow[and-cuda]",),
    ),
    # Docker
    (
        RuntimeError(
            'docker: Error response from daemon: could not select device driver "" with capabilities: [[gpu]].'
        ),
        ("Container Toolkit",),
    ),
    (
        RuntimeError(
            "nvidia-container-cli: requirement error: unsatisfied condition: cuda>=11.2, please update "
            "your driver to a newer version"
        ),
        ("newer driver",),
    ),
    (
        RuntimeError(
            "nvidia-container-cli: initialization error: load library failed: libnvidia-ml.so.1: cannot "
            "open shared object file"
        ),
        ("Container Toolkit",),
    ),
]


@pytest.mark.parametrize(
    "error, parts", FIRST_LINES, ids=lambda value: str(value).strip(" =\n")[:50] if isinstance(value, Exception) else ""
)
def test_32_errors_of_machines_without_a_working_gpu_are_explained(error, parts):
    message, suggestion = gpu.explain_error(error)
    for part in parts:
        assert part in suggestion, suggestion
    assert message in str(error) and message.strip(" =") and "\n" not in message
    assert gpu.explain_error(str(error)) == (message, suggestion) or tuple(gpu.explain_error(str(error))) == (
        message,
        suggestion,
    )


def test_32_errors_that_real_packages_raise_here_are_explained():
    """On a machine without a driver: errors that the installed packages raise."""
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


def test_32_other_errors_keep_their_message():
    for error in (
        FileNotFoundError(2, "No such file or directory", "nvrtc.log"),
        ValueError("seven"),
        KeyError("driver"),
    ):
        assert "no such error is known" in gpu.explain_error(error).suggestion
    assert "wait for other processes" not in str(gpu.explain_error(gpu.OutOfMemory("full")))
