#!/usr/bin/env python3
"""`glint localize --follow` beside a camera: another process writes 512x512 px at 100 frames/s; lag, and the table of the finished movie."""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import time

import machine

EDGE, RATE, DISTINCT = 512, 100, 200  # the movie repeats so many frames
FLAGS = ["--sigma", "130nm", "--pixel-size", "100nm", "--offset", "100", "--gain", "1", "--psf-misfit", "0.05", "--backend", "cpu"]
QUIET_S = 15  # without a frame, or before the first: the movie's end

# Each frame at its time; the times that frames were complete go to stdout at the end, or before the writer kills itself.
WRITER = """
import os, signal, sys, time
import numpy as np, tifffile
source, out, frames, rate, end = sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4]), sys.argv[5]
distinct = [np.ascontiguousarray(frame) for frame in tifffile.imread(source)]
times, start = [], time.time()
if out.endswith(".raw"):
    file = open(out, "wb")
    write = lambda frame: (file.write(frame), file.flush())
else:
    tif = tifffile.TiffWriter(out, bigtiff=True)
    write = lambda frame: (tif.write(frame, contiguous=False, metadata=None), tif._fh.flush())
for k in range(frames):
    time.sleep(max(0, start + k / rate - time.time()))
    write(distinct[k % len(distinct)])
    times.append(time.time())
print(*times, flush=True)
if end == "killed":
    os.kill(os.getpid(), signal.SIGKILL)
"""


def written(movie, frames):
    """Picasso's description of a raw movie, which says how many frames there will be."""
    if movie.suffix == ".raw":
        movie.with_suffix(".yaml").write_text(
            f"Byte Order: <\nData Type: uint16\nFrames: {frames}\nHeight: {EDGE}\nWidth: {EDGE}\n")


def follow(program, source, movie, frames, end):
    """Follows the movie while it is written: seconds from a frame's completion to its localization, as the lines on stdout tell it."""
    out = movie.with_suffix(".followed.hdf5")
    if end == "close":
        written(movie, frames)
    follower = subprocess.Popen([program, "localize", movie, "-o", out, *FLAGS, "--follow", "--follow-timeout", str(QUIET_S), "-q"],
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    writer = subprocess.Popen([sys.executable, "-c", WRITER, source, movie, str(frames), str(RATE), end], stdout=subprocess.PIPE, text=True)
    lines = []
    for line in follower.stdout:
        status = json.loads(line)
        if "frames_there" in status:
            lines.append((time.time(), status["frame"]))
    times = [float(word) for word in writer.communicate()[0].split()]
    errors = follower.stderr.read()
    if follower.wait() != 0:
        sys.exit(f"{movie}: followed with {follower.returncode}: {errors}")
    # While frames came: for how long the oldest that was not localized had been complete.
    lags = sorted(max(0, when - times[done]) for when, done in lines if when < times[-1])
    return out, {"frames": len(times), "seconds": times[-1] - times[0], "lag_median_s": lags[len(lags) // 2] if lags else 0,
                 "lag_most_s": max(lags, default=0)}


def same_as_finished(program, movie, followed):
    whole = movie.with_suffix(".whole.hdf5")
    machine.run([program, "localize", movie, "-o", whole, *FLAGS, "-q"], cores=2)
    return followed.read_bytes() == whole.read_bytes()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", default=machine.ROOT / "build/release/bin/glint", help="glint")
    parser.add_argument("--seconds", type=float, default=60, help="length of each movie")
    parser.add_argument("--spots", type=int, default=50, help="molecules a frame")
    parser.add_argument("--json", help="file for the results")
    options = parser.parse_args()
    frames, result = int(options.seconds * RATE), {}
    for kind, end in (("tif", "close"), ("tif", "killed"), ("raw", "close")):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            source, movie = folder / "source.tif", folder / f"movie.{kind}"
            machine.run([options.program, "simulate", "-o", source, "--structure", "random", "--size", EDGE, "--frames", DISTINCT,
                         "--spots", options.spots, "-q"], cores=2)
            followed, one = follow(options.program, source, movie, frames, end)
            one["same"] = same_as_finished(options.program, movie, followed)
            result[f"{kind}, {end}"] = one
            print(f"{kind}, {end}: {one['frames']} frames in {one['seconds']:.1f} s; lag {one['lag_median_s']:.2f} s, at most "
                  f"{one['lag_most_s']:.2f} s; {'the same table' if one['same'] else 'ANOTHER TABLE'}", flush=True)
    machine.write_json(options.json, {"compare_follow": result})
    if not all(one["same"] for one in result.values()):
        sys.exit("a followed movie gave another table than the finished one")


if __name__ == "__main__":
    main()
