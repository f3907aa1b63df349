"""Folders as movies: TIFF files in natural order, Micro-Manager's single images, and NDTiff that its own package
writes.
"""

import subprocess

import numpy as np
import pytest
import tifffile
from ndtiff import NDTiffDataset


def movie(frames, height=17, width=23, seed=5, dtype="uint16"):
    return np.random.default_rng(seed).integers(0, 250, (frames, height, width)).astype(dtype)


def refused(program, folder, *more):
    done = subprocess.run(
        [
            program,
            "localize",
            folder,
            "-o",
            folder.parent / "l.csv",
            "--sigma",
            "130nm",
            "--pixel-size",
            "100nm",
            "--offset",
            "0",
            "--gain",
            "1",
            *more,
        ],
        capture_output=True,
        text=True,
    )
    assert done.returncode in (2, 3), done.stderr
    return done.stderr


def test_files_in_natural_order(dump, tmp_path):
    frames = movie(23)
    folder = tmp_path / "images"
    folder.mkdir()
    for k, frame in enumerate(frames):
        tifffile.imwrite(folder / f"img_{k}.tif", frame)
    (folder / "notes.txt").write_text("no movie")
    (folder / "._img_1.tif").write_bytes(b"what a Mac leaves")
    facts, found = dump(folder)
    assert facts["name"] == "images"
    assert facts["warnings"] == ["images: 1 other file is ignored, being no TIFF by its name: notes.txt"]
    np.testing.assert_array_equal(found, frames)
    np.testing.assert_array_equal(dump(folder, 7)[1], frames)


def single_images(folder, frames, numbers):
    folder.mkdir()
    for k, number in enumerate(numbers):
        tifffile.imwrite(folder / f"img_{number:05}.tif", frames[k])
    return sorted(folder.iterdir())


@pytest.mark.parametrize("kept", [0, 100, -1])
def test_a_running_acquisition_gives_the_frames_before_the_last(dump, tmp_path, kept):
    frames = movie(9)
    files = single_images(tmp_path / "images", frames, range(9))
    files[-1].write_bytes(files[-1].read_bytes()[:kept])
    facts, found = dump(tmp_path / "images")
    np.testing.assert_array_equal(found, frames[:-1])
    assert len(facts["warnings"]) == 1 and "img_00008.tif" in facts["warnings"][0]
    assert facts["warnings"][0].endswith("it is the last file, and is left out")


def test_a_truncated_file_ends_the_movie(dump, tmp_path):
    frames = movie(40)
    files = single_images(tmp_path / "images", frames, range(40))
    for k in (20, 33):
        files[k].write_bytes(files[k].read_bytes()[:300])
    for _ in range(5):
        facts, found = dump(tmp_path / "images")
        np.testing.assert_array_equal(found, frames[:20])
        assert "img_00020.tif" in facts["warnings"][0] and facts["warnings"][0].endswith("the movie ends before it")
        assert facts["warnings"][1:] == [
            "images: 19 files behind img_00020.tif are left out, as the frames would get wrong numbers"
        ]


def test_a_truncated_file_of_several_pages_ends_the_movie(dump, tmp_path):
    frames = movie(15)
    (tmp_path / "parts").mkdir()
    for k in range(3):
        tifffile.imwrite(
            tmp_path / f"parts/part{k}.tif",
            frames[5 * k : 5 * k + 5],
            metadata=None,
            photometric="minisblack",
            contiguous=False,
        )
    middle = tmp_path / "parts/part1.tif"
    middle.write_bytes(middle.read_bytes()[:-600])
    facts, found = dump(tmp_path / "parts")
    assert 5 < len(found) < 10
    np.testing.assert_array_equal(found, frames[: len(found)])
    assert facts["warnings"][-1] == "parts: 1 file behind part1.tif is left out, as the frames would get wrong numbers"


@pytest.mark.parametrize(
    "numbers,message",
    [
        ([0, 1, 2, 4], "images: number 3 is missing among the names"),
        ([7, 8, 12, 13, 15], "images: 4 numbers are missing among the names (the first 9, the last 14)"),
        ([0, 10, 20, 40], "images: number 30 is missing among the names"),
        ([0, 10, 20, 30], None),
        ([3, 4, 5], None),
    ],
)
def test_numbers_missing_among_the_names(dump, tmp_path, numbers, message):
    frames = movie(len(numbers))
    single_images(tmp_path / "images", frames, numbers)
    facts, found = dump(tmp_path / "images")
    np.testing.assert_array_equal(found, frames)
    assert facts["warnings"] == ([message + ", and frames behind a gap have too small numbers"] if message else [])


@pytest.mark.parametrize("dtype,compression", [("uint8", None), ("uint16", "zlib"), ("float32", "lzw")])
def test_files_of_several_pages(dump, tmp_path, dtype, compression):
    frames = movie(12, dtype=dtype)
    folder = tmp_path / "parts"
    folder.mkdir()
    for k, end in enumerate((5, 9, 12)):
        tifffile.imwrite(
            folder / f"part{k + 8}.tiff",
            frames[[0, 5, 9][k] : end],
            compression=compression,
            photometric="minisblack",
            metadata=None,
        )
    np.testing.assert_array_equal(dump(folder)[1], frames)


def test_a_file_of_another_size_is_named(program, tmp_path):
    folder = tmp_path / "images"
    folder.mkdir()
    for k in range(3):
        tifffile.imwrite(folder / f"{k}.tif", movie(1, width=23 if k != 1 else 24)[0])
    assert "1.tif: has 24x17 px" in refused(program, folder)
    empty = tmp_path / "empty"
    empty.mkdir()
    assert "empty: is a folder without TIFF or PNG files" in refused(program, empty)


def test_single_images_of_micromanager(dump, program, tmp_path):
    frames = movie(2 * 3 * 4).reshape(4, 3, 2, 17, 23)  # time, z, channel
    for style in ("img_channel{c:03}_position000_time{t:09}_z{z:03}.tif", "img_{t:09}_{name}_{z:03}.tif"):
        folder = tmp_path / style[4:7].strip("{:")
        folder.mkdir()
        for t, z, c in np.ndindex(4, 3, 2):
            tifffile.imwrite(folder / style.format(t=t, z=z, c=c, name=["Cy3", "GFP b"][c]), frames[t, z, c])
        for z, c in np.ndindex(3, 2):
            np.testing.assert_array_equal(dump(folder, z=z, channel=c)[1], frames[:, z, c])
        assert "3 z planes and 2 channels" in refused(program, folder)
    np.testing.assert_array_equal(dump(folder, z=1, channel="GFP b")[1], frames[:, 1, 1])


def ndtiff(folder, frames, axes, **options):
    """Writes frames whose leading dimensions are `axes`."""
    data = NDTiffDataset(str(folder), name="run", summary_metadata={"a": 1}, writable=True, **options)
    for place in np.ndindex(frames.shape[:-2]):
        named = {axis: (["Cy3", "GFP"][k] if axis == "channel" else k) for axis, k in zip(axes, place)}
        data.put_image(named, frames[place], {"PixelSizeUm": 0.108, "Exposure-ms": 20.0, "Core-Camera": "Andor"})
    data.finish()
    data.close()


# Frames beyond the 8 kB that Python keeps back, since the package reads its file while it writes it; it writes uint16
# alone.
LARGE = {"height": 70, "width": 90}


def test_ndtiff(dump, program, tmp_path):
    frames = movie(24, **LARGE).reshape(4, 3, 2, 70, 90)
    ndtiff(tmp_path, frames, ("time", "z", "channel"))
    folder = next(path.parent for path in tmp_path.rglob("NDTiff.index"))
    for z, c in np.ndindex(3, 2):
        facts, found = dump(folder, z=z, channel=["Cy3", "GFP"][c])
        np.testing.assert_array_equal(found, frames[:, z, c])
        assert (
            facts["pixel_size_nm"] == pytest.approx(108) and facts["exposure_ms"] == 20 and facts["camera"] == "Andor"
        )
    assert "3 z planes and 2 channels" in refused(program, folder) and "Cy3" in refused(program, folder)
    judge = NDTiffDataset(str(folder))
    np.testing.assert_array_equal(judge.read_image(time=2, z=1, channel="GFP"), frames[2, 1, 1])
    tiff = next(folder.glob("*.tif"))
    np.testing.assert_array_equal(dump(tiff, z=1, channel="GFP")[1], frames[:, 1, 1])


def test_ndtiff_with_an_image_acquired_again(dump, tmp_path):
    frames = movie(5, **LARGE)
    data = NDTiffDataset(str(tmp_path), name="run", summary_metadata={}, writable=True)
    for t in (0, 1, 2, 3, 1):
        data.put_image({"time": t}, frames[4] if t == 1 and data.has_image(time=3) else frames[t], {})
    data.finish()
    data.close()
    folder = next(path.parent for path in tmp_path.rglob("NDTiff.index"))
    judge = NDTiffDataset(str(folder))
    found = dump(folder)[1]
    np.testing.assert_array_equal(found, [judge.read_image(time=t) for t in range(4)])
    np.testing.assert_array_equal(found[1], frames[4])


def test_ndtiff_whose_frames_have_an_axis_of_another_name(dump, program, tmp_path):
    frames = movie(6, **LARGE)
    ndtiff(tmp_path / "one", frames.reshape(3, 2, 70, 90), ("repetition", "channel"))
    folder = next(path.parent for path in (tmp_path / "one").rglob("NDTiff.index"))
    judge = NDTiffDataset(str(folder))
    for channel in ("Cy3", "GFP"):
        np.testing.assert_array_equal(
            dump(folder, channel=channel)[1], [judge.read_image(repetition=r, channel=channel) for r in range(3)]
        )
    ndtiff(tmp_path / "two", frames.reshape(3, 2, 70, 90), ("repetition", "exposure"))
    assert "beside others" in refused(program, next(path.parent for path in (tmp_path / "two").rglob("NDTiff.index")))


def test_positions_by_name(dump, tmp_path):
    frames = movie(12, **LARGE).reshape(3, 4, 70, 90)
    wells = ["A1", "A12", "B2"]
    data = NDTiffDataset(str(tmp_path), name="run", summary_metadata={}, writable=True)
    for p, t in np.ndindex(3, 4):
        data.put_image({"position": wells[p], "time": t, "channel": "Cy5"}, frames[p, t], {})
    data.finish()
    data.close()
    folder = next(path.parent for path in tmp_path.rglob("NDTiff.index"))
    for p, well in enumerate(wells):
        np.testing.assert_array_equal(
            NDTiffDataset(str(folder)).read_image(position=well, time=1, channel="Cy5"), frames[p, 1]
        )
        np.testing.assert_array_equal(dump(folder, position=well)[1], frames[p])
        np.testing.assert_array_equal(dump(folder, position=p, channel="Cy5")[1], frames[p])


def test_ndtiff_that_is_still_being_written(dump, tmp_path):
    """The last record of the index, and the last frame, may be incomplete."""
    frames = movie(9, **LARGE)
    ndtiff(tmp_path, frames, ("time",))
    folder = next(path.parent for path in tmp_path.rglob("NDTiff.index"))
    index = (folder / "NDTiff.index").read_bytes()
    (folder / "NDTiff.index").write_bytes(index[:-7])
    np.testing.assert_array_equal(dump(folder)[1], frames[:-1])
    tiff = next(folder.glob("*.tif"))
    tiff.write_bytes(tiff.read_bytes()[:50_000])
    facts, found = dump(folder)
    assert 0 < len(found) < 8 and "truncated" in facts["warnings"][-1]
    np.testing.assert_array_equal(found, frames[: len(found)])
