"""Checks whether `glint drift` makes positions worse: on tables without drift, of all structures, from 50 to 5,000
frames, and with known drifts. Prints RMSE before and after, the stated errors, and the worst ratios. The tables are
simulated with NumPy only.

    python3 bench/drift_harm.py --glint build/release/bin/glint --count 200
    python3 bench/drift_harm.py --glint build/release/bin/glint --count 40 --drift walk:20 line:30 jitter:8
"""

# SPDX-License-Identifier: MIT
import argparse
import concurrent.futures
import json
import pathlib
import subprocess
import tempfile

import h5py
import numpy as np

PIXEL_NM = 100.0
STRUCTURES = ("rings", "filaments", "random", "origami", "clusters", "paint", "lattice")
FRAMES = (50, 100, 150, 200, 300, 500, 1000, 2000, 5000)


def smoothed_walk(rng, frames, width):
    """Unit RMS."""
    walk = np.cumsum(rng.standard_normal(frames + 8 * width))
    kernel = np.exp(-0.5 * (np.arange(-4 * width, 4 * width + 1) / width) ** 2)
    walk = np.convolve(walk, kernel / kernel.sum(), "valid")[:frames]
    walk = walk - walk.mean()
    return walk / max(1e-9, walk.std())


def drift_nm(kind, rng, frames):
    """(frames, 2); `kind` is none, or line, walk, sine, jitter (20 frames), white or jump, with its RMS in nm an axis
    behind a colon.
    """
    name, _, rms = kind.partition(":")
    rms = float(rms or 0)
    if name == "none":
        return np.zeros((frames, 2))
    t = np.arange(frames)
    columns = []
    for _ in range(2):
        if name == "line":
            c = rng.choice([-1, 1]) * (t - t.mean()) / t.std()
        elif name == "walk":
            c = smoothed_walk(rng, frames, max(2, frames // 20))
        elif name == "sine":
            c = np.sqrt(2) * np.sin(2 * np.pi * (t / frames * 3 + rng.uniform()))
        elif name == "jitter":
            keep = np.exp(-1 / 20)
            c = np.empty(frames)
            c[0] = rng.standard_normal()
            for f in range(1, frames):
                c[f] = keep * c[f - 1] + np.sqrt(1 - keep**2) * rng.standard_normal()
        elif name == "white":
            c = rng.standard_normal(frames)
        elif name == "jump":
            c = rng.choice([-1, 1]) * np.where(t < frames // 2, -1.0, 1.0)
        else:
            raise SystemExit(f"no drift is called {name}")
        columns.append(rms * c)
    return np.column_stack(columns)


def placer(structure, rng, field, spots_total):
    """A function that draws `n` places. paint and origami: the same places again and again."""
    if structure in ("rings", "lattice"):
        cell = 350.0 if structure == "rings" else 190.0
        n = int(field // cell)
        gx, gy = np.meshgrid((np.arange(n) + 0.5) * cell, (np.arange(n) + 0.5) * cell)
        centres = np.column_stack([gx.ravel(), gy.ravel()])
        if structure == "rings":
            centres = centres + rng.uniform(-80, 80, centres.shape)
        turn = rng.uniform(0, 2 * np.pi, len(centres))

        def draw(n):
            k = rng.integers(0, len(centres), n)
            a = turn[k] + 2 * np.pi / 8 * rng.integers(0, 8, n)
            return centres[k] + 55 * np.column_stack([np.cos(a), np.sin(a)]) + 4 * rng.standard_normal((n, 2))
    elif structure == "filaments":
        m = 8
        phase, angle, mid = (
            rng.uniform(0, 2 * np.pi, (m, 2)),
            rng.uniform(0, np.pi, m),
            rng.uniform(0.1, 0.9, (m, 2)) * field,
        )

        def draw(n):
            out = np.empty((0, 2))
            while len(out) < n:
                k, u = rng.integers(0, m, n), rng.uniform(-1.1, 1.1, n)
                along = u * field
                across = 0.05 * field * np.sin(2 * np.pi * u / 2.2 + phase[k, 0]) + 12.5 * np.cos(
                    rng.uniform(0, 2 * np.pi, n)
                )
                p = mid[k] + np.column_stack(
                    [
                        along * np.cos(angle[k]) - across * np.sin(angle[k]),
                        along * np.sin(angle[k]) + across * np.cos(angle[k]),
                    ]
                )
                out = np.concatenate([out, p[((p > 0) & (p < field)).all(1)]])
            return out[:n]
    elif structure == "random":

        def draw(n):
            return rng.uniform(0, field, (n, 2))
    elif structure == "clusters":
        centres = rng.uniform(0, field, (60, 2))

        def draw(n):
            return centres[rng.integers(0, 60, n)] + 40 * rng.standard_normal((n, 2))
    elif structure == "paint":  # single molecules that return about five times
        places = rng.uniform(0, field, (max(20, int(spots_total / 15)), 2))

        def draw(n):
            return places[rng.integers(0, len(places), n)]
    elif structure == "origami":
        m = 60
        centres, turn = rng.uniform(0, field, (m, 2)), rng.uniform(0, 2 * np.pi, m)

        def draw(n):
            k, s = rng.integers(0, m, n), rng.integers(0, 12, n)
            x, y = 20.0 * (s % 4) - 30, 20.0 * (s // 4) - 20
            return centres[k] + np.column_stack(
                [x * np.cos(turn[k]) - y * np.sin(turn[k]), x * np.sin(turn[k]) + y * np.cos(turn[k])]
            )

    return draw


def make(path, seed, structure, frames, spots, on, field, drift):
    rng = np.random.default_rng([seed, frames])
    births = rng.poisson(spots / on * (frames + 20 * on))
    start = rng.integers(-int(20 * on), frames, births)
    length = rng.geometric(1 / on, births)
    draw = placer(structure, rng, field, spots * frames)
    place = draw(births)
    of = np.repeat(np.arange(births), length)
    frame = start[of] + np.arange(len(of)) - np.repeat(np.cumsum(length) - length, length)
    keep = (frame >= 0) & (frame < frames)
    of, frame = of[keep], frame[keep]
    moved = drift_nm(drift, np.random.default_rng([seed, 77]), frames)
    sigma = 9.0 * np.sqrt(1000 / rng.uniform(500, 2000, len(of)))
    true = place[of]
    seen = true + moved[frame] + sigma[:, None] * rng.standard_normal((len(of), 2))
    order = np.argsort(frame, kind="stable")
    table = np.zeros(
        len(of), [("frame", "u4"), ("x", "f4"), ("y", "f4"), ("photons", "f4"), ("lpx", "f4"), ("lpy", "f4")]
    )
    table["frame"] = frame[order]
    table["x"], table["y"] = seen[order, 0] / PIXEL_NM, seen[order, 1] / PIXEL_NM
    table["photons"] = 1000
    table["lpx"] = table["lpy"] = sigma[order] / PIXEL_NM
    with h5py.File(path, "w") as file:
        file["locs"] = table
    side = int(field / PIXEL_NM)
    path.with_suffix(".yaml").write_text(f"Frames: {frames}\nWidth: {side}\nHeight: {side}\nPixelsize: {PIXEL_NM}\n")
    return table["frame"], true[order], seen[order], moved


def rms(error):
    return float(np.sqrt((error**2).sum(1).mean()))


def measured(job):
    glint, seed, structure, frames, spots, on, field, drift = job
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "t.hdf5"
        frame, true, seen, moved = make(path, seed, structure, frames, spots, on, field, drift)
        ran = subprocess.run(
            [*glint, "drift", path, "-o", path.with_name("o.hdf5"), "--json", "--quiet"], capture_output=True, text=True
        )
        if ran.returncode:
            return dict(job=job[1:], failed=ran.stderr[-300:])
        result = json.loads(ran.stdout)
    found = np.column_stack([result["x"]["nm"], result["y"]["nm"]])
    error = seen - true
    centred = drift != "none"

    def of(e):
        return rms(e - e.mean(0)) if centred else rms(e)

    before, after = of(error), of(error - found[frame])
    d = found - moved
    d = d - d[frame].mean(0)
    drift_error = float(np.sqrt((d[frame] ** 2).mean()))
    n = frames // 100
    means = d[: n * 100].reshape(n, 100, 2).mean(1) if n else d
    stated = [float("nan")] if result["refused"] else result["error_100_nm"]
    refused = result["refused"]
    frame_stated = (
        float("nan")
        if refused
        else float(np.sqrt(np.nanmean(np.square(np.array([result[a]["error_nm"] for a in "xy"], float)))))
    )
    return dict(
        job=job[1:],
        before=before,
        after=after,
        ratio=after / before,
        drift_error=drift_error,
        frame_stated=frame_stated,
        error_100=float(np.sqrt((means**2).mean())),
        stated=float(np.sqrt(np.mean(np.square(stated)))),
        applied=float(np.sqrt((found[frame] ** 2).mean())),
        refused=refused,
        why=result["why"],
        jumps=len(result.get("jumps", [])),
        warnings=ran.stderr.strip(),
    )


def jobs_of(arguments):
    rng = np.random.default_rng(arguments.seed)
    for drift in arguments.drift:
        for k in range(arguments.count):
            structure = arguments.structures[k % len(arguments.structures)]
            frames = int(arguments.frames[(k // len(arguments.structures)) % len(arguments.frames)])
            spots, on = float(rng.choice([3, 10, 30])), float(rng.choice([1.5, 3, 8]))
            field = float(rng.choice([6400, 12800]))
            yield (arguments.glint, arguments.seed * 1000 + k, structure, frames, spots, on, field, drift)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--glint", nargs="+", default=["build/release/bin/glint"])
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--drift", nargs="+", default=["none"])
    parser.add_argument("--structures", nargs="+", default=STRUCTURES)
    parser.add_argument("--frames", nargs="+", default=FRAMES)
    parser.add_argument("--parallel", type=int, default=2)
    parser.add_argument("--all", action="store_true", help="print each table's result")
    arguments = parser.parse_args()
    with concurrent.futures.ThreadPoolExecutor(arguments.parallel) as pool:
        results = list(pool.map(measured, jobs_of(arguments)))
    for r in results:
        if "failed" in r:
            print("failed", r["job"], r["failed"])
    results = [r for r in results if "failed" not in r]
    for drift in arguments.drift:
        mine = [r for r in results if r["job"][-1] == drift]
        kept = [r for r in mine if not r["refused"]]
        worse = [r for r in mine if r["ratio"] > 1.01]
        print(
            f"{drift}: {len(mine)} tables, {len(mine) - len(kept)} refused, {len(worse)} worse by more "
            f"than 1 %, greatest ratio "
            f"{max(r['ratio'] for r in mine):.4f}; RMSE before / after, medians "
            f"{np.median([r['before'] for r in mine]):.2f} / {np.median([r['after'] for r in mine]):.2f}; "
            f"drift left, median {np.median([r['drift_error'] for r in mine]):.2f}; of those not refused "
            f"{np.median([r['drift_error'] for r in kept] or [np.nan]):.2f}"
        )
        for r in mine if arguments.all else sorted(worse, key=lambda r: -r["ratio"])[:25]:
            print(
                f"  {r['job']}: {r['before']:.2f} -> {r['after']:.2f} ({r['ratio']:.3f}), applied "
                f"{r['applied']:.2f}, left a frame {r['drift_error']:.2f} "
                f"(stated {r['frame_stated']:.2f}), 100 frames {r['error_100']:.2f} (stated "
                f"{r['stated']:.2f}), jumps {r['jumps']} "
                f"{'REFUSED ' + r['why'][:60] if r['refused'] else ''} {r['warnings'][:100]}"
            )


if __name__ == "__main__":
    main()
