"""Files and tables: Picasso, h5py and tifffile read what glint writes, and write what glint reads."""

import os
import pickle
import warnings

import glint
import h5py
import numpy as np
import pytest
import tifffile
from conftest import same_table


@pytest.fixture(scope="session")
def locs(psf, camera, simulated):
    """Those that Picasso shows: it leaves out the outer half of the first pixel."""
    found = glint.localize(simulated.movie, psf, camera)
    return found[(found.x_px > 0) & (found.y_px > 0) & (found.x_px < 63) & (found.y_px < 47)]


@pytest.fixture(scope="session")
def locs_3d():
    psf = glint.AstigmaticXYZNB(sx0_nm=140, sy0_nm=135, gamma_nm=200, d_nm=290, z_min_nm=-400, z_max_nm=400)
    rois, _ = glint.simulate_rois(200, psf, glint.IdealCamera(100, 0, 1), size=13, z_range_nm=300)
    return glint.fit(rois, psf, glint.IdealCamera(100, 0, 1)).to_localizations()


def same_frame(frame, expected):
    assert list(frame.columns) == list(expected.columns)
    for name in frame.columns:
        np.testing.assert_array_equal(frame[name], expected[name], err_msg=name)


def test_picasso_saves_what_we_give_it(locs, locs_3d, tmp_path):
    from picasso import io

    for k, table in enumerate([locs, locs_3d]):
        frame, info = table.to_picasso()
        io.save_locs(str(tmp_path / f"{k}.hdf5"), frame, info)
        again, info_again = io.load_locs(str(tmp_path / f"{k}.hdf5"))
        assert len(again) == len(table)  # what Picasso does not believe it drops
        same_frame(again, frame)
        assert info_again == info
        back = glint.Localizations.from_picasso(again, info_again)
        same_table(back, glint.load_localizations(tmp_path / f"{k}.hdf5"))
        np.testing.assert_array_equal(back.x_px, table.x_px)
        assert (back.width, back.height, back.frames) == (table.width, table.height, table.frames)
        assert back.pixel_size_nm == 100


def test_picasso_reads_what_we_save(locs, locs_3d, tmp_path):
    from picasso import io

    for k, table in enumerate([locs, locs_3d]):
        table.save(tmp_path / f"{k}.hdf5")
        frame, info = io.load_locs(str(tmp_path / f"{k}.hdf5"))
        expected, expected_info = table.to_picasso()
        same_frame(frame, expected)
        assert info == expected_info


def test_h5py_sees_the_columns(locs, tmp_path):
    locs.save(tmp_path / "locs.hdf5")
    with h5py.File(tmp_path / "locs.hdf5") as file:
        rows = file["locs"][:]
    np.testing.assert_array_equal(rows["lpx"], locs.lpx_px)
    same_table(glint.Localizations.from_picasso(rows, locs.to_picasso()[1]), glint.load(tmp_path / "locs.hdf5"))


@pytest.mark.parametrize("name,tolerance_px", [("locs.hdf5", 0), ("locs.csv", 1e-4), ("locs.smlm.h5", 1e-5)])
def test_every_format_comes_back(locs, tmp_path, name, tolerance_px):
    locs.save(tmp_path / name)
    again = glint.load_localizations(tmp_path / name, pixel_size_nm=100)
    for column in ["frame", "x_px", "y_px"]:
        np.testing.assert_allclose(again[column], locs[column], atol=tolerance_px, err_msg=column)
    with pytest.raises(glint.OptionError, match="exists"):
        locs.save(tmp_path / name)
    locs[:5].save(tmp_path / name, overwrite=True)
    assert len(glint.load(tmp_path / name, pixel_size_nm=100)) == 5


def test_further_columns_are_kept(locs, tmp_path):
    more = glint.Localizations(
        {**locs.columns, "cluster": np.arange(len(locs), dtype=np.uint8), "quality": np.arange(len(locs)) / 1},
        width=64,
        height=48,
        frames=60,
    )
    more.save(tmp_path / "more.hdf5")
    again = glint.load(tmp_path / "more.hdf5")
    np.testing.assert_array_equal(again.cluster, np.arange(len(locs), dtype=np.uint8))
    assert again.cluster.dtype == np.int64 and again.quality.dtype == np.float64
    assert glint.merge([again, more]).cluster.dtype == again[:3].cluster.dtype == np.int64
    with pytest.raises(glint.OptionError, match="beyond 9007199254740992"):
        more["key"] = np.full(len(locs), 2**60)
    assert "cluster" in again.to_picasso()[0].columns
    assert again.pixel_size_nm == 0


def test_rows_are_chosen_by_conditions(locs, tmp_path):
    kept = glint.filter(locs, "photons > 500 and lpx_nm < 20", "frame >= 3")
    wanted = (locs.photons > 500) & (locs.lpx_nm < 20) & (locs.frame >= 3)
    assert 0 < wanted.sum() < len(locs)
    np.testing.assert_array_equal(kept.x_px, locs.x_px[wanted])
    assert kept.frames == locs.frames and "photons > 500 and lpx_nm < 20" in kept.history[-1]
    locs.save(tmp_path / "locs.hdf5")
    assert len(glint.filter(tmp_path / "locs.hdf5", "photons > 500 and lpx_nm < 20", "frame >= 3")) == wanted.sum()
    with pytest.warns(UserWarning, match="no row fulfils the conditions"):
        assert len(glint.filter(locs, "photons < 0")) == 0
    with pytest.raises(glint.OptionError, match=r"did you mean photons\?(.|\n)*\^\^\^"):
        glint.filter(locs, "fotons > 5")
    for wrong in [(), (3,), (["photons > 5"],)]:
        with pytest.raises(glint.OptionError, match="give one or more texts"):
            glint.filter(locs, *wrong)


def test_a_table_that_is_linked_already_is_reported(locs, tmp_path):
    linked, _ = glint.link(locs)
    for table in (linked, glint.Localizations(linked.columns, pixel_size_nm=100)):  # by its history, and by n and len
        with pytest.warns(UserWarning, match="its blinks were linked to one row each already"):
            glint.link(table)
        assert any("blinks were linked to one row each" in caveat for caveat in glint.resolution(table).caveats)


def test_a_table_of_ones_own():
    table = glint.Localizations({"frame": [3, 4], "x_px": [1, 2], "y_px": np.float64([3, 4])}, pixel_size_nm=160)
    assert table.frame.dtype == np.uint32 and table.x_px.dtype == np.float32
    assert repr(table) == "<Localizations: 2, pixel 160 nm>"
    for wrong, words in [
        ({"frame": [1]}, "x_px"),
        ({"frame": [1.5], "x_px": [1], "y_px": [1]}, "whole"),
        ({"frame": [-1], "x_px": [1], "y_px": [1]}, "whole"),
        ({"frame": [1], "x_px": ["a"], "y_px": [1]}, "x_px"),
        ({"frame": [1, 2], "x_px": [1], "y_px": [1]}, "one length"),
        ({"frame": [[1]], "x_px": [[1]], "y_px": [[1]]}, "one-dimensional"),
    ]:
        with pytest.raises(glint.OptionError, match=words):
            glint.Localizations(wrong)
    none = glint.Localizations({"frame": [], "x_px": [], "y_px": []})
    assert len(none) == 0 and none.to_pandas().shape == (0, 3)


def test_tables_travel(locs):
    same_table(pickle.loads(pickle.dumps(locs)), locs)


def test_nan_rows_are_left_out_with_a_warning(locs, tmp_path):
    frame, _ = locs.to_picasso()
    rows = frame.to_records(index=False)
    rows["x"][3] = np.nan
    with h5py.File(tmp_path / "nan.hdf5", "w") as file:
        file["locs"] = rows
    with pytest.warns(UserWarning, match="1 "):
        assert len(glint.load_localizations(tmp_path / "nan.hdf5")) == len(locs) - 1


def test_scores_against_the_truth(simulated, psf, camera, tmp_path):
    found, truth = glint.localize(simulated.movie, psf, camera), simulated.truth
    score = glint.score(found, truth)
    assert score.truths == len(truth) and score.localizations == len(found)
    assert score.recall == pytest.approx(score.matched / len(truth))
    assert score.recall > 0.8 and score.precision > 0.9 and score.rmse_z_nm is None
    assert glint.score(truth, truth).rmse_nm == 0
    assert np.isnan(glint.score(found, truth[:0]).recall) and np.isnan(glint.score(found[:0], truth).precision)
    glint.save_truth(tmp_path / "truth.csv", truth)
    again = glint.load_truth(tmp_path / "truth.csv", pixel_size_nm=100)
    np.testing.assert_allclose(again.sx_px, truth.sx_px, rtol=1e-6)
    assert glint.score(found, again).matched == score.matched
    with pytest.raises(glint.OptionError, match="pixel size"):
        glint.score(glint.Localizations(found.columns), truth)
    other = glint.Localizations(truth.columns, pixel_size_nm=130)
    with pytest.raises(glint.OptionError, match="locs has pixels of 100 nm and truth of 130 nm"):
        glint.score(found, other)
    other.save(tmp_path / "other.hdf5")
    with pytest.raises(glint.OptionError, match=r"locs has pixels of 100 nm and \S+other.hdf5 of 130 nm"):
        glint.score(found, tmp_path / "other.hdf5")
    for wrong in ({"radius_nm": -1}, {"axial_radius_nm": -1}, {"axial_radius_nm": np.inf}):
        with pytest.raises(glint.OptionError, match="radius of"):
            glint.score(found, truth, **wrong)


def test_frames_that_are_off_by_one_are_reported(simulated, psf, camera):
    truth = simulated.truth
    later = glint.Localizations({**truth.columns, "frame": truth.frame + 1}, pixel_size_nm=truth.pixel_size_nm)
    with pytest.warns(UserWarning, match="localizations 1 less, 100 % of the truth"):
        glint.score(later, truth)


def test_scores_have_all_figures(simulated, psf, camera):
    found, truth = glint.localize(simulated.movie, psf, camera), simulated.truth
    score = glint.score(found, truth, radius_nm=250)
    assert score.radius_nm == 250 and score.efficiency_axial is None and score.mad_over_crlb_z is None
    assert score.efficiency_lateral == pytest.approx(100 - np.hypot(100 - 100 * score.jaccard, score.rmse_nm))
    # Normal errors as stated, but for overlaps: the standard error of the scaled median absolute deviation is 1.166 /
    # sqrt(n).
    assert score.mad_over_crlb_x == pytest.approx(1, abs=0.1 + 4 * 1.166 / score.matched**0.5)
    bins = score.recall_by_neighbor
    assert sum(b.truths for b in bins) == score.truths and sum(b.matched for b in bins) == score.matched
    assert (
        bins[0].from_px == 0 and bins[-1].to_px == np.inf and all(a.to_px == b.from_px for a, b in zip(bins, bins[1:]))
    )
    assert bins[-1].recall == pytest.approx(bins[-1].matched / bins[-1].truths) and bins[-1].recall > 0.9
    assert score.emitters == len(np.unique([truth.x_px, truth.y_px], axis=1).T) < len(truth)  # molecules blink
    assert score.rmsmd_nm**2 == pytest.approx(
        np.average([score.rmsmd_truths_nm**2, score.rmsmd_localizations_nm**2], weights=[len(truth), len(found)]),
        rel=0.05,
    )
    assert score.rmsmd_map_nm < score.rmsmd_nm

    places = {"frame": [0, 0, 1], "x_px": [5, 9, 5], "y_px": [5, 5, 5], "z_nm": [0, 100, 0]}
    same = glint.Localizations(places, pixel_size_nm=100)
    score = glint.score(same, same)
    assert score.efficiency_lateral == score.efficiency_axial == score.efficiency_3d == 100
    assert score.emitters == 2 and score.rmsmd_map_nm == 0 and score.axial_radius_nm == 0
    assert np.isnan(score.std_over_crlb_x) and np.isnan(score.mad_over_crlb_z), "no precision is stated"
    nothing = glint.score(glint.Localizations({"frame": [], "x_px": [], "y_px": []}, pixel_size_nm=100), same)
    assert nothing.recall == 0 and np.isnan(nothing.rmse_nm) and np.isnan(nothing.recall_by_neighbor[0].recall)


def test_rois_from_files(counts, tmp_path):
    np.save(tmp_path / "rois.npy", counts)
    rois = glint.load(tmp_path / "rois.npy")
    np.testing.assert_array_equal(rois.pixels, counts)
    assert rois.corners is None and rois.frames is None
    with h5py.File(tmp_path / "rois.h5", "w") as file:
        file["rois"], file["x_corner"], file["y_corner"] = counts, np.arange(500), np.arange(500) * 2
        file["frame"] = np.arange(500) // 7
    rois = glint.load_rois(tmp_path / "rois.h5")
    np.testing.assert_array_equal(rois.corners, np.stack([np.arange(500), np.arange(500) * 2], axis=1))
    np.testing.assert_array_equal(rois.frames, np.arange(500) // 7)
    fits = glint.fit(rois, glint.GaussianXYNB(sigma_px=1.3), glint.IdealCamera(100, 100, 0.5))
    np.testing.assert_array_equal(fits.to_localizations(keep_failed=True).frame, rois.frames)


@pytest.mark.parametrize("wrong", [-1, 0, 1e-9, 1e9, float("nan")])
def test_pixels_that_no_camera_has_are_refused(simulated, tmp_path, wrong):
    with pytest.raises(glint.OptionError, match="pixel"):
        glint.save(tmp_path / "movie.tif", simulated.movie[:2], pixel_size_nm=wrong)
    assert not (tmp_path / "movie.tif").exists()
    (tmp_path / "l.csv").write_text("frame,x [nm],y [nm]\n1,100,100\n")
    if wrong:
        with pytest.raises(glint.OptionError, match="give 1 to 100000 nm"):
            glint.load_localizations(tmp_path / "l.csv", pixel_size_nm=wrong)


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "float32"])
def test_movies_are_written_as_tifffile_reads_them(simulated, tmp_path, dtype):
    movie = simulated.movie.clip(0, 255).astype(dtype)
    glint.save(tmp_path / "movie.tif", movie, pixel_size_nm=100)
    np.testing.assert_array_equal(tifffile.imread(tmp_path / "movie.tif"), movie)
    opened = glint.load(tmp_path / "movie.tif")
    assert opened.pixel_size_nm == pytest.approx(100)
    with pytest.raises(glint.OptionError, match="exists"):
        glint.save_movie(tmp_path / "movie.tif", movie)


def test_all_names_of_movies_are_known(simulated, tmp_path):
    for ending in (
        ".tif",
        ".tiff",
        ".stk",
        ".nd2",
        ".czi",
        ".ims",
        ".dax",
        ".spe",
        ".fits",
        ".fit",
        ".mat",
        ".raw",
        ".zarr",
    ):
        with pytest.raises(glint.InputError, match="none"):
            glint.load(tmp_path / f"none{ending}")
    for k, frame in enumerate(simulated.movie[:3]):
        tifffile.imwrite(tmp_path / f"img_{k}.tif", frame)
    assert glint.load(tmp_path).shape == simulated.movie[:3].shape


def test_cameras_from_files(tmp_path):
    (tmp_path / "camera.toml").write_text('pixel_size = "65nm"\noffset = 99\ngain = 0.6\nreadnoise = 1.6\n')
    camera = glint.load(tmp_path / "camera.toml")
    assert repr(camera) == "SCMOSCamera(pixel_size_nm=65, offset=99, gain=0.6, readnoise=1.6)"
    with h5py.File(tmp_path / "maps.hdf5", "w") as file:
        file["offset"], file["gain"] = np.full((40, 50), 99.0), np.full((40, 50), 0.5)
        file["readnoise"] = np.full((40, 50), 1.5)
    (tmp_path / "maps.toml").write_text('maps = "maps.hdf5"\n')
    camera = glint.load_camera(tmp_path / "maps.toml", pixel_size_nm=100)
    assert camera.offset.shape == (40, 50) and float(camera.gain[3, 4]) == 0.5
    with pytest.raises(glint.OptionError, match="pixel_size"):
        glint.load_camera(tmp_path / "maps.toml")
    (tmp_path / "em.toml").write_text(
        'maps = "maps.hdf5"\nkind = "emccd"\nem_gain = 200\nqe = 0.9\nsensor_roi = [3, 4]\n'
    )
    camera = glint.load_camera(tmp_path / "em.toml", pixel_size_nm=100)
    assert (camera.qe, camera.sensor_roi, camera.em_gain) == (pytest.approx(0.9), (3, 4), 200)
    (tmp_path / "dim.toml").write_text("offset = 99\ngain = 0.6\nqe = 0.5\n")
    assert glint.load_camera(tmp_path / "dim.toml", pixel_size_nm=100).qe == 0.5
    (tmp_path / "bad.toml").write_text("offset = 99\ngian = 0.6\n")
    with pytest.raises(glint.InputError, match="gian"):
        glint.load(tmp_path / "bad.toml")


def test_a_calibration_is_found_and_kept(tmp_path):
    lens = glint.AstigmaticXYZNB(sx0_nm=140, sy0_nm=135, gamma_nm=200, d_nm=300, z_min_nm=-500, z_max_nm=500)
    rng, z_step_nm, slices = np.random.default_rng(4), 20, 41
    y, x = np.mgrid[:64, :64]
    stack = np.empty((slices, 64, 64), np.uint16)
    for k in range(slices):
        z = (k - slices // 2) * z_step_nm
        mean = np.full((64, 64), 10.0)
        for by, bx in [(15.2, 15.7), (15.4, 47.9), (48.3, 16.1), (47.7, 48.6)]:
            sx, sy = lens.sigma_x_nm(z) / 100, lens.sigma_y_nm(z) / 100
            mean += 20000 / (2 * np.pi * sx * sy) * np.exp(-(((x - bx) / sx) ** 2) / 2 - ((y - by) / sy) ** 2 / 2)
        stack[k] = rng.poisson(mean)
    found = glint.calibrate_astigmatism(stack, glint.IdealCamera(100, 0, 1), z_step_nm=z_step_nm)
    assert found.beads == 4 and len(found.z_nm) <= slices and found.plot.shape[2] == 3
    for z in [-250, 0, 250]:  # pixels integrate: the widths come out a little wider than the stack's
        assert found.psf.sigma_x_nm(z) == pytest.approx(np.hypot(lens.sigma_x_nm(z), 100 / 12**0.5), rel=0.05)
    glint.save(tmp_path / "lens.toml", found)
    again = glint.load(tmp_path / "lens.toml")
    assert again.gamma_nm == pytest.approx(found.psf.gamma_nm, rel=1e-6)
    assert again.roi_size == found.psf.roi_size > 9 and again.pixel_size_nm == 100
    with pytest.warns(UserWarning, match="Use windows of 15 px, or calibrate with roi_size=9"):
        glint.localize(stack, again, glint.IdealCamera(100, 0, 1), roi_size=9)
    with pytest.warns(UserWarning, match="window of 9 px"):
        glint.fit(stack[:, 10:19, 10:19], again, glint.IdealCamera(100, 0, 1))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(glint.localize(stack, again, glint.IdealCamera(100, 0, 1))) > 2 * slices
    with pytest.raises(glint.InputError):
        glint.calibrate_astigmatism(stack[:3], glint.IdealCamera(100, 0, 1), z_step_nm=z_step_nm)


def test_pictures(locs, tmp_path):
    picture = glint.render(locs, tmp_path / "picture.png", zoom=8)
    assert picture.shape == (384, 512, 3) and picture.dtype == np.uint8
    np.testing.assert_array_equal(glint.load(tmp_path / "picture.png"), picture)
    density = glint.render(locs, tmp_path / "density.tif", zoom=8, mode="histogram")
    np.testing.assert_array_equal(tifffile.imread(tmp_path / "density.tif"), density)
    assert density.sum() == len(locs)
    y, x = np.floor((locs.y_px + 0.5) * 8).astype(int), np.floor((locs.x_px + 0.5) * 8).astype(int)
    np.testing.assert_array_equal(density, np.histogram2d(y, x, bins=[np.arange(385), np.arange(513)])[0])
    region = (-0.5, 7.5, 3.5, 9.5)  # on edges of picture pixels
    part = glint.render(locs, zoom=8, mode="histogram", density=True, region_px=region)
    np.testing.assert_array_equal(part, density[32:80, :64])
    both = glint.render([locs, locs[:10]], zoom=2, colors=["red", "blue"], scale_bar_nm=0)
    assert both[..., 0].any() and both[..., 2].any() and not both[..., 1].any()
    assert (glint.render(locs, color_frame=True, zoom=2) != glint.render(locs, zoom=2)).any()
    glint.save(tmp_path / "again.png", picture)
    assert (tmp_path / "again.png").stat().st_size > 0
    for wrong, words in [
        (dict(mode="box"), "'box'"),
        (dict(out=tmp_path / "a.jpg"), "a.jpg"),
        (dict(zoom=1e6), "zoom"),
        (dict(density=True, color_z=True), "color_z"),
        (dict(colormap="rainbow"), "rainbow"),
        (dict(color_z=True), "z"),
        (dict(color_z=True, color_frame=True), "give one of them"),
        (dict(region_px=(1, 0, 0, 1)), "begin below the end"),
    ]:
        with pytest.raises(glint.OptionError, match=words):
            glint.render(locs, **wrong)
    with pytest.warns(UserWarning, match=r"no localization lies in region_px=\(900, 990, 0, 1\)"):
        assert not glint.render(locs, region_px=(900, 990, 0, 1), zoom=2, scale_bar_nm=0, density=True).any()
    with pytest.warns(UserWarning, match="no localizations to draw"):
        assert not glint.render(locs[:0], zoom=2, density=True).any()
    with pytest.raises(glint.OptionError, match="no picture"):
        glint.save_picture(tmp_path / "b.png", np.zeros((3, 4, 5)))


def test_names_that_tell_nothing(locs, tmp_path):
    with pytest.raises(glint.OptionError, match="locs.xyz"):
        glint.load(tmp_path / "locs.xyz")
    with pytest.raises(glint.OptionError, match="locs.xyz"):
        glint.save(tmp_path / "locs.xyz", object())
    with pytest.raises(glint.InputError, match="none.toml"):
        glint.load(tmp_path / "none.toml")
    with pytest.raises(glint.OutputError):
        locs.save(tmp_path / "no" / "folder.hdf5")


def test_ome_sets_are_read_as_tifffile_reads_them(tmp_path):
    frames = np.random.default_rng(1).integers(0, 60000, (7, 12, 16)).astype("u2")
    names, parts = ["s0.ome.tif", "s1.ome.tif", "s2.ome.tif"], np.split(frames, [2, 5])
    planes = [(name, ifd) for name, part in zip(names, parts) for ifd in range(len(part))]
    data = "".join(
        f'<TiffData FirstT="{t}" IFD="{ifd}" PlaneCount="1"><UUID FileName="{name}">urn:uuid:{name}</UUID></TiffData>'
        for t, (name, ifd) in enumerate(planes)
    )
    for name, part in zip(names, parts):
        xml = (
            f'<OME xmlns="http://www.openmicroscopy.org/Schemas/OME/2016-06" '
            f'UUID="urn:uuid:{name}"><Image ID="Image:0">'
            '<Pixels ID="Pixels:0" DimensionOrder="XYZCT" Type="uint16" SizeX="16" SizeY="12" SizeZ="1" '
            'SizeC="1" SizeT="7">'
            f'<Channel ID="Channel:0:0" SamplesPerPixel="1"/>{data}</Pixels></Image></OME>'
        )
        tifffile.imwrite(tmp_path / name, part, description=xml, metadata=None, photometric="minisblack")
    paths = [tmp_path / name for name in names]
    with tifffile.TiffFile(paths[0]) as judge:
        np.testing.assert_array_equal(judge.series[0].asarray(), frames)
    for movie in (*paths, paths, paths[::-1], paths[:2]):
        np.testing.assert_array_equal(glint.open_movie(movie)[:], frames)
    paths[1].unlink()
    with pytest.raises(glint.InputError, match="frames of its movie are in s1.ome.tif.* as a list"):
        glint.localize(str(paths[2]), glint.GaussianXYNB(sigma_nm=130), glint.IdealCamera(100, 0, 1))


def test_an_em_gain_that_a_config_does_not_tell_is_asked_for(tmp_path):
    (tmp_path / "config.yaml").write_text(
        "Cameras: {iXon: {Baseline: 200, Pixelsize: 160, Sensitivity: 5.3, Gain Property Name: Gain}}\n"
    )
    with pytest.raises(glint.OptionError, match="lacks em_gain"):
        glint.load_camera(tmp_path / "config.yaml")
    assert glint.load_camera(tmp_path / "config.yaml", em_gain=300).em_gain == 300
    assert isinstance(glint.load_camera(tmp_path / "config.yaml", em_gain=1), glint.IdealCamera)


def test_accents_folder(tmp_path):
    for name, value in (("Baseline", 100), ("DC_per_sec", 20), ("RN_sq", 4), ("TN_sq_per_sec", 50), ("Gain", 2)):
        glint.save_movie(tmp_path / f"{name}.tiff", np.full((1, 6, 8), value, np.float32))
    with pytest.raises(glint.InputError, match="depend on the exposure"):
        glint.load_camera(tmp_path, pixel_size_nm=100)
    camera = glint.load_camera(tmp_path, pixel_size_nm=100, exposure_ms=100)
    assert np.all(camera.offset == 102) and np.all(camera.gain == 0.5) and np.allclose(camera.readnoise, 1.5)


def test_cameras_that_others_made(tmp_path):
    scipy_io = pytest.importorskip("scipy.io")
    maps = {
        "offset": np.arange(12.0).reshape(3, 4) + 100,
        "gain": np.full((3, 4), 2.0),
        "variance": np.full((3, 4), 16.0),
    }
    scipy_io.savemat(tmp_path / "maps.mat", maps)
    with pytest.raises(glint.InputError, match="does not state its unit"):
        glint.load_camera(tmp_path / "maps.mat", pixel_size_nm=100)
    camera = glint.load_camera(tmp_path / "maps.mat", pixel_size_nm=100, gain_unit="ADU/e-")
    np.testing.assert_array_equal(camera.offset, maps["offset"])
    assert np.all(camera.gain == 0.5) and np.all(camera.readnoise == 2)
    (tmp_path / "config.yaml").write_text(
        "Cameras:\n  A: {Baseline: 100, Pixelsize: 130, Sensitivity: {fast: 0.5, slow: 0.25}}\n"
        "  B: {Baseline: 99, Pixelsize: 100, Sensitivity: 2}\n"
    )
    assert glint.load(tmp_path / "config.yaml", name="A", settings=["slow"]).gain == 0.25
    for options, words in (
        ({}, 'give name with one of "A", "B"'),
        ({"name": "A"}, "give settings with one of"),
        ({"name": "C"}, 'name="C": .* no such camera'),
        ({"name": "B", "settings": ["slow"]}, r'settings=\["slow"\]: '),
        ({"name": "A", "settings": ["slow"], "gain_unit": "e-/ADU"}, 'gain_unit="e-/ADU"'),
        ({"name": "A", "settings": ["slow"], "em_gain": 3}, "leave it out"),
    ):
        with pytest.raises(glint.OptionError, match=words):
            glint.load_camera(tmp_path / "config.yaml", **options)
    for options in (
        {},
        {"name": "A"},
        {"name": "C"},
        {"name": "B", "settings": ["slow"]},
        {"name": 3},
        {"settings": "slow"},
    ):
        with pytest.raises(glint.OptionError):
            glint.load_camera(tmp_path / "config.yaml", **options)


def test_names_of_files_need_not_be_utf8(tmp_path, psf, camera, simulated):
    """Bytes of a name that are none are replacement characters in texts; the files are found by them."""
    name = os.path.join(tmp_path, os.fsdecode(b"m\xff\xfe"))
    glint.save_movie(name + ".tif", simulated.movie)
    assert glint.open_movie(name + ".tif").name == "m\ufffd\ufffd.tif"
    assert glint.inspect(name + ".tif").frames_read > 0
    for out in (name + ".hdf5", os.fsencode(name + "2.hdf5")):
        locs = glint.localize(name + ".tif", psf, camera, out=out)
        assert len(locs) > 0 and len(glint.load_localizations(out)) == len(locs)
    assert glint.score(os.fsdecode(out), name + ".hdf5").recall == 1
    with pytest.raises(glint.InputError, match="m\ufffd\ufffd.csv does not exist"):
        glint.load_localizations(name + ".csv")


def test_what_a_text_table_does_not_say(tmp_path):
    (tmp_path / "t.csv").write_text("frame,x [nm],y [nm],N\n5,150,250,700\n6,150,250,800\n")
    with pytest.warns(UserWarning, match="in frame 5: taken as counted from 1.*give first_frame=0"):
        assert glint.load_localizations(tmp_path / "t.csv", pixel_size_nm=100).frame.tolist() == [4, 5]
    table = glint.load(tmp_path / "t.csv", pixel_size_nm=100, first_frame=0, columns={"photons": "N"})
    assert table.frame.tolist() == [5, 6] and table.photons.tolist() == [700, 800]
    assert glint.load_truth(tmp_path / "t.csv", pixel_size_nm=100, first_frame=1).frame.tolist() == [4, 5]
    with pytest.raises(
        glint.OptionError, match='has no column "M", which was given for photons: its columns are frame'
    ):
        glint.load(tmp_path / "t.csv", pixel_size_nm=100, first_frame=0, columns={"photons": "M"})
    for wrong in (
        {"first_frame": 2},
        {"first_frame": 1.0},
        {"first_frame": True},
        {"columns": {"bg": 1}},
        {"columns": ["a"]},
    ):
        with pytest.raises(glint.OptionError, match=next(iter(wrong))):
            glint.load_localizations(tmp_path / "t.csv", pixel_size_nm=100, **wrong)
