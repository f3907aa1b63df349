"""Movies of types, layouts and names that other programs and scripts write; NumPy, tifffile, h5py and SciPy are the
references.
"""

import json

import h5py
import numpy as np
import pytest
import scipy.io
import tifffile

TYPES = ["int8", "int16", "uint32", "int32", "uint64", "int64", "float16", "float32", "float64"]


def movie(dtype="uint16", frames=7, height=19, width=23):
    random = np.random.default_rng(4)
    if np.dtype(dtype).kind == "f":
        return random.normal(100, 300, (frames, height, width)).astype(dtype)
    low = 0 if np.dtype(dtype).kind == "u" else -100
    return random.integers(low, min(np.iinfo(dtype).max, 2**24), (frames, height, width), endpoint=True).astype(dtype)


def refused(dump, path):
    with pytest.raises(AssertionError) as error:
        dump(path)
    return str(error.value)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize(
    "how",
    [
        {},
        {"byteorder": ">"},
        {"compression": "zlib", "predictor": True},
        {"compression": "lzw", "byteorder": ">"},
        {"tile": (16, 16)},
        {"truncate": True},
        {"bigtiff": True},
    ],
)
def test_tiff_of_every_type(dump, tmp_path, dtype, how):
    frames = movie(dtype)
    if how.get("predictor") and (frames.dtype.itemsize == 8 or dtype == "float16"):
        pytest.skip("tifffile writes no such predictor")
    tifffile.imwrite(tmp_path / "m.tif", frames, photometric="minisblack", **how)
    facts, found = dump(tmp_path / "m.tif", 3)
    assert facts["type"] == "float32" and facts["warnings"] == []
    np.testing.assert_array_equal(found, tifffile.imread(tmp_path / "m.tif").astype("float32"))


def test_values_of_half_precision(dump, tmp_path):
    frames = np.arange(65536, dtype=np.uint16).view("float16").reshape(1, 256, 256)
    tifffile.imwrite(tmp_path / "m.tif", frames, photometric="minisblack")
    np.testing.assert_array_equal(dump(tmp_path / "m.tif")[1], frames.astype("float32"))
    np.save(tmp_path / "m.npy", frames)
    np.testing.assert_array_equal(dump(tmp_path / "m.npy")[1], frames.astype("float32"))


@pytest.mark.parametrize("dtype", ["uint8", "uint16", ">u2", ">f4", ">f8", *TYPES])
@pytest.mark.parametrize("shape", [(7, 19, 23), (7, 1, 19, 23), (7, 19, 23, 1)])
def test_npy(dump, tmp_path, dtype, shape):
    frames = movie(dtype)
    np.save(tmp_path / "m.npy", frames.reshape(shape))
    facts, found = dump(tmp_path / "m.npy", 3)
    np.testing.assert_array_equal(found, frames.astype(facts["type"]))
    assert facts["type"] == (dtype if dtype in ("uint8", "uint16") else "uint16" if dtype == ">u2" else "float32")


def test_npy_that_is_cut_off_or_no_movie(dump, tmp_path):
    frames = movie()
    np.save(tmp_path / "m.npy", frames)
    (tmp_path / "cut.npy").write_bytes((tmp_path / "m.npy").read_bytes()[: -19 * 23])
    facts, found = dump(tmp_path / "cut.npy")
    np.testing.assert_array_equal(found, frames[:-1])
    assert "truncated" in facts["warnings"][0]
    np.save(tmp_path / "one.npy", frames[0])
    np.testing.assert_array_equal(dump(tmp_path / "one.npy")[1], frames[:1])
    for wrong, reason in (
        (np.asfortranarray(frames), "Fortran's order"),
        (frames > 5, "type b1"),
        (frames[0, 0], "the shape (23)"),
        (frames.reshape(7, 19, 23)[None].repeat(2, 0), "the shape (2, 7, 19, 23)"),
    ):
        np.save(tmp_path / "w.npy", wrong)
        assert reason in refused(dump, tmp_path / "w.npy")
    np.savez(tmp_path / "m.npz", frames)
    assert "m.npz: is a ZIP archive, as NumPy's .npz is" in refused(dump, tmp_path / "m.npz")


@pytest.mark.parametrize("dtype", ["uint8", "uint16", ">u2", "int16", "uint32", "float32", "float64"])
@pytest.mark.parametrize(
    "storage", [{}, {"chunks": (1, 19, 23)}, {"chunks": (3, 8, 16), "compression": "gzip", "shuffle": True}]
)
@pytest.mark.parametrize("name", ["data", "ImageData", "a/b/exported_data"])
def test_hdf5(dump, tmp_path, dtype, storage, name):
    frames = movie(dtype)
    with h5py.File(tmp_path / "m.h5", "w") as file:
        file.create_dataset(name, data=frames, **storage)
        file["Events"] = np.zeros(3, [("a", "i4")])
        file["times"] = np.arange(7.0)
    facts, found = dump(tmp_path / "m.h5", 3)
    np.testing.assert_array_equal(found, frames.astype(facts["type"]))


def test_hdf5_with_dimensions_of_one_and_several_movies(dump, tmp_path):
    frames = movie()
    with h5py.File(tmp_path / "m.h5", "w") as file:
        file.create_dataset("cam1", data=frames[:, None], chunks=(2, 1, 8, 8))
    np.testing.assert_array_equal(dump(tmp_path / "m.h5")[1], frames)
    with h5py.File(tmp_path / "m.h5", "a") as file:
        file["g/cam2"] = frames + 1
    assert "has 2 positions" in refused(dump, tmp_path / "m.h5") and "(cam1) or 1 (g/cam2)" in refused(
        dump, tmp_path / "m.h5"
    )
    np.testing.assert_array_equal(dump(tmp_path / "m.h5", position="g/cam2")[1], frames + 1)
    with h5py.File(tmp_path / "none.h5", "w") as file:
        file["a"] = np.zeros((2, 3))
    assert "is an HDF5 file without a movie" in refused(dump, tmp_path / "none.h5")


@pytest.mark.parametrize("version", ["5", "7.3"])
def test_mat_with_a_dimension_of_one(dump, tmp_path, version):
    frames = movie()
    array = frames.transpose(1, 2, 0)[:, :, None, :]
    if version == "5":
        scipy.io.savemat(tmp_path / "m.mat", {"movie": array})
    else:
        with h5py.File(tmp_path / "m.mat", "w", userblock_size=512) as file:
            file.create_dataset("movie", data=array.T, chunks=(2, 1, 8, 8), compression="gzip").attrs[
                "MATLAB_class"
            ] = np.bytes_(b"uint16")
        with open(tmp_path / "m.mat", "r+b") as file:
            file.write(b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM")
    np.testing.assert_array_equal(dump(tmp_path / "m.mat")[1], frames)


def ome_of_cameras(times, order):
    placed = "".join(
        f'<TiffData IFD="{k}" FirstT="{t}" FirstC="{c}" FirstZ="0" PlaneCount="1"/>' for k, (t, c) in enumerate(order)
    )
    return (
        '<?xml version="1.0"?><OME xmlns="x"><Image ID="Image:0"><Pixels ID="Pixels:0" '
        'DimensionOrder="XYCZT" Type="uint16" SizeX="23" SizeY="19" '
        f'SizeC="1" SizeZ="1" SizeT="{times}"><Channel ID="Channel:0:0"/>{placed}</Pixels></Image></OME>'
    )


@pytest.mark.parametrize("times", [1, 4])
def test_two_cameras_in_one_channel(dump, tmp_path, times):
    frames = movie(frames=2 * times)
    order = [(t, c) for t in range(times) for c in range(2)]
    tifffile.imwrite(
        tmp_path / "m.ome.tif",
        frames,
        photometric="minisblack",
        description=ome_of_cameras(times, order).encode(),
        metadata=None,
    )
    assert "has 2 channels, and a movie is one of them" in refused(dump, tmp_path / "m.ome.tif")
    for c in range(2):
        np.testing.assert_array_equal(dump(tmp_path / "m.ome.tif", channel=c)[1], frames[c::2])


@pytest.mark.parametrize("positions", [["Pos0"], ["Pos0", "Pos1"], ["1-Pos_000_000", "1-Pos_000_001"]])
def test_folders_of_micro_manager_1_4(dump, tmp_path, positions):
    frames = movie()
    for k, name in enumerate(positions):
        (tmp_path / name).mkdir()
        for t, frame in enumerate(frames):
            tifffile.imwrite(tmp_path / name / f"img_{t:09d}_Default_000.tif", frame + k, metadata=None)
        facts = {
            "Summary": {"PixelSize_um": 0.108, "Frames": 7},
            "FrameKey-0-0-0": {"PixelSizeUm": 0.108, "Exposure-ms": 20},
        }
        (tmp_path / name / "metadata.txt").write_text(
            json.dumps(facts)[:-1]
        )  # not complete, as of a run that was stopped
    (tmp_path / "display_and_comments.txt").write_text("{}")
    for k, name in enumerate(positions):
        facts, found = dump(tmp_path, position=name if len(positions) > 1 else None)
        np.testing.assert_array_equal(found, frames + k)
        assert facts["pixel_size_nm"] == pytest.approx(108) and facts["exposure_ms"] == 20 and facts["warnings"] == []
    if len(positions) > 1:
        assert "has 2 positions" in refused(dump, tmp_path)


@pytest.mark.parametrize(
    "numbers",
    [
        [0.9, 1, 1.1, 1.25, 1.3, 2, 10, 10.05, 10.5],
        ["1", "1.1", "1.2", "1.9", "1.10", "1.11", "2"],
        ["0.0", "0.25", "0.5", "0.75", "1.0", "1.25"],
        ["a1", "a2", "a10"],
    ],
)
def test_names_with_decimal_times(dump, tmp_path, numbers):
    frames = movie(frames=len(numbers))
    for number, frame in zip(numbers, frames):
        tifffile.imwrite(
            tmp_path / f"t_{number}s.tif" if isinstance(number, str) else tmp_path / f"t_{number:g}.tif",
            frame,
            metadata=None,
        )
    np.testing.assert_array_equal(dump(tmp_path)[1], frames)


def test_spooled_frames_are_named(dump, program, tmp_path):
    (tmp_path / "0000000000spool.dat").write_bytes(bytes(1000))
    for path in (tmp_path, tmp_path / "0000000000spool.dat"):
        assert "that Andor Solis spooled" in refused(dump, path)
    (tmp_path / "acquisitionmetadata.ini").write_text("[data]\n")
    for path in (tmp_path, tmp_path / "0000000000spool.dat"):
        assert "does not say `AOIWidth`" in refused(dump, path)
