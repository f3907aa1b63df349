"""Reference test of `glint render`: Picasso's renderer, NumPy's histograms and Pillow."""

import json
import os
import subprocess

import h5py
import numpy as np
import pytest
import tifffile
import yaml
from picasso import io as picasso_io, render as picasso_render
from PIL import Image

WIDTH, HEIGHT, FRAMES, PIXEL_NM, ROWS = 32, 16, 500, 130.0, 20_000


def write(path, seed, rows=ROWS):
    random = np.random.default_rng(seed)
    table = np.zeros(
        rows, [("frame", "u4"), *((name, "f4") for name in ("x", "y", "photons", "sx", "sy", "bg", "lpx", "lpy", "z"))]
    )
    table["frame"] = np.sort(random.integers(0, FRAMES, rows))
    # Clusters, so that the picture has bright and dark parts
    centres = random.uniform([2, 2], [WIDTH - 2, HEIGHT - 2], (60, 2))[random.integers(0, 60, rows)]
    table["x"], table["y"] = np.clip(centres + random.normal(0, 0.8, (rows, 2)), 0.01, [WIDTH - 0.01, HEIGHT - 0.01]).T
    table["lpx"], table["lpy"] = random.uniform(0.25, 0.6, (2, rows))  # 2 to 4.8 picture pixels of 1/8 px
    table["z"] = random.uniform(-400, 400, rows)
    for name in ("photons", "sx", "sy", "bg"):
        table[name] = 1
    with h5py.File(path, "w") as file:
        file["locs"] = table
    path.with_suffix(".yaml").write_text(
        yaml.dump({"Width": WIDTH, "Height": HEIGHT, "Frames": FRAMES, "Pixelsize": PIXEL_NM})
    )
    return path


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    return write(tmp_path_factory.mktemp("render") / "locs.hdf5", 1)


# Picasso draws from x = 0, the centre of the first pixel: as a region that begins there.
VIEWS = [((0, 0), (HEIGHT, WIDTH)), ((3, 10.5), (9, 25))]


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("units", ["px", "nm"])
def test_histograms_are_picassos(glint, table, tmp_path, view, units):
    (y0, x0), (y1, x1) = view
    scale = PIXEL_NM if units == "nm" else 1
    glint(
        "render",
        table,
        "-o",
        tmp_path / "a.tif",
        "--mode",
        "histogram",
        "--zoom",
        8,
        f"--region={x0 * scale}:{x1 * scale}{units},{y0 * scale}{units}:{y1 * scale}{units}",
    )
    ours = tifffile.imread(tmp_path / "a.tif")
    locs, info = picasso_io.load_locs(str(table))
    count, theirs = picasso_render.render(locs, info, disp_px_size=PIXEL_NM / 8, viewport=view)
    assert ours.shape == theirs.shape and ours.sum() == count == theirs.sum()
    # Both compute in floats, each in its way: a position on the edge of two pixels may be in the other.
    assert np.abs(ours - theirs).sum() <= 2e-3 * count
    rows = h5py.File(table)["locs"][:]
    wanted, _, _ = np.histogram2d(
        (rows["y"].astype(float) - y0) * 8,
        (rows["x"].astype(float) - x0) * 8,
        bins=ours.shape,
        range=[(0, ours.shape[0]), (0, ours.shape[1])],
    )
    assert np.abs(ours - wanted).sum() <= 2e-3 * count


@pytest.mark.parametrize("view", VIEWS)
def test_gaussians_are_picassos(glint, table, tmp_path, view):
    (y0, x0), (y1, x1) = view
    glint("render", table, "-o", tmp_path / "a.tif", "--zoom", 8, f"--region={x0}:{x1}px,{y0}:{y1}px")
    ours = tifffile.imread(tmp_path / "a.tif")
    locs, info = picasso_io.load_locs(str(table))
    # Picasso leaves out who lies outside, even if its blur reaches in: its part is cut from a larger one.
    margin = 5
    larger = ((y0 - margin, x0 - margin), (y1 + margin, x1 + margin))
    _, theirs = picasso_render.render(locs, info, disp_px_size=PIXEL_NM / 8, viewport=larger, blur_method="gaussian")
    theirs = theirs[8 * margin : -8 * margin, 8 * margin : -8 * margin]
    assert ours.shape == theirs.shape
    # Picasso takes the density at the pixel's centre, up to 3 widths from a dot; glint integrates over the pixel, up to
    # 4. The integral differs by the curvature,
    # 1/24 of a pixel squared over the width squared, along each axis: 2 % of the peak for 2 pixels.
    assert np.abs(ours - theirs).max() < 0.03 * theirs.max()
    assert np.corrcoef(ours.ravel(), theirs.ravel())[0, 1] > 0.999


def test_any_number_of_threads_gives_the_same_bytes(program, table, tmp_path):
    other = write(tmp_path / "other.hdf5", 2)
    for arguments in (
        ["a.png"],
        ["a.tif"],
        ["z.png", "--color-z"],
        ["f.png", "--color-frame"],
        ["c.png", "--colors", "auto", other],
    ):
        written = []
        for threads in ("1", "7"):
            out = tmp_path / f"{threads}{arguments[0]}"
            subprocess.run(
                [program, "render", table, *arguments[1:], "-o", out, "-q"],
                check=True,
                stdout=subprocess.DEVNULL,
                env={**os.environ, "GLINT_THREADS": threads},
            )
            written.append(out.read_bytes())
        assert written[0] == written[1], arguments


def test_colours_of_several_tables_are_those_of_each(glint, table, tmp_path):
    other = write(tmp_path / "other.hdf5", 2)
    view = ["--zoom", 6, "--no-scale-bar", "--region=2:20px,1:11px"]
    said = json.loads(glint("render", table, other, "-o", tmp_path / "both.png", "--colors=red,green", "--json", *view))
    assert said["localizations"] == 2 * ROWS and (said["width"], said["height"]) == (108, 60)
    both = np.array(Image.open(tmp_path / "both.png"))
    for channel, one in enumerate((table, other)):
        glint("render", one, "-o", tmp_path / "one.png", "--colormap", "gray", "--overwrite", *view)
        alone = np.array(Image.open(tmp_path / "one.png"))
        # A colour map has 256 steps
        np.testing.assert_allclose(both[..., channel].astype(int), alone[..., 0].astype(int), atol=1)
    assert not both[..., 2].any()


def test_frames_as_colours(glint, table, tmp_path):
    glint(
        "render",
        table,
        "-o",
        tmp_path / "f.png",
        "--color-frame",
        "--colormap",
        "gray",
        "--mode",
        "histogram",
        "--zoom",
        2,
        "--no-scale-bar",
        "--saturate",
        99.99,
        f"--region=0:{WIDTH}px,0:{HEIGHT}px",
    )  # all that is not empty at full brightness
    picture = np.array(Image.open(tmp_path / "f.png"))[..., 0].astype(float)
    rows = h5py.File(table)["locs"][:]
    place = [(rows["y"].astype(float) * 2), (rows["x"].astype(float) * 2)]
    shape = dict(bins=picture.shape, range=[(0, picture.shape[0]), (0, picture.shape[1])])
    count, _, _ = np.histogram2d(*place, **shape)
    frames, _, _ = np.histogram2d(*place, weights=rows["frame"], **shape)
    filled = count >= count[count > 0].min()
    mean = frames[filled] / count[filled] / (FRAMES - 1) * 255
    assert (np.abs(picture[filled] - mean) <= 1).mean() > 0.99  # but for rows on the edges of pixels
    assert not picture[count == 0].any()


def test_wrong_regions_are_explained(program, table, tmp_path):
    for region, words in [
        ("0:5,0:5", "with units"),
        ("5:1px,0:5px", "must be smaller than the second"),
        ("1:5px", "X:X,Y:Y"),
        ("a:5px,0:1px", "X:X,Y:Y"),
        ("0:5px,0:5kg", "--region"),
    ]:
        done = subprocess.run(
            [program, "render", table, "-o", tmp_path / "a.png", "--region", region], capture_output=True, text=True
        )
        assert done.returncode == 2 and words in done.stderr, (region, done.stderr)
    done = subprocess.run([program, "render", table, table, "-o", tmp_path / "a.tif"], capture_output=True, text=True)
    assert done.returncode == 2 and "-o PICTURE.png" in done.stderr
