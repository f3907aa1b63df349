"""Shows results, errors and warnings of `glint drift` for difficult drifts: jumps, a lattice, a field that shears, a
fast drift. The tables are simulated with NumPy only.

python3 bench/drift_doubts.py --seeds 2 --cases jump lattice_walk
"""

# SPDX-License-Identifier: MIT
import argparse
import json
import pathlib
import subprocess
import tempfile

import h5py
import numpy as np

PIXEL_NM, FIELD_NM, ON_FRAMES = 100.0, 20000.0, 4


def origami(rng, count):
    centre, turn = rng.uniform(300, FIELD_NM - 300, (count, 2)), rng.uniform(0, 2 * np.pi, count)

    def draw(n):
        k, site = rng.integers(0, count, n), rng.integers(0, 12, n)
        x, y, c, s = 20.0 * (site % 4) - 30, 20.0 * (site // 4) - 20, np.cos(turn[k]), np.sin(turn[k])
        return centre[k] + np.column_stack([x * c - y * s, x * s + y * c])

    return draw


def lattice(rng, cell_nm, field_nm):
    """Rings of eight corners whose molecules never return."""
    grid = (np.arange(int(field_nm // cell_nm)) + 0.5) * cell_nm
    centre = np.array(np.meshgrid(grid, grid)).reshape(2, -1).T
    turn = rng.uniform(0, 2 * np.pi, len(centre))

    def draw(n):
        k = rng.integers(0, len(centre), n)
        angle = turn[k] + np.pi / 4 * rng.integers(0, 8, n)
        return centre[k] + 55 * np.column_stack([np.cos(angle), np.sin(angle)]) + 4 * rng.standard_normal((n, 2))

    return draw


def case(name, rng):
    """Frames, rows, a function that draws places, and the drift of a frame at a place."""

    def steps(frames, at, x, y):
        return lambda f, place: np.where(f[:, None] >= at, [x, y], [0.0, 0.0])

    def ramp(share):
        return lambda f, place: share(place[:, 0] / FIELD_NM)[:, None] * (100 * f / 10000)[:, None] * [1, 0]

    walk = lambda f, place: np.column_stack([60 * np.sin(f / 500), 0.01 * f])
    fast = lambda f, place: f[:, None] * [4.0, 3.0]
    still = lambda f, place: np.zeros((len(f), 2))
    return {
        "jump": lambda: (20000, 200000, origami(rng, 400), steps(20000, 10000, 300, 0)),
        "jump_oblique": lambda: (20000, 200000, origami(rng, 400), steps(20000, 10000, 180, 240)),
        "jump_sparse": lambda: (20000, 20000, origami(rng, 400), steps(20000, 10000, 300, 0)),
        "lattice": lambda: (3000, 90000, lattice(rng, 190, 6400), still),
        "lattice_walk": lambda: (3000, 90000, lattice(rng, 190, 6400), walk),
        "shear": lambda: (10000, 100000, origami(rng, 300), ramp(lambda x: (x > 0.5) * 1.0)),
        "shear_even": lambda: (10000, 100000, origami(rng, 300), ramp(lambda x: x - 0.5)),
        "fast": lambda: (2000, 200000, origami(rng, 300), fast),
        "fast_sparse": lambda: (2000, 20000, origami(rng, 300), fast),
        "fast_sparser": lambda: (2000, 10000, origami(rng, 300), fast),
    }[name]()


CASES = (
    "jump",
    "jump_oblique",
    "jump_sparse",
    "lattice",
    "lattice_walk",
    "shear",
    "shear_even",
    "fast",
    "fast_sparse",
    "fast_sparser",
)


def measured(glint, name, seed, folder):
    rng = np.random.default_rng([seed, CASES.index(name)])
    frames, rows, draw, drift = case(name, rng)
    births = rows // ON_FRAMES
    start, length = rng.integers(0, frames, births), rng.geometric(1 / ON_FRAMES, births)
    of = np.repeat(np.arange(births), length)
    frame = start[of] + np.arange(len(of)) - np.repeat(np.cumsum(length) - length, length)
    of, frame = of[frame < frames], frame[frame < frames]
    order = np.argsort(frame, kind="stable")
    frame, place = frame[order], draw(births)[of[order]]
    moved = drift(frame, place)
    sigma = 9 * np.sqrt(1000 / rng.uniform(500, 2000, len(frame)))
    seen = place + moved + sigma[:, None] * rng.standard_normal(place.shape)
    table = np.zeros(len(frame), [("frame", "u4")] + [(column, "f4") for column in ("x", "y", "photons", "lpx", "lpy")])
    table["frame"], table["x"], table["y"], table["photons"] = frame, seen[:, 0] / PIXEL_NM, seen[:, 1] / PIXEL_NM, 1000
    table["lpx"] = table["lpy"] = sigma / PIXEL_NM
    path = folder / "table.hdf5"
    with h5py.File(path, "w") as file:
        file["locs"] = table
    path.with_suffix(".yaml").write_text(f"Frames: {frames}\nWidth: 300\nHeight: 300\nPixelsize: {PIXEL_NM}\n")
    ran = subprocess.run(
        [glint, "drift", path, "-o", folder / "out.hdf5", "--overwrite", "--json", "-q"], capture_output=True, text=True
    )
    result = json.loads(ran.stdout)
    found = np.column_stack([result["x"]["nm"], result["y"]["nm"]])
    left = moved - found[frame]
    left -= left.mean(0)
    segment = frame // 100
    count = np.bincount(segment)
    means = np.column_stack([np.bincount(segment, left[:, axis]) / np.maximum(count, 1) for axis in (0, 1)])[count > 0]
    stated = (
        "refused: " + result["why"]
        if result["refused"]
        else " / ".join(f"{error:.2f}" for error in result["error_100_nm"])
    )
    left_100 = " / ".join(f"{value:.2f}" for value in np.sqrt((means**2).mean(0)))
    print(
        f"| {name} | {seed} | {left_100} | {np.abs(means).max():.1f} | "
        f"{np.sqrt((left**2).sum(1).mean()):.2f} | {stated} | {len(result.get('jumps', []))} | "
        f"{result.get('wrong_match', float('nan')):.2g} | {ran.stderr.strip()} |",
        flush=True,
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--glint", default="build/release/bin/glint")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--cases", nargs="+", default=CASES, choices=CASES)
    arguments = parser.parse_args()
    print(
        (
            "| case | seed | left, 100 frames, nm | worst | left a row | stated, 100 frames | jumps | wrong "
            "match | warnings |\n|"
        )
        + " --- |" * 9
    )
    with tempfile.TemporaryDirectory() as folder:
        for name in arguments.cases:
            for seed in range(1, arguments.seeds + 1):
                measured(arguments.glint, name, seed, pathlib.Path(folder))


if __name__ == "__main__":
    main()
