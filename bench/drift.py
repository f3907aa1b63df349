"""Measures glint.drift() on tables with a known drift: true errors, stated errors and time. Prints medians over seeds,
with ranges in brackets.

PYTHONPATH=build/release/python python3 bench/drift.py --seeds 10 --rows origami2 sparse3
"""

# SPDX-License-Identifier: MIT
import argparse
import time

import drift_tables as tables
import glint
import numpy as np

PLACES = {"origami": tables.origami, "filaments": tables.filaments, "sparse": tables.origami}
ROWS = {f"{kind}{dims}": (kind, dims, 20_000 if kind == "sparse" else 200_000) for kind in PLACES for dims in (2, 3)}
ROWS |= {f"{kind}{dims}_2e6": (kind, dims, 2_000_000) for kind in ("origami", "filaments") for dims in (2, 3)}
BEADS = {"beads": dict(beads=5), "beads_loose": dict(beads=5, loose=1)}


def locs_of(name, seed):
    """The table and its drift."""
    row, _, with_beads = name.partition("+")
    kind, dims, count = ROWS[row]
    rng = np.random.default_rng([seed, count, dims])
    drift = tables.drift_nm(rng, dims)
    more = dict(BEADS.get(with_beads, {}))
    if more.get("loose"):
        more["loose"] = [
            tables.smoothed(np.cumsum(rng.standard_normal((tables.FRAMES, 3)), 0), 400) * [0.3, 0.3, 0.3 * (dims == 3)]
        ]
    columns = tables.table(PLACES[kind](rng, dims), count, dims, rng, drift, **more)
    side = int(tables.FIELD_NM / tables.PIXEL_NM)
    locs = glint.Localizations(columns, width=side, height=side, frames=tables.FRAMES, pixel_size_nm=tables.PIXEL_NM)
    return locs, drift[:, :dims], dims


def measured(name, seed):
    """Returns per axis: RMS error of 100 frames and of a frame, nm; stated over true error of both; seconds; beads
    used.
    """
    locs, truth, dims = locs_of(name, seed)
    start = time.perf_counter()
    found = glint.drift(locs)
    seconds = time.perf_counter() - start
    axes = "xyz"[:dims]
    if found.refused:
        return None
    frame, segment = (
        np.sqrt((part**2).mean(0))
        for part in tables.errors(np.column_stack([getattr(found, f"{a}_nm") for a in axes]), truth)
    )
    stated = np.array([np.sqrt(np.nanmean(getattr(found, f"{a}_error_nm") ** 2)) for a in axes])
    return (
        segment,
        frame,
        np.array(found.error_100_nm) / segment,
        stated / frame,
        seconds,
        sum(bead.used for bead in found.beads),
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument(
        "--rows",
        nargs="+",
        default=list(ROWS),
        help=f"{', '.join(ROWS)}; with +{' or +'.join(BEADS)} behind it: with beads",
    )
    arguments = parser.parse_args()
    print(
        (
            "| table | 100 frames, nm | a frame, nm | stated/true, 100 frames | stated/true, a frame | s | "
            "beads | refused |\n|"
        )
        + " --- |" * 8
    )
    for name in arguments.rows:
        all_seeds = [measured(name, seed) for seed in range(1, arguments.seeds + 1)]
        good = [result for result in all_seeds if result]
        if not good:
            print(f"| {name} | | | | | | | {len(all_seeds)} |", flush=True)
            continue
        segment, frame, ratio, ratio_frame, seconds, beads = (np.array(part) for part in zip(*good))
        medians = [" / ".join(f"{value:.2f}" for value in np.median(part, 0)) for part in (segment, frame)]
        ranges = [f"{np.median(part):.2f} ({part.min():.2f} to {part.max():.2f})" for part in (ratio, ratio_frame)]
        print(
            (
                f"| {name} | {' | '.join(medians + ranges)} | {np.median(seconds):.2f} | "
                f"{np.median(beads):.0f} | {len(all_seeds) - len(good)} |"
            ),
            flush=True,
        )


if __name__ == "__main__":
    main()
