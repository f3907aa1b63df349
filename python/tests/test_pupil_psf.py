"""PSFs computed from the optics, and stacks of beads that are simulated with them."""

import numpy as np
import pytest

import glint

CAMERA = glint.IdealCamera(pixel_size_nm=100, offset=100, gain=1)
OPTICS = dict(na=1.4, wavelength_nm=670, pixel_size_nm=100, z_range_nm=400)


def test_a_computed_psf_is_a_measured_one_for_fits():
    psf = glint.PupilPsf(**OPTICS, zernike={"astigmatism": 1.0, 8: 0.2})
    assert isinstance(psf, glint.SplineXYZNB) and (psf.z_min_nm, psf.z_max_nm) == (-400, 400)
    count = 400
    rois, truth = glint.simulate_rois(count, psf, CAMERA, size=13, photons=(5000, 5000), z_range_nm=300)
    fits = glint.fit(rois, psf, CAMERA)
    pulls = (fits.z_nm - truth.z_nm) / fits.z_unc_nm
    # The median of normal pulls has a standard error of 1.25 / sqrt(n), and their central spread one of 1 / sqrt(n).
    low, middle, high = np.percentile(pulls, [16, 50, 84])
    assert abs(middle) < 5 * 1.25 / np.sqrt(count) and abs((high - low) / 2 - 1) < 5 / np.sqrt(count) + 0.05


def test_names_and_numbers_of_aberrations_are_the_same():
    named = glint.PupilPsf(**OPTICS, zernike={"coma_x": 0.3})
    assert named == glint.PupilPsf(**OPTICS, zernike={8: 0.3})
    assert named != glint.PupilPsf(**OPTICS, zernike={"coma_y": 0.3})


def test_beads_rise_through_the_focus():
    psf = glint.PupilPsf(**OPTICS, moving="stage")
    movie, truth = glint.simulate(
        psf, CAMERA, structure="beads", frames=9, spots_per_frame=2, photons=(20000, 20000), z_range_nm=400
    )
    assert len(truth) == 18 and np.allclose(np.unique(truth.z_nm), np.linspace(-400, 400, 9))
    assert len(np.unique(truth.x_px)) == 2
    assert movie[4].max() > movie[0].max()  # z = 0 is in focus


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"na": 1.6}, "immersion index"),
        ({"sample_index": 1.33}, "sample_index=1.518"),
        ({"wavelength_nm": 0.67}, "wavelength_nm=670"),
        ({"zernike": {"comma": 1}}, "coma_x"),
        ({"zernike": {"coma_x": "1"}}, "zernike"),
        ({"zernike": [0.3]}, "give a dict"),
        ({"moving": "table"}, "'molecule' or 'stage'"),
        ({"z_range_nm": -400}, "z_range_nm"),
        ({"window_px": 10}, "odd number"),
        ({"samples_per_px": 3}, "1 or 2"),
    ],
)
def test_implausible_optics_are_refused(change, words):
    with pytest.raises(glint.OptionError, match=words):
        glint.PupilPsf(**{**OPTICS, **change})


def test_lost_light_is_a_warning():
    with pytest.warns(UserWarning, match="window of 9 px"):
        glint.PupilPsf(**OPTICS, window_px=9)
