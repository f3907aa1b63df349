#!/usr/bin/env python3
"""Measures `glint localize --follow` beside a simulated camera: another process (write_movie.py) writes 512x512 px at
100 frames/s. Prints the lag, and checks the table of the finished movie."""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import machine

EDGE, RATE, DISTINCT = 512, 100, 200  # the movie repeats this many frames
FLAGS = [
    "--sigma",
    "130nm",
    "--pixel-size",
    "100nm",
    "--offset",
    "100",
    "--gain",
    "1",
    "--psf-misfit",
    "0.05",
    "--backend",
    "cpu",
]
QUIET_S = 15  # seconds without a frame, including before the first, that end the movie
WRITER = pathlib.Path(__file__).with_name("write_movie.py")
# The path that the writer gets, and the path that glint opens.
NAMES = {
    "raw": ("movie.raw", "movie.raw"),
    "tif": ("movie.tif", "movie.tif"),
    "packed-tif": ("movie.tif", "movie.tif"),
    "mmstack": ("movie_MMStack_Pos0.ome.tif", "movie_MMStack_Pos0.ome.tif"),
    "ndtiff": ("movie", "movie_1"),
    "folder": ("movie", "movie"),
    "packed-folder": ("movie", "movie"),
}


def at(sorted_values, part):
    return sorted_values[min(int(part * len(sorted_values)), len(sorted_values) - 1)] if sorted_values else 0


def follow(program, source, folder, kind, frames, end):
    """Follows the movie while it is written: seconds from a frame's completion to its localization, by the lines on
    stdout.
    """
    written, movie = (folder / name for name in NAMES[kind])
    out = folder / "followed.hdf5"
    load = [os.getloadavg()[0]]
    follower = subprocess.Popen(
        [program, "localize", movie, "-o", out, *FLAGS, "--follow", "--follow-timeout", str(QUIET_S), "-q"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    writer = subprocess.Popen(
        [
            sys.executable,
            WRITER,
            source,
            written,
            "--kind",
            kind,
            "--frames",
            str(frames),
            "--rate",
            str(RATE),
            "--end",
            end,
            "--times",
        ],
        stdout=subprocess.PIPE,
        text=True,
    )
    lines = []
    for line in follower.stdout:
        status = json.loads(line)
        if "frames_there" in status:
            lines.append((time.time(), status["frame"], status["lag_s"]))
    times = [float(word) for word in writer.communicate()[0].split()]
    load.append(os.getloadavg()[0])
    errors = follower.stderr.read()
    if follower.wait() != 0:
        sys.exit(f"{movie}: followed with {follower.returncode}: {errors}")
    # While frames arrived: the age of the oldest complete frame that was not localized, and the lag that the line
    # reported.
    there = [(max(0, when - times[done]), said) for when, done, said in lines if times[0] < when < times[-1]]
    lags, errors_of_line = sorted(lag for lag, _ in there), sorted(abs(lag - said) for lag, said in there)
    return (
        movie,
        out,
        {
            "frames": len(times),
            "seconds": times[-1] - times[0],
            "lag_median_s": at(lags, 0.5),
            "lag_95_s": at(lags, 0.95),
            "lag_most_s": at(lags, 1),
            "line_off_median_s": at(errors_of_line, 0.5),
            "line_off_most_s": at(errors_of_line, 1),
            "load": load,
        },
    )


def same_as_finished(program, movie, followed):
    whole = followed.with_name("whole.hdf5")
    machine.run([program, "localize", movie, "-o", whole, *FLAGS, "-q"], cores=2)
    return followed.read_bytes() == whole.read_bytes()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", default=machine.ROOT / "build/release/bin/glint", help="glint")
    parser.add_argument("--seconds", type=float, default=60, help="length of each movie")
    parser.add_argument("--spots", type=int, default=50, help="molecules a frame")
    parser.add_argument(
        "--movies",
        nargs="+",
        choices=[*NAMES, "killed"],
        default=["raw", "tif", "mmstack", "ndtiff", "folder", "killed"],
        help="kinds; killed: a TIFF whose writer is",
    )
    parser.add_argument("--json", help="file for the results")
    options = parser.parse_args()
    frames, result = int(options.seconds * RATE), {}
    for name in options.movies:
        kind, end = ("tif", "killed") if name == "killed" else (name, "close")
        with tempfile.TemporaryDirectory() as place:
            folder = pathlib.Path(place)
            source = folder / "source.tif"
            machine.run(
                [
                    options.program,
                    "simulate",
                    "-o",
                    source,
                    "--structure",
                    "random",
                    "--size",
                    EDGE,
                    "--frames",
                    DISTINCT,
                    "--spots",
                    options.spots,
                    "-q",
                ],
                cores=2,
            )
            movie, followed, one = follow(options.program, source, folder, kind, frames, end)
            one["same"] = same_as_finished(options.program, movie, followed)
            result[name] = one
            print(
                f"{name}: {one['frames']} frames in {one['seconds']:.1f} s; lag {one['lag_median_s']:.2f} "
                f"s, 95 % {one['lag_95_s']:.2f} s, at most "
                f"{one['lag_most_s']:.2f} s (lag_s off by {one['line_off_median_s']:.2f} s, at most "
                f"{one['line_off_most_s']:.2f} s); load "
                f"{one['load'][0]:.1f} to {one['load'][1]:.1f}; {'the same table' if one['same'] else 'ANOTHER TABLE'}",
                flush=True,
            )
    machine.write_json(options.json, {"compare_follow": result})
    if not all(one["same"] for one in result.values()):
        sys.exit("a followed movie gave another table than the finished one")


if __name__ == "__main__":
    main()
