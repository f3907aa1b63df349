"""Compares glint's operations on arrays with NumPy and SciPy, through array_worker."""

import json
import os
import pathlib
import subprocess

import numpy as np
import pytest
import scipy.special

TYPES = ["float32", "float64"]
# On a machine with a GPU: GLINT_JUDGED=gpu,resident (operands on the host, on the GPU).
BACKENDS = os.environ.get("GLINT_JUDGED", "cpu").split(",")
COMPLEX = {"float32": "complex64", "float64": "complex128"}


def described(file, view, memory):
    """The view as offset and strides into its memory, in elements."""
    offset = (view.__array_interface__["data"][0] - memory.__array_interface__["data"][0]) // view.itemsize
    return {
        "file": file,
        "shape": view.shape,
        "strides": [s // view.itemsize for s in view.strides],
        "offset": offset,
        "size": memory.size,
    }


def laid_out(values, layout):
    """(view, memory): a view that equals `values`, in memory of that layout."""
    if layout == "transposed" and values.ndim > 1:
        memory = np.ascontiguousarray(np.swapaxes(values, -1, -2))
        return np.swapaxes(memory, -1, -2), memory
    if layout == "padded" and values.ndim > 0:
        memory = np.zeros(values.shape[:-1] + (values.shape[-1] * 2 + 1,), values.dtype)
        view = memory[..., 1 : 1 + values.shape[-1]]
        view[...] = values
        return view, memory
    if layout == "backwards" and values.ndim > 0:
        memory = np.ascontiguousarray(values[tuple([slice(None, None, -1)] * values.ndim)])
        return memory[tuple([slice(None, None, -1)] * values.ndim)], memory
    memory = np.ascontiguousarray(values)
    return memory, memory


LAYOUTS = ["contiguous", "padded", "transposed", "backwards"]


@pytest.fixture(scope="session")
def workers():
    """start(backend, environment) -> a process that takes names of folders."""
    default = pathlib.Path(__file__).resolve().parents[2] / "build/release/bin"
    program = pathlib.Path(os.environ.get("GLINT_BIN", default)) / "array_worker"
    started = {}

    def start(backend, environment):
        key = backend, *environment.items()
        if key not in started:
            started[key] = subprocess.Popen(
                [program, backend],
                text=True,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env={**os.environ, **environment},
            )
        return started[key]

    yield start
    for process in started.values():
        process.communicate()
        assert process.returncode == 0


@pytest.fixture(params=BACKENDS)
def work(request, tmp_path, workers):
    """Runs jobs (operation, type, inputs, output arrays, facts); results or the message of each."""

    def run(jobs, layout="contiguous", environment={}):
        lines, outputs_of = [], []
        for number, (operation, kind, inputs, outputs, facts) in enumerate(jobs):
            job = {"operation": operation, "type": kind, "inputs": [], "outputs": [], **facts}
            for k, values in enumerate(inputs):
                view, memory = laid_out(values, layout)
                memory.tofile(tmp_path / f"{number}_in{k}")
                job["inputs"].append(described(f"{number}_in{k}", view, memory))
            kept = []
            for k, (shape, dtype) in enumerate(outputs):
                view, memory = laid_out(np.zeros(shape, dtype), layout)
                job["outputs"].append(described(f"{number}_out{k}", view, memory))
                kept.append((tmp_path / f"{number}_out{k}", view, memory))
            lines.append(job)
            outputs_of.append(kept)
        (tmp_path / "jobs.json").write_text(json.dumps(lines))
        worker = workers(request.param, environment)
        print(tmp_path, file=worker.stdin, flush=True)
        line = worker.stdout.readline()
        assert line, f"the worker died: {worker.wait()}"
        results = []
        for answer, kept in zip(json.loads(line), outputs_of, strict=True):
            if "error" in answer or "number" in answer:
                results.append(answer.get("error") or float(answer["number"]))
                continue
            for path, _, memory in kept:
                memory.reshape(-1)[:] = np.fromfile(path, memory.dtype)
            results.append([view for _, view, _ in kept])
        return results

    return run


def random(shape, kind, seed=1):
    values = np.random.default_rng(seed).normal(size=shape)
    if np.dtype(kind).kind == "c":
        values = values + 1j * np.random.default_rng(seed + 1).normal(size=shape)
    return np.asarray(values, kind)


# Matrix products

PRODUCTS = [
    ((3, 4), (4, 5)),
    ((1, 1), (1, 1)),
    ((1, 300), (300, 1)),
    ((65, 1), (1, 33)),
    ((1, 50), (50, 20)),
    ((50, 20), (20, 1)),
    ((128, 256), (256, 64)),
    ((7, 5, 6), (7, 6, 4)),
    ((5, 6), (7, 6, 4)),
    ((7, 5, 6), (6, 4)),
    ((2, 3, 5, 6), (3, 6, 4)),
    ((2, 1, 5, 6), (1, 3, 6, 4)),
    ((200, 8, 8), (200, 8, 8)),
    ((1000, 3), (3, 1000)),
]


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("threads", [0, 1, 2])
def test_matmul(work, kind, layout, threads):
    pairs = [(random(a, kind, 1), random(b, kind, 2)) for a, b in PRODUCTS]
    results = work(
        [("matmul", kind, pair, [(np.matmul(*pair).shape, kind)], {"threads": threads}) for pair in pairs], layout
    )
    for (a, b), (c,) in zip(pairs, results):
        exact = np.matmul(a.astype("f8"), b.astype("f8"))
        bound = (a.shape[-1] + 2) * np.finfo(kind).eps * np.matmul(abs(a), abs(b)).astype("f8")
        assert np.all(abs(c - exact) <= bound), (a.shape, b.shape)


# Fourier transforms

LENGTHS = [1, 2, 3, 8, 15, 64, 97, 100, 1000, 1024, 1021, 10007, 65536]
IMAGES = [(1, 1), (1, 7), (7, 1), (4, 6), (5, 9), (64, 64), (97, 31), (3, 50, 60), (2, 3, 17, 16)]
STACKS = [(5, 1), (300, 16), (3, 100, 33), (2, 3, 4, 12), (64, 1024)]


def transform_error(found, expected):
    """Relative, in the root of the mean square, as FFTW's authors give it."""
    norm = np.linalg.norm(np.ravel(expected))
    return np.linalg.norm(np.ravel(found - expected)) / (norm if norm else 1)


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("rank", [1, 2])
@pytest.mark.parametrize("threads", [0, 1])
def test_fft(work, kind, layout, rank, threads):
    shapes = [(n,) for n in LENGTHS] + STACKS if rank == 1 else IMAGES
    jobs, expected = [], []
    for shape in shapes:
        axes = tuple(range(-rank, 0))
        z, x = random(shape, COMPLEX[kind]), random(shape, kind)
        half = np.fft.rfftn(x, axes=axes).astype(COMPLEX[kind])
        facts = {"rank": rank, "threads": threads}
        for operation, values, of, to in [
            ("fft", z, np.fft.fftn(z.astype("c16"), axes=axes), COMPLEX[kind]),
            ("ifft", z, np.fft.ifftn(z.astype("c16"), axes=axes), COMPLEX[kind]),
            ("rfft", x, np.fft.rfftn(x.astype("f8"), axes=axes), COMPLEX[kind]),
            ("irfft", half, np.fft.irfftn(half.astype("c16"), s=shape[-rank:], axes=axes), kind),
        ]:
            jobs.append((operation, kind, [values], [(of.shape, to)], facts))
            expected.append(of)
    for job, of, (found,) in zip(jobs, expected, work(jobs, layout)):
        n = np.prod(of.shape[-rank:]) + 1
        assert transform_error(found, of) <= 4 * np.finfo(kind).eps * np.log2(n + 1), (job[0], of.shape)


@pytest.mark.parametrize("kind", TYPES)
def test_irfft_ignores_what_a_real_result_cannot_have(work, kind):
    """Ignores, like NumPy, the imaginary parts of the first and last elements of a spectrum of no real signal."""
    for n in [8, 9]:
        z = random(n // 2 + 1, COMPLEX[kind])
        ((found,),) = work([("irfft", kind, [z], [((n,), kind)], {})])
        assert transform_error(found, np.fft.irfft(z, n)) <= 20 * np.finfo(kind).eps


# Singular values

MATRICES = [(1, 1), (1, 5), (5, 1), (4, 4), (30, 20), (20, 30), (200, 7), (7, 200), (150, 150)]


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_svd(work, kind, layout):
    matrices = [random(shape, kind) for shape in MATRICES]
    matrices += [
        np.zeros((4, 3), kind),
        np.ones((6, 6), kind),
        np.eye(5, dtype=kind),
        np.vander(np.linspace(0, 1, 12)).astype(kind),
    ]
    jobs = []
    for a in matrices:
        (m, n), k = a.shape, min(a.shape)
        jobs.append(("svd", kind, [a], [((k,), kind), ((m, k), kind), ((k, n), kind)], {}))
        jobs.append(("svd", kind, [a], [((k,), kind)], {}))
    results = work(jobs, layout)
    for a, (s, u, vt), (alone,) in zip(matrices, results[::2], results[1::2]):
        a = a.astype("f8")
        s, u, vt = (x.astype("f8") for x in (s, u, vt))
        expected = scipy.linalg.svdvals(a) if a.any() else np.zeros(min(a.shape))
        bound = 4 * max(a.shape) * np.finfo(kind).eps  # relative to the greatest value
        greatest = expected[0]
        assert np.all(s[:-1] >= s[1:]) and np.all(s >= 0)
        assert np.all(abs(s - expected) <= bound * greatest)
        assert np.all(abs(alone - expected) <= bound * greatest)
        assert np.linalg.norm(u * s @ vt - a, 2) <= bound * greatest
        assert np.linalg.norm(u.T @ u - np.eye(len(s)), 2) <= bound
        assert np.linalg.norm(vt @ vt.T - np.eye(len(s)), 2) <= bound


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("value,name", [(np.nan, "NaN"), (np.inf, "infinity"), (-np.inf, "infinity")])
def test_svd_says_where_a_number_is_missing(work, kind, value, name):
    a = random((20, 30), kind)
    a[7, 11] = value
    (message,) = work([("svd", kind, [a], [((20,), kind)], {})])
    assert "(20, 30)" in message and f"{name} at [7, 11]" in message


# Element by element

X, Y, Z = {"input": 0}, {"input": 1}, {"input": 2}
# Steps with NumPy's function and the error allowed, in units in the last place: 0 if the result is exact.
ONE = {
    "negate": (np.negative, 0),
    "absolute": (np.abs, 0),
    "square": (np.square, 0),
    "square_root": (np.sqrt, 0),
    "reciprocal": (np.reciprocal, 0),
    "exp": (np.exp, 4),
    "log": (np.log, 4),
    "log2": (np.log2, 4),
    "log10": (np.log10, 4),
    "log1p": (np.log1p, 4),
    "expm1": (np.expm1, 4),
    "sin": (np.sin, 4),
    "cos": (np.cos, 4),
    "tan": (np.tan, 4),
    "asin": (np.arcsin, 4),
    "acos": (np.arccos, 4),
    "atan": (np.arctan, 4),
    "sinh": (np.sinh, 4),
    "cosh": (np.cosh, 4),
    "tanh": (np.tanh, 4),
    "erf": (scipy.special.erf, 4),
    "floor": (np.floor, 0),
    "ceil": (np.ceil, 0),
    "round": (np.rint, 0),
    "trunc": (np.trunc, 0),
    "sign": (np.sign, 0),
    "is_nan": (lambda x: np.isnan(x).astype(x.dtype), 0),
}
TWO = {
    "add": (np.add, 0),
    "subtract": (np.subtract, 0),
    "multiply": (np.multiply, 0),
    "divide": (np.divide, 0),
    "power": (np.power, 4),
    "minimum": (np.minimum, 0),
    "maximum": (np.maximum, 0),
    "remainder": (np.remainder, 0),
    "atan2": (np.arctan2, 4),
    "hypot": (np.hypot, 4),
    "less": (np.less, 0),
    "less_equal": (np.less_equal, 0),
    "equal": (np.equal, 0),
    "not_equal": (np.not_equal, 0),
}


def numbers(kind, n):
    """Returns values of all magnitudes, including the special ones."""
    generator = np.random.default_rng(3)
    values = np.concatenate(
        [
            [
                0,
                -0.0,
                1,
                -1,
                np.inf,
                -np.inf,
                np.nan,
                0.5,
                1.5,
                2.5,
                -2.5,
                3,
                -3,
                np.finfo(kind).max,
                np.finfo(kind).tiny,
                np.finfo(kind).tiny / 4,
                np.pi,
            ],
            generator.normal(size=n),
            generator.normal(size=n) * 10 ** generator.uniform(-30, 30, n),
            generator.uniform(-1, 1, n),
            generator.uniform(-100, 100, n),
            generator.integers(-9, 9, n),
        ]
    )
    return generator.permutation(values).astype(kind)


def assert_within_ulps(found, expected, ulps, kind, exact_type="f8"):
    with np.errstate(all="ignore"):
        rounded = expected.astype(kind)
        special = ~np.isfinite(rounded)
        np.testing.assert_array_equal(np.isnan(found), np.isnan(rounded))
        near_overflow = special & ~np.isnan(rounded) & np.isfinite(found)
        assert np.all(abs(found[near_overflow]) >= np.finfo(kind).max * (1 - 8 * np.finfo(kind).eps))
        ok = ~special & np.isfinite(found)
        assert np.all(np.isfinite(found[~special]) | (abs(rounded[~special]) > np.finfo(kind).max * 0.999))
        error = abs(found[ok].astype(exact_type) - expected[ok])
        assert np.all(error <= (ulps + 0.5) * np.spacing(abs(rounded[ok])).astype(exact_type)), (
            error / np.spacing(abs(rounded[ok]))
        ).max()


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("isa", ["sse2", "avx2", "avx512"])
def test_steps(work, kind, isa):
    flags = pathlib.Path("/proc/cpuinfo").read_text()
    if (isa == "avx2" and " avx2" not in flags) or (isa == "avx512" and " avx512dq" not in flags):
        pytest.skip(f"no {isa} here")
    x = numbers(kind, 400)
    y = np.roll(x, 101)
    a, b = np.concatenate([x, [*x[:40]] * len(x[:40])]), np.concatenate([y, np.repeat(x[:40], 40)])
    exact = np.longdouble  # for double; libmvec's errors are beyond rounding
    jobs = [("map", kind, [x], [(x.shape, kind)], {"expression": [name, X]}) for name in ONE]
    jobs += [("map", kind, [a, b], [(a.shape, kind)], {"expression": [name, X, Y]}) for name in TWO]
    results = work(jobs, environment={"GLINT_ISA": isa})
    with np.errstate(all="ignore"):
        for (name, (function, ulps)), (found,) in zip({**ONE, **TWO}.items(), results):
            inputs = (x,) if name in ONE else (a, b)
            try:
                if ulps == 0 or (name == "erf" and kind == "float64"):
                    expected = function(*inputs).astype(exact)
                else:
                    expected = function(*(i.astype("f8" if name == "erf" else exact) for i in inputs)).astype(exact)
                assert_within_ulps(found, expected, ulps, kind, exact)
            except AssertionError as error:
                raise AssertionError(f"{name}: {error}") from error


def test_three_operands(work):
    x, y, z = random((3, 1000), "float64")
    x[::7] = 0
    x[5], y[9], z[9] = np.nan, np.nan, np.inf
    select, fma = work(
        [
            ("map", "float64", [x, y, z], [(x.shape, "float64")], {"expression": [step, X, Y, Z]})
            for step in ["select", "fused_multiply_add"]
        ]
    )
    np.testing.assert_array_equal(select[0], np.where(x, y, z))
    np.testing.assert_allclose(fma[0], x * y + z, rtol=0, atol=1e-14)


EXPRESSION = ["square_root", ["add", ["multiply", X, X], ["multiply", ["add", Y, 2], ["select", ["less", X, Y], Z, 3]]]]


def evaluated(x, y, z):
    return np.sqrt(x * x + (y + 2) * np.where(x < y, z, 3))


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(
    "shape",
    [
        (),
        (1,),
        (15,),
        (16,),
        (17,),
        (1024,),
        (1025,),
        (200000,),
        (7, 33),
        (33, 1),
        (500, 600),
        (3, 50, 70),
        (4, 5, 6, 7),
    ],
)
def test_map(work, kind, layout, shape):
    x, y = abs(random(shape, kind, 1)), abs(random(shape, kind, 2))
    for z in [abs(random(shape, kind, 3)), np.full((1,) * len(shape), 0.7, kind)]:
        for threads in [0, 1]:
            ((found,),) = work(
                [("map", kind, [x, y, z], [(shape, kind)], {"expression": EXPRESSION, "threads": threads})], layout
            )
            expected = evaluated(*(a.astype("f8") for a in (x, y, z)))
            np.testing.assert_allclose(found, expected, rtol=4 * np.finfo(kind).eps)


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("shape", [(), (1,), (15,), (100,), (1024,), (70000,), (1000, 300), (3, 50, 70), (4, 5, 6, 7)])
def test_reduce(work, kind, layout, shape):
    x, y = random(shape, kind, 1), random(shape, kind, 2)
    product = (x * y).astype(kind)
    jobs = [
        (how, kind, [x, y], [], {"expression": ["multiply", X, Y], "threads": threads})
        for how in ["sum", "mean", "minimum", "maximum"]
        for threads in [0, 1, 2]
    ]
    results = work(jobs, layout)
    total = product.astype("f8").sum()
    bound = 1e-15 * np.log2(product.size + 2) * abs(product).sum(dtype="f8") * 10
    for found, expected, tolerance in zip(
        results[::3], [total, total / product.size, product.min(), product.max()], [bound, bound / product.size, 0, 0]
    ):
        assert abs(found - expected) <= tolerance
    assert results[::3] == results[1::3] == results[2::3]  # to the last bit, for any number of threads


@pytest.mark.parametrize("kind", TYPES)
def test_reduce_hands_nan_on(work, kind):
    for n in [1, 20, 1000, 100000]:
        for at in {0, n // 2, n - 1}:
            x = random(n, kind)
            x[at] = np.nan
            for found in work(
                [(how, kind, [x], [], {"expression": X}) for how in ["sum", "mean", "minimum", "maximum"]]
            ):
                assert np.isnan(found), (n, at)
    x = np.array([1, -np.inf, 2], kind)
    assert work([(how, kind, [x], [], {"expression": X}) for how in ["minimum", "maximum"]]) == [-np.inf, 2]


def test_what_does_not_fit_is_refused(work):
    deep = X
    for _ in range(60):
        deep = ["sin", deep]
    (message,) = work([("map", "float32", [random(5, "float32")], [((5,), "float32")], {"expression": deep})])
    assert "more than 48 steps" in message
