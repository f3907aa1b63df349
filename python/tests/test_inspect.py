"""glint.inspect: gain, offset and width from a movie alone."""

import glint
import numpy as np
import pytest

PSF = glint.GaussianXYNB(sigma_nm=130)


@pytest.fixture(scope="module")
def movie():
    camera = glint.IdealCamera(pixel_size_nm=100, offset=100, gain=0.5)
    return glint.simulate(PSF, camera, frames=200, seed=3).movie


def within(estimate, truth):
    assert abs(estimate.value - truth) < 3 * estimate.error


def test_estimates_lie_within_their_errors(movie):
    told = []
    found = glint.inspect(movie, progress=lambda done, all: told.append((done, all)))
    within(found.gain, 0.5)
    within(found.offset, 100)
    within(found.sigma_px, 1.3)
    assert found.frames_read == 200 and found.saturation_adu is None and found.why_no_gain == found.why_no_sigma == ""
    assert found.min_adu == np.min(movie[:]) and found.max_adu == np.max(movie[:])
    assert told[-1][0] <= told[-1][1]
    camera = found.camera(pixel_size_nm=100)
    assert isinstance(camera, glint.IdealCamera) and camera.gain == found.gain.value
    assert len(glint.localize(movie, PSF, camera)) > 1000


def test_what_is_given_is_not_estimated(movie):
    found = glint.inspect(movie, gain=0.5, readnoise=1, sigma_px=1.3)
    assert found.gain == (0.5, 0) and found.gain.error == 0
    assert found.offset.error < glint.inspect(movie, readnoise=1).offset.error
    assert isinstance(found.camera(100), glint.SCMOSCamera)
    assert isinstance(glint.inspect(movie, em_gain=300).camera(100), glint.EMCCDCamera)


def test_a_calibrated_camera_is_compared_with_the_noise(movie):
    assert glint.inspect(movie).noise_check is None
    camera = glint.SCMOSCamera(100, np.full(movie.shape[1:], 100), 0.5, readnoise=0.0)
    found = glint.inspect(movie, camera=camera)
    assert abs(found.noise_check.value - 1) < 4 * found.noise_check.error + 0.01 and found.contradiction == ""
    assert found.gain == (0.5, 0) and found.offset == (100, 0)
    within(found.sigma_px, 1.3)
    assert found == glint.inspect(movie, offset=100, gain=0.5)
    wrong = glint.inspect(movie, camera=glint.IdealCamera(100, 100, 2.0))  # four times: root 4, but for rounding
    assert abs(wrong.noise_check.value - 2) < 0.03 and "gain" in wrong.contradiction
    with pytest.raises(glint.OptionError, match="give it, or these"):
        glint.inspect(movie, camera=camera, gain=0.5)
    with pytest.raises(glint.OptionError, match="is no camera"):
        glint.inspect(movie, camera="camera.toml")


def test_frames_that_are_named_are_read_alone(movie):
    bright = movie.copy()
    bright[:100] = 4095
    found = glint.inspect(bright, frames=(100, 200))
    assert found.frames_read == 96 and found.max_adu < 4095  # blocks of eight
    within(found.gain, 0.5)
    assert glint.inspect(bright, frames=slice(100, None)) == found


def test_what_cannot_be_estimated_is_none(movie):
    found = glint.inspect(movie[:2])
    assert found.gain is None and found.offset is None and found.photons is None and "needed" in found.why_no_gain
    with pytest.raises(glint.OptionError, match="could not be estimated"):
        found.camera(100)


def test_wrong_values_are_refused(movie):
    for values in (
        {"gain": 0},
        {"gain": "auto"},
        {"readnoise": -1},
        {"em_gain": 0.5},
        {"sigma_px": 100},
        {"frames": (3, 3)},
        {"frames": (0, 201)},
    ):
        with pytest.raises(glint.OptionError):
            glint.inspect(movie, **values)


def test_a_movie_without_frames_is_an_error(camera):
    none = np.zeros((0, 20, 20), np.uint16)
    with pytest.raises(glint.InputError, match="no frames"):
        glint.inspect(none)
    with pytest.raises(glint.InputError, match="no frames"):
        glint.localize(none, glint.GaussianXYNB(sigma_px="auto"), camera)
