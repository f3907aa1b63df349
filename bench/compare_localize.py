#!/usr/bin/env python3
"""Whole movies on two cores: `glint localize` beside `picasso localize` with its MLE, and memory on a large movie."""

import argparse
import json
import pathlib
import shutil
import sys
import tempfile

import machine

CAMERA = {"offset": 100, "gain": 0.5, "pixel_nm": 100, "sigma_nm": 130}
FLAGS = [
    "--offset",
    CAMERA["offset"],
    "--gain",
    CAMERA["gain"],
    "--pixel-size",
    f"{CAMERA['pixel_nm']}nm",
    "--sigma",
    f"{CAMERA['sigma_nm']}nm",
]
FRAME_BYTES = 512 * 512 * 2
# Picasso's program without its search for a newer release, which needs a network and an additional package.
PICASSO = (
    "import runpy, sys, types; sys.modules['requests'] = types.ModuleType('requests'); "
    "runpy.run_module('picasso', run_name='__main__')"
)


def simulate(program, path, frames):
    """512x512 pixels, 50 spots a frame."""
    machine.run(
        [
            program,
            "simulate",
            "-o",
            path,
            "--structure",
            "random",
            "--size",
            512,
            "--frames",
            frames,
            "--spots",
            50,
            *FLAGS,
        ],
        cores=2,
    )


def glint(program, movie):
    """Frames/s and localizations; the movie was read once before, so it lies in the page cache."""
    command = [
        program,
        "localize",
        movie,
        "-o",
        movie.with_suffix(".glint.hdf5"),
        "--overwrite",
        "--roi",
        7,
        "--threads",
        2,
        "--json",
        *FLAGS,
    ]
    machine.run(command, cores=2)
    out, seconds = machine.run(command, cores=2)
    result = json.loads(out)
    return result["frames"] / seconds, result["localizations"]


def picasso(movie, frames):
    """Returns frames/s of its program with its start, without drift correction.

    Only the second run counts, as the first one compiles.
    """
    command = [
        sys.executable,
        "-c",
        PICASSO,
        "localize",
        movie,
        "-a",
        "mle-spherical",
        "-b",
        7,
        "-g",
        5000,
        "-bl",
        CAMERA["offset"],
        "-s",
        CAMERA["gain"],
        "-ga",
        1,
        "-qe",
        1,
        "-px",
        CAMERA["pixel_nm"],
        "-d",
        0,
    ]
    machine.run(command, cores=2)
    _, seconds = machine.run(command, cores=2)
    return frames / seconds


def memory(program, folder, frames):
    """Peak memory of localizing a large movie."""
    movie = folder / "large.tif"
    simulate(program, movie, frames)
    size = movie.stat().st_size
    peak = machine.peak_bytes([program, "localize", movie, "-o", folder / "large.hdf5", "--quiet", *FLAGS])
    movie.unlink()
    return {"movie_bytes": size, "frames": frames, "peak_bytes": peak}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", default=machine.ROOT / "build/release/bin/glint", help="glint")
    parser.add_argument("--frames", type=int, default=300, help="frames of the movie that both localize")
    parser.add_argument("--long", type=int, default=4000, help="frames of the movie that glint alone localizes")
    parser.add_argument(
        "--large",
        type=int,
        default=(4 << 30) // FRAME_BYTES + 1,
        help="frames of the movie for the peak memory; default: just above 4 GiB; 0: none",
    )
    parser.add_argument("--folder", help="for the movies; default: the system's")
    parser.add_argument("--json", help="file for the results")
    options = parser.parse_args()

    result = {"frames": options.frames, "long_frames": options.long}
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = pathlib.Path(name)
        large_bytes, free_bytes = options.large * FRAME_BYTES, shutil.disk_usage(folder).free
        if large_bytes > 0.7 * free_bytes:
            print(f"no peak memory: {folder.parent} has no room for a movie of {large_bytes / 2**30:.1f} GiB; --folder")
        elif large_bytes:
            result["memory"] = memory(options.program, folder, options.large)
            print(
                f"peak memory on a movie of {result['memory']['movie_bytes'] / 2**30:.1f} GiB: "
                f"{result['memory']['peak_bytes'] / 2**20:.0f} MiB",
                flush=True,
            )
        simulate(options.program, folder / "long.tif", options.long)
        result["long_frames_per_s"], _ = glint(options.program, folder / "long.tif")
        print(f"glint, {options.long} frames: {result['long_frames_per_s']:,.0f} frames/s", flush=True)
        simulate(options.program, folder / "movie.tif", options.frames)
        result["frames_per_s"], _ = glint(options.program, folder / "movie.tif")
        print(f"glint, {options.frames} frames: {result['frames_per_s']:,.0f} frames/s", flush=True)
        result["picasso_frames_per_s"] = picasso(folder / "movie.tif", options.frames)
        result["ratio"] = result["long_frames_per_s"] / result["picasso_frames_per_s"]
        print(
            f"picasso, {options.frames} frames: {result['picasso_frames_per_s']:,.1f} frames/s\n"
            f"ratio, long movie: {result['ratio']:.0f}; same movie: "
            f"{result['frames_per_s'] / result['picasso_frames_per_s']:.0f}"
        )
    machine.write_json(options.json, {"compare_localize": result})


if __name__ == "__main__":
    main()
