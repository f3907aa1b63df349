"""Reference test of ROI stacks: NumPy, h5py and tifffile write them."""

import json
import os
import pathlib
import subprocess

import h5py
import numpy as np
import pytest
import tifffile

OFFSET, GAIN = 100, 0.5


@pytest.fixture(scope="session")
def dump(program, tmp_path_factory):
    """Reads a stack through roi_dump: (facts, photoelectrons as an array), or its message on an error."""
    folder = pathlib.Path(os.environ.get("GLINT_BIN", program.parent))

    def run(path, fails=False):
        pixels_path = tmp_path_factory.mktemp("pixels") / "pixels.bin"
        done = subprocess.run(
            [folder / "roi_dump", path, pixels_path, str(OFFSET), str(GAIN)], capture_output=True, text=True
        )
        if fails:
            assert done.returncode == 1
            return done.stderr
        assert (done.returncode, done.stderr) == (0, "")
        facts = json.loads(done.stdout)
        return facts, np.fromfile(pixels_path, np.float32).reshape(facts["count"], facts["size"], facts["size"])

    return run


def stack(dtype, n=70, size=9):
    counts = np.random.default_rng(1).poisson(120, (n, size, size))
    return (counts / 7 if np.dtype(dtype).kind == "f" else counts).astype(dtype)


def photoelectrons(counts):
    return (np.asarray(counts, np.float32) - np.float32(OFFSET)) * np.float32(GAIN)


@pytest.mark.parametrize("dtype", ["u1", "<u2", ">u2", "<i2", ">i4", "<f4", ">f4", "<f8", ">f8"])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
def test_npy(dump, tmp_path, dtype, order, version):
    counts = np.asarray(stack(dtype), order=order)
    with open(tmp_path / "rois.npy", "wb") as file:
        np.lib.format.write_array(file, counts, version=version)
    facts, found = dump(tmp_path / "rois.npy")
    assert facts == {"size": 9, "count": 70, "x_corner": [], "y_corner": [], "frame": []}
    np.testing.assert_array_equal(found, photoelectrons(counts))


@pytest.mark.parametrize(
    "array,part",
    [
        (np.zeros((4, 7, 7), np.complex64), "<c8"),
        (np.zeros((4, 7, 7), "u1,u1"), "structured"),
        (np.zeros((4, 7, 8)), "(4, 7, 8)"),
        (np.zeros((4, 2, 2)), "(4, 2, 2)"),
        (np.zeros((4, 32, 32)), "(4, 32, 32)"),
        (np.zeros((0, 7, 7)), "(0, 7, 7)"),
        (np.zeros((7, 7)), "(7, 7)"),
        (np.full((2, 7, 7), None), "|O"),
    ],
)
def test_npy_refused(dump, tmp_path, array, part):
    np.save(tmp_path / "rois.npy", array)
    message = dump(tmp_path / "rois.npy", fails=True)
    assert "rois.npy" in message and part in message


def test_tiff(dump, tmp_path):
    counts = stack("uint16")
    tifffile.imwrite(tmp_path / "rois.tif", counts, compression="lzw")
    np.testing.assert_array_equal(dump(tmp_path / "rois.tif")[1], photoelectrons(counts))


@pytest.mark.parametrize("name", ["rois", "data"])
@pytest.mark.parametrize("dtype", ["u1", "<u2", ">i2", "<f4", ">f8"])
@pytest.mark.parametrize("options", [{}, {"chunks": (16, 9, 9), "compression": "gzip", "shuffle": True}])
def test_hdf5(dump, tmp_path, name, dtype, options):
    counts = stack(dtype)
    columns = {
        "x_corner": np.arange(70, dtype="i2"),
        "y_corner": np.arange(70, dtype=">f8") * 3,
        "frame": np.arange(70, dtype="u8") // 5,
    }
    with h5py.File(tmp_path / "rois.h5", "w") as file:
        file.create_dataset(name, data=counts, **options)
        for column, values in columns.items():
            file[column] = values
    facts, found = dump(tmp_path / "rois.h5")
    np.testing.assert_array_equal(found, photoelectrons(counts))
    for column, values in columns.items():
        assert facts[column] == [int(v) for v in values]


def test_hdf5_with_pixels_alone(dump, tmp_path):
    with h5py.File(tmp_path / "rois.h5", "w") as file:
        file["data"] = stack("u2")
    facts, _ = dump(tmp_path / "rois.h5")
    assert facts["x_corner"] == facts["y_corner"] == facts["frame"] == []


@pytest.mark.parametrize(
    "columns,part",
    [
        ({"x_corner": np.arange(70)}, "only one of"),
        ({"frame": np.arange(69)}, "(69)"),
        ({"frame": np.arange(70) - 1}, "is -1"),
        ({"frame": np.arange(70) + 0.5}, "is 0.5"),
        ({"frame": np.full(70, np.nan)}, "is nan"),
        ({"frame": np.full(70, 2.0**32)}, "no whole number"),
        ({"frame": np.full(70, b"text")}, "no numbers"),
    ],
)
def test_hdf5_refused(dump, tmp_path, columns, part):
    with h5py.File(tmp_path / "rois.h5", "w") as file:
        file["rois"] = stack("u2")
        for column, values in columns.items():
            file[column] = values
    message = dump(tmp_path / "rois.h5", fails=True)
    assert "rois.h5" in message and part in message


def test_hdf5_without_a_stack(dump, tmp_path):
    with h5py.File(tmp_path / "rois.h5", "w") as file:
        file["images"] = stack("u2")
    message = dump(tmp_path / "rois.h5", fails=True)
    assert "neither" in message and "images" in message


def test_truncated_stacks_are_refused(dump, tmp_path):
    with h5py.File(tmp_path / "rois.h5", "w") as file:
        file["rois"] = stack("u2")
    np.save(tmp_path / "rois.npy", stack("u2"))
    tifffile.imwrite(tmp_path / "rois.tif", stack("u2"), imagej=True)
    for name in ["rois.h5", "rois.npy", "rois.tif"]:
        size = (tmp_path / name).stat().st_size
        os.truncate(tmp_path / name, size // 3)
        message = dump(tmp_path / name, fails=True)
        assert name in message and "truncated" in message


@pytest.mark.parametrize("libver", ["earliest", ("v108", "v108"), ("v108", "v110"), ("v110", "latest"), "latest"])
@pytest.mark.parametrize("options", [{}, {"compression": "gzip", "shuffle": True, "chunks": (8, 9, 9)}])
def test_versions_of_hdf5(dump, tmp_path, libver, options):
    """Read as h5py does, or named for what it is: a file of a library newer than ours."""
    counts = stack("u2")
    with h5py.File(tmp_path / "rois.h5", "w", libver=libver) as file:
        file.create_dataset("rois", data=counts, **options)
    if "latest" not in libver:
        return np.testing.assert_array_equal(dump(tmp_path / "rois.h5")[1], photoelectrons(counts))
    try:
        np.testing.assert_array_equal(dump(tmp_path / "rois.h5")[1], photoelectrons(counts))
    except AssertionError:
        message = dump(tmp_path / "rois.h5", fails=True)
        assert "rois is a dataset of a version that HDF5" in message and "h5repack --low=0 --high=2" in message


def test_compression_that_is_not_installed_is_named(dump, tmp_path):
    with h5py.File(tmp_path / "rois.h5", "w") as file:
        file.create_dataset("rois", data=stack("u2"), compression="lzf")
    message = dump(tmp_path / "rois.h5", fails=True)
    assert "rois is compressed by lzf (HDF5 filter 32000)" in message and "h5repack -f NONE" in message
