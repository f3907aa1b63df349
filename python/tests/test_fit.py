"""fit(): arrays of every kind, without a copy where possible. SciPy is the reference for the results."""

import math
import pickle
import subprocess
import sys
import threading
import warnings

import glint
import numpy as np
import pytest
from conftest import same_table
from glint import _core
from glint.arrays_in import pixels_of

OFFSET, GAIN = 100, 0.5


def test_finds_the_maximum_that_scipy_finds(judge, camera):
    truths, electrons = judge.simulate("GaussianXYNBS", 9, 25, np.random.default_rng(3))
    counts = (electrons / GAIN + OFFSET).astype(np.uint16)
    electrons = (counts.astype(float) - OFFSET) * GAIN
    fits = glint.fit(counts, glint.GaussianXYNBS(sigma_px=1.3), camera)
    assert fits.converged.all()
    judged = [judge.scipy_fit("GaussianXYNBS", roi, truth, 0.0) for roi, truth in zip(electrons, truths)]
    theta, crlb = (np.array([fit[k] for fit in judged]) for k in (0, 1))
    values = np.stack([fits[name] for name in ["x_px", "y_px", "photons", "bg", "sigma_px"]], axis=1)
    spreads = np.stack([fits[n] for n in ["x_unc_px", "y_unc_px", "photons_unc", "bg_unc", "sigma_unc_px"]], axis=1)
    # Single precision, and steps that end at a hundredth of the CRLB: as in tests/judge.
    assert np.max(np.abs(values - theta) / crlb) < 0.05
    np.testing.assert_allclose(spreads, crlb, rtol=0.01)


SCMOS_MAPS = dict(
    offset=np.linspace(90, 110, 40 * 50).reshape(40, 50),
    gain=np.linspace(0.4, 0.6, 2000).reshape(40, 50),
    readnoise=np.linspace(1, 3, 2000).reshape(40, 50),
)


@pytest.mark.parametrize(
    "camera",
    [
        glint.IdealCamera(100, OFFSET, GAIN),
        glint.SCMOSCamera(100, OFFSET, GAIN, readnoise=2.0),
        glint.SCMOSCamera(100, **SCMOS_MAPS),
        glint.EMCCDCamera(100, offset=200, gain=15, em_gain=300, readnoise=70),
    ],
    ids=lambda camera: type(camera).__name__ + ("Maps" if np.ndim(getattr(camera, "gain")) else ""),
)
@pytest.mark.parametrize(
    "psf",
    [
        glint.GaussianXYNB(130),
        glint.GaussianXYNBS(130),
        glint.GaussianXYNBSXSY(130),
        glint.AstigmaticXYZNB(sx0_nm=140, sy0_nm=135, gamma_nm=200, d_nm=290, z_min_nm=-400, z_max_nm=400),
    ],
    ids=lambda psf: type(psf).__name__,
)
def test_scatters_by_the_stated_uncertainty(psf, camera):
    n = 4000
    rois, truth = glint.simulate_rois(n, psf, camera, size=13, photons=(2000, 4000), z_range_nm=200, seed=5)
    fits = glint.fit(rois, psf, camera, corners=truth.corners)
    good = fits.converged
    assert good.mean() > 0.98
    for axis in "xy":
        pull = ((fits[f"{axis}_px"] - truth[f"{axis}_px"]) / fits[f"{axis}_unc_px"])[good]
        assert abs(pull.std() - 1) < 4 / np.sqrt(2 * n)
        assert abs(pull.mean()) < 4 / np.sqrt(n)


@pytest.mark.parametrize("dtype", ["u1", "u2", "f4", ">u2", ">f4", "i2", "i4", "u4", "i8", "f8", "f2"])
def test_takes_counts_of_every_type(psf, camera, counts, dtype):
    if np.dtype(dtype).itemsize == 1:
        counts = counts.clip(0, 255)
    same_table(glint.fit(counts.astype(dtype), psf, camera), glint.fit(counts.astype(np.float32), psf, camera))


@pytest.mark.parametrize(
    "view",
    [
        lambda a: a[::-1],
        lambda a: a[:, ::-1, ::-1][:, ::-1, ::-1][::2],
        lambda a: np.asfortranarray(a),
        lambda a: np.pad(a, 2)[2:-2, 2:-2, 2:-2],
        lambda a: a.transpose(0, 2, 1),
    ],
)
def test_takes_views(psf, camera, counts, view):
    seen = view(counts)
    same_table(glint.fit(seen, psf, camera), glint.fit(seen.copy(order="C"), psf, camera))


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "float32"])
def test_reads_arrays_where_they_lie(counts, dtype):
    rois = counts.astype(dtype)
    rois.flags.writeable = False
    assert pixels_of(rois).ctypes.data == rois.ctypes.data
    assert _core.Stack(rois, None, None, [], None, 0.0, 1.0).address == rois.ctypes.data
    part = rois[100:]
    assert (
        _core.Stack(pixels_of(part), None, None, [], None, 0.0, 1.0).address == rois.ctypes.data + 100 * rois[0].nbytes
    )


def test_memory_does_not_grow_by_the_stack(tmp_path):
    """The peak of a process whose stack is 20 times larger than its results."""
    script = """if True:
        import glint, numpy as np, resource, sys
        rois = np.full((300_000, 21, 21), 110, np.uint16)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        psf, camera = glint.GaussianXYNB(sigma_px=1.3), glint.IdealCamera(100, 100, 0.5)
        glint.fit(rois, psf, camera, backend="cpu", max_iterations=1)
        print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024 / rois.nbytes)"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert float(done.stdout) < 0.5


def test_columns_are_the_librarys_memory(psf, camera, counts):
    fits = glint.fit(counts, psf, camera)
    base = fits.x_px
    assert not base.flags.owndata and not fits.status.flags.owndata
    kept = fits.photons
    before = kept.copy()
    del fits, base
    np.testing.assert_array_equal(kept, before)  # a column keeps the memory of its table


class OfDlpack:
    """An array of another library: on the host, or on a GPU from which it can only be copied."""

    def __init__(self, array, on_gpu):
        self.array, self.on_gpu, self.copied = array, on_gpu, False

    def __dlpack_device__(self):
        return (2, 0) if self.on_gpu else (1, 0)

    def __dlpack__(self, *, dl_device=None, copy=None, **keywords):
        if self.on_gpu:
            assert tuple(dl_device) == (1, 0), "the host's memory was asked for"
            self.copied = True
            return self.array.copy().__dlpack__(**keywords)
        return self.array.__dlpack__(dl_device=dl_device, copy=copy, **keywords)


@pytest.mark.parametrize("on_gpu", [False, True])
def test_takes_what_speaks_dlpack(psf, camera, counts, on_gpu):
    foreign = OfDlpack(counts, on_gpu)
    same_table(glint.fit(foreign, psf, camera), glint.fit(counts, psf, camera))
    assert foreign.copied == on_gpu
    if not on_gpu:
        assert pixels_of(foreign).ctypes.data == counts.ctypes.data


def test_takes_what_lies_on_a_gpu_by_its_own_way_to_the_host(psf, camera, counts):
    class OfCupy(OfDlpack):
        def get(self):
            self.copied = True
            return self.array

    foreign = OfCupy(counts, True)
    same_table(glint.fit(foreign, psf, camera), glint.fit(counts, psf, camera))
    assert foreign.copied


@pytest.mark.parametrize(
    "rois,words",
    [
        (np.zeros((7, 7), "u2"), "one ROI is roi[None]"),
        (np.zeros((2, 7, 9), "u2"), "(2, 7, 9)"),
        (np.zeros((2, 9, 7), "f8"), "(2, 9, 7)"),
        (np.zeros((2, 2, 2), "u2"), "2 pixels"),
        (np.zeros((2, 32, 32), "u2"), "32 pixels"),
        (np.zeros((2, 0, 0), "u2"), "0 pixels"),
        (np.zeros((2, 7, 7), "c8"), "complex64"),
        (np.zeros((2, 7, 7), bool), "bool"),
        (np.full((2, 7, 7), None), "object"),
        (np.full((2, 7, 7), "a"), "<U1"),
        ([[1, 2], [3, 4]], "(2, 2)"),
        (None, "object"),
    ],
)
def test_refuses_what_is_no_stack(psf, camera, rois, words):
    with pytest.raises(glint.OptionError, match="ROI") as error:
        glint.fit(rois, psf, camera)
    assert words in str(error.value) and isinstance(error.value, ValueError)


WRONG_OPTIONS = [
    (dict(psf=None), "no PSF"),
    (dict(camera=0.1), "no camera"),
    (dict(camera=None), "sigma_px=1.3"),
    (dict(backend="tpu"), "'tpu'"),
    (dict(threads=0), "threads=0"),
    (dict(batch_size=-1), "batch_size=-1"),
    (dict(gpus=0), "gpus=0"),
    (dict(gpus="two"), "gpus='two'"),
    (dict(gpus=True), "gpus=True"),
    (dict(auto_timeout=-1), "auto_timeout=-1"),
    (dict(gpu_timeout=float("nan")), "gpu_timeout=nan"),
    (dict(gpu_memory="much"), "much"),
    (dict(max_iterations=0), "1 to 255"),
    (dict(tolerance=0), "tolerance"),
    (dict(max_sigma_px=math.nan), "greatest width of nan"),
    (dict(max_sigma_px=-1), "greatest width of -1"),
    (dict(max_sigma_px=0.2), "more than the least, 0.3"),
    (dict(min_sigma_px=math.inf), "least width of inf"),
    (dict(position_margin_px=math.nan), "margin of nan"),
    (dict(position_margin_px=-3), "margin of -3"),
    (dict(variance=float("nan"), camera=None, psf=glint.GaussianXYNB(sigma_px=1.3)), "variance"),
    (dict(excess_noise=0.5, camera=None, psf=glint.GaussianXYNB(sigma_px=1.3)), "F^2"),
    (dict(qe=0, camera=None, psf=glint.GaussianXYNB(sigma_px=1.3)), "quantum efficiency"),
    (dict(variance=4.0), "give either"),
    (dict(corners=np.zeros((499, 2), int)), "(499, 2)"),
    (dict(corners=np.full((500, 2), 0.5)), "0.5"),
    (dict(frames=np.full(500, -1)), "-1"),
    (dict(frames=np.full(500, 2.0**33)), "whole number"),
    (dict(start=np.zeros((500, 3))), "(500, 2) or (500, 4)"),
    (dict(psf=glint.GaussianXYNB(sigma_px=100)), "100 pixels"),
    (dict(camera=glint.SCMOSCamera(100, **SCMOS_MAPS)), "corners"),
    (dict(camera=glint.SCMOSCamera(100, **SCMOS_MAPS), corners=np.full((500, 2), 45)), "(45, 45)"),
]


@pytest.mark.parametrize("arguments,words", WRONG_OPTIONS)
def test_refuses_wrong_options(psf, camera, counts, arguments, words):
    with pytest.raises(glint.OptionError) as error:
        glint.fit(counts, **{"psf": psf, "camera": camera, **arguments})
    assert words in str(error.value)


@pytest.mark.parametrize(
    "arguments,words",
    [
        *(
            (arguments, words)
            for arguments, words in WRONG_OPTIONS
            if not {"corners", "frames", "start"} & arguments.keys()
            and words not in ("no PSF", "sigma_px=1.3", "corners")
        ),
        (dict(progress=3), "progress=3"),
        (dict(on_wait="now"), "on_wait='now'"),
        (dict(log=[]), "log=[]"),
        (dict(psf="GaussianXYNB"), "no PSF"),
        (dict(psf=glint.GaussianXYNB("auto")), '"auto"'),
        (dict(psf=glint.GaussianXYNB("auto"), camera=None), '"auto"'),
        (dict(camera=glint.IdealCamera(100, 100, 0)), "gain"),
        (dict(psf=glint.GaussianXYNB(5000)), "50 pixels"),
        (dict(emitters=2, backend="gpu"), "several emitters"),
        (dict(psf_misfit=-1), "misfit"),
        (dict(restart_batches=1), "restart_batches=1"),
    ],
)
def test_a_fitter_refuses_them_when_it_is_made(psf, camera, arguments, words):
    with pytest.raises(glint.OptionError) as error:
        glint.Fitter(**{"psf": psf, "camera": camera, **arguments})
    assert words in str(error.value)


def test_a_fitter_takes_what_a_fit_may_still_complete(psf, camera, counts):
    astigmatic = glint.AstigmaticXYZNB(sx0_nm=140, sy0_nm=135, gamma_nm=200, d_nm=290, roi_size=-1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for options in (
            dict(),
            dict(psf=psf),
            dict(psf=astigmatic),
            dict(camera=camera),
            dict(psf=astigmatic, camera=camera),
            dict(psf=glint.GaussianXYNB(sigma_px=1.3), variance=2),
            dict(psf=psf, camera=glint.SCMOSCamera(100, **SCMOS_MAPS)),
            dict(backend="gpu", gpus="all"),
            dict(emitters="auto", progress=print),
        ):
            glint.Fitter(**options).close()
    with glint.Fitter(psf, threads=1) as fitter:
        same_table(fitter.fit(counts, camera=camera), glint.fit(counts, psf, camera, backend="cpu"))


@pytest.mark.parametrize(
    "make,words",
    [
        (lambda: glint.GaussianXYNB(), "once"),
        (lambda: glint.GaussianXYNB(130, sigma_px=1.3), "once"),
        (lambda: glint.GaussianXYNBS(sigma_nm=-1), "-1"),
        (lambda: glint.GaussianXYNBS(sigma_nm=float("inf")), "inf"),
        (lambda: glint.GaussianXYNB("130nm"), "130nm"),
        (lambda: glint.IdealCamera(0, 100, 1), "pixel_size_nm=0"),
        (lambda: glint.SCMOSCamera(100, 100, gain=np.zeros(5)), "(5,)"),
        (lambda: glint.SCMOSCamera(100, gain=np.ones((5, 5)), offset=np.ones((5, 6))), "another size"),
        (lambda: glint.SCMOSCamera(100, 100, gain="1"), "'1'"),
    ],
)
def test_refuses_wrong_models_and_cameras(make, words):
    with pytest.raises(glint.OptionError) as error:
        make()
    assert words in str(error.value)


def test_a_camera_out_of_range_is_refused_where_it_is_used(psf, counts):
    with pytest.raises(glint.OptionError, match="gain"):
        glint.fit(counts, psf, glint.IdealCamera(100, 100, 0))


def test_no_rois_are_no_fits(psf, camera):
    fits = glint.fit(np.zeros((0, 7, 7), np.uint16), psf, camera)
    assert len(fits) == 0 and fits.x_px.shape == (0,) and fits.array.shape == (0,)
    assert len(fits.to_localizations()) == 0 and "0 of" in repr(fits)


def test_failure_is_a_row(psf, camera, counts):
    rois = counts[:4].astype(np.float32)
    rois[1, 2, 2] = np.nan
    rois[2, 0, 0] = np.inf
    fits = glint.fit(rois, psf, camera)
    assert list(fits.status) == [0, glint.FitStatus.BAD_INPUT, glint.FitStatus.BAD_INPUT, 0]
    same_table(fits[fits.converged], glint.fit(counts[[0, 3]], psf, camera))
    assert len(fits.to_localizations()) == 2 and len(fits.to_localizations(keep_failed=True)) == 4
    assert list(fits.to_localizations().frame) == [0, 3]


def test_rows_and_columns(psf, camera, counts):
    fits = glint.fit(counts, psf, camera, corners=np.arange(1000).reshape(500, 2), frames=np.arange(500) // 5)
    assert fits.array.dtype.names == tuple(fits.columns) and len(fits) == 500
    part = fits[10:20]
    np.testing.assert_array_equal(part.photons, fits.photons[10:20])
    np.testing.assert_array_equal(part.x_corner, np.arange(20, 40, 2))
    frame = fits.to_pandas()
    np.testing.assert_array_equal(frame["x_px"], fits["x_px"])
    locs = part.to_localizations()
    np.testing.assert_allclose(locs.x_px, part.x_px + part.x_corner, rtol=1e-6)
    np.testing.assert_array_equal(locs.frame, np.arange(10, 20) // 5)
    copy = pickle.loads(pickle.dumps(part))
    same_table(copy, part)
    assert copy.psf == part.psf and copy.info == part.info
    with pytest.raises(AttributeError, match="no column or attribute 'nothing'"):
        fits.nothing
    with pytest.raises(KeyError, match="nothing"):
        fits["nothing"]
    with pytest.raises(TypeError, match="table"):
        fits[3]


def test_start_values_are_where_fits_begin(camera, counts):
    psf = glint.GaussianXYNBS(130)
    fits = glint.fit(counts, psf, camera)
    at_the_end = np.stack([fits[n] for n in ["x_px", "y_px", "photons", "bg", "sigma_px"]], axis=1)
    again = glint.fit(counts, psf, camera, start=at_the_end)
    assert again.iterations.mean() < fits.iterations.mean()
    near = np.stack([fits.x_px, fits.y_px], axis=1)
    assert np.abs((glint.fit(counts, psf, camera, start=near).x_px - fits.x_px) / fits.x_unc_px).max() < 0.1


def test_is_the_same_for_any_threads_and_from_any_thread(psf, camera, counts):
    rois = np.tile(counts, (10, 1, 1))
    expected = glint.fit(rois, psf, camera, backend="cpu", threads=1)
    results = [None] * 6

    def work(k):
        results[k] = glint.fit(rois, psf, camera, backend="cpu", threads=1 + k % 3)

    workers = [threading.Thread(target=work, args=(k,)) for k in range(len(results))]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    for result in results:
        same_table(result, expected)


def test_a_fitter_fits_stack_after_stack(psf, camera, counts):
    with glint.Fitter() as fitter:
        for part in (counts[:100], counts[100:]):
            same_table(fitter.fit(part, psf, camera), glint.fit(part, psf, camera))


def test_tells_how_it_was_done(psf, camera, counts):
    fits = glint.fit(counts, psf, camera, backend="cpu", threads=1)
    assert fits.info.backend == "cpu" and fits.info.device == glint.active_isa() and fits.info.threads == 1
    assert fits.info.fits == 500 and fits.info.seconds > 0
    assert repr(fits).startswith("<Fits: 500 of GaussianXYNB, 9x9 px, ") and glint.active_isa() in repr(fits)


def test_a_forked_child_is_reported(psf, camera, counts):
    """Threads do not survive a fork; without the check this would hang."""
    script = """if True:
        import glint, numpy as np, os
        rois, psf = np.full((100_000, 7, 7), 100, np.uint16), glint.GaussianXYNB(sigma_px=1.3)
        glint.fit(rois, psf)
        if os.fork() == 0:
            try:
                glint.fit(rois, psf)
            except glint.OptionError as error:
                os._exit(7 if "spawn" in str(error) else 8)
            os._exit(9)
        print(os.waitstatus_to_exitcode(os.wait()[1]))"""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", script], capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() == "7", done.stderr


def test_a_quantum_efficiency_is_the_cameras_or_given():
    camera = glint.SCMOSCamera(100, offset=100, gain=0.25, readnoise=2, qe=0.5)
    rois, _ = glint.simulate_rois(300, glint.GaussianXYNB(sigma_nm=130), camera, seed=3)
    fits = glint.fit(rois, glint.GaussianXYNB(sigma_nm=130), camera)
    electrons = ((rois - 100) * 0.25 / 0.5).astype(np.float32)
    same = glint.fit(electrons, glint.GaussianXYNB(sigma_px=1.3), variance=(2 / 0.5) ** 2, qe=0.5)
    np.testing.assert_allclose(same.photons, fits.photons, rtol=1e-3)  # rounding, and the step at which a fit stops
    np.testing.assert_allclose(same.photons_unc, fits.photons_unc, rtol=1e-3)
    # A map of the same number: the weights of each pixel, in a kernel of its own.
    uneven = glint.SCMOSCamera(100, offset=100, gain=0.25, readnoise=2, qe=np.full((9, 9), 0.5), sensor_roi=(0, 0))
    mapped = glint.fit(rois, glint.GaussianXYNB(sigma_nm=130), uneven, corners=np.zeros((300, 2), int))
    np.testing.assert_allclose(mapped.x_px, fits.x_px, atol=0.01 * fits.x_unc_px.max())
    np.testing.assert_allclose(mapped.photons_unc, fits.photons_unc, rtol=1e-2)


def test_several_molecules_in_a_roi(psf, camera):
    """Two molecules of 2,000 photons, some 4 px apart, in every second ROI: rows are molecules, and know their ROI."""
    one, _ = glint.simulate_rois(200, psf, camera, size=17, photons=(2000, 2000), spread_px=0.5, seed=1)
    stack = np.asarray(one, np.float32)
    stack[::2] += np.roll(stack[1::2], 4, axis=2) - camera.offset  # the ROI after it, 4 px to the right
    corners = np.stack([np.arange(200), np.arange(200) % 7], axis=1).astype(np.int32)
    fits = glint.fit(stack, psf, camera, emitters="auto", corners=corners)
    count = np.bincount(fits.window, minlength=200)
    assert np.mean(count[::2] == 2) > 0.95 and np.all(count[1::2] == 1)
    assert np.all(fits.emitters[count[fits.window] == 1] == 0)
    np.testing.assert_array_equal(fits.x_corner, corners[fits.window, 0])
    locs = fits.to_localizations(keep_failed=True)
    np.testing.assert_array_equal(locs.frame, fits.window)
    np.testing.assert_array_equal(locs.emitters, fits.emitters)
    np.testing.assert_allclose(locs.x_px, fits.x_px + fits.x_corner, rtol=1e-6)
    alone = glint.fit(stack, psf, camera)
    assert "window" not in alone.columns and len(alone) == 200
    np.testing.assert_array_equal(fits.x_px[fits.emitters == 0], alone.x_px[fits.window[fits.emitters == 0]])
    assert glint.fit(stack, psf, camera, emitters=2).emitters.max() == 2
    for wrong, message in [
        ({"emitters": 0}, "from 1 to 64"),
        ({"emitters": 65}, "1 to 64"),
        ({"emitters": 2, "backend": "gpu"}, "CPU only"),
        ({"emitters": "auto", "psf_misfit": 2}, "0 to 1"),
    ]:
        with pytest.raises(glint.OptionError, match=message):
            glint.fit(stack, psf, camera, **wrong)
