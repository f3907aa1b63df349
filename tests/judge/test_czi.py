"""Reference test of CZI movies: pylibCZIrw, Zeiss's own library, writes and reads them."""

import itertools
import subprocess

import numpy as np
import pytest
from pylibCZIrw import czi

HI_LO = "zstd1:ExplicitLevel=2;PreProcess=HiLoByteUnpack"


def counts(dtype, *shape, seed=1):
    """Counts that compress a little and use every byte."""
    out = np.random.default_rng(seed).poisson(300, shape) * 37
    return (out / 7 if dtype == "float32" else out % 251 if dtype == "uint8" else out).astype(dtype)


def write(path, frames, compression="uncompressed:", names=None, pixel_m=65e-9, scenes=1):
    """`frames`: (t, z, c, y, x); of further scenes the same, plus their number, beside the first."""
    with czi.create_czi(str(path), compression_options=compression) as file:
        for scene, t, z, c in itertools.product(range(scenes), *(range(n) for n in frames.shape[:3])):
            file.write(
                frames[t, z, c] + np.array(scene, frames.dtype),
                plane={"T": t, "Z": z, "C": c},
                scene=scene,
                location=(scene * 1000, 0),
            )
        file.write_metadata("movie", channel_names=names, scale_x=pixel_m, scale_y=pixel_m)


def judged(path, t, c=0, z=0, scene=None):
    with czi.open_czi(str(path)) as file:
        return np.stack([file.read(plane={"T": k, "C": c, "Z": z}, scene=scene)[..., 0] for k in range(t)])


def inspect(program, path):
    return subprocess.run([program, "inspect", path], capture_output=True, text=True)


@pytest.mark.parametrize(
    "dtype,compression",
    list(
        itertools.product(
            ["uint8", "uint16", "float32"], ["uncompressed:", "zstd0:ExplicitLevel=1", "zstd1:ExplicitLevel=1", HI_LO]
        )
    ),
)
def test_types(dump, tmp_path, dtype, compression):
    if dtype != "uint16" and compression == HI_LO:
        compression = "zstd1:ExplicitLevel=3"
    frames = counts(dtype, 7, 1, 1, 19, 23)
    path = tmp_path / "movie.czi"
    write(path, frames, compression)
    facts, found = dump(path)
    np.testing.assert_array_equal(found, judged(path, 7).reshape(found.shape))
    np.testing.assert_array_equal(found, frames[:, 0, 0], "the reference reads what was written")
    assert facts["pixel_size_nm"] == pytest.approx(65)
    assert facts["warnings"] == [] and facts["planes"] == ""


@pytest.mark.parametrize("size", [(1, 1, 1), (1, 1, 5), (1000, 3, 2), (3, 1024, 1000)])
def test_sizes(dump, tmp_path, size):
    frames = counts("uint16", size[0], 1, 1, *size[1:])
    path = tmp_path / "movie.czi"
    write(path, frames, HI_LO)
    np.testing.assert_array_equal(dump(path)[1], frames[:, 0, 0])


def test_planes(dump, tmp_path):
    frames = counts("uint16", 4, 3, 2, 8, 9)
    path = tmp_path / "movie.czi"
    write(path, frames, names={0: "DAPI", 1: "α-GFP & more"}, scenes=2)
    for scene, z, c in itertools.product(range(2), range(3), range(2)):
        facts, found = dump(path, position=scene, z=z, channel=["DAPI", "α-GFP & more"][c])
        np.testing.assert_array_equal(found, judged(path, 4, c, z, scene).reshape(found.shape))
        np.testing.assert_array_equal(found, frames[:, z, c] + scene)
        assert facts["planes"] == f"position {scene}, z {z}, channel {c} ({['DAPI', 'α-GFP & more'][c]})"


def test_z_planes_are_the_frames_of_a_single_time(dump, tmp_path):
    frames = counts("uint16", 1, 5, 1, 8, 9)
    path = tmp_path / "movie.czi"
    write(path, frames)
    np.testing.assert_array_equal(dump(path)[1], frames[0, :, 0])


def test_a_choice_is_asked_for(program, tmp_path):
    path = tmp_path / "movie.czi"
    write(path, counts("uint16", 2, 1, 2, 8, 9), names={0: "DAPI", 1: "GFP"})
    done = inspect(program, path)
    assert done.returncode != 0
    assert "has 2 channels, and a movie is one of them: choose by --channel 0 (DAPI) or 1 (GFP)" in done.stderr


@pytest.mark.parametrize(
    "change,message",
    [
        (
            lambda file: [file.write(counts("uint16", 8, 9), plane={"T": 0}, location=(x, 0)) for x in (0, 9)],
            "frame 0 is a mosaic of several tiles",
        ),
        (lambda file: file.write(counts("uint8", 8, 9, 3), plane={"T": 0}), "its pixels have colours"),
        (
            lambda file: [file.write(counts("uint16", 8, 9 + t), plane={"T": t}) for t in (0, 1)],
            "frame 1 has 10x8 px or another type of pixels, frame 0 9x8",
        ),
    ],
)
def test_refused(program, tmp_path, change, message):
    path = tmp_path / "movie.czi"
    with czi.create_czi(str(path)) as file:
        change(file)
    done = inspect(program, path)
    assert done.returncode == 3
    assert f"{path}: " in done.stderr and message in done.stderr


def test_a_file_that_lost_its_end_or_was_not_finished(dump, tmp_path):
    frames = counts("uint16", 20, 1, 1, 32, 32)
    path = tmp_path / "movie.czi"
    write(path, frames)
    raw = bytearray(path.read_bytes())
    raw[32 + 52 : 32 + 60] = bytes(8)  # the directory's place is written last
    (tmp_path / "open.czi").write_bytes(raw)
    facts, found = dump(tmp_path / "open.czi")
    np.testing.assert_array_equal(found, frames[:, 0, 0])
    assert "has no directory" in facts["warnings"][0]
    (tmp_path / "cut.czi").write_bytes(raw[: len(raw) // 2])
    facts, found = dump(tmp_path / "cut.czi")
    assert 5 <= len(found) < 20
    np.testing.assert_array_equal(found, frames[: len(found), 0, 0])
