#!/usr/bin/env python3
"""Compares the noise check with the truth: how often `glint inspect` warns about a correct camera, and whether it names
the wrong value of an incorrect one.
"""

import argparse
import itertools
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import tifffile

import machine
from compare_estimates import CAMERAS

EDGE, FRAMES = 96, 100
STRUCTURES = ("flat", "uneven", "saturated", "crowded", "bright")
BACKGROUNDS = (5, 20, 60, 150)  # e- per pixel


def flags(offset, gain, readnoise, em_gain):
    return [
        "--offset",
        offset,
        "--gain",
        gain,
        "--readnoise",
        readnoise,
        *(["--em-gain", em_gain] if em_gain > 1 else []),
    ]


def simulate(program, movie, camera, background, structure, seed):
    spots, photons = (60 if structure == "crowded" else 10), ("2000:6000" if structure == "bright" else "500:2000")
    machine.run(
        [
            program,
            "simulate",
            "-o",
            movie,
            "--overwrite",
            "--structure",
            "random",
            "--size",
            EDGE,
            "--frames",
            FRAMES,
            "--spots",
            spots,
            "--photons",
            photons,
            "--background",
            background,
            "--seed",
            seed,
            "--quiet",
            *flags(*CAMERAS[camera]),
        ],
        cores=os.cpu_count(),
    )
    if structure not in ("uneven", "saturated"):
        return
    counts = tifffile.imread(movie)
    y, x = np.mgrid[:EDGE, :EDGE] / EDGE
    if structure == "saturated":
        counts[:, np.hypot(x - 0.5, y - 0.5) < 0.2] = 65535
    else:  # more light on one side, with its shot noise and that of an EM register
        _, gain, _, em_gain = CAMERAS[camera]
        random = np.random.default_rng(seed)
        electrons = random.poisson(2 * background * x, counts.shape).astype(float)
        if em_gain > 1:
            electrons = random.gamma(np.maximum(electrons, 1e-9))
        counts = np.clip(counts + np.rint(electrons * em_gain / gain), 0, 65535).astype(np.uint16)
    tifffile.imwrite(movie, counts, metadata=None)


def told(program, movie, *camera):
    """Warnings, and the likeliest mistake."""
    words = [program, "inspect", movie, "--pixel-size", "100nm", "--json", "--quiet", *flags(*camera)]
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, words))}\n{done.stderr}")
    return done.stderr, json.loads(done.stdout)["likeliest_mistake"]


def mistakes(camera):
    """Returns, for each possible mistake in this camera, the wrong values and a word of the correct answer."""
    offset, gain, readnoise, em_gain = CAMERAS[camera]
    wrong = {
        "offset 200 too high": ((offset + 200, gain, readnoise, em_gain), "the offset"),
        "gain inverted": ((offset, 1 / gain, readnoise, em_gain), "the gain"),
    }
    if em_gain > 1:
        wrong["excess noise forgotten"] = ((offset, gain / em_gain, readnoise / em_gain, 1), "excess noise")
    else:
        wrong["read noise missing"] = ((offset, gain, 0, 1), "the read noise")
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", default=machine.ROOT / "build/release/bin/glint", help="glint")
    parser.add_argument("--every", type=int, default=1, help="only every so many of the 60 movies")
    parser.add_argument("--json", help="file for the results")
    options = parser.parse_args()
    cases = list(enumerate(itertools.product(CAMERAS, BACKGROUNDS, STRUCTURES), 1))[:: options.every]
    false, named = [], {}
    with tempfile.TemporaryDirectory() as folder:
        movie = pathlib.Path(folder) / "movie.tif"
        for seed, (camera, background, structure) in cases:
            simulate(options.program, movie, camera, background, structure, seed)
            warnings, _ = told(options.program, movie, *CAMERAS[camera])
            if warnings:
                false.append(f"{camera}, {background} e-, {structure}: {warnings.strip()}")
            for mistake, (wrong, word) in mistakes(camera).items():
                _, answer = told(options.program, movie, *wrong)
                named.setdefault(mistake, []).append((camera, background, structure, answer, word in answer))
    for case in false:
        print("warned wrongly:", case)
    for mistake, answers in named.items():
        for camera, background, structure, answer, right in answers:
            if not right:
                print(f"{mistake}: {camera}, {background} e-, {structure}: {answer or 'no warning'}")
    rates = {mistake: f"{sum(one[-1] for one in answers)} of {len(answers)}" for mistake, answers in named.items()}
    print(f"warned wrongly: {len(false)} of {len(cases)}; named: {rates}")
    machine.write_json(options.json, {"compare_noise_check": {"movies": len(cases), "false": false, "named": rates}})


if __name__ == "__main__":
    main()
