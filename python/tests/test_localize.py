"""localize(), detect() and cut_rois() on files that tifffile wrote, and on arrays."""

import subprocess
import sys
import threading
import time
import warnings

import glint
import h5py
import numpy as np
import pytest
import tifffile
from conftest import same_table


def near(table, truth, radius_px=1.0):
    """Share of rows with a molecule of the truth in their frame within the radius."""
    return np.mean(
        [
            np.any((truth.frame == f) & (np.hypot(truth.x_px - x, truth.y_px - y) < radius_px))
            for f, x, y in zip(table.frame, table.x_px, table.y_px)
        ]
    )


def test_tables_without_rows_keep_their_columns(psf, camera, simulated, tmp_path):
    locs = glint.localize(simulated.movie, psf, camera)
    locs["group"] = np.arange(len(locs))
    dark = glint.localize(np.full((5, 48, 64), 100 + 40, np.uint16), psf, camera)
    with pytest.warns(UserWarning, match="no row fulfils"):
        none = glint.filter(locs, "photons > 1e9")
    assert len(none) == len(dark) == 0
    assert list(none.columns) == list(locs.columns) and list(dark.columns) == [
        name for name in locs.columns if name != "group"
    ]
    assert {name: values.dtype for name, values in none.columns.items()} == {
        name: values.dtype for name, values in locs.columns.items()
    }
    drift = glint.Drift(np.zeros(60), np.zeros(60))
    assert list(glint.apply_drift(none, drift).columns) == list(locs.columns)
    locs.save(tmp_path / "all.hdf5")
    none.save(tmp_path / "none.hdf5")
    with h5py.File(tmp_path / "all.hdf5") as of_all, h5py.File(tmp_path / "none.hdf5") as of_none:
        assert of_none["locs"].shape == (0,) and of_none["locs"].dtype == of_all["locs"].dtype
    again = glint.load(tmp_path / "none.hdf5")
    assert len(again) == 0 and list(again.columns) == list(glint.load(tmp_path / "all.hdf5").columns)


def test_what_is_made_of_tables_without_rows_has_the_columns_of_others(psf, camera, simulated):
    def same_columns(none, some):
        assert len(none) == 0 < len(some)
        assert {name: values.dtype for name, values in none.columns.items()} == {
            name: values.dtype for name, values in some.columns.items()
        }

    locs = glint.localize(simulated.movie, psf, camera)
    locs["group"] = np.arange(len(locs))
    same_columns(glint.merge([locs[:0], locs[:0]]), glint.merge([locs, locs]))
    with pytest.warns(UserWarning, match="left out, since not every table has them: group"):
        assert "group" not in glint.merge([locs[:0], glint.localize(simulated.movie, psf, camera)[:0]]).columns
    for merged in (True, False):
        none, info = glint.link(locs[:0], merged=merged)
        same_columns(none, glint.link(locs, merged=merged)[0])
        assert info.tracks == 0
    stack = glint.cut_rois(simulated.movie, locs, 7)
    for emitters in (1, 2):
        fits = glint.fit(stack, psf, camera, emitters=emitters)
        same_columns(fits[:0].to_localizations(), fits.to_localizations())


def test_finds_the_molecules(psf, camera, simulated):
    locs = glint.localize(simulated.movie, psf, camera)
    assert near(locs, simulated.truth) > 0.9
    info = locs.info
    assert info.frames == 60 and info.localizations == len(locs)
    assert len(locs) == info.molecules - info.not_converged - info.left_spot and info.duplicates == 0
    assert info.molecules == info.spots + info.added - info.merged and info.added > 0  # some spots are two molecules
    assert info.psf_misfit == 0.02 and info.lone_spots >= 20
    assert abs(info.lone_spot_width_nm / psf.sigma_nm - 1) < 0.05
    one = glint.localize(simulated.movie, psf, camera, emitters=1)
    info = one.info
    assert info.molecules == info.spots and info.added == info.merged == 0
    assert info.spots == len(one) + info.not_converged + info.left_spot + info.duplicates and info.lone_spots >= 20
    assert (locs.width, locs.height, locs.frames, locs.pixel_size_nm) == (64, 48, 60, 100)
    # The median of 60 frames, each with 60x44 px less 81 around each of 4 spots; of 3.8 neighbours one counts (their
    # second
    # differences are correlated): within 4 standard errors.
    assert abs(info.noise_check - 1) < 4 * np.sqrt(np.pi / 2 * 3.8 / (2 * (60 * 44 - 4 * 81)) / 60)


def test_molecules_beyond_the_calibrated_range_are_marked(camera, tmp_path):
    lens = dict(sx0_nm=140, sy0_nm=135, gamma_nm=200, d_nm=400)
    simulated = glint.simulate(
        glint.AstigmaticXYZNB(**lens, z_min_nm=-600, z_max_nm=600),
        camera,
        structure="random",
        frames=50,
        width=64,
        height=64,
        spots_per_frame=2,
        on_frames=1,
        photons=(3000, 3000),
        z_range_nm=500,
        seed=4,
    )
    psf = glint.AstigmaticXYZNB(**lens, z_min_nm=-250, z_max_nm=250)
    for emitters in (1, "auto"):
        locs = glint.localize(simulated.movie, psf, camera, emitters=emitters, psf_misfit=0.3)
        at_bound = locs.status == glint.FitStatus.AT_BOUND
        assert np.count_nonzero(at_bound) == locs.info.at_bound > 0.3 * len(locs)  # half of the range is beyond
        np.testing.assert_allclose(np.abs(locs.z_nm[at_bound]), 250, rtol=1e-6)
        assert near(locs[at_bound], simulated.truth) > 0.9
    saved = glint.localize(simulated.movie, psf, camera, tmp_path / "locs.csv")
    assert np.count_nonzero(saved.status == 2) == saved.info.at_bound


def test_a_file_a_list_of_files_and_an_array_are_the_same(psf, camera, simulated, tmp_path):
    movie = simulated.movie
    tifffile.imwrite(tmp_path / "movie.tif", movie)
    for k, part in enumerate([movie[:20], movie[20:]]):
        tifffile.imwrite(tmp_path / f"part{k}.tif", part)
    expected = glint.localize(movie, psf, camera)
    same_table(glint.localize(tmp_path / "movie.tif", psf, camera), expected)
    same_table(glint.localize(str(tmp_path / "movie.tif"), psf, camera, threads=1), expected)
    same_table(glint.localize([tmp_path / "part0.tif", tmp_path / "part1.tif"], psf, camera), expected)
    same_table(glint.localize(glint.open_movie(tmp_path / "movie.tif"), psf, camera), expected)
    for other in [movie.astype(">u2"), movie.astype(np.float64), np.asfortranarray(movie), movie[::-1][::-1]]:
        same_table(glint.localize(other, psf, camera), expected)
    raw = np.memmap(tmp_path / "movie.raw", np.uint16, "w+", shape=movie.shape)
    raw[:] = movie
    same_table(glint.localize(raw, psf, camera), expected)


class Parts:
    """What Zarr, Dask and h5py have in common; counts the frames that it gave."""

    def __init__(self, frames):
        self.frames, self.shape, self.dtype, self.most = frames, frames.shape, frames.dtype, 0

    def __getitem__(self, key):
        part = self.frames[key]
        self.most = max(self.most, len(part))
        return part


def test_array_likes_are_read_in_parts_and_iterators_once(psf, camera, simulated, tmp_path):
    movie = np.concatenate([simulated.movie] * 10)
    expected = glint.localize(movie, psf, camera, psf_misfit=0.1)
    parts = Parts(movie)
    same_table(glint.localize(parts, psf, camera, psf_misfit=0.1), expected)
    assert 0 < parts.most < len(movie) / 2
    with h5py.File(tmp_path / "movie.h5", "w") as file:
        file["frames"] = movie
        same_table(glint.localize(file["frames"], psf, camera, psf_misfit=0.1), expected)
        assert glint.open_movie(file["frames"]).shape == movie.shape
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", ResourceWarning)
        same_table(glint.localize((frame for frame in movie), psf, camera, psf_misfit=0.1), expected)
    assert not [one for one in told if one.category is ResourceWarning]
    with pytest.raises(glint.OptionError, match="no frames"):
        glint.open_movie(iter([]))
    with pytest.raises(glint.OptionError, match="frame 1 of the iterator"):
        glint.open_movie(iter([movie[0], movie[0, 1:]]))


@pytest.mark.parametrize("keeper", ["array", "type(array)"])
def test_a_lazy_array_that_keeps_its_movie_goes_with_it(keeper):
    """nanobind reports leaks when the program ends."""
    code = f"""if True:
        import gc, glint, numpy as np, weakref
        def make():
            class Lazy:
                shape, dtype = (4, 32, 32), np.dtype("u2")
                def __getitem__(self, key):
                    return np.zeros(self.shape, "u2")[key]
            array = Lazy()
            {keeper}.movie = glint.open_movie(array)
            assert {keeper}.movie[1].shape == (32, 32)
            return weakref.ref(array)
        array = make()
        gc.collect()
        assert array() is None
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_an_array_like_that_fails_names_the_frames(psf, camera, simulated):
    class Broken(Parts):
        def __getitem__(self, key):
            raise OSError("the server is gone")

    with pytest.raises(glint.InputError, match="Broken: frames .* cannot be read: .*the server is gone"):
        glint.localize(Broken(simulated.movie), psf, camera)


def test_parts_of_another_type_than_the_array_declares_are_not_cast_with_a_loss(psf, camera, simulated):
    """As of Dask with a wrong `meta`: uint16 declared, and -2.75 became 65533."""

    class Declared(Parts):
        def __init__(self, frames, dtype):
            super().__init__(frames)
            self.dtype = np.dtype(dtype)

    movie = simulated.movie
    floats = movie.astype(np.float32) - 2.75
    for declared, held in [
        ("u2", floats),
        ("u1", movie),
        ("u2", movie.astype("i4")),
        ("u2", movie.astype("i2")),
        ("f4", movie.astype(complex)),
        ("f4", movie.astype(object)),
    ]:
        with pytest.raises(
            glint.InputError,
            match=f"Declared: frames 0 to .* are of {held.dtype}, and the array declares {np.dtype(declared)}",
        ):
            glint.localize(Declared(held, declared), psf, camera)
    for declared, held in [
        ("f4", floats.astype("f8")),
        ("i4", floats),
        (">u2", movie),
        ("u2", movie.astype(">u2")),
        ("f8", movie),
        ("u2", (movie // 16).astype("u1")),
    ]:
        np.testing.assert_array_equal(
            glint.open_movie(Declared(held, declared))[:], held.astype(declared if declared in ("u2", ">u2") else "f4")
        )
    dask = pytest.importorskip("dask.array")
    lazy = dask.from_array(movie, chunks=(10, -1, -1)).map_blocks(lambda part: part - np.float32(2.75), dtype=np.uint16)
    with pytest.raises(glint.InputError, match="float32, and the array declares uint16.*Dask: meta="):
        glint.localize(lazy, psf, camera)
    same_table(
        glint.localize(lazy.map_blocks(lambda part: part, dtype=np.float32), psf, camera),
        glint.localize(floats, psf, camera),
    )


def test_a_mask_that_only_the_values_have_is_seen(psf, camera, simulated):
    class Masked(Parts):
        def __array__(self, dtype=None, copy=None):
            return np.ma.masked_equal(self.frames, self.frames.max())

        def __getitem__(self, key):
            return Masked(self.frames[key])

    with pytest.raises(glint.InputError, match="masked values"):
        glint.localize(Masked(simulated.movie), psf, camera)
    with pytest.raises(glint.OptionError, match="masked values"):
        glint.fit(Masked(simulated.movie[:, :7, :7]), psf, camera)


def test_a_movie_is_followed_while_it_is_written(psf, camera, simulated, tmp_path):
    def write():
        with tifffile.TiffWriter(tmp_path / "movie.tif") as writer:
            for frame in simulated.movie:
                writer.write(frame, contiguous=False)
                time.sleep(0.02)

    told = []
    writer = threading.Thread(target=write)
    writer.start()
    try:
        followed = glint.localize(
            tmp_path / "movie.tif", psf, camera, tmp_path / "f.hdf5", follow=2, on_status=told.append
        )
    finally:
        writer.join()
    same_table(followed, glint.localize(simulated.movie, psf, camera))
    assert told[-1]["frame"] == told[-1]["frames_there"] == 60 and told[-1]["localizations"] == len(followed)
    assert {
        "lag_s",
        "spots_per_frame",
        "density_per_um2",
        "precision_nm",
        "photons",
        "background",
        "noise_check",
    } < told[0].keys()
    for wrong in ({}, {"out": tmp_path / "g.csv", "frames": (0, 10)}):
        with pytest.raises(glint.OptionError, match="follow="):
            glint.localize(tmp_path / "movie.tif", psf, camera, follow=2, **wrong)
    with pytest.raises(glint.OptionError, match="follows files"):
        glint.localize(simulated.movie, psf, camera, tmp_path / "g.csv", follow=2)
    with pytest.raises(glint.InputError, match="none.tif"):
        glint.localize(tmp_path / "none.tif", psf, camera, tmp_path / "g.csv", follow=1)


def test_a_choice_of_planes_is_checked(simulated, tmp_path):
    tifffile.imwrite(tmp_path / "movie.tif", simulated.movie)
    for wrong in ({"z": -1}, {"z": "a"}, {"position": 1.5}, {"channel": -2}):
        with pytest.raises(glint.OptionError):
            glint.open_movie(tmp_path / "movie.tif", **wrong)
    with pytest.raises(glint.OptionError, match="z=0 chooses of a file"):
        glint.open_movie(simulated.movie, z=0)


def test_frames_of_a_file(simulated, tmp_path):
    tifffile.imwrite(
        tmp_path / "movie.tif",
        simulated.movie,
        imagej=True,
        resolution=(10, 10),
        metadata={"unit": "um", "axes": "TYX"},
    )
    movie = glint.open_movie(tmp_path / "movie.tif")
    assert movie.shape == simulated.movie.shape and movie.dtype == np.uint16 and len(movie) == 60
    assert movie.pixel_size_nm == pytest.approx(100) and movie.gain is None
    np.testing.assert_array_equal(movie[:], simulated.movie)
    np.testing.assert_array_equal(movie[-1], simulated.movie[-1])
    np.testing.assert_array_equal(movie[10:12], simulated.movie[10:12])
    assert movie[5:5].shape == (0, 48, 64)
    for wrong in [60, -61]:
        with pytest.raises(IndexError):
            movie[wrong]
    with pytest.raises(glint.OptionError, match="offset, gain"):
        movie.camera()
    with pytest.raises(glint.OptionError, match="steps of 1"):
        movie[::2]


def test_the_camera_may_come_from_the_metadata(psf, camera, simulated, tmp_path):
    simulated.movie.tofile(tmp_path / "movie.raw")
    (tmp_path / "movie.yaml").write_text(
        "Byte Order: <\nData Type: uint16\nFrames: 60\nHeight: 48\nWidth: 64\nPixelsize: 100\nBaseline: 100\n"
        "Sensitivity: 0.5\nGain: 1\n"
    )
    same_table(glint.localize(tmp_path / "movie.raw", psf), glint.localize(simulated.movie, psf, camera))


@pytest.mark.parametrize("name", ["locs.hdf5", "locs.csv", "locs.smlm.h5"])
def test_writes_every_format(psf, camera, simulated, tmp_path, name):
    expected = glint.localize(simulated.movie, psf, camera)
    locs = glint.localize(simulated.movie, psf, camera, tmp_path / name)
    np.testing.assert_allclose(locs.x_px, expected.x_px, atol=1e-4)
    assert locs.info.spots == expected.info.spots
    with pytest.raises(glint.OptionError, match="exists"):
        glint.localize(simulated.movie, psf, camera, tmp_path / name)
    glint.localize(simulated.movie, psf, camera, tmp_path / name, overwrite=True)


def test_a_finished_file_is_not_taken_for_one_of_other_settings(psf, camera, simulated, tmp_path):
    for name in ("locs.hdf5", "locs.smlm.h5"):
        done = glint.localize(simulated.movie, psf, camera, tmp_path / name)
        same = glint.localize(simulated.movie, psf, camera, tmp_path / name, resume=True)
        assert len(same) == len(done) and same.info is None
        with pytest.raises(glint.OptionError, match=r"threshold \(5 then, 7 now\)"):
            glint.localize(simulated.movie, psf, camera, tmp_path / name, resume=True, threshold=7)
    glint.localize(simulated.movie, psf, camera, tmp_path / "locs.csv")
    with pytest.warns(match="no place for them: they were not compared"):
        glint.localize(simulated.movie, psf, camera, tmp_path / "locs.csv", resume=True, threshold=7)


def test_failed_rows_are_reported_in_every_format(psf, camera, simulated, tmp_path):
    kept = glint.localize(simulated.movie, psf, camera, emitters=1, max_iterations=3, keep_failed=True)
    assert np.any(kept.status == glint.FitStatus.ITERATION_LIMIT)
    for name in ("locs.hdf5", "locs.csv", "locs.smlm.h5"):
        kept.save(tmp_path / name)
        np.testing.assert_array_equal(glint.load_localizations(tmp_path / name, pixel_size_nm=100).status, kept.status)


def test_only_some_frames(psf, camera, simulated):
    expected = glint.localize(simulated.movie, psf, camera, psf_misfit=0.05)  # nothing is learnt from all frames
    for frames in [(10, 30), slice(10, 30)]:
        part = glint.localize(simulated.movie, psf, camera, psf_misfit=0.05, frames=frames)
        same_table(part, expected[(expected.frame >= 10) & (expected.frame < 30)])


@pytest.mark.parametrize(
    "arguments,words",
    [
        (dict(frames=(10, 61)), "60 frames"),
        (dict(frames=slice(0, 10, 2)), "steps of 1"),
        (dict(roi_size=99), "99 pixels"),
        (dict(threshold=-3), "threshold"),
        (dict(gpus=0), "gpus=0"),
        (dict(resume=True), "out="),
        (dict(out="locs.xyz"), "locs.xyz"),
        (dict(camera=None), "pixel_size_nm, offset, gain"),
        (dict(psf=glint.GaussianXYNB(sigma_px=1.3), camera=3), "no camera"),
        (dict(movie=np.zeros((3, 4, 5, 6))), "(3, 4, 5, 6)"),
        (dict(movie=np.zeros((3, 0, 64), "u2")), "(3, 0, 64)"),
        (dict(movie=np.full((3, 9, 9), "a")), "<U1"),
        (dict(movie=[]), "(0,)"),
    ],
)
def test_refuses_wrong_options(psf, camera, simulated, arguments, words):
    with pytest.raises(glint.OptionError) as error:
        glint.localize(**{"movie": simulated.movie, "psf": psf, "camera": camera, **arguments})
    assert words in str(error.value)


def test_bad_files_are_input_errors(psf, camera, simulated, tmp_path):
    with pytest.raises(glint.InputError, match="nothing.tif") as error:
        glint.localize(tmp_path / "nothing.tif", psf, camera)
    assert isinstance(error.value, OSError)
    (tmp_path / "text.tif").write_text("no movie")
    with pytest.raises(glint.InputError, match="text.tif"):
        glint.open_movie(tmp_path / "text.tif")
    tifffile.imwrite(tmp_path / "cut.tif", simulated.movie)
    whole = (tmp_path / "cut.tif").read_bytes()
    (tmp_path / "cut.tif").write_bytes(whole[: len(whole) // 2])
    with pytest.warns(UserWarning, match="usable"):
        assert 0 < len(glint.open_movie(tmp_path / "cut.tif")) < 60
    with pytest.raises(glint.OutputError, match="missing"):
        glint.localize(simulated.movie, psf, camera, tmp_path / "missing" / "locs.hdf5")


def test_dead_pixels_are_warned_of(psf, camera, simulated):
    movie = simulated.movie.astype(np.float32)
    movie[:, 5, 5] = np.nan
    with pytest.warns(UserWarning, match="60 pixels were not a number"):
        assert glint.localize(movie, psf, camera).info.bad_pixels == 60


def test_detect_then_cut_then_fit(psf, camera, simulated):
    spots = glint.detect(simulated.movie, psf, camera)
    assert near(spots, simulated.truth, 2.0) > 0.9
    assert len(glint.detect(simulated.movie, psf, camera, threshold=30)) < len(spots)
    one = glint.detect(simulated.movie[3], psf, camera)
    np.testing.assert_array_equal(one.x_px, spots.x_px[spots.frame == 3])
    rois = glint.cut_rois(simulated.movie, spots, 7)
    k = len(spots) // 2
    (x, y), frame = rois.corners[k], rois.frames[k]
    np.testing.assert_array_equal(rois.pixels[k], simulated.movie[frame, y : y + 7, x : x + 7])
    alone = glint.fit(rois, psf, camera).to_localizations(keep_failed=True)
    expected = glint.localize(simulated.movie, psf, camera, emitters=1, neighbor_rounds=0, keep_failed=True)
    for name in alone.columns:  # what localize() does, step by step
        np.testing.assert_array_equal(alone[name], expected[name], err_msg=name)
    with pytest.raises(glint.OptionError, match="99 px"):
        glint.cut_rois(simulated.movie, spots, 99)


def test_frames_are_read_by_several_threads(simulated, tmp_path):
    from concurrent.futures import ThreadPoolExecutor

    tifffile.imwrite(tmp_path / "movie.tif", simulated.movie)
    movie = glint.open_movie(tmp_path / "movie.tif")
    with ThreadPoolExecutor(8) as pool:
        for k, frame in enumerate(pool.map(lambda k: movie[k % 60], range(240))):
            np.testing.assert_array_equal(frame, simulated.movie[k % 60])


def test_a_region_of_the_frames(simulated, psf, camera, tmp_path):
    movie = frames = np.asarray(simulated[0])
    x, y, width, height = 20, 6, 40, 38
    cut = glint.localize(np.ascontiguousarray(frames[:, y : y + height, x : x + width]), psf, camera)
    for source in (movie, glint.open_movie(movie)):
        part = glint.localize(source, psf, camera, region=(x, y, width, height))
        assert len(part) == len(cut) > 10 and (part.width, part.height) == (frames.shape[2], frames.shape[1])
        np.testing.assert_allclose(part.x_px, cut.x_px + np.float32(x), atol=1e-5)
        np.testing.assert_allclose(part.y_px, cut.y_px + np.float32(y), atol=1e-5)
        np.testing.assert_array_equal(part.photons, cut.photons)
    written = glint.localize(movie, psf, camera, tmp_path / "r.hdf5", region=[x, y, width, height])
    np.testing.assert_array_equal(written.x_px, part.x_px)
    for wrong in ((0, 0, 10), (0, 0, 1000, 10), (-1, 0, 10, 10), 5):
        with pytest.raises(glint.OptionError, match="region"):
            glint.localize(movie, psf, camera, region=wrong)


def test_maps_lie_under_whole_frames(simulated, psf):
    frames = np.asarray(simulated[0]).astype(np.float64)
    offset = np.zeros(frames.shape[1:]) + np.arange(frames.shape[2]) % 2 * 20
    moved = np.clip(frames + offset, 0, 65535).astype(np.uint16)
    camera = {"pixel_size_nm": 100, "gain": 0.5, "readnoise": 0.0}
    with_maps = glint.SCMOSCamera(offset=offset + 100, sensor_roi=(0, 0), **camera)
    plain = glint.SCMOSCamera(offset=100.0, **camera)
    part = glint.localize(moved, psf, with_maps, region=(21, 6, 40, 38))
    same = glint.localize(np.asarray(simulated[0]), psf, plain, region=(21, 6, 40, 38))
    assert len(part) == len(same)
    np.testing.assert_allclose(part.x_px, same.x_px, atol=1e-3)
    for size in (np.s_[:, :], np.s_[6:44, 21:61]):  # also maps of the region's size say nothing of where they lie
        with pytest.raises(glint.OptionError, match="give the camera's sensor_roi"):
            glint.localize(moved, psf, glint.SCMOSCamera(offset=(offset + 100)[size], **camera), region=(21, 6, 40, 38))
