"""--follow on movies that another process writes, by tifffile, by Micro-Manager's package or in its layout, or leaves
unfinished: the table is that of the final file."""

import os
import pathlib
import subprocess
import sys

import pytest

h5py = pytest.importorskip("h5py")
pytest.importorskip("tifffile")
pytest.importorskip("ndtiff")

PROGRAM = os.environ["GLINT_PROGRAM"]
WRITER = pathlib.Path(__file__).parents[2] / "bench/write_movie.py"
FRAMES, FRAMES_A_FILE, EDGE = 60, 23, 64
VALUES = ["--sigma", "130nm", "--pixel-size", "100nm", "--offset", "100", "--gain", "1", "--backend", "cpu", "-q"]
# What the writer is given, and what glint opens.
NAMES = {
    "tif": ("movie.tif", "movie.tif"),
    "packed-tif": ("movie.tif", "movie.tif"),
    "folder": ("movie", "movie"),
    "packed-folder": ("movie", "movie"),
    "ndtiff": ("movie", "movie_1"),
    "mmstack": ("m_MMStack_Pos0.ome.tif", "m_MMStack_Pos0.ome.tif"),
}


def glint(*words):
    return subprocess.run([PROGRAM, *map(str, words)], check=True, capture_output=True, text=True)


def test_followed_movies_give_the_tables_of_the_finished_ones(tmp_path):
    source = tmp_path / "source.tif"
    glint(
        "simulate",
        "-o",
        source,
        "--structure",
        "random",
        "--size",
        EDGE,
        "--frames",
        FRAMES,
        "--spots",
        4,
        "--seed",
        5,
        "-q",
    )
    cases = [(kind, end) for kind in NAMES for end in ("close", "killed")]
    outs = {case: tmp_path / "_".join(case) for case in cases}
    writers, followers = {}, {}
    try:  # simultaneously: each waits for the end of its movie
        for kind, end in cases:
            out = outs[kind, end]
            out.mkdir()
            frames = FRAMES if end == "close" else FRAMES // 2
            writers[kind, end] = subprocess.Popen(
                [
                    sys.executable,
                    WRITER,
                    source,
                    out / NAMES[kind][0],
                    "--kind",
                    kind,
                    "--rate",
                    "50",
                    "--end",
                    end,
                    "--frames",
                    str(frames),
                    "--largest-file",
                    str(FRAMES_A_FILE * (EDGE * EDGE * 2 + 170)),
                ]
            )
            followers[kind, end] = subprocess.Popen(
                [
                    PROGRAM,
                    "localize",
                    out / NAMES[kind][1],
                    "-o",
                    out / "followed.hdf5",
                    *VALUES,
                    "--follow",
                    "--follow-timeout",
                    "10",
                ],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
        for case in cases:
            _, errors = followers[case].communicate(timeout=120)
            assert followers[case].returncode == 0, (case, errors)
            assert writers[case].wait() == (0 if case[1] == "close" else -9), case
    finally:
        for process in [*writers.values(), *followers.values()]:
            process.kill()
            process.wait()
    assert len(list(outs["mmstack", "close"].glob("*.tif"))) == 3
    for (kind, end), out in outs.items():
        glint("localize", out / NAMES[kind][1], "-o", out / "whole.hdf5", *VALUES)
        assert (out / "followed.hdf5").read_bytes() == (out / "whole.hdf5").read_bytes(), (kind, end)
        with h5py.File(out / "whole.hdf5") as table:
            frames = FRAMES if end == "close" else FRAMES // 2
            assert (
                table["locs"]["frame"].max() >= frames - 5
            )  # four molecules a frame: all five without one has odds of e^-20
