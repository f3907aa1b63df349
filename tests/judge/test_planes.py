"""Channels, z planes and positions of TIFFs that tifffile wrote: each choice gives that movie, pixel for pixel, and
none is mixed.
"""

import itertools
import subprocess

import numpy as np
import pytest
import tifffile

T, Z, C = 4, 3, 2


def planes(axes, seed=3):
    shape = [{"T": T, "Z": Z, "C": C}[axis] for axis in axes]
    return np.random.default_rng(seed).integers(0, 60000, (*shape, 11, 13), dtype=np.uint16)


def chosen(frames, axes, **choice):
    """The movie of a channel and a z plane: (frames, height, width)."""
    return frames[tuple(choice.get(axis, slice(None)) for axis in axes)]


@pytest.mark.parametrize("axes", ["TZC", "TC", "TZ", "ZC"])
def test_imagej_hyperstacks(dump, tmp_path, axes):
    frames = planes(axes)
    tifffile.imwrite(tmp_path / "m.tif", frames, imagej=True, metadata={"axes": axes + "YX"})
    check(dump, tmp_path / "m.tif", frames, axes)


@pytest.mark.parametrize("axes", ["".join(order) for n in (2, 3) for order in itertools.permutations("TZC", n)])
@pytest.mark.parametrize("big", [False, True])
def test_ome_in_every_order(dump, tmp_path, axes, big):
    frames = planes(axes)
    tifffile.imwrite(
        tmp_path / "m.ome.tif", frames, bigtiff=big, photometric="minisblack", metadata={"axes": axes + "YX"}
    )
    check(dump, tmp_path / "m.ome.tif", frames, axes)


def check(dump, path, frames, axes):
    channels = range(C) if "C" in axes else [None]
    slices = range(Z) if "Z" in axes and "T" in axes else [None]  # of a single time they are the frames
    for channel, z in itertools.product(channels, slices):
        choice = {"C": channel, "Z": z}
        given = {axis: k for axis, k in choice.items() if k is not None}
        facts, found = dump(path, 3, channel=channel, z=z)
        np.testing.assert_array_equal(found, chosen(frames, axes, **given))
        assert facts["warnings"] == []


def test_channels_by_name(dump, tmp_path):
    frames = planes("TC")
    tifffile.imwrite(
        tmp_path / "m.ome.tif",
        frames,
        photometric="minisblack",
        metadata={"axes": "TCYX", "Channel": {"Name": ["Cy3 & co", "AF647"]}},
    )
    np.testing.assert_array_equal(dump(tmp_path / "m.ome.tif", channel="AF647")[1], frames[:, 1])
    np.testing.assert_array_equal(dump(tmp_path / "m.ome.tif", channel="Cy3 & co")[1], frames[:, 0])


def test_positions_are_series(dump, tmp_path):
    frames = planes("T")
    with tifffile.TiffWriter(tmp_path / "m.ome.tif") as file:
        for k in range(3):
            file.write(frames + k, photometric="minisblack", metadata={"axes": "TYX"})
    for k in range(3):
        np.testing.assert_array_equal(dump(tmp_path / "m.ome.tif", position=k)[1], frames + k)


def test_without_a_choice_the_error_lists_them(program, tmp_path):
    tifffile.imwrite(tmp_path / "m.tif", planes("TZC"), imagej=True, metadata={"axes": "TZCYX"})
    done = subprocess.run(
        [
            program,
            "localize",
            "m.tif",
            "-o",
            "l.csv",
            "--sigma",
            "130nm",
            "--pixel-size",
            "100nm",
            "--offset",
            "0",
            "--gain",
            "1",
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2
    assert (
        "m.tif: has 3 z planes and 2 channels" in done.stderr
        and "--z 0 to 2" in done.stderr
        and "--channel 0" in done.stderr
    )
    done = subprocess.run(
        [
            program,
            "localize",
            "m.tif",
            "-o",
            "l.csv",
            "--sigma",
            "130nm",
            "--pixel-size",
            "100nm",
            "--offset",
            "0",
            "--gain",
            "1",
            "--z",
            "3",
            "--channel",
            "0",
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2 and "--z 3 is not there: give --z 0 to 2" in done.stderr
