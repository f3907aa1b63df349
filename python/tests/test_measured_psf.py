"""Measured PSFs: their files, small windows, and molecules beyond their range of z."""

import pickle
from math import erf

import glint
import h5py
import numpy as np
import pytest

PIXEL_NM, Z_NM = 107.0, 400.0
CAMERA = glint.IdealCamera(PIXEL_NM, 0, 1)


def table():
    """Coefficients of a Gaussian that is wide along x at one end of z, and along y at the other."""
    z, y, x = np.meshgrid(np.arange(12) / 11 - 0.5, np.arange(25) - 12.0, np.arange(25) - 12.0, indexing="ij")
    wide, high = 3.0 + 3 * z, 3.0 - 3 * z
    return (np.exp(-(x**2) / (2 * wide**2) - y**2 / (2 * high**2)) / (2 * np.pi * wide * high)).astype(np.float32)


def write(path, coefficients, **changes):
    values = dict(pixel_size_nm=PIXEL_NM, samples_per_px=1.0, z_min_nm=-Z_NM, z_max_nm=Z_NM) | changes
    with h5py.File(path, "w") as f:
        group = f.create_group("psf")
        group.create_dataset("coefficients", data=coefficients)
        group.attrs["format"], group.attrs["version"] = "glint PSF", "1.0"
        for name, value in values.items():
            group.attrs[name] = value
    return path


@pytest.fixture
def psf(tmp_path):
    return glint.MeasuredPsf(write(tmp_path / "lens.h5", table()))


@pytest.mark.parametrize(
    ("factor", "changes", "words"),
    [
        (10, {}, "sums to 10"),
        (0, {}, "no light"),
        (1, {"z_max_nm": 1e30}, "z_max_nm"),
        (1, {"usable_min_nm": 500.0}, "usable_min_nm"),
        (1, {"samples_per_px": 0.37}, "samples_per_px .* 0.37"),
        (1, {"hash": "0123456789abcdef"}, "hash .* 0123456789abcdef"),
    ],
)
def test_implausible_files_are_refused(tmp_path, factor, changes, words):
    write(tmp_path / "odd.h5", np.float32(factor) * table(), **changes)
    with pytest.raises(glint.InputError, match=f"odd.h5: .*{words}"):
        glint.MeasuredPsf(tmp_path / "odd.h5")


def test_windows_with_little_light_are_refused(psf, recwarn):
    rois, _ = glint.simulate_rois(20, psf, CAMERA, size=15, photons=(3000, 3000), z_range_nm=200, seed=1)
    glint.fit(rois, psf, CAMERA)
    assert not recwarn
    with pytest.raises(glint.OptionError, match="a window of 3 px contains .* of the light .*roi_size"):
        glint.fit(rois[:, 6:9, 6:9].copy(), psf, CAMERA)
    with pytest.warns(UserWarning, match="a window of 5 px contains .* z may be wrong"):
        glint.fit(rois[:, 5:10, 5:10].copy(), psf, CAMERA)


def test_many_molecules_at_an_end_of_z_are_a_warning(psf, tmp_path):
    step = 2 * Z_NM / 9
    ends = dict(z_min_nm=-Z_NM + 3 * step, z_max_nm=Z_NM - 3 * step)
    narrow = glint.MeasuredPsf(write(tmp_path / "narrow.h5", table()[3:9], **ends))
    sizes = dict(structure="random", frames=40, width=64, height=64, spots_per_frame=2, on_frames=1)
    simulated = glint.simulate(psf, CAMERA, photons=(3000, 3000), z_range_nm=350, seed=4, **sizes)
    with pytest.warns(UserWarning, match=r"of \d+ rows .* lie at an end of the PSF's z range \(-133 to 133 nm\)"):
        locs = glint.localize(simulated.movie, narrow, CAMERA, tmp_path / "locs.hdf5")
    assert np.count_nonzero(locs.status == glint.FitStatus.AT_BOUND) == locs.info.at_bound > 0.2 * len(locs)
    assert "Measured PSF" in (tmp_path / "locs.yaml").read_text()
    assert "narrow.h5" in (tmp_path / "locs.yaml").read_text()
    rois, _ = glint.simulate_rois(100, psf, CAMERA, size=15, photons=(3000, 3000), z_range_nm=350, seed=1)
    with pytest.warns(UserWarning, match="of 100 rows .* lie at an end"):
        glint.fit(rois, narrow, CAMERA)


def test_psf_of_lone_spots(tmp_path):
    """The movie is simulated with a table that has a halo."""
    y, x = np.meshgrid(np.arange(61) / 2 - 15, np.arange(61) / 2 - 15, indexing="ij")
    halo = 0.8 * np.exp(-(x**2 + y**2) / 2.4) / 2.4 + 0.2 * np.exp(-(x**2 + y**2) / 14) / 14
    truth = glint.SplineXYNB(np.float32(halo / np.pi)[None], pixel_size_nm=PIXEL_NM, samples_per_px=2)
    assert repr(truth) == "SplineXYNB(<table of 1 x 61 x 61>)"
    sizes = dict(structure="random", frames=150, width=160, height=160, spots_per_frame=8, on_frames=1)
    simulated = glint.simulate(truth, CAMERA, photons=(2000, 6000), seed=2, **sizes)
    steps = []
    found = glint.estimate_psf(
        simulated.movie, CAMERA, progress=lambda done, all_of_it: steps.append((done, all_of_it))
    )
    assert steps[-1][0] == steps[-1][1]
    assert found.lone > 300 and found.good_p > 0.95 > found.gaussian_good_p and not found.warnings
    found.save(tmp_path / "psf.h5")
    assert glint.MeasuredPsf(tmp_path / "psf.h5") == found.psf
    rois, known = glint.simulate_rois(500, truth, CAMERA, size=11, photons=(2000, 2000), seed=3)
    fits = glint.fit(rois, found.psf, CAMERA)
    assert np.mean(fits.p_value < 0.01) < 0.01 + 4 * np.sqrt(0.01 / 500)
    assert abs(np.median(fits.photons) / 2000 - 1) < 0.03
    with pytest.raises(glint.OptionError, match="ends in .h5"):
        found.save(tmp_path / "psf.toml")
    with pytest.raises(glint.InputError, match="at least 300 are needed"):
        glint.estimate_psf(simulated.movie, CAMERA, frames=(0, 5))


def test_calibration_shows_beads_beside_the_psf():
    random = np.random.default_rng(1)
    z_nm = np.arange(-500, 501, 25)
    beads = [(12.3, 15.8), (45.6, 14.2), (30.1, 31.7), (15.4, 49.5), (48.9, 47.1)]
    edges = np.arange(65) - 0.5

    def share(center, sigma):
        return np.diff([erf((edge - center) / (sigma * np.sqrt(2))) for edge in edges]) / 2

    means = np.full((len(z_nm), 64, 64), 10.0)
    for mean, z in zip(means, z_nm):
        width, height = 1.4 * np.hypot(1, (z - 200) / 300), 1.35 * np.hypot(1, (z + 200) / 300)
        for x, y in beads:
            mean += 20000 * np.outer(share(y, height), share(x, width))
    stack = (random.poisson(means) + 100).astype(np.uint16)
    found = glint.calibrate_psf(stack, glint.IdealCamera(100, offset=100, gain=1), z_step_nm=25)
    size = found.roi_size
    assert len(found.beads["sections"]) == len(found.beads["rejected"]) == 5
    for sections in found.beads["sections"]:
        slices = len(sections["z_nm"])
        assert sections["xy"].shape == (3, size, size) and abs(sections["xy_z_nm"]) < 60
        assert sections["xz"].shape == sections["yz"].shape == (3, slices, size) and slices >= len(z_nm) - 2
        data, model, residual = sections["xz"]
        assert np.allclose(residual, (data - model) / np.sqrt(np.maximum(model, 0.01)), atol=0.01)
        assert abs(residual.std() - 1) < 0.15  # 41 x 17 pixels; 10 % less for the fitted coefficients
    # Spots that are Gaussians: the measured PSF of half of the beads contains more noise.
    assert found.gaussian["suffices"] and found.gaussian["added_deviance"] < 0
    assert found.gaussian["z_rms_nm"] < 1.1 * found.z_rms_nm


def test_refine_psf(tmp_path):
    camera = glint.IdealCamera(100, 0, 1)
    beads_psf = glint.PupilPsf(na=1.4, wavelength_nm=670, pixel_size_nm=100, z_range_nm=600, moving="stage",
                               zernike={"astigmatism": 0.8})  # fmt: skip
    beads = glint.simulate(beads_psf, camera, frames=41, width=160, height=160, structure="beads", spots_per_frame=5,
                           photons=(30_000, 30_000), z_range_nm=600, seed=2)  # fmt: skip
    calibrated = glint.calibrate_psf(beads.movie, camera, z_step_nm=30)
    calibrated.save(tmp_path / "lens.h5")
    in_sample = glint.PupilPsf(na=1.4, wavelength_nm=670, pixel_size_nm=100, z_range_nm=600,
                               zernike={"astigmatism": 0.8, "spherical": 0.4})  # fmt: skip
    movie = glint.simulate(in_sample, camera, frames=100, width=256, height=256, structure="random", spots_per_frame=14,
                           photons=(3000, 6000), z_range_nm=400).movie  # fmt: skip
    found = glint.refine_psf(movie, tmp_path / "lens.h5", camera, na=1.4, wavelength_nm=670)
    assert found.is_better and found.good_p > found.beads_good_p
    assert found.aberrations["spherical (rad)"] == pytest.approx(0.4, abs=0.08)
    assert set(found.aberration_errors) == set(found.aberrations)
    assert len(found.left_out["z_nm"]) == len(found.left_out["beads_z_nm"]) > 30
    found.save(tmp_path / "in_situ.h5")
    again = glint.MeasuredPsf(tmp_path / "in_situ.h5")
    assert np.array_equal(again.table, found.psf.table)
    with pytest.raises(glint.OptionError, match="pixels of 90 nm"):
        glint.refine_psf(movie, tmp_path / "lens.h5", glint.IdealCamera(pixel_size_nm=90, offset=100, gain=1), na=1.4,
                         wavelength_nm=670)  # fmt: skip
    with pytest.raises(glint.OptionError, match="sample_index"):
        glint.refine_psf(movie, tmp_path / "lens.h5", camera, na=1.4, wavelength_nm=670, sample_index=1.33)


FIELD = (-0.5, -0.5, 40.0)


def field_table():
    """Two rows of three cells, each wider than the last."""
    y, x = np.meshgrid(np.arange(25) - 12.0, np.arange(25) - 12.0, indexing="ij")
    cells = []
    for width in (1.1, 1.2, 1.3, 1.4, 1.5, 1.6):
        z = (np.arange(12) / 11 - 0.5)[:, None, None]
        wide, high = width * (1 + 0.5 * z), width * (1 - 0.5 * z)
        cells.append(np.exp(-(x**2) / (2 * wide**2) - y**2 / (2 * high**2)) / (2 * np.pi * wide * high))
    return np.float32(cells).reshape(2, 3, 12, 25, 25)


def field_psf(**changes):
    values = dict(pixel_size_nm=PIXEL_NM, z_min_nm=-Z_NM, z_max_nm=Z_NM, field=FIELD) | changes
    return glint.SplineXYZNB(field_table(), **values)


def test_psf_over_the_field_is_read_and_pickled(tmp_path):
    scale = dict(version="2.0", field_left_px=FIELD[0], field_top_px=FIELD[1], field_cell_px=FIELD[2])
    psf = glint.MeasuredPsf(write(tmp_path / "lens.h5", field_table(), **scale))
    assert psf.field == FIELD
    assert psf.table.shape == (2, 3, 12, 25, 25)
    assert psf == field_psf() == pickle.loads(pickle.dumps(psf))
    assert psf != field_psf(field=(0, -0.5, 40))
    for change, words in (
        ({"field_cell_px": 0.0}, "edge of 0 px"),
        ({"field_left_px": np.nan}, "field_left_px"),
        ({"version": "3.0"}, "version 3.0 .* up to 2.x"),
    ):
        write(tmp_path / "odd.h5", field_table(), **scale | change)
        with pytest.raises(glint.InputError, match=f"odd.h5: .*{words}"):
            glint.MeasuredPsf(tmp_path / "odd.h5")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"field": (0, 0)}, r"field=\(0, 0\): give \(left_px, top_px, cell_px\)"),
        ({"field": (0, 0, -4)}, "edge of -4 px"),
        ({"field": (np.nan, 0, 40)}, "field"),
        ({"field": None}, r"field=\(left_px, top_px, cell_px\)"),
    ],
)
def test_implausible_fields_are_refused(changes, words):
    with pytest.raises(glint.OptionError, match=words):
        field_psf(**changes)


def test_rois_are_fitted_with_the_psf_of_their_place():
    psf = field_psf()
    rois, truth = glint.simulate_rois(300, psf, CAMERA, size=15, photons=(4000, 4000), z_range_nm=200, seed=1)
    corners = truth.corners
    fits = glint.fit(rois, psf, CAMERA, corners=corners)
    cells = np.clip((corners + 7 + 0.5) // 40, 0, (2, 1)).astype(int)
    for row in range(2):
        for column in range(3):
            here = (cells[:, 0] == column) & (cells[:, 1] == row)
            one = glint.SplineXYZNB(psf.table[row, column], pixel_size_nm=PIXEL_NM, z_min_nm=-Z_NM, z_max_nm=Z_NM)
            alone = glint.fit(rois[here], one, CAMERA)
            # Fits end after a step of less than 0.01 errors, from starts that may differ.
            assert np.all(abs(fits.photons[here] - alone.photons) < 0.02 * alone.photons_unc)
            assert np.all(abs(fits.z_nm[here] - alone.z_nm) < 0.02 * alone.z_unc_nm)
    middle = glint.SplineXYZNB(psf.table[0, 2], pixel_size_nm=PIXEL_NM, z_min_nm=-Z_NM, z_max_nm=Z_NM)
    others = glint.fit(rois, middle, CAMERA)
    assert np.mean(abs(fits.photons - others.photons) > fits.photons_unc) > 0.3
    with pytest.raises(glint.OptionError, match="0 and 0 corners for 300 ROIs: .* changes over the field"):
        glint.fit(rois, psf, CAMERA)


def test_regions_keep_their_place_in_the_field(tmp_path):
    psf = field_psf()
    sizes = dict(structure="random", frames=30, width=128, height=80, spots_per_frame=4, on_frames=1)
    simulated = glint.simulate(psf, CAMERA, photons=(3000, 3000), z_range_nm=200, seed=4, **sizes)
    whole = glint.localize(simulated.movie, psf, CAMERA)
    part = glint.localize(simulated.movie, psf, CAMERA, region=(64, 0, 64, 80))
    # Molecules near the border of the region, or in another group there, differ.
    matched = 0
    for frame, x, y, z in zip(part.frame, part.x_px, part.y_px, part.z_nm):
        same = (whole.frame == frame) & (abs(whole.x_px - x) < 0.01) & (abs(whole.y_px - y) < 0.01)
        matched += np.count_nonzero(same & (abs(whole.z_nm - z) < 1))
    assert matched > 0.8 * len(part) > 20
    with pytest.warns(UserWarning, match=r"of \d+ localizations lie outside of the field"):
        glint.localize(simulated.movie, field_psf(field=(-300.5, -0.5, 40)), CAMERA)


@pytest.mark.parametrize("emitters", [1, None])
@pytest.mark.parametrize("missing", [False, True])
def test_all_ways_of_fitting_use_the_psf_of_the_place(emitters, missing):
    """Lone molecules, neighbours, and windows with missing pixels."""
    psf = field_psf()
    sizes = dict(structure="random", frames=60, width=128, height=80, spots_per_frame=8, on_frames=1)
    movie, truth = glint.simulate(psf, CAMERA, photons=(3000, 5000), z_range_nm=200, seed=5, **sizes)
    counts = movie.astype(np.float32)
    if missing:  # one pixel in the window of each third molecule
        for k in range(0, len(truth), 3):
            x, y = int(truth.x_px[k]) + 2, int(truth.y_px[k]) + 1
            if 0 <= x < 128 and 0 <= y < 80:
                counts[truth.frame[k], y, x] = np.nan
    options = {} if emitters is None else {"emitters": emitters}
    locs = glint.localize(counts, psf, CAMERA, **options)
    wrong = glint.localize(counts, field_psf(field=(-300.5, -0.5, 40)), CAMERA, **options)

    def pulls(rows):
        found = []
        for k in range(len(truth)):
            here = np.flatnonzero(rows.frame == truth.frame[k])
            apart = np.hypot(rows.x_px[here] - truth.x_px[k], rows.y_px[here] - truth.y_px[k])
            if here.size and apart.min() < 0.5:
                row = here[apart.argmin()]
                found.append(min(abs(rows.photons[row] - truth.photons[k]) / rows.photons_unc[row], 10))
        return np.array(found)

    right, others = pulls(locs), pulls(wrong)
    assert len(right) > 0.8 * len(truth)
    assert np.median(right) < 1  # 0.67 for a normal distribution
    assert np.median(others) > 1.5 * np.median(right)
