"""glint.calibrate_camera: NumPy's means and variances, and the command's files."""

import json
import warnings

import glint
import h5py
import numpy as np
import pytest
from conftest import same_table

SHAPE, FRAMES = (48, 64), 200
HOT, DEAD, NOISY = (5, 6), (20, 30), (40, 50)
rng = np.random.default_rng(5)
OFFSET, NOISE, GAIN = 100 + 2 * rng.standard_normal(SHAPE), 3 * np.ones(SHAPE), 0.5 * np.ones(SHAPE)
OFFSET[HOT] += 200
NOISE[NOISY] *= 30


def movie(light_e, frames=FRAMES):
    electrons = rng.poisson(light_e, (frames, *SHAPE)) if light_e else np.zeros((frames, *SHAPE))
    electrons[:, DEAD[0], DEAD[1]] = 0
    counts = OFFSET + electrons / GAIN + NOISE * rng.standard_normal(electrons.shape)
    return np.clip(np.rint(counts), 0, 65535).astype(np.uint16)


@pytest.fixture(scope="module")
def movies():
    """Returns movies of the dark and of two levels of light."""
    return movie(0), [movie(100), movie(400)]


@pytest.fixture(scope="module")
def calibration(movies):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return glint.calibrate_camera(*movies, pixel_size_nm=100)


@pytest.fixture(scope="module")
def folder(movies, command, tmp_path_factory):
    """The same movies as files, and the command's camera.toml."""
    to = tmp_path_factory.mktemp("camera")
    for name, frames in (("dark", movies[0]), ("dim", movies[1][0]), ("bright", movies[1][1])):
        glint.save_movie(to / f"{name}.tif", frames)
    said = command(
        "calibrate",
        "camera",
        "--dark",
        to / "dark.tif",
        "--light",
        to / "dim.tif",
        to / "bright.tif",
        "-o",
        to / "camera.toml",
        "--pixel-size",
        "100nm",
        "--json",
        "-q",
    )
    (to / "said.json").write_text(said)
    return to


def test_maps_are_numpys(calibration, movies):
    dark = movies[0].astype(np.float64)
    variance = dark.var(axis=0, ddof=1)
    np.testing.assert_allclose(calibration.offset, dark.mean(axis=0), rtol=1e-6)
    np.testing.assert_allclose(calibration.readvar, variance, rtol=1e-5)
    np.testing.assert_allclose(calibration.offset_error, np.sqrt(variance / FRAMES), rtol=1e-5)
    np.testing.assert_allclose(calibration.readvar_error, variance * np.sqrt(2 / (FRAMES - 1)), rtol=1e-5)
    value, error = calibration.sensor_gain
    assert abs(value - 0.5) < 4 * error and error < 0.005  # sqrt(2 / 199) / sqrt(3072) of it is 0.0009
    assert calibration.dark_frames == FRAMES and [level.frames for level in calibration.levels] == [FRAMES] * 2
    means = [np.median(light.mean(axis=0) - dark.mean(axis=0)) for light in movies[1]]
    np.testing.assert_allclose([level.mean_adu for level in calibration.levels], means, rtol=1e-5)


def test_bad_pixels_are_reported(calibration):
    assert (calibration.faults[HOT], calibration.faults[DEAD], calibration.faults[NOISY]) == (1, 2, 3)
    assert np.count_nonzero(calibration.masked) <= 4  # three, and 0.5 good ones at most
    assert calibration.masked.dtype == bool and np.array_equal(calibration.camera.masked, calibration.masked)


def test_files_are_the_commands(calibration, folder, tmp_path):
    glint.save(tmp_path / "camera.toml", calibration)
    assert (tmp_path / "camera.toml").read_bytes() == (folder / "camera.toml").read_bytes()
    with h5py.File(tmp_path / "camera_maps.hdf5") as ours, h5py.File(folder / "camera_maps.hdf5") as theirs:
        assert set(ours) == set(theirs) >= {"offset", "readvar_error", "gain", "gain_chi2", "faults"}
        for name in theirs:
            np.testing.assert_array_equal(ours[name][()], theirs[name][()], err_msg=name)
            np.testing.assert_array_equal(getattr(calibration, name), theirs[name][()], err_msg=name)
    said = json.loads((folder / "said.json").read_text())
    assert calibration.sensor_gain == (said["gain_e_per_adu"], said["gain_error"])
    for name in ("pixel_gain_error", "gain_spread", "saturated", "expected_false_alarms", "dark_frames"):
        assert getattr(calibration, name) == said[name]
    assert calibration.mean_chi2 == said["chi2"] and calibration.own_gains == said["pixels_with_own_gain"]
    with pytest.raises(glint.OptionError, match="exists"):
        calibration.save(tmp_path / "camera.toml")
    calibration.save(tmp_path / "camera.toml", overwrite=True)
    with pytest.raises(glint.OptionError, match="ends in .toml"):
        calibration.save(tmp_path / "camera.hdf5")


def test_the_camera_localizes_as_its_file_does(calibration, folder, psf, command):
    truth = glint.SCMOSCamera(100, OFFSET, GAIN, readnoise=NOISE * GAIN)
    frames = np.rint(
        glint.simulate(psf, truth, frames=40, width=SHAPE[1], height=SHAPE[0], spots_per_frame=4, seed=9).movie
    ).astype(np.uint16)
    glint.save_movie(folder / "movie.tif", frames, overwrite=True)
    command(
        "localize",
        folder / "movie.tif",
        "-o",
        folder / "locs.hdf5",
        "--camera",
        folder / "camera.toml",
        "--sigma",
        "130nm",
        "--backend",
        "cpu",
        "--overwrite",
        "-q",
    )
    theirs = glint.load(folder / "locs.hdf5")
    for camera in (calibration.camera, glint.load(folder / "camera.toml")):
        locs = glint.localize(frames, psf, camera, backend="cpu")
        same_table(locs, theirs)
        assert locs.info.masked_pixels == np.count_nonzero(calibration.masked)
        assert abs(locs.info.noise_check - 1) < 4 * locs.info.noise_check_error + 0.03
    assert len(theirs) > 100


def test_movies_may_be_files_arrays_and_open(calibration, movies, folder):
    dark, light = movies
    for given in (
        (folder / "dark.tif", [folder / "dim.tif", str(folder / "bright.tif")]),
        (glint.open_movie(dark), tuple(glint.open_movie(level) for level in light)),
        ([folder / "dark.tif"], [[folder / "dim.tif"], light[1]]),
    ):
        other = glint.calibrate_camera(*given)
        np.testing.assert_array_equal(other.gain, calibration.gain)
        np.testing.assert_array_equal(other.faults, calibration.faults)
    one = glint.calibrate_camera(dark, light[1])  # not in a list
    assert len(one.levels) == 1 and one.gain_chi2 is None
    (folder / "link.toml").symlink_to(folder / "dark.tif")
    with pytest.raises(glint.OptionError, match="link.toml"):  # it would be written over
        glint.calibrate_camera(folder / "dark.tif").save(folder / "link.toml", overwrite=True)


def test_a_ramp_gives_the_gain(movies, calibration):
    light = np.linspace(0, 500, 1000)[:, None, None]
    electrons = rng.poisson(np.broadcast_to(light, (1000, *SHAPE)))
    ramp = np.rint(OFFSET + electrons / GAIN + NOISE * rng.standard_normal(electrons.shape)).astype(np.uint16)
    found = glint.calibrate_camera(movies[0], ramp=ramp)
    value, error = found.sensor_gain
    assert abs(value - 0.5) < 4 * error and error < 0.005
    assert all(level.of_ramp and level.frames == 100 for level in found.levels) and len(found.levels) == 10
    assert "frames 100:200" in found.levels[1].name
    both = glint.calibrate_camera(*movies, ramp=[ramp])
    assert len(both.levels) == 12 and both.sensor_gain.error < error
    with pytest.raises(glint.InputError, match="give constant light as light="):
        glint.calibrate_camera(movies[0], ramp=movies[1][0])
    with pytest.warns(UserWarning, match=r"give the movie as a ramp \(ramp=\)"):
        glint.calibrate_camera(movies[0], ramp)


def test_the_pixel_size_is_the_dark_movies(movies, tmp_path):
    glint.save_movie(tmp_path / "dark.tif", movies[0], pixel_size_nm=130)
    assert glint.calibrate_camera(tmp_path / "dark.tif", gain=0.5).camera.pixel_size_nm == pytest.approx(130)
    assert glint.calibrate_camera(tmp_path / "dark.tif", gain=0.5, pixel_size_nm=100).pixel_size_nm == 100


def test_the_sample_is_of_the_maps(calibration, movies):
    bad = calibration.masked.ravel()[calibration.sample]
    assert np.count_nonzero(~bad) == 1000 and set(calibration.sample[bad]) == set(np.flatnonzero(calibration.masked))
    means = (movies[1][0].mean(axis=0) - movies[0].mean(axis=0)).ravel()[calibration.sample]
    np.testing.assert_allclose(calibration.levels[0].sample_mean_adu, means, rtol=1e-4, atol=1e-3)


def test_progress_is_reported_and_may_stop(movies):
    told = []
    glint.calibrate_camera(*movies, progress=lambda done, all: told.append((done, all)))
    assert told[-1] == (3 * FRAMES, 3 * FRAMES)

    def stop(done, all):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        glint.calibrate_camera(*movies, progress=stop)


def test_without_light_the_gain_is_given_or_missing(movies):
    dark = movies[0]
    given = glint.calibrate_camera(dark, gain=0.5, pixel_size_nm=100)
    assert given.sensor_gain == (0.5, 0) and given.gain is None and given.levels == []
    assert given.camera.gain == 0.5
    np.testing.assert_allclose(given.camera.readnoise, np.sqrt(given.readvar) / 2, rtol=1e-6)
    for arguments, words in ((dict(pixel_size_nm=100), "ramp=, or gain="), (dict(gain=0.5), "pixel_size_nm=100")):
        with pytest.raises(glint.OptionError, match=words):
            glint.calibrate_camera(dark, **arguments).camera
    assert "no gain" in repr(glint.calibrate_camera(dark)) and "0.5 e-/ADU" in repr(given)


def test_what_cannot_be_calibrated_is_refused(movies):
    dark, light = movies
    opened = glint.open_movie(dark)
    for call, error, words in (
        (lambda: glint.calibrate_camera(dark[:1]), glint.InputError, "at least 2 frames"),
        (lambda: glint.calibrate_camera(dark, light[0][:, :9]), glint.InputError, "same part of one sensor"),
        (lambda: glint.calibrate_camera(light[0], dark), glint.InputError, "not brighter"),
        (lambda: glint.calibrate_camera(opened, opened), glint.OptionError, "given twice"),
        (lambda: glint.calibrate_camera(dark, light, gain=0.5), glint.OptionError, "give one of them"),
        (lambda: glint.calibrate_camera(dark, gain=0), glint.OptionError, "gain=0: give a number"),
        (lambda: glint.calibrate_camera(dark, pixel_size_nm=0.1), glint.OptionError, "nanometres"),
        (lambda: glint.calibrate_camera(dark, progress=3), glint.OptionError, "progress=3: give a function"),
        (lambda: glint.SCMOSCamera(100, 100, 0.5, masked=[0.5]), glint.OptionError, "masked.*give an array"),
        (
            lambda: glint.SCMOSCamera(100, OFFSET, 0.5, masked=np.zeros((3, 4), bool)),
            glint.OptionError,
            "masked is of another size",
        ),
    ):
        with pytest.raises(error, match=words):
            call()


def test_dark_frames_without_noise_are_warned_of():
    with pytest.warns(UserWarning, match="3072 of 3072 pixels have the same count in all 5 dark frames"):
        calibration = glint.calibrate_camera(np.full((5, *SHAPE), 100, np.uint16))
    assert np.all(calibration.readvar == 0)


def test_saturation_below_the_types_largest_count_is_refused(movies):
    dark, light = movies
    clipped = np.minimum(movie(2100), 4095).astype(np.uint16)  # 4,300 ADU
    with pytest.raises(glint.InputError, match="no count is above 4095 ADU"):
        glint.calibrate_camera(dark, [light[0], clipped])


def test_dark_movies_with_other_offsets_are_reported(movies, tmp_path):
    for name, added in (("a", 0), ("b", 3), ("c", 40)):
        glint.save_movie(tmp_path / f"{name}.tif", movies[0] + np.uint16(added))
    with pytest.warns(UserWarning, match="a.tif.*b.tif.*adds"):
        calibration = glint.calibrate_camera([tmp_path / "a.tif", tmp_path / "b.tif"])
    change = calibration.dark_change  # 3^2 / 4 of a read variance of 9 + 1 / 12
    assert abs(change.share - 0.25) < 0.03 and abs(change.highest_adu - change.lowest_adu - 3) < 1e-6
    assert (change.lowest, change.highest) == ("a.tif", "b.tif")
    with pytest.raises(glint.InputError, match="a.tif.*c.tif.*one camera setting"):
        glint.calibrate_camera([tmp_path / "a.tif", tmp_path / "c.tif"])


def test_an_em_gain_makes_an_emccd(movies, tmp_path):
    dark, light = movies
    plain, em = (glint.calibrate_camera(dark, light, pixel_size_nm=100, em_gain=gain) for gain in (None, 300))
    assert plain.em_gain == 1 and em.em_gain == 300
    assert (
        abs(em.sensor_gain.value / 600 - plain.sensor_gain.value) < 2 * plain.sensor_gain.error
    )  # the weights differ a little
    em.save(tmp_path / "em.toml")
    for camera in (em.camera, glint.load(tmp_path / "em.toml")):
        assert isinstance(camera, glint.EMCCDCamera) and camera.em_gain == 300
        np.testing.assert_allclose(camera.readnoise, np.sqrt(em.readvar) * em.gain, rtol=1e-5)
    given = glint.calibrate_camera(dark, gain=15.6, em_gain=300, pixel_size_nm=100)
    assert given.camera.gain == pytest.approx(15.6) and isinstance(given.camera, glint.EMCCDCamera)
    with pytest.raises(glint.OptionError, match="em_gain=0"):
        glint.calibrate_camera(dark, light, em_gain=0)


def test_a_masked_pixel_makes_no_spots(psf):
    frames = np.random.default_rng(2).poisson(20, (5, 32, 32)).astype(np.uint16) + 100
    frames[:, 10, 12] = 4000
    masked = np.zeros((32, 32), bool)
    masked[10, 12] = True
    assert len(glint.detect(frames, psf, glint.SCMOSCamera(100, 100, 1.0))) >= 5
    assert len(glint.detect(frames, psf, glint.SCMOSCamera(100, 100, 1.0, masked=masked))) == 0


def test_presets_say_that_they_are(psf, tmp_path):
    presets = glint.camera_presets()
    assert len(presets) >= 7 and all(preset.source and "not measured" in preset.note for preset in presets)
    for preset in presets:
        with pytest.warns(UserWarning, match="not measured"):
            camera = glint.camera_preset(
                preset.name, pixel_size_nm=100, em_gain=100 if preset.kind == "EMCCDCamera" else None
            )
        assert type(camera).__name__ == preset.kind
        assert (camera.offset, camera.gain, camera.readnoise) == (preset.offset, preset.gain, preset.readnoise)
    with pytest.warns(UserWarning):
        camera = glint.camera_preset("andor-zyla", pixel_size_nm=100)
    frames = np.full((3, 32, 32), 110, np.uint16)
    frames[:, 15:18, 15:18] += 400
    glint.localize(frames, psf, camera, tmp_path / "locs.hdf5", backend="cpu")
    assert "Camera's values: typical of Andor Zyla" in (tmp_path / "locs.yaml").read_text()
    for call, words in (
        (lambda: glint.camera_preset("zyla", pixel_size_nm=100), "there are andor-zyla, "),
        (lambda: glint.camera_preset("andor-ixon", pixel_size_nm=100), "give em_gain="),
        (lambda: glint.camera_preset("andor-zyla", pixel_size_nm=100, em_gain=3), "leave em_gain out"),
    ):
        with pytest.raises(glint.OptionError, match=words):
            call()


def test_a_movie_of_masked_pixels_alone_is_refused(psf):
    camera = glint.SCMOSCamera(100, 100, 0.5, masked=np.ones((32, 32), bool))
    with pytest.raises(glint.OptionError, match="all 32x32 pixels are masked"):
        glint.localize(np.full((3, 32, 32), 110, np.uint16), psf, camera)
