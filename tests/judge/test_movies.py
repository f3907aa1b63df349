"""Reference test of TIFF movies: tifffile writes every kind of file, and all pixels must be equal."""

import itertools
import json
import os
import pathlib
import struct
import subprocess

import numpy as np
import pytest
import tifffile


def movie(dtype, frames=7, height=37, width=53, seed=1):
    """Counts that compress a little and use every byte."""
    counts = np.random.default_rng(seed).poisson(300, (frames, height, width)) * 37
    return (counts / 7 if dtype == "float32" else counts % 251 if dtype == "uint8" else counts).astype(dtype)


LAYOUTS = {"one strip": {}, "strips of 5 rows": {"rowsperstrip": 5}, "tiles": {"tile": (16, 32)}}


@pytest.mark.parametrize(
    "dtype,order,big,compression,layout",
    list(
        itertools.product(
            ["uint8", "uint16", "float32"], "<>", [False, True], [None, "lzw", "zlib", "packbits"], LAYOUTS
        )
    ),
)
def test_layouts(dump, tmp_path, dtype, order, big, compression, layout):
    frames = movie(dtype)
    predictors = [False] if compression in (None, "packbits") else [False, True]
    for predictor in predictors:
        path = tmp_path / f"movie{predictor}.tif"
        tifffile.imwrite(
            path,
            frames,
            byteorder=order,
            bigtiff=big,
            compression=compression,
            predictor=predictor,
            photometric="minisblack",
            metadata=None,
            **LAYOUTS[layout],
        )
        facts, found = dump(path)
        assert facts["warnings"] == []
        assert facts["pixel_size_nm"] is None
        np.testing.assert_array_equal(found, frames)


@pytest.mark.parametrize(
    "dtype,order,big", list(itertools.product(["uint8", "uint16", "float32"], "<>", [False, True]))
)
def test_packbits_with_a_predictor_is_refused(program, tmp_path, dtype, order, big):
    """tifffile adds the differences up, and libtiff does not: neither can be what glint takes silently."""
    path = tmp_path / "movie.tif"
    tifffile.imwrite(
        path,
        movie(dtype),
        byteorder=order,
        bigtiff=big,
        compression="packbits",
        predictor=True,
        photometric="minisblack",
        metadata=None,
    )
    done = subprocess.run(
        [pathlib.Path(os.environ.get("GLINT_BIN", program.parent)) / "movie_dump", path, tmp_path / "frames", "3"],
        capture_output=True,
        text=True,
    )
    assert done.returncode != 0
    assert "movie.tif: page 1 has a predictor" in done.stderr and "PackBits" in done.stderr


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "float32"])
def test_imagej(dump, tmp_path, dtype):
    frames = movie(dtype)
    tifffile.imwrite(
        tmp_path / "movie.tif",
        frames,
        imagej=True,
        resolution=(1 / 0.108, 1 / 0.108),
        metadata={"axes": "TYX", "unit": "um"},
    )
    facts, found = dump(tmp_path / "movie.tif")
    assert facts["warnings"] == []
    assert facts["pixel_size_nm"] == pytest.approx(108, abs=2e-4)
    np.testing.assert_array_equal(found, frames)


def test_imagej_stack_with_one_directory(dump, tmp_path):
    frames = movie("uint16")
    tifffile.imwrite(tmp_path / "movie.tif", frames, imagej=True, metadata={"axes": "TYX"}, truncate=True)
    with tifffile.TiffFile(tmp_path / "movie.tif") as file:
        assert len(file.pages) == 1
    np.testing.assert_array_equal(dump(tmp_path / "movie.tif")[1], frames)


@pytest.mark.parametrize("size,unit,nm", [(0.1, "µm", 100), (65, "nm", 65), (0.0001, "mm", 100), (1, "pixel", None)])
@pytest.mark.parametrize("big", [False, True])
def test_ome(dump, tmp_path, size, unit, nm, big):
    frames = movie("uint16")
    metadata = {
        "axes": "TYX",
        "PhysicalSizeX": size,
        "PhysicalSizeXUnit": unit,
        "PhysicalSizeY": size,
        "PhysicalSizeYUnit": unit,
    }
    tifffile.imwrite(tmp_path / "movie.ome.tif", frames, bigtiff=big, metadata=metadata)
    facts, found = dump(tmp_path / "movie.ome.tif")
    assert facts["warnings"] == []
    assert facts["pixel_size_nm"] == nm
    np.testing.assert_array_equal(found, frames)


def test_ome_pyramid(dump, tmp_path):
    """The smaller pictures stand in SubIFDs: they are no frames."""
    frames = movie("uint16", height=64, width=64)
    with tifffile.TiffWriter(tmp_path / "movie.ome.tif") as file:
        file.write(frames, subifds=1, tile=(32, 32), metadata={"axes": "TYX"})
        file.write(frames[:, ::2, ::2], subfiletype=1, tile=(32, 32))
    np.testing.assert_array_equal(dump(tmp_path / "movie.ome.tif")[1], frames)


def test_thumbnails_among_the_pages(dump, tmp_path):
    frames = movie("uint16")
    with tifffile.TiffWriter(tmp_path / "movie.tif") as file:
        for frame in frames:
            file.write(frame, metadata=None)
            file.write(frame[::4, ::4], subfiletype=1, metadata=None)
    np.testing.assert_array_equal(dump(tmp_path / "movie.tif")[1], frames)


def test_micromanager_pixel_size(dump, tmp_path):
    frames = movie("uint16")
    tag = (51123, "s", 0, json.dumps({"PixelSizeUm": 0.108, "Camera": "Andor", "Exposure-ms": 12.5}), True)
    with tifffile.TiffWriter(tmp_path / "movie.tif") as file:
        for frame in frames:
            file.write(frame, metadata=None, extratags=[tag], contiguous=False)
    facts, found = dump(tmp_path / "movie.tif")
    assert facts["pixel_size_nm"] == 108
    assert facts["exposure_ms"] == 12.5 and facts["camera"] == "Andor"
    np.testing.assert_array_equal(found, frames)


@pytest.mark.parametrize("order", "<>")
def test_channels_in_micromanager_s_summary(dump, tmp_path, order):
    """Behind the header stand the magic number and length of the summary; ImageJ's description says how planes follow
    each other.
    """
    frames = movie("uint16", frames=6, height=5, width=8)
    summary = json.dumps({"ChNames": ["Cy3", "GFP"]}).encode()
    text = b"ImageJ=1.53\nimages=6\nchannels=2\nframes=3\nhyperstack=true\n\0"
    first_page, text_at = 40 + 128, 40 + 128 + 2 + 9 * 12 + 4
    pixels_at = text_at + 128
    tags = [
        (256, 4, 1, 8),
        (257, 4, 1, 5),
        (258, 3, 1, 16),
        (259, 3, 1, 1),
        (262, 3, 1, 1),
        (270, 2, len(text), text_at),
        (273, 4, 1, pixels_at),
        (278, 4, 1, 5),
        (279, 4, 1, 80),
    ]
    page = (
        struct.pack(order + "H", len(tags))
        + b"".join(
            struct.pack(order + "HHI", *tag[:3])
            + struct.pack(order + ("I" if tag[1] != 3 else "HH"), *([tag[3]] if tag[1] != 3 else [tag[3], 0]))
            for tag in tags
        )
        + bytes(4)
    )
    head = ((b"II" if order == "<" else b"MM") + struct.pack(order + "HI", 42, first_page)).ljust(32, b"\0")
    head += struct.pack(order + "II", 2355492, len(summary)) + summary.ljust(128, b"\0")
    (tmp_path / "movie.tif").write_bytes(head + page + text.ljust(128, b"\0") + frames.astype(order + "u2").tobytes())
    np.testing.assert_array_equal(tifffile.imread(tmp_path / "movie.tif"), frames.reshape(3, 2, 5, 8))
    facts, found = dump(tmp_path / "movie.tif", channel="GFP")
    np.testing.assert_array_equal(found, frames[1::2])
    assert facts["planes"] == "channel 1 (GFP)"


@pytest.mark.parametrize("order", "<>")
def test_exposure_in_imagej_s_info(dump, tmp_path, order):
    tifffile.imwrite(
        tmp_path / "movie.tif",
        movie("uint16"),
        imagej=True,
        byteorder=order,
        metadata={"axes": "TYX", "Info": 'Frame: 0\n"Exposure-ms": 33.5,\nµ'},
    )
    assert dump(tmp_path / "movie.tif")[0]["exposure_ms"] == 33.5


@pytest.mark.parametrize("unit,ms", [("s", 20), ("ms", 0.02), ("µs", 0.00002)])
def test_ome_exposure(dump, tmp_path, unit, ms):
    tifffile.imwrite(
        tmp_path / "movie.ome.tif",
        movie("uint16"),
        metadata={"axes": "TYX", "Plane": {"ExposureTime": [0.02] * 7, "ExposureTimeUnit": [unit] * 7}},
    )
    assert dump(tmp_path / "movie.ome.tif")[0]["exposure_ms"] == pytest.approx(ms)


def test_resolution_in_inches_says_no_pixel_size(dump, tmp_path):
    tifffile.imwrite(tmp_path / "movie.tif", movie("uint16"), resolution=(72, 72), resolutionunit="INCH", metadata=None)
    assert dump(tmp_path / "movie.tif")[0]["pixel_size_nm"] is None


def test_many_pages(dump, tmp_path):
    frames = movie("uint8", frames=20000, height=4, width=4)
    tifffile.imwrite(tmp_path / "movie.tif", frames, photometric="minisblack", metadata=None)
    np.testing.assert_array_equal(dump(tmp_path / "movie.tif", frames_per_block=1000)[1], frames)


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "float32"])
@pytest.mark.parametrize("pixel_size_um", [0.108, None])
def test_written_movies(program, tmp_path, dtype, pixel_size_um):
    frames = movie(dtype)
    known = {} if pixel_size_um is None else {"resolution": (1 / pixel_size_um,) * 2}
    unit = {} if pixel_size_um is None else {"unit": "um"}
    tifffile.imwrite(tmp_path / "movie.tif", frames, imagej=True, metadata={"axes": "TYX", **unit}, **known)
    copy = pathlib.Path(os.environ.get("GLINT_BIN", program.parent)) / "movie_copy"
    subprocess.run([copy, tmp_path / "movie.tif", tmp_path / "copy.tif", "2"], check=True)
    with tifffile.TiffFile(tmp_path / "copy.tif") as file:
        assert len(file.pages) == 14
        assert all(len(page.dataoffsets) == 1 and page.compression == 1 for page in file.pages)
        np.testing.assert_array_equal(file.asarray(), np.concatenate([frames, frames]))
        np.testing.assert_array_equal(np.stack([page.asarray() for page in file.pages][7:]), frames)
        assert file.imagej_metadata["images"] == 14
        assert file.imagej_metadata.get("unit") == (None if pixel_size_um is None else "micron")
        if pixel_size_um is not None:
            per_um, unit_um = file.pages[0].tags["XResolution"].value
            assert unit_um / per_um == pytest.approx(pixel_size_um, rel=1e-6)


@pytest.mark.parametrize(
    "path",
    [
        "beads_astigmatic_zstack.tif",
        "sim_2d_low_density.tif",
        "sim_3d_astigmatic_low_density.tif",
        "single_molecules_pmhc.tif",
        "storm_microtubules_astigmatic.tif",
    ],
)
def test_real_movies(dump, data, path):
    facts, found = dump(data / path, frames_per_block=64)
    assert facts["warnings"] == []
    assert facts["pixel_size_nm"] is None, "none of these files says its pixel size"
    np.testing.assert_array_equal(found, tifffile.imread(data / path))


def test_picasso_raw(dump, data):
    facts, found = dump(data / "picasso_testdata.raw")
    assert (facts["frames"], facts["height"], facts["width"], facts["type"]) == (100, 32, 32, "uint16")
    assert facts["pixel_size_nm"] == 160
    raw = np.fromfile(data / "picasso_testdata.raw", "<u2").reshape(100, 32, 32)
    np.testing.assert_array_equal(found, raw)
