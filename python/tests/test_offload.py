"""Operations on arrays on the CPU, compared with NumPy and SciPy."""

import os
import threading

import glint
import numpy as np
import pytest
import scipy.special
from glint import offload

EPS = {
    "float32": np.finfo(np.float32).eps,
    "float64": np.finfo(np.float64).eps,
    "complex64": np.finfo(np.float32).eps,
    "complex128": np.finfo(np.float64).eps,
}
RNG = np.random.default_rng(3)


@pytest.fixture(scope="module")
def cpu():
    with offload.Session("cpu") as session:
        yield session


def normal(shape, dtype="float64"):
    if np.dtype(dtype).kind == "c":
        return (RNG.normal(size=shape) + 1j * RNG.normal(size=shape)).astype(dtype)
    return RNG.normal(size=shape).astype(dtype)


def close(result, expected, dtype, scale=1.0, ulps=16):
    """Within some roundings of `scale`, or of the largest that went into it."""
    scale = np.maximum(scale, np.max(np.abs(expected), initial=0))
    np.testing.assert_allclose(result, expected, rtol=0, atol=ulps * EPS[np.dtype(dtype).name] * scale)


# ---- Products


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    "a, b",
    [
        ((5, 7), (7, 3)),
        ((1, 1), (1, 1)),
        ((4, 5, 7), (7, 3)),
        ((7,), (7, 3)),
        ((5, 7), (7,)),
        ((7,), (7,)),
        ((2, 1, 5, 7), (3, 7, 2)),
        ((2, 3, 2, 5, 7), (2, 7, 2)),
        ((0, 7), (7, 3)),
        ((5, 0), (0, 3)),
    ],
)
def test_products(cpu, dtype, a, b):
    a, b = normal(a, dtype), normal(b, dtype)
    result = offload.matmul(a, b, session=cpu)
    assert result.dtype == dtype and result.shape == np.matmul(a, b).shape
    # Each sum has at most 7 terms, whose rounding errors are below eps times the sum of absolute products.
    expected = np.matmul(a.astype("f8"), b.astype("f8"))
    close(result, expected, dtype, np.max(np.matmul(np.abs(a), np.abs(b)), initial=1))


def test_products_of_strided_views_and_into_them(cpu):
    a, b = normal((20, 30)), normal((30, 40))
    room = np.full((20, 80), 7.0)
    out = offload.matmul(a[::-2, 3:], b.T[5:17, 3:].T, out=room[::2, 5:29:2], session=cpu)
    assert out.base is room
    close(out, a[::-2, 3:] @ b.T[5:17, 3:].T, "float64", 100)
    untouched = np.ones_like(room, bool)
    untouched[::2, 5:29:2] = False
    assert (room[untouched] == 7).all()


def test_a_result_over_its_input_and_odd_memory(cpu):
    a = normal((6, 6))
    expected = a @ a.T
    assert offload.matmul(a, a.T, out=a, session=cpu) is a
    close(a, expected, "float64", 100)
    swapped, odd = (
        expected.astype(">f8"),
        np.frombuffer(b"x" + expected.tobytes(), np.uint8)[1:].view("f8").reshape(6, 6),
    )
    close(offload.matmul(swapped, odd, session=cpu), expected @ expected, "float64", 1e4)
    fields = np.zeros(6, [("a", "f4"), ("b", "i2")])
    fields["a"] = range(6)
    assert offload.sum(fields["a"], session=cpu) == 15


def test_what_does_not_fit_says_so(cpu):
    for wrong in [
        lambda: offload.matmul(np.ones((2, 3)), np.ones((2, 3)), session=cpu),
        lambda: offload.matmul(np.ones((2, 2, 3)), np.ones((3, 3, 4)), session=cpu),
        lambda: offload.matmul(np.ones((2, 2), complex), np.ones((2, 2)), session=cpu),
        lambda: offload.matmul(np.ones((2, 2)), np.ones((2, 2)), out=np.ones((2, 3)), session=cpu),
        lambda: offload.matmul(np.ones((2, 2)), np.ones((2, 2)), out=np.ones((2, 2), "f4"), session=cpu),
        lambda: offload.matmul(np.ones((2, 2)), np.ones((2, 2)), on="moon", session=cpu),
        lambda: offload.map(lambda x, y: x + y, np.ones(2), np.ones(3), session=cpu),
        lambda: offload.minimum([], session=cpu),
        lambda: offload.svd(np.ones(3), session=cpu),
        lambda: offload.svd(np.full((2, 2), np.nan), session=cpu),
        lambda: offload.decide("matmull", 3),
        lambda: offload.decide("fft2", 3),
        lambda: offload.Session("fast"),
        lambda: offload.Session(threads=0),
        lambda: offload.Session(gpu_memory="50%"),
        lambda: offload.Session(gpu_timeout=-1),
        lambda: offload.input(6),
        lambda: offload.fft(np.ones(4), 0, session=cpu),
        lambda: offload.irfft(np.ones(1), session=cpu),
    ]:
        with pytest.raises(ValueError) as error:
            wrong()
        assert isinstance(error.value, glint.OptionError) and len(str(error.value)) > 15
    read_only = np.ones((2, 2))
    read_only.flags.writeable = False
    with pytest.raises(glint.OptionError, match="read-only"):
        offload.matmul(read_only, read_only, out=read_only, session=cpu)


# ---- Transforms


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize(
    "name, shape, options",
    [
        ("fft", (8,), {}),
        ("fft", (3, 30), {"axis": 0}),
        ("fft", (3, 30), {"n": 20}),
        ("fft", (3, 30), {"n": 40}),
        ("fft", (2, 2, 2, 3, 5), {"axis": 1}),
        ("ifft", (4, 17), {}),
        ("fft2", (5, 6, 8), {}),
        ("fft2", (5, 6, 8), {"axes": (0, 1)}),
        ("fft2", (5, 6), {"s": (4, 9)}),
        ("ifft2", (3, 6, 7), {}),
        ("rfft", (3, 17), {}),
        ("rfft", (16, 3), {"axis": 0}),
        ("rfft", (9,), {"n": 12}),
        ("rfft2", (4, 6, 9), {}),
        ("irfft", (3, 9), {}),
        ("irfft", (3, 9), {"n": 15}),
        ("irfft", (9, 3), {"axis": 0}),
        ("irfft2", (5, 8), {}),
    ],
)
def test_transforms(cpu, dtype, name, shape, options):
    a = normal(shape, dtype)
    if name.startswith("rfft"):
        a = a.real.copy()
    expected = getattr(np.fft, name)(a.astype("c16" if a.dtype.kind == "c" else "f8"), **options)
    result = getattr(offload, name)(a, session=cpu, **options)
    single = dtype in ("float32", "complex64")
    assert result.dtype == (("f4" if single else "f8") if name.startswith("irfft") else ("c8" if single else "c16"))
    close(result, expected, "float32" if single else "float64", np.sqrt(a.size) * 4)
    room = np.zeros((*result.shape, 2), result.dtype)[..., 0]  # with gaps
    assert getattr(offload, name)(a, out=room, session=cpu, **options) is room
    close(room, expected, "float32" if single else "float64", np.sqrt(a.size) * 4)


# ---- Singular values


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(5, 5), (9, 4), (4, 9), (1, 6)])
def test_singular_values(cpu, dtype, shape):
    a = normal(shape, dtype)
    u, s, vt = offload.svd(a, session=cpu)
    k = min(shape)
    assert u.shape == (shape[0], k) and s.shape == (k,) and vt.shape == (k, shape[1]) and s.dtype == dtype
    close(s, np.linalg.svd(a.astype("f8"), compute_uv=False), dtype, 10)
    close(u * s @ vt, a, dtype, 10)
    close(u.T @ u, np.eye(k), dtype)
    close(offload.svd(a, compute_uv=False, session=cpu), s, dtype, 10)


# ---- Element by element

DOMAIN = {
    "arcsin": (-1, 1),
    "arccos": (-1, 1),
    "log": (0.1, 9),
    "log2": (0.1, 9),
    "log10": (0.1, 9),
    "log1p": (-0.9, 9),
    "sqrt": (0, 9),
    "power": (0.1, 3),
}
JUDGE = {"erf": scipy.special.erf}


@pytest.mark.parametrize("name", sorted(offload.expressions.STEPS))
def test_every_step(cpu, name):
    judge = JUDGE.get(name) or getattr(np, name)
    n = 1 if name == "erf" else judge.nin
    inputs = [RNG.uniform(*DOMAIN.get(name, (-5, 5)), 1000) for _ in range(n)]
    if name in ("equal", "not_equal", "less_equal", "greater_equal"):
        inputs[1][::2] = inputs[0][::2]
    inputs[0][7] = np.nan
    expected = judge(*inputs)
    x = [offload.input(k) for k in range(n)]
    expression = offload.erf(*x) if name == "erf" else judge(*x)
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(offload.map(expression, *inputs, session=cpu), expected, rtol=16 * EPS["float64"])
        np.testing.assert_allclose(
            offload.map(expression, *(v.astype("f4") for v in inputs), session=cpu),
            judge(*(v.astype("f4") for v in inputs)),
            rtol=1e-5,
            atol=1e-6,
        )


def test_expressions_are_put_together(cpu):
    x, y = offload.input(0), offload.input(1)
    a, b = normal(50), normal(50)
    for expression, expected in [
        (2 * x**2 - y / 3 + 1, 2 * a**2 - b / 3 + 1),
        (-x % 3, -a % 3),
        (abs(x) + +y, abs(a) + b),
        (np.where(x < y, x, y * 10), np.where(a < b, a, b * 10)),
        ((x * x + 1).sqrt(), np.sqrt(a * a + 1)),
        (offload.fma(x, y, 0.5), a * b + 0.5),
        (np.clip(x, -1, 1), np.clip(a, -1, 1)),
        (np.clip(x, None, 1), np.minimum(a, 1)),
        (x.arctan2(y), np.arctan2(a, b)),
        (np.float64(2) * x, 2 * a),
    ]:
        np.testing.assert_allclose(offload.map(expression, a, b, session=cpu), expected, rtol=1e-13)
    with pytest.raises(TypeError, match="neither true nor false"):
        bool(x < y)
    with pytest.raises(TypeError):
        x // y
    with pytest.raises(glint.OptionError, match="map"):
        x + np.ones(3)
    with pytest.raises(AttributeError, match="sqrt"):
        x.squareroot


def test_shapes_are_broadcast_and_kept(cpu):
    a, b = normal((4, 1, 5)), normal((3, 1))
    result = offload.map(lambda x, y: x * y, a, b, session=cpu)
    np.testing.assert_allclose(result, a * b, rtol=1e-15)
    deep = normal((2, 2, 2, 2, 3))
    np.testing.assert_array_equal(offload.map(lambda x: -x, deep, session=cpu), -deep)
    np.testing.assert_array_equal(offload.map(lambda x, y: x + y, deep, 1.0, session=cpu), deep + 1)
    assert offload.map(lambda x: x, np.ones((0, 3), "f4"), session=cpu).shape == (0, 3)
    assert offload.map(lambda x: x + 1, np.array(2.0), session=cpu) == 3
    assert offload.map(lambda x: x + 1, np.float32([1]), session=cpu).dtype == "float32"
    assert offload.map(lambda x: x + 1, [1, 2], session=cpu).dtype == "float64"


def test_reductions(cpu):
    a = normal((30, 40), "float32")
    for view in (a, a[::-3, 1::2], a.T):
        # In double precision, of which the sums of absolute values bound the rounding.
        assert abs(offload.sum(view, session=cpu) - view.sum(dtype="f8")) < 1e-13 * np.abs(view).sum(dtype="f8")
        assert abs(offload.mean(view, session=cpu) - view.mean(dtype="f8")) < 1e-13
        assert offload.minimum(view, session=cpu) == view.min() and offload.maximum(view, session=cpu) == view.max()
    assert np.isclose(
        offload.reduce("sum", lambda x, y: (x - y) ** 2, a, 1.0, session=cpu),
        np.sum((a.astype("f8") - 1) ** 2),
        rtol=1e-6,
    )
    a[3, 4] = np.nan
    assert np.isnan(offload.maximum(a, session=cpu)) and np.isnan(offload.sum(a, session=cpu))
    assert offload.sum(np.ones((0,)), session=cpu) == 0 and np.isnan(offload.mean(np.ones((0,)), session=cpu))


# ---- Sessions


def test_statistics_are_of_the_session(cpu):
    with offload.Session("cpu") as session:
        for _ in range(3):
            offload.sum(np.ones(10), session=session)
        (row,) = session.statistics()["operations"]
        assert row["operation"] == "reduce float64" and row["cpu"]["calls"] == 3 and row["gpu"]["calls"] == 0
        session.reset_statistics()
        assert session.statistics()["operations"] == []
        assert "backend 'cpu'" in repr(session) and not session.gpu_open
        session.backend = "auto"
        assert session.backend == "auto"


def test_threads_share_a_session(cpu):
    a = normal((60, 60))
    wrong, expected = [], a @ a

    def work():
        for _ in range(20):
            if not np.allclose(offload.matmul(a, a, session=cpu), expected):
                wrong.append(threading.get_ident())

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.filterwarnings("ignore:.*the GPU failed:RuntimeWarning")
def test_who_waits_for_a_session_lets_other_threads_run():
    """One thread holds the session, which calls its log, until another thread, which needs the interpreter, runs."""
    inside, go_on = threading.Event(), threading.Event()

    def slow(words):
        inside.set()
        go_on.wait(60)

    with offload.Session("cpu", log=slow) as session:

        @offload.oom_safe(on_cpu=lambda: None, session=session)
        def full():
            raise glint.gpu.OutOfMemory("no room")

        holder = threading.Thread(target=full)
        holder.start()
        assert inside.wait(60)
        threading.Timer(0.05, go_on.set).start()
        assert offload.sum(np.ones(3), session=session) == 3
        assert go_on.is_set()
        holder.join()


def layouts(a):
    """The same values as other arrays."""
    yield a.astype(a.dtype.newbyteorder())
    yield a[::-1].copy()[::-1]
    spread = np.zeros((2 * a.shape[0], 3 * a.shape[1]), a.dtype.newbyteorder())[::2, ::3]
    spread[...] = a
    yield spread
    unaligned = np.zeros(a.shape, [("first", "u1"), ("x", a.dtype)])["x"]
    unaligned[...] = a
    yield unaligned
    read_only = np.asfortranarray(a)
    read_only.flags.writeable = False
    yield read_only


@pytest.mark.parametrize(
    "name, dtype",
    [
        *(
            (name, dtype)
            for name in ("fft", "ifft", "fft2", "ifft2", "irfft", "irfft2")
            for dtype in ("f4", "f8", "c8", "c16")
        ),
        *((name, dtype) for name in ("rfft", "rfft2", "svd", "matmul", "map", "sum") for dtype in ("f4", "f8")),
    ],
)
def test_any_layout_and_byte_order_does(cpu, name, dtype):
    function = getattr(offload, name)
    first = {
        "matmul": lambda a: function(a, a.T, session=cpu),
        "map": lambda a: function(lambda x: x + 1, a, session=cpu),
        "svd": lambda a: function(a, False, session=cpu),
    }.get(name, lambda a: function(a, session=cpu))
    a = normal((6, 8), dtype)
    expected = first(a)
    for other in layouts(a):
        result = first(other)
        close(result, expected, dtype)
        assert np.asarray(result).dtype == np.asarray(expected).dtype and np.asarray(result).dtype.isnative


def test_out_of_another_byte_order(cpu):
    a = normal((4, 4))
    for function, of in [(offload.matmul, (a, a)), (offload.fft, (a,))]:
        expected = function(*of, session=cpu)
        out = np.empty(expected.shape, expected.dtype.newbyteorder())
        assert function(*of, out=out, session=cpu) is out
        np.testing.assert_array_equal(out, expected)


def test_numbers_of_numpys_keep_their_type():
    for dtype in ("f4", "f8"):
        number = np.asarray(2.5, dtype)
        for function in (np.add, np.multiply):
            result, expected = offload.accelerate(function)(number, 2.0), function(number, 2.0)
            assert result == expected and result.dtype == expected.dtype


@pytest.mark.parametrize("nested", [False, True])
def test_threads_of_an_accelerated_function_use_its_session(cpu, nested):
    """A hang would last forever, so the test uses threads that do not keep the process alive."""

    def on_cpu(x):
        sums = [None, None]

        def part(k, values):
            sums[k] = sum_of(values) if nested else offload.sum(values, session=cpu)

        threads = [
            threading.Thread(target=part, args=(k, values), daemon=True)
            for k, values in enumerate(np.array_split(x, 2))
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        return sum(sums)

    sum_of = offload.accelerate(np.sum, np.sum, operation="sum of one's own", session=cpu)
    assert offload.accelerate(on_cpu, on_cpu, operation="threaded", session=cpu)(np.ones(10)) == 10


def test_a_forked_child_is_reported(cpu):
    offload.sum(np.ones(3), session=cpu)
    child = os.fork()
    if child == 0:
        try:
            offload.sum(np.ones(3), session=cpu)
        except glint.OptionError as error:
            os._exit(17 if "fork" in str(error) else 18)
        os._exit(19)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 17


# ---- Decisions and the machine


def test_decisions_tell_why(cpu):
    decision = offload.explain("matmul", (300, 200), (200, 100), session=cpu)
    assert decision.choice == "cpu" and decision.basis == "forced" and decision.operation == "matmul float32"
    assert decision.size == pytest.approx((300 * 200 * 100) ** (1 / 3)) and decision.unit == "rows"
    assert decision.cpu.total_s == pytest.approx(
        sum(
            getattr(decision.cpu, name)
            for name in ("wait_s", "context_s", "library_s", "upload_s", "launch_s", "compute_s", "download_s")
        )
    )
    assert decision.reason in str(decision) and "computing" in str(decision)
    for operation, shapes in [
        ("fft", [1000]),
        ("ifft2", [(30, 40)]),
        ("rfft", [(3, 7)]),
        ("svd", [50]),
        ("svdvals", [(5, 9)]),
        ("sum", [100]),
        ("maximum", [(3, 4)]),
        (np.exp(offload.input(0)), [10]),
        ("dot", [64]),
    ]:
        assert offload.decide(operation, *shapes, dtype="float64").choice in ("cpu", "gpu")
    assert offload.decide("matmul", np.ones((4, 4))).size == 4


def test_backends_and_variables(monkeypatch):
    backends = offload.backends()
    assert list(backends) == ["cuda", "cpu"] and backends["cpu"].usable and backends["cpu"].threads >= 1
    assert backends["cuda"].usable or backends["cuda"].why_not
    monkeypatch.setenv("GLINT_BACKEND", "cpu")
    assert offload.best_backend().name == "cpu"
    setting = offload.environment()["GLINT_BACKEND"]
    assert (setting.value, setting.origin, setting.problem) == ("cpu", "environment", "")
    assert offload.Session().backend == "cpu"
    monkeypatch.setenv("GLINT_BACKEND", "abacus")
    assert offload.environment()["GLINT_BACKEND"].problem
    with pytest.raises(glint.OptionError, match="GLINT_BACKEND"):
        offload.best_backend()


def test_the_self_test_passes_on_the_cpu():
    with offload.Session("cpu") as session:
        rows = [row for row in offload.self_test(session) if row.backend == "cpu"]
    assert rows and all(row.ok and row.error <= row.bound for row in rows)
