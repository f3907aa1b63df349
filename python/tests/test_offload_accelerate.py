"""accelerate() and oom_safe(): NumPy's functions, pairs of one's own, and a full GPU. On the CPU."""

import collections
import functools
import sys
import types

import glint
import numpy as np
import pytest
from glint import gpu, offload
from glint.offload.repeated_calls import Checksums

RNG = np.random.default_rng(5)
pytestmark = pytest.mark.filterwarnings("ignore:.*the GPU failed:RuntimeWarning")  # by intent


def call_both(function, *arguments, **options):
    return offload.accelerate(function)(*arguments, **options), function(*arguments, **options)


def compare(result, expected):
    if isinstance(expected, tuple):
        assert type(result) is type(expected)
    for a, b in zip(result, expected) if isinstance(expected, tuple) else [(result, expected)]:
        assert np.shape(a) == np.shape(b)
        tolerance = 1e-4 if np.asarray(b).dtype in ("float32", "complex64") else 1e-10
        np.testing.assert_allclose(
            np.abs(a) if isinstance(expected, tuple) else a,
            np.abs(b) if isinstance(expected, tuple) else b,
            rtol=tolerance,
            atol=tolerance,
        )


A, B, S = RNG.normal(size=(6, 8)), RNG.normal(size=(8, 5)), RNG.normal(size=(5, 5))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    "function, arguments, options",
    [
        (np.matmul, (A, B), {}),
        (np.matmul, (A, B[:, 0]), {}),
        (np.dot, (A, B), {}),
        (np.fft.fft, (A,), {}),
        (np.fft.fft, (A, 5, 0), {}),
        (np.fft.ifft, (A,), {}),
        (np.fft.rfft, (A,), {"axis": 0}),
        (np.fft.irfft, (A,), {}),
        (np.fft.fft2, (A,), {}),
        (np.fft.ifft2, (A,), {"s": (4, 4)}),
        (np.linalg.svd, (S,), {}),
        (np.linalg.svd, (A,), {}),
        (np.linalg.solve, (S, B[:5]), {}),
        (np.linalg.solve, (S, B[:5, 0]), {}),
        (np.linalg.qr, (A,), {}),
        (np.linalg.eigh, (S + S.T,), {}),
        (np.linalg.eigvalsh, (S + S.T,), {}),
        (np.linalg.svd, (A,), {"full_matrices": False}),
        (np.linalg.svd, (A,), {"compute_uv": False}),
        (np.sum, (A,), {}),
        (np.mean, (A,), {}),
        (np.min, (A,), {}),
        (np.max, (A,), {}),
        (np.sum, (A,), {"axis": 0}),
        (np.sum, (A,), {"keepdims": True}),
        (np.mean, (A, 1), {}),
        (np.prod, (A[:2],), {"axis": -1}),
        (np.std, (A,), {}),
        (np.var, (A, (0, 1)), {"keepdims": True}),
        (np.argmax, (A,), {}),
        (np.argmin, (A, 1), {}),
        (np.add, (A, 2.0), {}),
        (np.hypot, (A, A), {}),
        (np.exp, (A,), {}),
    ],
)
def test_numpys_functions(dtype, function, arguments, options):
    arguments = [x.astype(dtype) if isinstance(x, np.ndarray) else x for x in arguments]
    fast = offload.accelerate(function)
    assert fast.explain(*arguments, **options).choice in ("cpu", "gpu")
    result, expected = fast(*arguments, **options), function(*arguments, **options)
    compare(result, expected)
    if not isinstance(expected, tuple):
        assert result.dtype == expected.dtype


@pytest.mark.parametrize(
    "function, arguments, options, why",
    [
        (np.matmul, (np.eye(2, dtype=int), np.eye(2)), {}, "int64"),
        (np.matmul, (S.astype("f4"), S), {}, "float32 and float64"),
        (np.matmul, (A, B), {"dtype": "f4", "casting": "same_kind"}, "dtype"),
        (np.dot, (A[0], B), {}, "two dimensions"),
        (np.sum, (A,), {"dtype": "f8"}, "dtype"),
        (np.std, (A,), {"ddof": 1}, "ddof"),
        (np.mean, (A[:0], 1), {}, "no elements"),
        (np.fft.fft, (A,), {"norm": "ortho"}, "norm"),
        (np.linalg.svd, (S,), {"hermitian": True}, "hermitian"),
        (np.linalg.svd, (np.ones((2, 3, 3)),), {}, "one matrix"),
        (np.linalg.qr, (A,), {"mode": "complete"}, "reduced"),
        (np.linalg.eigh, (S + S.T, "U"), {}, "lower"),
        (np.linalg.solve, (np.stack([S, S]), B[:5]), {}, "one square"),
        (np.add, (np.ones(2, "c16"), 1), {}, "complex128"),
        (np.max, (np.ma.masked_less(A, 0),), {}, "MaskedArray"),
        (np.add, (A, A), {"where": A > 0, "out": A.copy()}, "where"),
    ],
)
def test_what_numpy_does_itself(function, arguments, options, why):
    fast = offload.accelerate(function)
    explanation = fast.explain(*arguments, **options)
    assert explanation.choice == "numpy" and why in str(explanation)
    compare(*call_both(function, *arguments, **options))


def test_numpys_errors_stay():
    for function, wrong in [
        (np.matmul, (A, A)),
        (np.linalg.svd, (np.full((2, 2), np.nan),)),
        (np.fft.fft, (A, 0)),
        (np.linalg.solve, (np.ones((2, 2)), np.ones(2))),
        (np.min, (np.ones(0),)),
    ]:
        with pytest.raises(Exception) as theirs:
            function(*wrong)
        with pytest.raises(type(theirs.value)):
            offload.accelerate(function)(*wrong)


def test_out_and_numpys_own_function_stay():
    room = np.empty((6, 5))
    assert offload.accelerate(np.matmul)(A, B, out=room) is room
    np.testing.assert_allclose(room, A @ B, rtol=1e-12)
    assert np.matmul.__class__ is np.ufunc and offload.accelerate(np.matmul).__name__ == "matmul"
    with pytest.raises(glint.OptionError, match="is no function"):
        offload.accelerate(3)


def test_composed_functions():
    distance = offload.accelerate(lambda x, y: np.sqrt(x * x + y * y))
    np.testing.assert_allclose(distance(S, S.T), np.sqrt(S * S + S.T * S.T), rtol=1e-12)
    assert distance.decide(S, S.T).operation == "map float64"
    assert offload.decide(distance, S, S.T).operation == "map float64"


# ---- Pairs


@pytest.fixture
def session():
    with offload.Session("cpu") as session:
        yield session


def test_pairs_run_and_are_counted(session):
    half = offload.accelerate(
        lambda a, by=2: a / by,
        lambda a, by=2: "gpu",
        operation="half",
        size_of=lambda a, by=2: a.size,
        unit="pixels",
        session=session,
    )
    np.testing.assert_array_equal(half(S, by=4), S / 4)
    decision = half.explain(S)
    assert (decision.operation, decision.size, decision.unit, decision.choice) == ("half", 25, "pixels", "cpu")
    (row,) = session.statistics()["operations"]
    assert row["operation"] == "half" and row["cpu"]["calls"] == 1

    def fails(a):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        offload.accelerate(fails, fails, session=session)(S)
    with pytest.raises(glint.OptionError, match="flop"):
        offload.accelerate(fails, fails, work=lambda a: {"flop": 1}, session=session)(S)


class Images:
    """Methods of every kind."""

    def __init__(self, scale):
        self.scale = scale

    @offload.accelerate
    def scaled(self, x):
        return self.scale * x

    @offload.accelerate
    def sorted(self, x, *, flip=False):
        """On the CPU."""
        return np.sort(x)[:: -1 if flip else 1] * self.scale

    @classmethod
    @offload.accelerate
    def of_class(cls, x):
        return 2 * x + len(cls.__name__)

    @staticmethod
    @offload.accelerate
    def alone(x):
        return 3 * x

    half = offload.accelerate(
        lambda self, x: self.scale * x / 2,
        lambda self, x: "gpu",
        operation="half of method",
        size_of=lambda self, x: x.size,
        work=lambda self, x: {"flops": self.scale},
    )
    product = offload.accelerate(np.matmul)


def test_methods():
    one, two = Images(2.0), Images(5.0)
    for image in (one, two, one):
        np.testing.assert_array_equal(image.scaled(S), image.scale * S)
        np.testing.assert_array_equal(image.sorted(S, flip=True), np.sort(S)[::-1] * image.scale)
        np.testing.assert_array_equal(image.half(S), image.scale * S / 2)
    one.scale = 7.0  # what a method reads may change
    np.testing.assert_array_equal(one.scaled(S), 7 * S)
    np.testing.assert_array_equal(Images.scaled(two, S), 5 * S)
    np.testing.assert_allclose(Images.of_class(S), 2 * S + 6)
    np.testing.assert_allclose(one.of_class(S), 2 * S + 6)
    np.testing.assert_allclose(one.alone(S), 3 * S)
    np.testing.assert_allclose(one.product(S, S), S @ S)  # a function of NumPy is no method
    assert one.scaled.explain(S).operation == "map float64" and one.half.explain(S).operation == "half of method"
    assert (
        one.sorted.__doc__ == "On the CPU."
        and Images.sorted.__name__ == "sorted"
        and isinstance(Images.scaled, offload.Accelerated)
    )


def test_a_function_reads_what_changes_between_calls():
    factor = 2.0
    scaled = offload.accelerate(lambda x: factor * x)
    np.testing.assert_array_equal(scaled(S), 2 * S)
    factor = 3.0
    np.testing.assert_array_equal(scaled(S), 3 * S)


def test_callables_without_a_hash():
    class Blur:
        __hash__ = None

        def __eq__(self, other):
            raise AssertionError("not compared")

        def __call__(self, x):
            return np.sort(x)

    np.testing.assert_array_equal(offload.accelerate(Blur())(S), np.sort(S))
    np.testing.assert_array_equal(offload.accelerate(Blur(), Blur())(S), np.sort(S))
    assert offload.oom_safe(Blur())(S).shape == S.shape


# ---- Lack of memory


def other_library(module, name, **attributes):
    """An exception as another library has it."""
    kind = type(name, (RuntimeError,), {"__module__": module})
    error = kind("no room")
    for key, value in attributes.items():
        setattr(error, key, value)
    return error


FULL = [
    glint.gpu.OutOfMemory("no room"),
    other_library("torch", "OutOfMemoryError"),
    other_library("cupy.cuda.memory", "OutOfMemoryError"),
    other_library("cupy_backends.cuda.api.runtime", "CUDARuntimeError", status=2),
]


@pytest.mark.parametrize("error", FULL, ids=lambda error: type(error).__module__)
def test_a_full_gpu_is_tried_again_then_left(session, error):
    tried = []

    @offload.oom_safe(on_cpu=lambda x: x + 1, operation="grow", session=session)
    def grow(x):
        tried.append(x)
        raise error

    assert grow(1) == 2 and tried == [1, 1] and grow.__name__ == "grow"
    statistics = session.statistics()
    assert (statistics["failures"], statistics["fallbacks"]) == (2, 1) and statistics["last_fallbacks"][0][
        "operation"
    ] == "grow"
    with offload.set_oom_safe(False, session):
        assert not offload.oom_safe_enabled(session)
        with pytest.raises(type(error)):
            grow(1)
        assert len(tried) == 3
    assert offload.oom_safe_enabled(session)


def test_other_errors_are_not_hidden(session):
    for error in [
        ValueError("wrong"),
        other_library("torch", "AcceleratorError"),
        MemoryError(),
        other_library("cupy_backends.cuda.api.runtime", "CUDARuntimeError", status=700),
    ]:

        @offload.oom_safe(on_cpu=lambda: "hidden", session=session)
        def fails():
            raise error

        with pytest.raises(type(error)):
            fails()


def test_the_second_attempt_may_succeed_and_memory_of_the_first_is_gone(session):
    import gc
    import weakref

    class Big:
        pass

    seen = []

    @offload.oom_safe(session=session)
    def function():
        if seen:
            gc.collect()
            return seen[0]() is None
        big = Big()
        seen.append(weakref.ref(big))
        raise glint.gpu.OutOfMemory("no room")

    assert function() is True


def test_without_a_function_for_the_cpu(session):
    class OnGpu:  # as CuPy's arrays
        def __dlpack_device__(self):
            return 2, 0

        def cpu(self):
            return np.float64(3)

    @offload.oom_safe(session=session)
    def twice(x):
        if isinstance(x, OnGpu):
            raise glint.gpu.OutOfMemory("no room")
        return 2 * x

    assert twice(OnGpu()) == 6

    @offload.oom_safe(session=session)
    def alone(x):
        raise glint.gpu.OutOfMemory("no room")

    with pytest.raises(glint.gpu.OutOfMemory):
        alone(np.ones(3))


def full(*_):
    raise glint.gpu.OutOfMemory("no room")


@pytest.fixture
def cupy(monkeypatch):
    """A library with CuPy's names whose GPU is full."""
    module, linalg = types.ModuleType("cupy"), types.ModuleType("cupy.linalg")
    for name in ("sqrt", "asarray", "asnumpy", "zeros", "only_cupy"):
        setattr(module, name, types.FunctionType(full.__code__, globals(), name))
    linalg.norm = types.FunctionType(full.__code__, globals(), "norm")
    module.linalg, module.ndarray, module.float32 = linalg, type("ndarray", (), {}), np.float32
    monkeypatch.setitem(sys.modules, "cupy", module)
    monkeypatch.setitem(sys.modules, "cupy.linalg", linalg)
    return module


def in_module(source, **names):
    """The names of a module of this source."""
    module = types.ModuleType("of_test")
    module.__dict__.update(names, offload=offload)
    exec(source, module.__dict__)
    return module


def test_functions_of_cupy_that_a_module_has_imported(cupy):
    module = in_module("""
import cupy, cupy as cp
from cupy import sqrt, asnumpy as back, ndarray, float32
from cupy.linalg import norm
from cupy import linalg
@offload.oom_safe
def f(x, root=sqrt, *, length=norm):
    y = sqrt(x)
    assert isinstance(y, ndarray) and float32 is y.dtype.type
    return back(y) + root(x) + length(x) + linalg.norm(x) + cp.linalg.norm(x) + cupy.sqrt(x)
""")
    x = np.arange(9, dtype="f4")
    np.testing.assert_allclose(module.f(x), 3 * np.sqrt(x) + 3 * np.linalg.norm(x))
    assert in_module("from cupy import only_cupy as f", full=full).f.__name__ == "only_cupy"
    only = in_module("from cupy import only_cupy\n@offload.oom_safe\ndef f(x):\n    return only_cupy(x)")
    with pytest.raises(glint.gpu.OutOfMemory):  # what NumPy does not have
        only.f(x)


def test_methods_partial_functions_and_objects(cupy):
    module = in_module("""
import functools
import cupy as cp
class Model:
    def __init__(self, scale): self.scale = scale
    @offload.oom_safe
    def root(self, x): return self.scale * cp.sqrt(x)
    @classmethod
    @offload.oom_safe
    def of_class(cls, x): return cls, cp.sqrt(x)
    @offload.oom_safe
    @staticmethod
    def alone(x): return cp.sqrt(x)
    @offload.oom_safe
    @classmethod
    def inside(cls, x): return cls, cp.sqrt(x)
    def __call__(self, x): return self.scale * cp.sqrt(x)
    def plain(self, x, y=1): return self.scale * cp.sqrt(x) * y
""")
    x, model = np.arange(9.0), module.Model(2)
    np.testing.assert_array_equal(model.root(x), 2 * np.sqrt(x))
    for name in ("of_class", "inside"):
        cls, found = getattr(model, name)(x)
        assert cls is module.Model
        np.testing.assert_array_equal(found, np.sqrt(x))
    np.testing.assert_array_equal(model.alone(x), np.sqrt(x))
    np.testing.assert_array_equal(offload.oom_safe(model.plain)(x), 2 * np.sqrt(x))
    np.testing.assert_array_equal(offload.oom_safe(model)(x), 2 * np.sqrt(x))
    np.testing.assert_array_equal(offload.oom_safe(functools.partial(model.plain, y=5))(x), 10 * np.sqrt(x))


def test_names_that_helpers_change_are_seen(cupy):
    module = in_module("""
import cupy as cp
calls, own = 0, 0
def helper():
    global calls, new
    calls += 1
    new = calls
@offload.oom_safe
def f(x):
    global own
    helper()
    own += 10
    return calls, new, own, cp.sqrt(x)
""")
    assert module.f(np.ones(3))[:3] == (3, 3, 30)  # two attempts on the GPU, and the CPU's
    assert (module.calls, module.new, module.own) == (3, 3, 30)


@pytest.mark.parametrize(
    "source, what",
    [
        ("def f(x):\n    yield x", "a generator"),
        ("async def f(x):\n    return x", "an async function"),
        ("async def f(x):\n    yield x", "an async generator"),
        ("class F:\n    async def __call__(self, x):\n        return x\nf = F()", "an async function"),
        ("import functools\ndef g(x, y):\n    yield x\nf = functools.partial(g, 1)", "a generator"),
        ("f = 3", "a int is no function"),
    ],
)
def test_what_returns_before_its_body_has_run_is_refused(source, what):
    f = in_module(source).f
    with pytest.raises(TypeError, match=what):
        offload.oom_safe(f)
    if what != "a int is no function":
        with pytest.raises(TypeError, match=what):
            offload.oom_safe(lambda x: x, on_cpu=f)


@pytest.mark.parametrize(
    "make",
    [
        lambda: np.zeros(100_003, "u1"),
        lambda: np.zeros((300, 500)),
        lambda: np.zeros((300, 500), order="F"),
        lambda: np.zeros((300, 700))[::2, ::-3],
        lambda: np.zeros((7, 8, 900), "c16").transpose(1, 2, 0),
        lambda: np.zeros(70_000, [("a", "f4"), ("b", "i2")]),
        lambda: np.zeros(70_000, [("a", "f4"), ("b", "i2")])[::3],
        lambda: np.ma.zeros((30, 50)),
        lambda: np.zeros(()),
        lambda: np.zeros(9, "M8[s]"),
    ],
)
@pytest.mark.parametrize("place", [0.0, 0.3333, 0.77, 1.0])
def test_one_element_that_was_changed_is_found(session, make, place):
    """Also within lists, tuples and dicts; a result of two halves would be wrong without a word."""
    a = make()
    at = np.unravel_index(round(place * (a.size - 1)), a.shape)

    @offload.oom_safe(session=session)
    def f(values):
        values["a"][0][at] = 1
        raise glint.gpu.OutOfMemory("no room")

    with pytest.warns(RuntimeWarning, match="f changed an argument"), pytest.raises(glint.gpu.OutOfMemory):
        f({"a": (a, np.ones(3))})
    assert session.statistics()["failures"] == 0


def test_arguments_of_any_kind_have_checksums(session):
    torch = types.SimpleNamespace(
        Tensor=type("Tensor", (), {"_version": property(lambda self: (_ for _ in ()).throw(RuntimeError("inference")))})
    )
    before, sys.modules["torch"] = sys.modules.get("torch"), torch
    try:
        checksums = Checksums(
            [
                np.zeros(3, object),
                np.zeros(3, "U0"),
                np.array("text"),
                np.asmatrix(np.ones((2, 2))),
                torch.Tensor(),
                "text",
                None,
                np.zeros((0, 3)),
                {"a": [np.float32(3)]},
            ]
        )
        assert not checksums.changed()
    finally:
        sys.modules.pop("torch")
        if before is not None:
            sys.modules["torch"] = before


def test_elements_that_were_exchanged_are_found(session):
    def swap(a):
        a[[123, 456]] = a[[456, 123]]
        raise glint.gpu.OutOfMemory("no room")

    for shape in ((5000,), (5000, 3)):
        with pytest.warns(RuntimeWarning, match="changed an argument"), pytest.raises(glint.gpu.OutOfMemory):
            offload.oom_safe(swap, session=session)(np.arange(np.prod(shape)).reshape(shape))


def test_the_cpu_gets_arrays_within_containers(session):
    class OnGpu:  # as CuPy's arrays
        def __dlpack_device__(self):
            return 2, 0

        def cpu(self):
            return np.ones(3)

    pair = collections.namedtuple("pair", "a b")

    @offload.oom_safe(session=session)
    def total(parts, *, more):
        found = [*parts[0], parts[1]["x"], more.a]
        if any(isinstance(x, OnGpu) for x in found):
            raise glint.gpu.OutOfMemory("no room")
        return sum(x.sum() for x in found)

    assert total(([OnGpu(), OnGpu()], {"x": OnGpu()}), more=pair(OnGpu(), 1)) == 12


def test_caches_of_others_are_emptied(session, monkeypatch):
    emptied = []
    cuda = types.SimpleNamespace(is_initialized=lambda: True, empty_cache=lambda: emptied.append("torch"))
    pool = types.SimpleNamespace(free_all_blocks=lambda: emptied.append("cupy"))
    monkeypatch.setitem(sys.modules, "torch", types.SimpleNamespace(cuda=cuda))
    monkeypatch.setitem(sys.modules, "cupy", types.SimpleNamespace(get_default_memory_pool=lambda: pool))

    @offload.oom_safe(on_cpu=lambda: 1, session=session)
    def full():
        raise glint.gpu.OutOfMemory("no room")

    assert full() == 1 and emptied == ["torch", "cupy"] * 2


# ---- Errors in words


def test_errors_in_words():
    for error, words in [
        (glint.OptionError("a gain of 0"), "correct"),
        (MemoryError(), "full"),
        (RuntimeError("?"), "report"),
        (glint.gpu.OutOfMemory("no room"), "less data per call"),
        (glint.gpu.NoGpu("none"), "glint doctor"),
        (other_library("torch", "OutOfMemoryError"), "less data per call"),
        (700, ""),
        (other_library("cupy.cuda.driver", "CUDADriverError", status=700), ""),
        (other_library("torch", "AcceleratorError", error_code=700), ""),
    ]:
        message, suggestion = glint.gpu.explain_error(error)
        assert message and suggestion and words in suggestion
    full = glint.gpu.OutOfMemory("no room")
    full.asked_bytes, full.beyond_limit = 3 << 30, True
    assert "3.0 GiB" in glint.gpu.explain_error(full).suggestion and "GLINT_GPU_MEMORY_LIMIT" in str(
        glint.gpu.explain_error(full)
    )


WIDTH = 3


@pytest.mark.filterwarnings("ignore:.*the GPU failed:RuntimeWarning")
def test_the_cpu_runs_a_function_that_reads_names_in_a_class_or_by_globals():
    @offload.oom_safe
    def function(x):
        class Reader:
            width = WIDTH

        if offload.default_session().backend != "cpu":
            raise gpu.OutOfMemory("the GPU is full")
        return Reader.width * x + globals()["WIDTH"]

    np.testing.assert_array_equal(function(np.ones(4)), 6)
