"""`glint localize --region`: what tifffile cuts out of the frames gives the same rows, in coordinates of the region."""

import subprocess

import h5py
import numpy as np
import pytest
import tifffile
import yaml

X, Y, W, H = 37, 11, 60, 45
CAMERA = ["--sigma", "1.3px", "--pixel-size", "100nm", "--offset", "100", "--gain", "1"]


@pytest.fixture(scope="module")
def movie(tmp_path_factory):
    """Molecules, and a hot column right beside the region."""
    random = np.random.default_rng(6)
    y, x = np.mgrid[:70, :120]
    frames = np.full((60, 70, 120), 20.0)
    for frame in frames:
        for _ in range(25):
            cx, cy = random.uniform(2, 117), random.uniform(2, 67)
            frame += 1500 / (2 * np.pi * 1.69) * np.exp(-((x - cx) ** 2 + (y - cy) ** 2) / (2 * 1.69))
    frames = (random.poisson(frames) + 100).astype(np.uint16)
    frames[:, :, X + W] = 4000
    path = tmp_path_factory.mktemp("movie") / "m.tif"
    tifffile.imwrite(path, frames, photometric="minisblack")
    tifffile.imwrite(
        path.with_name("cut.tif"), tifffile.imread(path)[:, Y : Y + H, X : X + W], photometric="minisblack"
    )
    return path


def rows_of(path):
    with h5py.File(path) as file:
        return file["locs"][:]


def localize(program, *arguments, **keywords):
    return subprocess.run(
        [program, "localize", *map(str, arguments), *CAMERA], capture_output=True, text=True, **keywords
    )


def same_but_moved(rows, cut):
    assert len(rows) == len(cut) > 300
    np.testing.assert_allclose(rows["x"], cut["x"] + np.float32(X), rtol=0, atol=1e-5)
    np.testing.assert_allclose(rows["y"], cut["y"] + np.float32(Y), rtol=0, atol=1e-5)
    for name in cut.dtype.names:
        if name not in ("x", "y"):
            np.testing.assert_array_equal(rows[name], cut[name], err_msg=name)


@pytest.mark.parametrize("more", [[], ["--threads", "1"], ["--emitters", "1"], ["--frames", "10:40"], ["--concat"]])
def test_rows_are_those_of_the_cut_movie(program, movie, tmp_path, more):
    whole = localize(program, movie, "-o", tmp_path / "r.hdf5", "--region", f"{X},{Y},{W},{H}", *more)
    assert whole.returncode == 0, whole.stderr
    assert f"region {X},{Y},{W},{H}" in whole.stdout + whole.stderr
    cut = localize(program, movie.with_name("cut.tif"), "-o", tmp_path / "c.hdf5", *more)
    assert cut.returncode == 0, cut.stderr
    if "--frames" in more:
        assert len(rows_of(tmp_path / "r.hdf5")) > 100 and rows_of(tmp_path / "r.hdf5")["frame"].min() >= 10
    else:
        same_but_moved(rows_of(tmp_path / "r.hdf5"), rows_of(tmp_path / "c.hdf5"))
    info = {key: value for step in yaml.safe_load_all((tmp_path / "r.yaml").read_text()) for key, value in step.items()}
    assert (info["Width"], info["Height"]) == (120, 70)
    assert info["Region (x, y, width, height)"] == [X, Y, W, H]


@pytest.mark.parametrize("ending", ["csv", "smlm.h5"])
def test_other_tables(program, glint, movie, tmp_path, ending):
    assert localize(program, movie, "-o", tmp_path / f"r.{ending}", "--region", f"{X},{Y},{W},{H}").returncode == 0
    assert localize(program, movie, "-o", tmp_path / "r.hdf5", "--region", f"{X},{Y},{W},{H}").returncode == 0
    more = ["--pixel-size", "100nm"] if ending == "csv" else []
    glint("convert", tmp_path / f"r.{ending}", "-o", tmp_path / "c.hdf5", *more)
    np.testing.assert_allclose(rows_of(tmp_path / "c.hdf5")["x"], rows_of(tmp_path / "r.hdf5")["x"], atol=1e-3)


def test_movies_that_are_still_written(program, movie, tmp_path):
    region = ["--region", f"{X},{Y},{W},{H}", "--psf-misfit", "0.05"]
    once = localize(program, movie, "-o", tmp_path / "once.hdf5", *region)
    follow = localize(program, movie, "-o", tmp_path / "follow.hdf5", "--follow", "--follow-timeout", "1", *region)
    assert once.returncode == 0 and follow.returncode == 0, once.stderr + follow.stderr
    np.testing.assert_array_equal(rows_of(tmp_path / "follow.hdf5")["x"], rows_of(tmp_path / "once.hdf5")["x"])
    done = subprocess.run(
        [program, "localize", "--stdin", "120x70", "uint16", "-o", tmp_path / "pipe.hdf5", *region, *CAMERA],
        input=tifffile.imread(movie).tobytes(),
        capture_output=True,
    )
    assert done.returncode == 0, done.stderr
    piped = rows_of(tmp_path / "pipe.hdf5")
    assert (
        len(piped) == len(rows_of(tmp_path / "once.hdf5")) and piped["x"].min() > X - 3 and piped["x"].max() < X + W + 3
    )


def test_maps_of_the_camera(program, movie, tmp_path):
    """The maps lie under whole frames."""
    offset = np.full((70, 120), 100.0)
    offset[:, ::2] = 90
    frames = tifffile.imread(movie) + (offset - 100).astype(np.int16)
    tifffile.imwrite(tmp_path / "m.tif", frames.astype(np.uint16), photometric="minisblack")
    with h5py.File(tmp_path / "maps.hdf5", "w") as file:
        file["offset"], file["gain"], file["readnoise"] = offset, np.ones((70, 120)), np.full((70, 120), 1.0)
    camera = ["--sigma", "1.3px", "--pixel-size", "100nm", "--camera", tmp_path / "maps.hdf5", "--gain-unit", "e-/ADU"]
    region = ["--region", f"{X},{Y},{W},{H}"]
    run = lambda *more: subprocess.run(
        [program, "localize", tmp_path / "m.tif", "-o", tmp_path / "r.hdf5", *camera, *region, *more],
        capture_output=True,
        text=True,
    )
    refused = run()
    assert refused.returncode == 2 and "give --sensor-roi X,Y" in refused.stderr
    assert run("--sensor-roi", "0,0").returncode == 0
    plain = rows_of(tmp_path / "r.hdf5")
    assert localize(program, movie, "-o", tmp_path / "p.hdf5", *region, "--readnoise", "1").returncode == 0
    np.testing.assert_allclose(np.median(plain["bg"]), np.median(rows_of(tmp_path / "p.hdf5")["bg"]), rtol=0.02)
    assert abs(len(plain) - len(rows_of(tmp_path / "p.hdf5"))) < 0.02 * len(plain)


def test_a_region_is_part_of_the_settings(program, movie, tmp_path):
    assert localize(program, movie, "-o", tmp_path / "r.hdf5", "--region", f"{X},{Y},{W},{H}").returncode == 0
    assert (
        localize(program, movie, "-o", tmp_path / "r.hdf5", "--region", f"{X},{Y},{W},{H}", "--resume").returncode == 0
    )
    other = localize(program, movie, "-o", tmp_path / "r.hdf5", "--region", f"{X + 1},{Y},{W},{H}", "--resume")
    assert other.returncode == 2 and "movie planes" in other.stderr


@pytest.mark.parametrize(
    "region,reason",
    [
        ("100,0,30,20", "is not inside its frames of 120x70 px"),
        ("0,0,0,10", "is not inside"),
        ("-1,0,10,10", "is not inside"),
        ("1,2,3", "expected X,Y,W,H"),
        ("a", "expected X,Y,W,H"),
        ("1,2,3,4,5", "expected X,Y,W,H"),
        ("0,0,2147483647,2147483647", "is not inside"),
    ],
)
def test_regions_that_are_none(program, movie, tmp_path, region, reason):
    done = localize(program, movie, "-o", tmp_path / "r.hdf5", "--region", region)
    assert done.returncode == 2 and reason in done.stderr


def test_inspect_and_preview(glint, movie, tmp_path):
    text = glint("inspect", movie, "--region", f"{X},{Y},{W},{H}", "--pixel-size", "100nm")
    assert f"--region {X},{Y},{W},{H}" in text
    glint("localize", movie, "--preview", 3, "-o", tmp_path / "p.png", "--region", f"{X},{Y},{W},{H}", *CAMERA)
