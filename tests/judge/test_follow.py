"""--follow judged by movies that another process writes by tifffile, or leaves unfinished: the table is that of the file as it then is."""
import os
import subprocess
import sys

import pytest

h5py = pytest.importorskip("h5py")
tifffile = pytest.importorskip("tifffile")

PROGRAM = os.environ["GLINT_PROGRAM"]
FRAMES = 60
# The misfit is given, since it cannot be learnt from frames that have not come.
VALUES = ["--sigma", "130nm", "--pixel-size", "100nm", "--offset", "100", "--gain", "1", "--psf-misfit", "0.05", "--backend", "cpu", "-q"]

# A frame every 20 ms, flushed; "stay" writes half of them and then waits to be killed.
WRITER = """
import os, sys, time, tifffile
source, out, kind, end = sys.argv[1:]
frames = tifffile.imread(source)
if end == "stay":
    frames = frames[:len(frames) // 2]
if kind == "folder":
    os.mkdir(out)
    for k, frame in enumerate(frames):
        tifffile.imwrite(f"{out}/image_{k:04d}.tif", frame)
        time.sleep(0.02)
else:
    with tifffile.TiffWriter(out) as tif:
        for frame in frames:
            tif.write(frame, contiguous=False, metadata=None)
            tif._fh.flush()
            time.sleep(0.02)
        if end == "stay":
            print("written", flush=True)
            time.sleep(600)
if end == "stay":
    print("written", flush=True)
    time.sleep(600)
"""


def glint(*words):
    return subprocess.run([PROGRAM, *map(str, words)], check=True, capture_output=True, text=True)


def test_followed_movies_give_the_tables_of_the_finished_ones(tmp_path):
    source = tmp_path / "source.tif"
    glint("simulate", "-o", source, "--structure", "random", "--size", 64, "--frames", FRAMES, "--spots", 4, "--seed", 5, "-q")
    cases = [(kind, end) for kind in ("tiff", "folder") for end in ("close", "stay")]
    outs = {case: tmp_path / "_".join(case) for case in cases}
    for out in outs.values():
        out.mkdir()
    movies = {case: out / ("movie.tif" if case[0] == "tiff" else "movie") for case, out in outs.items()}
    writers, followers = {}, {}
    try:  # all at once: each waits for the end of its movie
        for case in cases:
            writers[case] = subprocess.Popen([sys.executable, "-c", WRITER, source, movies[case], *case], stdout=subprocess.PIPE, text=True)
            followers[case] = subprocess.Popen(
                [PROGRAM, "localize", movies[case], "-o", outs[case] / "followed.hdf5", *VALUES, "--follow", "--follow-timeout", "6"],
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for case in cases:
            if case[1] == "stay":
                assert writers[case].stdout.readline() == "written\n"
                writers[case].kill()
        for case in cases:
            _, errors = followers[case].communicate(timeout=60)
            assert followers[case].returncode == 0, (case, errors)
    finally:
        for process in [*writers.values(), *followers.values()]:
            process.kill()
            process.wait()
    for (kind, end), out in outs.items():
        glint("localize", movies[kind, end], "-o", out / "whole.hdf5", *VALUES)
        assert (out / "followed.hdf5").read_bytes() == (out / "whole.hdf5").read_bytes(), (kind, end)
        with h5py.File(out / "whole.hdf5") as table:
            frames = FRAMES if end == "close" else FRAMES // 2
            assert table["locs"]["frame"].max() >= frames - 5  # four molecules a frame: all five without one has odds of e^-20
