"""Reductions, linear algebra, transforms, sorting and sets of arrays on a GPU, compared with NumPy, on a simulated
server.
"""

import os

import glint
import glint.arrays as xp
import numpy as np
import pytest
from glint import gpu, offload
from on_device import EVERY, ULPS, same, session, up, values  # noqa: F401

pytestmark = pytest.mark.skipif(
    "SIMGPU_STATE" not in os.environ, reason="not on the simulated server: tests/simgpu/run"
)


# ---- Reductions


@pytest.mark.parametrize("dtype", EVERY)
def test_reductions(up, dtype):
    kind = np.dtype(dtype).kind
    a = values((4, 50, 3, 2), dtype)
    x = up(a)
    for axis in (None, 0, 1, -1, (0, 1), (0, 2), (1, 3, 2), ()):
        for keepdims in (False, True):
            options = {"axis": axis, "keepdims": keepdims}
            wide = {"dtype": "f8"} if dtype == "f2" else {}
            for name in ("sum", "mean", "any", "all") + (() if kind == "c" or axis == () else ("min", "max")):
                expected = getattr(np, name)(a, **options, **(wide if name in ("sum", "mean") else {}))
                expected = expected.astype(dtype) if dtype == "f2" and wide and name in ("sum", "mean") else expected
                same(getattr(xp, name)(x, **options), expected, 1200)
            if axis in (None, 0, 1, -1) and kind != "c":
                for name in ("argmin", "argmax"):
                    same(getattr(xp, name)(x, **options), getattr(np, name)(a, **options))
            if kind in "fc" and dtype != "f2":
                for name in ("var", "std"):
                    same(getattr(xp, name)(x, **options, correction=0), getattr(np, name)(a, **options), 1200)
    if kind == "c":  # as numpy divides by a complex number
        for parts in ((np.inf, 1), (1, np.inf), (-np.inf, np.inf), (np.nan, 2), (3, -np.nan)):
            odd = np.array([[complex(*parts), 2 + 3j], [1, 2j]], dtype)
            with np.errstate(invalid="ignore"):
                same(xp.mean(up(odd), axis=1), np.mean(odd, axis=1), 8 * ULPS)
    small = values((3, 4), dtype)
    same(
        xp.prod(up(small), axis=1),
        np.prod(small, axis=1, dtype="f4" if dtype == "f2" else None).astype(np.prod(small, axis=1).dtype),
        8 * ULPS,
    )
    same(xp.count_nonzero(x, axis=1), np.count_nonzero(a, axis=1))
    same(xp.sum(x[:0]), np.sum(a[:0]))
    same(xp.prod(x[:0], axis=0), np.prod(a[:0], axis=0))
    same(xp.all(x[:0], axis=0), np.all(a[:0], axis=0))


def test_reductions_of_the_offload_module(session, up):
    a = values((7, 300, 5), "f4")
    for where in (a, up(a), a[::-1, ::2].transpose(1, 2, 0), up(a)[::-1, ::2].T):
        here = where.to_numpy() if isinstance(where, gpu.DeviceArray) else where
        for axis in (0, 1, -1, (0, 2), (0, 1, 2)):
            for keepdims in (False, True):
                for ours, theirs in (
                    ("sum", np.sum),
                    ("mean", np.mean),
                    ("minimum", np.min),
                    ("maximum", np.max),
                    ("std", np.std),
                    ("var", np.var),
                ):
                    found = getattr(offload, ours)(where, axis, keepdims=keepdims, session=session)
                    expected = theirs(here.astype("f8"), axis=axis, keepdims=keepdims).astype("f4")
                    assert type(found) is (gpu.DeviceArray if where is not here else np.ndarray)
                    np.testing.assert_allclose(gpu.to_host(found), expected, rtol=1e-5, atol=1e-5)
        for ours, theirs in ((offload.argmin, np.argmin), (offload.argmax, np.argmax)):
            np.testing.assert_array_equal(gpu.to_host(ours(where, 1, session=session)), theirs(here, 1))
            assert ours(where, session=session) == theirs(here)
        assert offload.std(where, session=session) == pytest.approx(here.astype("f8").std(), rel=1e-6)
    names = {row["operation"] for row in session.statistics()["operations"] if row["gpu"]["calls"]}
    assert "reduce axis float32" in names
    with pytest.raises(glint.OptionError, match="none of no elements"):
        offload.minimum(np.ones((0, 3)), 0, session=session)
    with pytest.raises(glint.OptionError, match="axis=3"):
        offload.sum(a, 3, session=session)


def test_the_cpu_does_the_same(up, session):
    a, b = values((6, 8), "f4"), values((6, 8), "i4")
    x, y = up(a), up(b)
    session.backend = "cpu"
    try:
        for found, expected in [
            (x + 1, a + 1),
            (y * 3 + y % 7, b * 3 + b % 7),
            (xp.sum(x, axis=0), a.sum(0)),
            (xp.argmax(y, axis=1), b.argmax(1)),
            (xp.prod(y[:, :2], axis=1), b[:, :2].prod(1)),
            (x @ x.T, a @ a.T),
            (x[::-1, ::2].astype("f8"), a[::-1, ::2].astype("f8")),
        ]:
            same(found, expected, ULPS)
    finally:
        session.backend = "gpu"


# ---- Linear algebra, transforms, what NumPy does on the host


def test_products(up):
    for dtype in EVERY:
        a, b = values((2, 3, 4), dtype), values((4, 5), dtype)
        expected = a @ b if dtype != "f2" else (a.astype("f4") @ b.astype("f4")).astype("f2")
        same(up(a) @ up(b), expected, ULPS)
    a, b, v, w = values((5, 6), "f8"), values((6, 5), "f8"), values(6, "f8"), values(6, "f8")
    deep, other = values((2, 1, 3, 4, 5), "f8"), values((2, 1, 5, 2), "f8")
    for found, expected in [
        (up(a) @ up(v), a @ v),
        (up(v) @ up(b), v @ b),
        (up(v) @ up(w), v @ w),
        (up(deep) @ up(other), deep @ other),
        (xp.tensordot(up(a), up(b), axes=1), np.tensordot(a, b, 1)),
        (xp.tensordot(up(a), up(b), axes=([0, 1], [1, 0])), np.tensordot(a, b, ([0, 1], [1, 0]))),
        (xp.vecdot(up(a), up(v)), a @ v),
        (xp.linalg.outer(up(v), up(w)), np.outer(v, w)),
        (xp.linalg.matrix_power(up(a[:, :5]), 5), np.linalg.matrix_power(a[:, :5], 5)),
        (xp.linalg.trace(up(a)), np.trace(a)),
        (xp.linalg.diagonal(up(a), offset=2), a.diagonal(2)),
        (xp.linalg.diagonal(up(a), offset=-3), a.diagonal(-3)),
        (xp.linalg.vector_norm(up(a), axis=1), np.linalg.norm(a, axis=1)),
        (xp.linalg.vector_norm(up(v), ord=3), np.linalg.norm(v, 3)),
        (xp.linalg.matrix_norm(up(a)), np.linalg.norm(a)),
        (xp.linalg.matrix_norm(up(a), ord=1), np.linalg.norm(a, 1)),
        (xp.linalg.matrix_norm(up(a), ord="nuc"), np.linalg.norm(a, "nuc")),
        (xp.linalg.cross(up(v[:3]), up(w[:3])), np.cross(v[:3], w[:3])),
    ]:
        same(found, expected, 200)
    for wrong in (lambda: up(a) @ up(a), lambda: up(a) @ 2.0, lambda: up(deep) @ up(values((2, 5, 5, 2), "f8"))):
        with pytest.raises(glint.OptionError):
            wrong()


def test_decompositions(up):
    a = values((3, 4, 4), "f8")
    symmetric = a + np.swapaxes(a, 1, 2)
    positive = a @ np.swapaxes(a, 1, 2) + np.eye(4)
    b = values((3, 4, 2), "f8")
    for matrix in (a, a[0], values((2, 5, 3), "f8"), values((3, 5), "f4")):
        for full in (False, True):
            u, s, vh = xp.linalg.svd(up(matrix), full_matrices=full)
            assert [part.shape for part in (u, s, vh)] == [part.shape for part in np.linalg.svd(matrix, full)]
            k = s.shape[-1]
            same(u[..., :, :k] * s[..., None, :] @ vh[..., :k, :], matrix, 200)
            identity = np.broadcast_to(
                np.eye(u.shape[-1], dtype=matrix.dtype), (*matrix.shape[:-2], *(u.shape[-1],) * 2)
            )
            same(u.mT @ u, identity, 50)
        same(xp.linalg.svdvals(up(matrix)), np.linalg.svd(matrix, compute_uv=False), 50)
    for matrix in (a, a[0], values((2, 5, 3), "f8"), values((3, 5), "f4"), values((4, 4), "i4")):
        for mode in ("reduced", "complete"):
            q, r = xp.linalg.qr(up(matrix), mode=mode)
            assert [part.shape for part in (q, r)] == [part.shape for part in np.linalg.qr(matrix, mode)]
            same(q @ r, matrix if matrix.dtype.kind == "f" else matrix.astype("f8"), 100)
            same(xp.tril(r, k=-1), np.zeros_like(r.to_numpy()))
    w, v = xp.linalg.eigh(up(symmetric))
    same(v * w[..., None, :] @ v.mT, symmetric, 200)
    hermitian = values((3, 3), "c16")
    hermitian = hermitian + hermitian.conj().T
    same(xp.linalg.eigh(up(hermitian)).eigenvalues, np.linalg.eigh(hermitian)[0], 100)
    same(xp.linalg.solve(up(hermitian), up(np.ones(3))), np.linalg.solve(hermitian, np.ones(3)), 1 << 16)
    same(xp.linalg.solve(up(a), up(b[0])), np.linalg.solve(a, np.broadcast_to(b[0], b.shape)), 1 << 16)
    same(
        xp.linalg.solve(up(a[0].astype("f4")), up(b[0].astype("f4"))),
        np.linalg.solve(a[0].astype("f4"), b[0].astype("f4")),
        1 << 12,
    )
    for wrong in (
        lambda: xp.linalg.solve(up(np.ones((2, 2))), up(np.ones(2))),
        lambda: xp.linalg.eigh(up(np.ones((2, 3)))),
        lambda: xp.linalg.solve(up(a), up(np.ones(3))),
        lambda: xp.linalg.qr(up(np.ones(3))),
        lambda: xp.linalg.eigvalsh(up(np.full((2, 2), np.nan))),
    ):
        with pytest.raises(glint.OptionError):
            wrong()
    for found, expected in [
        (xp.linalg.solve(up(a), up(b)), np.linalg.solve(a, b)),
        (xp.linalg.inv(up(a)), np.linalg.inv(a)),
        (xp.linalg.det(up(a)), np.linalg.det(a)),
        (xp.linalg.cholesky(up(positive)), np.linalg.cholesky(positive)),
        (xp.linalg.eigvalsh(up(symmetric)), np.linalg.eigvalsh(symmetric)),
        (xp.linalg.pinv(up(a)), np.linalg.pinv(a)),
        (xp.linalg.matrix_rank(up(a)), np.linalg.matrix_rank(a)),
        (xp.linalg.slogdet(up(a)).logabsdet, np.linalg.slogdet(a)[1]),
    ]:
        same(found, expected, 1 << 16)
    same(a[0] @ xp.linalg.solve(up(a[0]), up(b[0, :, 0])), b[0, :, 0], 1 << 12)


@pytest.mark.parametrize("norm", ["backward", "ortho", "forward"])
def test_transforms(up, norm):
    a, z = values((4, 6, 5), "f8"), values((4, 6, 5), "c16")
    for axis in (0, 1, -1):
        for n in (None, 3, 9):
            for name in ("fft", "ifft", "irfft", "hfft"):
                same(
                    getattr(xp.fft, name)(up(z), n=n, axis=axis, norm=norm), getattr(np.fft, name)(z, n, axis, norm), 50
                )
            for name in ("rfft", "ihfft"):
                same(
                    getattr(xp.fft, name)(up(a), n=n, axis=axis, norm=norm), getattr(np.fft, name)(a, n, axis, norm), 50
                )
    for axes in (None, (0, 2), (2, 1), (1,)):
        for name, x in (("fftn", z), ("ifftn", z), ("rfftn", a), ("irfftn", z)):
            same(getattr(xp.fft, name)(up(x), axes=axes, norm=norm), getattr(np.fft, name)(x, axes=axes, norm=norm), 50)
    same(xp.fft.fftn(up(z.astype("c8")), s=(8, 4)), np.fft.fftn(z.astype("c8"), s=(8, 4), axes=(1, 2)), 50)
    same(xp.fft.fftshift(up(a)), np.fft.fftshift(a))
    same(xp.fft.ifftshift(up(a), axes=(1, 2)), np.fft.ifftshift(a, (1, 2)))
    with pytest.raises(glint.OptionError):
        xp.fft.rfft(up(z))
    with pytest.raises(glint.OptionError):
        xp.fft.fft(up(z), norm="none")


def test_transforms_of_the_offload_module_along_any_axis(session, up):
    a = values((4, 6, 5), "f4")
    x = up(a)
    for axis in (0, 1, 2):
        for n in (None, 3, 8):
            found = offload.fft(x, n, axis, session=session)
            assert isinstance(found, gpu.DeviceArray)
            np.testing.assert_allclose(found.to_numpy(), np.fft.fft(a, n, axis), rtol=1e-4, atol=1e-4)
            np.testing.assert_allclose(
                offload.rfft(x, n, axis, session=session).to_numpy(), np.fft.rfft(a, n, axis), rtol=1e-4, atol=1e-4
            )
    np.testing.assert_allclose(
        offload.irfft2(x, axes=(0, 1), session=session).to_numpy(), np.fft.irfft2(a, axes=(0, 1)), rtol=1e-4, atol=1e-4
    )
    room = gpu.to_device(np.zeros((4, 6, 5), "c8"), session=session)
    assert offload.fft(x, axis=0, out=room, session=session) is room
    np.testing.assert_allclose(room.to_numpy(), np.fft.fft(a, axis=0), rtol=1e-4, atol=1e-4)


def test_decompositions_of_the_offload_module(session, up):
    a, b = values((5, 5), "f8"), values((5, 2), "f8")
    symmetric = a + a.T
    for matrix, right, both in ((a, b, symmetric), (up(a), up(b), up(symmetric)), (a.T[::-1], b[:, ::-1], symmetric)):
        here, columns = gpu.to_host(matrix), gpu.to_host(right)
        for found, expected in [
            (offload.solve(matrix, right, session=session), np.linalg.solve(here, columns)),
            (offload.solve(matrix, right[:, 0], session=session), np.linalg.solve(here, columns[:, 0])),
            (offload.eigh(both, session=session)[0], np.linalg.eigvalsh(symmetric)),
            (offload.eigh(both, False, session=session), np.linalg.eigvalsh(symmetric)),
        ]:
            assert type(found) is (np.ndarray if matrix is here else gpu.DeviceArray)
            np.testing.assert_allclose(gpu.to_host(found), expected, rtol=1e-9, atol=1e-9)
        tall = right.T @ matrix if matrix is here else up(columns.T @ here)
        u, s, vt = (gpu.to_host(part) for part in offload.svd(tall, full_matrices=True, session=session))
        assert (u.shape, vt.shape) == ((2, 2), (5, 5))
        np.testing.assert_allclose(u * s @ vt[:2], columns.T @ here, rtol=1e-9, atol=1e-9)
        q, r = offload.qr(matrix, session=session)
        np.testing.assert_allclose(gpu.to_host(q) @ gpu.to_host(r), here, rtol=1e-12, atol=1e-12)
    assert offload.explain("solve", 4096).unit == "rows" and offload.decide("eigh", 100, dtype="float64").choice in (
        "cpu",
        "gpu",
    )
    names = {row["operation"] for row in session.statistics()["operations"] if row["gpu"]["calls"]}
    assert {"solve float64", "eigh float64", "eigenvalues float64", "qr float64"} <= names


def test_operands_of_any_type_shape_and_strides(session, up):
    a, b = values((4, 6), "f4"), values((6,), "i2")
    x, y = up(a), up(b)
    for function in (lambda v, w: v * w + 1, lambda v, w: np.maximum(v, w)):
        np.testing.assert_allclose(
            offload.map(function, x[::-1], y, session=session).to_numpy(), function(a[::-1].astype("f8"), b), rtol=1e-12
        )
    np.testing.assert_allclose(offload.matmul(x.T, x, session=session).to_numpy(), a.T @ a, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(offload.matmul(x, y, session=session).to_numpy(), a.astype("f8") @ b, rtol=1e-12)
    assert offload.map(lambda v: v + 1, x, out=x, session=session) is x
    np.testing.assert_array_equal(x.to_numpy(), a + 1)
    half = up(a.astype("f2"))
    assert offload.sum(half, session=session) == pytest.approx(a.astype("f2").sum(dtype="f8"), rel=1e-6)
    with_gaps = up(np.zeros((4, 12), "f4"))[:, ::2]
    assert offload.map(lambda v: v, up(a), out=with_gaps, session=session) is with_gaps
    np.testing.assert_array_equal(with_gaps.to_numpy(), a)


def test_sorting_and_sets(up):
    a = values((4, 9), "i4") % 7
    x = up(a)
    order = xp.argsort(x, axis=1, descending=True)
    for found, expected in [
        (xp.sort(x), np.sort(a)),
        (xp.sort(x, descending=True), -np.sort(-a)),
        (xp.argsort(x), np.argsort(a, kind="stable")),
        (order, np.argsort(-a, kind="stable")),
        (xp.unique_values(x), np.unique(a)),
        (xp.unique_counts(x).counts, np.unique(a, return_counts=True)[1]),
        (xp.nonzero(x)[1], np.nonzero(a)[1]),
        (xp.unique_all(x).inverse_indices, np.unique(a, return_inverse=True)[1].reshape(a.shape)),
        (xp.take(x, up([2, 0]), axis=1), a[:, [2, 0]]),
        (xp.searchsorted(up([1, 3, 5]), up([0, 3])), np.array([0, 1])),
        (xp.where(x > 3, x, 0), np.where(a > 3, a, 0).astype("i4")),
        (xp.tril(x, k=-1), np.tril(a, -1)),
        (xp.triu(x), np.triu(a)),
        (xp.cumulative_sum(x, axis=1), np.cumsum(a, 1, dtype="i8")),
        (
            xp.cumulative_sum(x, axis=0, include_initial=True),
            np.vstack([np.zeros((1, 9), "i8"), np.cumsum(a, 0, dtype="i8")]),
        ),
    ]:
        same(found, expected)
    for found, expected in [
        (xp.diff(x, n=2), np.diff(a, 2)),
        (xp.diff(x, axis=0, append=x[:1]), np.diff(a, axis=0, append=a[:1])),
        (xp.diff(x > 3), np.diff(a > 3)),
        (xp.cumulative_prod(x % 3, axis=0), np.cumprod(a % 3, 0, dtype="i8")),
        (xp.isin(x, up([1, 5])), np.isin(a, [1, 5])),
        (xp.take_along_axis(x, xp.argsort(x), axis=1), np.sort(a)),
    ]:
        same(found, expected)


def test_choosing_from_nothing(up):
    a = np.zeros((2, 0))
    same(up(a)[np.array([True, False])], a[[True, False]])
    same(up(a)[up([False, False])], a[[False, False]])
    same(xp.take(up(np.zeros((0, 0))), up([0]), axis=1), np.take(np.zeros((0, 0)), [0], axis=1))
    same(up(np.zeros((0, 0)))[:, np.array([], int)], np.zeros((0, 0)))
    for wrong in (
        lambda: up(np.zeros((0, 0)))[:, np.array([0])],
        lambda: xp.take(up(np.zeros((2, 0))), up([0]), axis=1),
    ):
        with pytest.raises(IndexError):
            wrong()


def test_types_of_results(up):
    flags, bytes = np.array([True, False]), np.array([0, 1, 200], "u1")
    same(xp.conj(up(flags)), np.conj(flags))
    same(xp.round(up(flags)), np.round(flags))
    same(xp.round(up(bytes)), np.round(bytes))
    same(xp.clip(up(flags), 0, 2), np.clip(flags, 0, 2))
    same(xp.clip(up(bytes), 0.5, 1.5), np.clip(bytes, 0.5, 1.5))
    same(xp.clip(up(bytes), 1, 100), np.clip(bytes, 1, 100))
    for a in (np.array(5), np.array(2.5), np.array(True)):
        same(xp.cumulative_sum(up(a)), np.cumulative_sum(a))
        same(xp.cumulative_prod(up(a), include_initial=True), np.cumulative_prod(a, include_initial=True))
