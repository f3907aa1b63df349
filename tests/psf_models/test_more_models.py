"""A model that is only registered has its class in Python."""

import copy
import dataclasses
import importlib.util
import os
import pathlib
import pickle
import re
import subprocess

import glint
import numpy as np
import pytest
from scipy import ndimage
from scipy.special import erf

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("name,numbers,free", [("EllipticXYNBQ", dict(ratio=1.4), "q"), ("CorrelatedXYNBR", {}, "r")])
@pytest.mark.parametrize("backend", ["auto", "cpu"])
def test_fit(name, numbers, free, backend):
    psf = getattr(glint, name)(sigma_nm=120, **numbers)
    camera = glint.IdealCamera(pixel_size_nm=100, offset=0, gain=1)
    rois, truth = glint.simulate_rois(2000, psf, camera, size=11, photons=(2000, 2000), background=5)
    fits = glint.fit(rois, psf, camera, backend=backend)
    good = np.asarray(fits.status) == glint.FitStatus.CONVERGED
    assert good.mean() > 0.99
    pull = (np.asarray(getattr(fits, free)) - np.asarray(getattr(truth, free)))[good] / np.asarray(
        getattr(fits, f"{free}_unc")
    )[good]
    assert abs(pull.std() - 1) < 4 / np.sqrt(2 * good.sum()) + 0.02  # the CRLB is that of the fit, not of the truth


def test_what_it_is():
    psf = glint.EllipticXYNBQ(sigma_px=1.2)
    assert psf.ratio == 1.5 and repr(psf) == "EllipticXYNBQ(sigma_px=1.2, ratio=1.5)"
    assert "ratio: the width along y over that along x" in glint.EllipticXYNBQ.__doc__
    assert "default 1.5, from 0.2 to 5" in glint.EllipticXYNBQ.__doc__
    with pytest.raises(glint.OptionError, match="^ratio=9: .* 0.2 to 5"):
        glint.fit(np.zeros((1, 7, 7), np.float32), glint.EllipticXYNBQ(sigma_px=1.2, ratio=9))


def spline_table():
    """The cubic splines through an astigmatic PSF: its coefficients by SciPy, and the PSF itself."""
    psf = glint.AstigmaticXYZNB(sx0_nm=130, sy0_nm=130, gamma_nm=200, d_nm=400)
    z_nm = np.linspace(-600, 600, 15)
    z_nm = np.concatenate([[2 * z_nm[0] - z_nm[1]], z_nm, [2 * z_nm[-1] - z_nm[-2]]])
    at = 0.5 * (np.arange(126) - 62.5)

    def profile(sigma_px):
        return 0.5 * (erf((at + 0.5) / (np.sqrt(2) * sigma_px)) - erf((at - 0.5) / (np.sqrt(2) * sigma_px)))

    values = [np.outer(profile(psf.sigma_y_nm(z) / 100), profile(psf.sigma_x_nm(z) / 100)) for z in z_nm]
    table = ndimage.spline_filter(np.array(values), order=3, mode="mirror").astype(np.float32)
    return glint.TabulatedXYZNB(table, pixel_size_nm=100, z_min_nm=-600, z_max_nm=600), psf


@pytest.mark.parametrize("backend", ["auto", "cpu"])
def test_a_table_fits_what_its_reference_fits(backend):
    tabulated, reference = spline_table()
    assert tabulated.table.nbytes >= 2**20 and "17 x 126 x 126" in repr(tabulated)
    camera = glint.IdealCamera(pixel_size_nm=100, offset=0, gain=1)
    rois, _ = glint.simulate_rois(500, reference, camera, size=13, photons=(3000, 3000), background=10)
    found = glint.fit(rois, tabulated, camera, backend=backend)
    wanted = glint.fit(rois, reference, camera, backend="cpu")
    for name in ("x_px", "y_px", "photons", "z_um"):
        apart = np.abs(np.asarray(getattr(found, name)) - np.asarray(getattr(wanted, name)))
        assert (
            apart > 0.05 * np.asarray(getattr(wanted, name.split("_")[0] + "_unc" + name[len(name.split("_")[0]) :]))
        ).sum() <= 4
    again = pickle.loads(pickle.dumps(tabulated))
    np.testing.assert_array_equal(
        np.asarray(glint.fit(rois, again, camera, backend="cpu").x_px),
        np.asarray(glint.fit(rois, tabulated, camera, backend="cpu").x_px),
    )


def test_a_table_is_checked():
    tabulated, _ = spline_table()
    good = dict(pixel_size_nm=100, z_min_nm=-600, z_max_nm=600)
    camera = glint.IdealCamera(pixel_size_nm=160, offset=0, gain=1)
    with pytest.raises(glint.OptionError, match="100 nm, not of 160 nm"):
        glint.fit(np.zeros((1, 7, 7), np.float32), tabulated, camera)
    for table, words in (
        (np.zeros((2, 2, 2, 2, 2), np.float32), "5 dimensions"),
        (np.float32(1), "1 or more|0 dimensions|at least"),
        (np.full((4, 4, 4), np.nan, np.float32), "coefficient 0"),
        (np.zeros((0, 4, 4), np.float32), "1 or more"),
    ):
        with pytest.raises(glint.OptionError, match=words):
            psf = glint.TabulatedXYZNB(table, **good)
            glint.fit(np.zeros((1, 7, 7), np.float32), psf, glint.IdealCamera(pixel_size_nm=100, offset=0, gain=1))
    with pytest.raises(glint.OptionError, match="from z"):
        glint.TabulatedXYZNB(tabulated.table, pixel_size_nm=100, z_min_nm=600, z_max_nm=600)


def test_a_table_is_kept_as_it_was_given():
    tabulated, _ = spline_table()
    good = dict(pixel_size_nm=100, z_min_nm=-600, z_max_nm=600)
    mine = np.array(tabulated.table)
    psf = glint.TabulatedXYZNB(mine, **good)
    mine[:] = 0
    camera = glint.IdealCamera(pixel_size_nm=100, offset=0, gain=1)
    rois, _ = glint.simulate_rois(20, tabulated, camera, size=13, photons=(3000, 3000), background=10)
    wanted = np.asarray(glint.fit(rois, tabulated, camera, backend="cpu").x_px)
    for each in (psf, copy.copy(psf), pickle.loads(pickle.dumps(psf)), dataclasses.replace(psf, z_max_nm=600)):
        assert each == tabulated and hash(each) == hash(tabulated)
        np.testing.assert_array_equal(np.asarray(glint.fit(rois, each, camera, backend="cpu").x_px), wanted)
    with pytest.raises(ValueError, match="read-only"):
        psf.table[0, 0, 0] = 1
    assert psf != glint.TabulatedXYZNB(mine, **good)
    assert psf != dataclasses.replace(psf, z_max_nm=601) and psf != dataclasses.replace(psf, width=2.0)
    assert psf != glint.GaussianXYNB(sigma_nm=130)


@pytest.mark.parametrize(
    "table,words",
    [
        (None, "type object"),
        ("psf.npy", "type <U7"),
        (np.ones((4, 4, 4), complex), "type complex128"),
        ([[1, 2], [3]], "no array of numbers"),
        (np.ma.masked_less(np.arange(64.0).reshape(4, 4, 4), 2), "a mask"),
        (np.full((4, 4, 4), 1e200), "coefficient 0 .* inf"),
    ],
)
def test_what_is_no_table_is_refused(table, words):
    with pytest.raises(glint.OptionError, match=words):
        glint.TabulatedXYZNB(table, pixel_size_nm=100, z_min_nm=-600, z_max_nm=600)


def test_a_table_needs_the_pixel_size():
    tabulated, _ = spline_table()
    with pytest.raises(glint.OptionError, match="needs the size of a pixel"):
        glint.fit(np.zeros((1, 7, 7), np.float32), tabulated)


def test_truth_has_the_models_column():
    camera = glint.IdealCamera(pixel_size_nm=100, offset=0, gain=1)
    truth = glint.simulate(glint.EllipticXYNBQ(sigma_nm=120, ratio=1.4), camera, frames=5).truth
    assert np.all(truth.q == 1)
    np.testing.assert_allclose(truth.sx_px, 1.2, rtol=1e-6)
    np.testing.assert_allclose(truth.sy_px, 1.2 * 1.4, rtol=1e-6)


def test_the_reference_test_needs_only_the_line_of_the_page(tmp_path):
    spec = importlib.util.spec_from_file_location("judge_test_fit", ROOT / "tests/judge/test_fit.py")
    judge = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(judge)
    line = re.search(r'^    ("EllipticXYNBQ": .*)$', (ROOT / "CONTRIBUTING.md").read_text(), re.M)[1]
    judge.WIDTHS.update(eval("{" + line + "}"))

    def program(*arguments):
        subprocess.run([os.environ["GLINT_PROGRAM"], *map(str, arguments)], check=True, capture_output=True)

    judge.test_fit_finds_the_maximum_that_scipy_finds(program, tmp_path, "EllipticXYNBQ", 2.0)
