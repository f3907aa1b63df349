"""Cameras and files that do not suit a movie: errors and warnings name both values and the way out."""

import warnings

import glint
import numpy as np
import pytest

PSF = glint.GaussianXYNB(sigma_nm=130)


@pytest.fixture(scope="module")
def movie(tmp_path_factory):
    """A file whose metadata say pixels of 100 nm."""
    path = tmp_path_factory.mktemp("movie") / "m.tif"
    camera = glint.IdealCamera(100, 100, 1)
    frames = glint.simulate(
        PSF, camera, structure="random", width=64, height=64, frames=60, spots_per_frame=2, photons=(1000, 2000)
    ).movie
    glint.save_movie(path, frames, pixel_size_nm=100)
    return path


def calls(movie, camera):
    return [
        lambda: glint.localize(movie, PSF, camera),
        lambda: glint.detect(movie, PSF, camera),
        lambda: glint.inspect(movie, camera=camera),
    ]


def test_maps_of_a_larger_sensor_need_the_movies_corner(movie):
    larger = np.full((80, 70), 100.0)
    for call in (
        *calls(movie, glint.SCMOSCamera(100, larger, 1)),
        lambda: glint.calibrate_astigmatism(movie, glint.SCMOSCamera(100, larger, 1), z_step_nm=20),
    ):
        with pytest.raises(glint.OptionError, match=r"cover 70x80 pixels, the movie is 64x64.*sensor_roi=\(X, Y\)"):
            call()
    for camera in (glint.SCMOSCamera(100, larger, 1, sensor_roi=(0, 0)), glint.SCMOSCamera(100, larger[:64, :64], 1)):
        for call in calls(movie, camera):
            call()


def test_maps_beyond_the_rois_need_the_movies_corner(movie):
    """The maps' first 16 columns and rows have another offset than the field that the movie is of."""
    larger = np.full((80, 80), 100.0)
    larger[:16], larger[:, :16] = 60, 60
    rois = glint.cut_rois(movie, glint.detect(movie, PSF, glint.IdealCamera(100, 100, 1)), 7)
    camera = glint.SCMOSCamera(100, larger, 1)
    with pytest.raises(
        glint.OptionError, match=r"cover 80x80 pixels, the ROIs reach over 64x64 of their movie.*sensor_roi=\(X, Y\)"
    ):
        glint.fit(rois, PSF, camera)
    with pytest.raises(glint.OptionError, match=r"the ROIs reach over 6\dx6\d of their movie"):
        glint.fit(rois.pixels, PSF, camera, corners=rois.corners)
    at_its_place, smaller = (
        glint.SCMOSCamera(100, larger, 1, sensor_roi=(16, 16)),
        glint.SCMOSCamera(100, larger[16:, 16:], 1),
    )
    fits = glint.fit(rois, PSF, at_its_place)
    np.testing.assert_array_equal(glint.fit(rois, PSF, smaller).photons, fits.photons)
    some = rois._replace(**{name: getattr(rois, name)[:1] for name in ("pixels", "corners", "frames", "start")})
    assert len(glint.fit(some, PSF, smaller)) == 1, "the movie is as large as the maps, wherever its ROIs lie"
    glint.fit(rois, PSF, glint.SCMOSCamera(100, larger, 1, sensor_roi=(0, 0)))


def test_parts_that_say_different_pixel_sizes_need_a_camera(movie, tmp_path):
    glint.save_movie(tmp_path / "other.tif", glint.open_movie(movie)[:], pixel_size_nm=160)
    both = glint.open_movie([movie, tmp_path / "other.tif"])
    assert both.pixel_size_nm is None and len(both) == 120
    with pytest.raises(
        glint.OptionError,
        match=r"pixel size: the metadata say 100 nm in m.tif and 160 nm in other.tif: open these apart",
    ):
        both.camera()
    assert len(glint.localize(both, PSF, glint.IdealCamera(100, 100, 1))) > 100


def test_a_file_says_the_corner(movie, tmp_path):
    np.save(tmp_path / "offset.npy", np.full((80, 70), 100, np.float32))
    text = 'pixel_size = "100nm"\noffset = "offset.npy"\ngain = 1\n'
    (tmp_path / "camera.toml").write_text(text)
    assert glint.load_camera(tmp_path / "camera.toml").sensor_roi is None
    (tmp_path / "camera.toml").write_text(text + "sensor_roi = [0, 0]\n")
    camera = glint.load_camera(tmp_path / "camera.toml")
    assert camera.sensor_roi == (0, 0) and len(glint.localize(movie, PSF, camera)) > 100


def test_another_pixel_size_than_the_metadatas_is_warned_of(movie):
    for call in calls(movie, glint.IdealCamera(160, 100, 1)):
        with pytest.warns(UserWarning, match="pixels are 100 nm wide, and 160 nm is given"):
            call()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for call in calls(movie, glint.IdealCamera(100, 100, 1)):
            call()


@pytest.mark.parametrize("options", [{}, {"psf_misfit": 0.05}, {"emitters": 1}])
def test_a_full_width_in_place_of_sigma_is_warned_of(movie, options):
    with pytest.warns(UserWarning, match="lone spots are 1.*full width at half maximum"):
        glint.localize(movie, glint.GaussianXYNB(sigma_nm=306), glint.IdealCamera(100, 100, 1), **options)


def test_files_of_another_kind_are_named(movie, tmp_path):
    (tmp_path / "camera.toml").write_text("offset = 100\ngain = 1\n")
    with pytest.raises(glint.InputError, match=r"is a camera and not a calibration.*camera=glint.load_camera\(FILE\)"):
        glint.load_calibration(tmp_path / "camera.toml")
    locs = glint.localize(movie, PSF, glint.IdealCamera(100, 100, 1))
    for name in ("l.hdf5", "l.csv", "l.smlm.h5"):
        locs.save(tmp_path / name)
        with pytest.raises(glint.InputError, match="is a table, and no movie"):
            glint.open_movie(tmp_path / name)


def test_what_is_no_movie_is_named():
    camera = glint.IdealCamera(100, 100, 1)
    with pytest.raises(glint.InputError, match="array: has no frames"):
        glint.localize(np.zeros((0, 64, 64), np.uint16), PSF, camera)
    with pytest.raises(glint.OptionError, match="GaussianXYNB.* is no movie: give the name of a file"):
        glint.localize(PSF, "m.tif", camera)
