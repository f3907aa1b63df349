"""Arrays on a GPU, operations there, and a GPU that is full: on a simulated server with two GPUs of 8 GiB."""

import copy
import gc
import os
import pickle
import warnings

import glint
import numpy as np
import pytest
from conftest import same_table
from glint import arrays as xp, gpu, offload

pytestmark = pytest.mark.skipif(
    "SIMGPU_STATE" not in os.environ, reason="not on the simulated server: tests/simgpu/run"
)
RNG = np.random.default_rng(11)


@pytest.fixture
def session():
    with offload.Session("gpu", gpu_memory="64MiB", gpu_timeout=60) as session:
        yield session


class Foreign:
    """A DeviceArray as another library would have it."""

    def __init__(self, array):
        self.array, self.dtype, self.shape, self.asked = array, array.dtype, array.shape, []

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()

    def __dlpack__(self, **options):
        self.asked.append(options)
        return self.array.__dlpack__(**options)


def values(shape, dtype="f4"):
    return RNG.normal(size=shape).astype(dtype)


# ---- Memory


class Cycle:
    """What only a garbage collection frees."""

    def __init__(self, array):
        self.array, self.itself = array, self


def memory_of(session):
    assert session.gpu_open
    (memory,) = [of for of in gpu.memory() if of.limit_bytes == 64 << 20]
    return memory


@pytest.fixture
def no_automatic_collection():
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def test_garbage_is_collected_before_an_allocation_fails(session, no_automatic_collection):
    for _ in range(3):
        Cycle(gpu.to_device(np.ones(48 << 18, "f4"), session=session))
    assert memory_of(session).live_bytes == 48 << 20


def test_garbage_is_collected_early_once_memory_is_short(session, no_automatic_collection):
    Cycle(gpu.to_device(np.ones(8 << 18, "f4"), session=session))
    session.synchronize()
    assert memory_of(session).live_bytes == 8 << 20, "there is room"
    Cycle(gpu.to_device(np.ones(48 << 18, "f4"), session=session))
    session.synchronize()
    memory = memory_of(session)
    assert (memory.live_bytes, memory.reserved_bytes, memory.retries) == (0, 0, 0) and memory.early_reclaimed_bytes


# ---- There and back


@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16"])
def test_there_and_back(session, dtype):
    for a in (
        values((3, 5), dtype),
        values((6, 8), dtype)[::-2, 1::3],
        values(()),
        values((0, 3), dtype),
        values(7, dtype),
    ):
        there = gpu.to_device(a, session=session)
        assert (there.shape, there.dtype, there.ndim, there.size, there.nbytes) == (
            a.shape,
            a.dtype,
            a.ndim,
            a.size,
            a.nbytes,
        )
        np.testing.assert_array_equal(there.to_numpy(), a)
        with_gaps = np.zeros((*a.shape, 2), a.dtype)[..., 0]
        np.testing.assert_array_equal(there.to_numpy(out=with_gaps), a)
    assert gpu.to_device(np.arange(5), session=session).dtype == "int64", "all types stay what they are"
    assert gpu.to_device(np.longdouble([1, 2]), session=session).dtype == "float64"
    np.testing.assert_array_equal(gpu.to_host(gpu.to_device([1, 2], session=session)), [1.0, 2.0])


def test_what_does_not_go(session):
    there = gpu.to_device(values(4), session=session)
    for wrong in [
        lambda: gpu.to_device(np.array(["a"]), session=session),
        lambda: there.to_numpy(out=np.zeros(3, "f4")),
        lambda: offload.matmul(there, there[:3], session=session),
        lambda: offload.map(lambda x, y: x + y, there, np.zeros(3), session=session),
        lambda: offload.map(lambda x: x, there.astype(np.complex64), session=session),
    ]:
        with pytest.raises(glint.OptionError):
            wrong()
    with pytest.raises(TypeError, match="to_numpy"):
        np.asarray(there)
    with pytest.raises(MemoryError) as error:
        gpu.to_device(np.zeros(100 << 20, "f4"), session=session)
    assert error.value.asked_bytes == 400 << 20 and error.value.beyond_limit


def test_arrays_go_with_their_session_and_memory_comes_back():
    with offload.Session("gpu", gpu_memory="64MiB", gpu_timeout=60) as session:
        there = gpu.to_device(values(1000), session=session)
        (memory,) = gpu.memory()
        assert memory.ordinal == there.device and memory.limit_bytes == 64 << 20 and memory.live_bytes >= 4000
        assert gpu.stats()["memory"][0]["peak_bytes"] >= memory.live_bytes
        gpu.clean_up()
    assert gpu.memory() == [] and not session.gpu_open and not any(g.holders for g in gpu.leases().gpus)
    for use in (there.to_numpy, there.__dlpack__, lambda: offload.sum(there, session=session)):
        with pytest.raises(glint.GpuError, match="given back"):
            use()
    assert not session.gpu_open, "it was not opened again for that"
    assert offload.sum(np.ones(3), session=session) == 3 and session.gpu_open  # another lease
    session.close()


# ---- Operations


def test_operations_give_what_numpy_gives(session):
    a, b = values((5, 7)), values((7, 4))
    x, y = gpu.to_device(a, session=session), gpu.to_device(b, session=session)
    z = gpu.to_device(values((4, 8), "c8"), session=session)
    for result, expected in [
        (offload.matmul(x, y, session=session), a @ b),
        (offload.matmul(x, b, session=session), a @ b),
        (offload.map(lambda v, w: np.sqrt(v * v + w), x, 2.0, session=session), np.sqrt(a * a + 2)),
        (offload.fft(z, session=session), np.fft.fft(z.to_numpy())),
        (offload.ifft2(z, session=session), np.fft.ifft2(z.to_numpy())),
        (offload.rfft(x, session=session), np.fft.rfft(a)),
        (offload.irfft(z, session=session), np.fft.irfft(z.to_numpy())),
        (offload.svd(x, compute_uv=False, session=session), np.linalg.svd(a, compute_uv=False)),
    ]:
        assert isinstance(result, gpu.DeviceArray), "the result lies where an operand does"
        np.testing.assert_allclose(result.to_numpy(), expected, rtol=1e-4, atol=1e-5)
    assert offload.sum(x, session=session) == pytest.approx(a.sum(dtype="f8"), rel=1e-6)
    assert offload.maximum(x, session=session) == a.max()
    (row,) = [row for row in session.statistics()["operations"] if row["operation"] == "matmul float32"]
    assert row["gpu"]["calls"] == 2 and row["cpu"]["calls"] == 0


def test_the_result_where_it_is_wanted(session):
    a = values((6, 6))
    x = gpu.to_device(a, session=session)
    on_host = offload.matmul(x, x, on="host", session=session)
    assert isinstance(on_host, np.ndarray)
    there = offload.matmul(a, a, on="device", session=session)
    assert isinstance(there, gpu.DeviceArray)
    room, with_gaps = gpu.to_device(np.zeros((6, 6), "f4"), session=session), np.zeros((6, 12), "f4")[:, ::2]
    assert offload.matmul(a, x, out=room, session=session) is room
    assert offload.matmul(x, x, out=with_gaps, session=session) is with_gaps
    for result in (on_host, there.to_numpy(), room.to_numpy(), with_gaps):
        np.testing.assert_allclose(result, a @ a, rtol=1e-5, atol=1e-5)
    session.backend = "cpu"  # what lies there is brought here, and the result taken there
    np.testing.assert_allclose(offload.matmul(x, x, session=session).to_numpy(), a @ a, rtol=1e-5, atol=1e-5)
    assert session.statistics()["operations"][0]["cpu"]["calls"] == 1


def test_accelerated_functions_take_arrays_there(session):
    a = values((5, 5))
    x = gpu.to_device(a, session=session)
    matmul, total = (offload.accelerate(f, session=session) for f in (np.matmul, np.sum))
    np.testing.assert_allclose(matmul(x, x).to_numpy(), a @ a, rtol=1e-5, atol=1e-5)
    assert matmul.explain(x, x).choice == "gpu" and total(x) == pytest.approx(a.sum(), rel=1e-5)
    rows = offload.accelerate(np.sum, session=session)(x, axis=0)
    np.testing.assert_allclose(rows.to_numpy(), a.sum(axis=0), rtol=1e-5, atol=1e-5)
    middle = offload.accelerate(np.sum, session=session)(x, initial=2.0)  # NumPy itself, of a copy
    np.testing.assert_array_equal(middle, a.sum(initial=2.0))


# ---- With other libraries


def test_lent_memory_outlives_the_session():
    with offload.Session("gpu", gpu_memory="64MiB", gpu_timeout=60) as session:
        a = values((4, 4))
        there = gpu.to_device(a, session=session)
        capsule = there.__dlpack__(stream=None, max_version=(1, 0), dl_device=(2, there.device), copy=False)
        interface = there.__cuda_array_interface__
        assert (
            interface["shape"] == (4, 4)
            and interface["typestr"] == "<f4"
            and interface["data"][0] == there._core.address()
        )
        np.testing.assert_array_equal(np.from_dlpack(there, device="cpu"), a)
        with pytest.raises(BufferError):
            there.__dlpack__(copy=True)
        with pytest.raises(BufferError, match="by a copy"):
            there.__dlpack__(dl_device=(1, 0), copy=False)
        with pytest.raises(BufferError):
            there.__dlpack__(dl_device=(2, there.device + 1))
        del there
    (memory,) = gpu.memory()  # the context stays, for whoever has the capsule
    assert memory.live_bytes >= 64 and not any(g.holders for g in gpu.leases().gpus)
    del capsule
    gc.collect()
    assert gpu.memory() == []


def test_foreign_memory_is_used_where_it_lies(session):
    a = values((4, 6))
    there = gpu.to_device(a, session=session)
    foreign = Foreign(there)
    adopted = gpu.to_device(foreign, session=session)
    assert adopted.adopted and adopted._core.address() == there._core.address() and foreign.asked[0]["stream"] == 1
    result = offload.map(lambda x: x * 2, foreign, session=session)
    np.testing.assert_array_equal(result.to_numpy(), a * 2)
    room = Foreign(gpu.to_device(np.zeros((4, 6), "f4"), session=session))
    assert offload.map(lambda x: x + 1, foreign, out=room, session=session) is room
    np.testing.assert_array_equal(room.array.to_numpy(), a + 1)


def test_foreign_memory_on_another_gpu_goes_through_the_host(session):
    session.open()
    with offload.Session("gpu", gpu_memory="64MiB", gpu_timeout=60) as other:  # takes the GPU with more room
        a = values(50)
        there = gpu.to_device(a, session=other)
        assert there.device != gpu.to_device(a, session=session).device
        copied = gpu.to_device(Foreign(there), session=session)
        assert not copied.adopted and copied.device != there.device
        np.testing.assert_array_equal(copied.to_numpy(), a)
        assert offload.sum(Foreign(there), session=session) == pytest.approx(a.sum(dtype="f8"), rel=1e-6)


def test_fits_of_arrays_on_a_gpu(session, psf, camera, counts):
    here = counts[:50].astype("f4")
    there = gpu.to_device(here, session=session)
    for backend in ("cpu", "gpu"):
        expected = glint.fit(here, psf, camera, backend=backend)
        for array in (there, Foreign(there)):
            fits = glint.fit(array, psf, camera, backend=backend)
            assert fits.info.backend == backend and fits.info.bytes_up == 0
            same_table(fits, expected)
        same_table(glint.fit(gpu.to_device(counts[:99], session=session)[:50], psf, camera, backend=backend), expected)
        turned = gpu.to_device(np.ascontiguousarray(here.transpose(0, 2, 1)), session=session).transpose(0, 2, 1)
        same_table(glint.fit(turned, psf, camera, backend=backend), expected)
    assert expected.info.bytes_up >= here.nbytes


def test_movies_on_several_gpus(psf, camera, simulated):
    one = glint.localize(simulated.movie, psf, camera, backend="gpu", gpu_timeout=60)
    many = glint.localize(simulated.movie, psf, camera, backend="gpu", gpu_timeout=60, gpus="all", memory=1)
    assert {entry[1] for entry in many.info.fit.gpus} <= {device.uuid for device in gpu.devices()}
    assert sum(entry[2] for entry in many.info.fit.gpus) == many.info.spots
    same_table(many, one)


# ---- A full GPU


def test_a_pair_falls_back_to_the_cpu(session):
    tried = []

    def on_gpu(n):
        tried.append(n)
        return offload.sum(gpu.to_device(np.ones(n, "f4"), session=session), session=session)

    ones = offload.accelerate(lambda n: float(n), on_gpu, operation="ones", size_of=lambda n: n, session=session)
    assert ones(10) == 10 and session.statistics()["fallbacks"] == 0
    with pytest.warns(RuntimeWarning, match="ones: the GPU failed"):
        assert ones(100 << 20) == 100 << 20
    assert tried == [10, 100 << 20]
    (fallback,) = session.statistics()["last_fallbacks"]
    assert fallback["operation"] == "ones" and fallback["bytes_asked"] == 400 << 20
    with offload.set_oom_safe(False, session):
        with pytest.raises(gpu.OutOfMemory) as error:
            ones(100 << 20)
    assert error.value.asked_bytes == 400 << 20


def test_a_decorated_function_falls_back_to_the_cpu(session):
    @offload.oom_safe(on_cpu=np.sum, session=session)
    def total(a):
        return offload.sum(gpu.to_device(a, session=session), session=session)

    assert total(np.ones(1000)) == 1000 and session.statistics()["fallbacks"] == 0
    with pytest.warns(RuntimeWarning, match="total: the GPU failed"):
        assert total(np.ones(20 << 20)) == 20 << 20
    assert session.statistics()["fallbacks"] == 1  # falls, not attempts
    assert session.statistics()["failures"] == 2
    assert gpu.memory()[0].live_bytes < 8 << 20, "nothing of the failed attempts is left"


def test_maps_larger_than_the_lease_are_cut(session):
    a = np.ones((3000, 3000), "f8")  # 72 MB
    np.testing.assert_array_equal(offload.map(lambda x: x + 1, a, session=session)[::500, ::500], 2)
    (row,) = session.statistics()["operations"]
    assert row["gpu"]["calls"] == 1


def test_the_self_test_passes(session):
    rows = offload.self_test(session)
    assert {row.backend for row in rows} == {"cpu", "cuda"}
    assert all(row.ok for row in rows), [
        (row.operation, row.backend, row.why_not, row.error) for row in rows if not row.ok
    ]


def matrices_on_a_full_gpu(session):
    """Matrices on the GPU as NumPy has them, and what fills the rest of its memory."""
    rng = np.random.default_rng(3)
    a = rng.normal(size=(256, 256)).astype("f4")
    host = {"f4": a, "i4": (9 * a).astype("i4"), "c8": a + 1j * a[::-1], "f2": a.astype("f2")}
    host |= {"square": (a @ a.T + 256 * np.eye(256)).astype("f4")}
    there = {name: gpu.to_device(x, session=session) for name, x in host.items()}
    fill, size = [], 1 << 26
    while size >= 1:
        try:
            fill.append(xp.empty((size,), dtype=np.uint8, device=session))
        except gpu.OutOfMemory:
            size //= 4
    return host, there, fill


@pytest.fixture
def full():
    with offload.Session("gpu", gpu_memory="32MiB", gpu_timeout=60) as session:
        host, there, fill = matrices_on_a_full_gpu(session)
        yield session, host, there
        del fill


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_results_on_the_host_need_no_memory_of_a_full_gpu(full):
    session, host, there = full
    options = {"on": "host", "session": session}
    same = lambda found, expected: np.testing.assert_allclose(found, expected, rtol=2e-3, atol=2e-3)
    for name in ("f4", "c8"):  # to the host: views, strides of all signs, repeated elements
        x, a = there[name], host[name]
        for view in (
            lambda m: m,
            lambda m: m.T,
            lambda m: m[::-2, 3::5],
            lambda m: m[:, 7],
            lambda m: m[0, :0],
            lambda m: m[3, 4, ...],
        ):
            np.testing.assert_array_equal(view(x).to_numpy(), view(a))
        np.testing.assert_array_equal(xp.broadcast_to(x[0], (3, 256)).to_numpy(), np.broadcast_to(a[0], (3, 256)))
    assert there["i4"].T.tolist() == host["i4"].T.tolist() and there["f4"].T.item(3) == host["f4"].T.item(3)
    for name, of in (
        ("f4", lambda m: m.T),
        ("i4", lambda m: m),
        ("f2", lambda m: m.T),
    ):  # also of types that are converted first
        x, a = of(there[name]), of(host[name].astype("f8"))
        same(offload.matmul(x, x, **options) / 256, a @ a / 256)
        same(offload.map(lambda v: v * 2 + 1, x, **options), 2 * a + 1)
        same(offload.fft(x, **options) / 16, np.fft.fft(a) / 16)
        same(offload.irfft2(offload.rfft2(x, **options), **options), a)
        for function in ("sum", "std"):
            same(getattr(offload, function)(x, session=session) / 256, getattr(np, function)(a) / 256)
        assert offload.argmax(x, session=session) == np.argmax(a) and offload.maximum(x, session=session) == a.max()
    x, a = there["square"], host["square"]
    same(offload.solve(x.T, there["f4"].T, **options), np.linalg.solve(a.T, host["f4"].T))
    same(offload.svd(x.T, **options)[1] / 256, np.linalg.svd(a)[1] / 256)
    same(offload.eigh(x[:64, :64], **options)[0], np.linalg.eigh(a[:64, :64])[0])
    q, r = offload.qr(x[:64], **options)
    same(q @ r / 16, a[:64] / 16)
    out = np.empty((256, 256), "f4")
    assert offload.matmul(there["f4"].T, there["f4"], out=out, session=session) is out
    same(out / 16, host["f4"].T @ host["f4"] / 16)
    assert session.statistics()["fallbacks"] > 0


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_what_is_written_into_an_array_of_a_full_gpu_needs_no_more_memory(full):
    session, host, there = full
    for name in ("f4", "i4", "c8"):
        x, a = there[name], host[name].copy()
        for act in (
            lambda m: m.__iadd__(1),
            lambda m: m.__isub__(m.T),
            lambda m: m.__imul__(m[0]),
            lambda m: m.__setitem__(..., 3),
            lambda m: m.__setitem__((slice(None, None, -2), 4), np.arange(128)),
            lambda m: m.__setitem__(slice(5), host["i4"][0]),
            lambda m: m.__setitem__((slice(4, 8), slice(None)), m[:4] + 0 if isinstance(m, np.ndarray) else m[:4]),
            lambda m: m.__setitem__(([1, 5], [2, 3]), 9),
            lambda m: m.T.__setitem__((3, slice(None)), host["i4"][1]),
        ):
            act(x), act(a)
            np.testing.assert_allclose(x.to_numpy(), a, rtol=1e-5)
    x = there["f4"]
    a = host["f4"] = x.to_numpy()
    offload.matmul(x, x, out=x, session=session)  # the result needs memory of its own
    np.testing.assert_allclose(x.to_numpy(), a @ a, rtol=1e-3)
    offload.map(lambda v: v + 1, np.ones((256, 256), "f4"), out=x.T, session=session)
    assert np.all(x.to_numpy() == 2)
    offload.random.uniform((256, 256), seed=1, dtype="f4", out=x.T, session=session)
    np.testing.assert_array_equal(x.T.to_numpy(), offload.random.uniform((256, 256), seed=1, dtype="f4"))
    gpu.copy(x, host["f4"])
    gpu.copy(x.T, host["f4"])
    np.testing.assert_array_equal(x.to_numpy(), host["f4"].T)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_functions_whose_result_fits_do_without_the_room_for_steps(full):
    """One array is freed, into whose memory the result fits, but not what lies between (int64 of int32, parts of
    complex numbers).
    """
    session, host, there = full
    i = there["i4"]
    del there["square"]  # 256 KiB: room for one int32
    for function in (np.add, np.multiply, np.remainder, np.maximum):
        same_values(function(i, i), function(host["i4"], host["i4"]))
    same_values(xp.where(i, i, 2), np.where(host["i4"], host["i4"], 2).astype("i4"))
    for name in ("sum", "prod", "min", "max", "any", "all", "argmin"):
        same_values(getattr(i.T, name)(axis=0), getattr(host["i4"].T, name)(axis=0))
    np.testing.assert_allclose(i.var(axis=0).to_numpy(), host["i4"].var(axis=0))
    np.testing.assert_allclose(
        (there["f4"].T @ there["f4"]).to_numpy() / 16, host["f4"].T @ host["f4"] / 16, rtol=1e-3, atol=1e-3
    )
    np.testing.assert_allclose(
        xp.fft.rfft(there["f2"][:64]).to_numpy(), np.fft.rfft(host["f2"][:64].astype("f4")), rtol=1e-3, atol=1e-3
    )
    assert session.statistics()["fallbacks"] > 5


def same_values(found, expected):
    assert isinstance(found, gpu.DeviceArray) and found.dtype == expected.dtype
    np.testing.assert_array_equal(found.to_numpy(), expected)
    del found


def test_a_result_that_must_lie_on_a_full_gpu_is_an_error_with_remedies(full):
    session, host, there = full
    x, a = there["f4"], host["f4"]
    for make in (
        lambda: x + x,
        lambda: x.sum(axis=0),
        lambda: x.copy(),
        lambda: x.astype("f8"),
        lambda: xp.zeros((9,), device=session),
        lambda: x[[1, 2]],
        lambda: offload.matmul(x, a, session=session),
        lambda: offload.matmul(a, a, on="device", session=session),
        lambda: offload.sum(x, axis=0, session=session),
        lambda: gpu.to_device(a, session=session),
        lambda: x @ x,
        lambda: np.exp(x),
        lambda: offload.random.normal((99,), seed=1, on="device", session=session),
        lambda: xp.fft.fft(x),
        lambda: xp.linalg.svd(x),
    ):
        with pytest.raises(
            gpu.OutOfMemory, match=r'was to be made there: delete DeviceArrays .* on="host" or out= of a NumPy'
        ) as error:
            make()
        assert error.value.asked_bytes > 0 and error.value.beyond_limit
    assert session.statistics()["fallbacks"] <= 1, "products are not computed for a result that has no room"
    with offload.set_oom_safe(False), pytest.raises(gpu.OutOfMemory):
        offload.matmul(x.T, x, on="host", session=session)


@pytest.mark.filterwarnings("ignore:.*the GPU failed:RuntimeWarning")
@pytest.mark.parametrize(
    "make",
    [
        lambda up: up(np.zeros(100_003, "u1")),
        lambda up: up(np.zeros((300, 500), "f4")),
        lambda up: up(np.zeros(100_003, "u1"))[3:],
        lambda up: up(np.zeros((300, 50)))[::2, ::-3],
        lambda up: up(np.zeros((30, 700), "c8")).T,
        lambda up: up(np.zeros((), "f4")),
    ],
)
def test_one_element_that_was_changed_on_a_gpu_is_found(session, make):
    x = make(lambda a: gpu.to_device(a, session=session))
    places = {(), *(tuple(int(p * (n - 1)) for n in x.shape) for p in (0, 0.321, 0.77, 1))} - (
        {()} if x.ndim else set()
    )

    @offload.oom_safe(session=session)
    def f(values, at):
        if at is not None:
            values[0][at] = 1 - values[0].item(at)
        raise gpu.OutOfMemory("no room")

    for at in places:
        with pytest.warns(RuntimeWarning, match="f changed an argument"), pytest.raises(gpu.OutOfMemory):
            f([x], at)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", "f changed")
        with pytest.raises(gpu.OutOfMemory):
            f([x], None)  # fails on the CPU, too


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_function_with_an_array_of_a_full_gpu_falls_back(full):
    """Its checksums need no memory there."""
    session, host, there = full

    @offload.oom_safe(session=session)
    def double(x):
        return 2 * x

    np.testing.assert_array_equal(double(there["f4"]), 2 * host["f4"])
    np.testing.assert_array_equal(double(there["c8"][1:, ::2]), 2 * host["c8"][1:, ::2])


def test_arrays_within_containers_are_those_of_the_function(session):
    a, b = (RNG.normal(size=(4, 5)) for _ in range(2))
    x, y = (gpu.to_device(v, session=session) for v in (a, b))
    joined = offload.accelerate(np.concatenate, session=session)
    np.testing.assert_array_equal(joined([x, b, y]), np.concatenate([a, b, b]))
    np.testing.assert_array_equal(
        offload.accelerate(np.linalg.multi_dot, session=session)([x, y.T, x]), np.linalg.multi_dot([a, b.T, a])
    )

    def shift(of, *, by):
        of["x"][0] += by[0]
        of["x"][1] = 7
        return of["x"]

    data = {"x": x, "more": [1, 2]}
    same = data["more"]
    found = offload.accelerate(shift, session=session)(data, by=(y[0],))
    expected = np.concatenate([[a[0] + b[0]], [np.full(5, 7.0)], a[2:]])
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(x.to_numpy(), expected)  # written back
    assert data["x"] is x and data["more"] is same
    decision = offload.accelerate(shift, shift, operation="shift", session=session).explain(data, by=(y[0],))
    assert decision.size == 25


@pytest.mark.filterwarnings("ignore:.*the GPU failed:RuntimeWarning")
def test_a_pair_whose_gpu_side_changed_an_argument_is_not_done_by_the_cpu(session):
    def on_gpu(a):
        a[3] += 1
        raise gpu.OutOfMemory("no room")

    double = offload.accelerate(lambda a: 2 * a, on_gpu, operation="double", session=session)
    with pytest.warns(RuntimeWarning, match="double changed an argument"), pytest.raises(gpu.OutOfMemory):
        double(np.ones(100_000))


def test_copies_and_pickles(session):
    a = RNG.normal(size=(3, 4))
    x = gpu.to_device(a, session=session)
    for made in (copy.copy(x), copy.deepcopy(x), copy.deepcopy({"x": [x.T]})["x"][0].T):
        assert made is not x
        made[0] = 0
        np.testing.assert_array_equal(made.to_numpy()[1:], a[1:])
    np.testing.assert_array_equal(x.to_numpy(), a)
    with pytest.raises(TypeError, match="to_numpy.*ipc_handle.*comm.Send"):
        pickle.dumps(x)
