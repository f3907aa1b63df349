#!/usr/bin/env python3
"""Fits of the same spots on one core: `glint fit` beside Picasso's own MLE (picasso.gaussmle), kernel time of both."""

import argparse
import json
import os
import pathlib
import statistics
import tempfile
import time
import warnings

os.environ.setdefault("NUMBA_NUM_THREADS", "1")
import numpy as np
from scipy.special import erf

import machine

SIGMA_PX = 1.3
CASES = [  # ROI, glint's model, Picasso's method, spots for Picasso (it is slow)
    (7, "GaussianXYNB", "sigma", 3000),
    (7, "GaussianXYNBS", "sigma", 3000),
    (7, "GaussianXYNBSXSY", "sigmaxy", 3000),
    (11, "GaussianXYNB", "sigma", 1000),
    (11, "GaussianXYNBS", "sigma", 1000),
    (11, "GaussianXYNBSXSY", "sigmaxy", 1000),
]


def make_spots(size, count, seed):
    """Photoelectrons of spots near the ROI's centre: 500 to 2000 photons on 10 a pixel."""
    rng = np.random.default_rng(seed)
    edges = np.arange(size + 1) - 0.5
    share = [
        np.diff(erf((edges - p[:, None]) / (np.sqrt(2) * SIGMA_PX)), axis=1) / 2
        for p in (size - 1) / 2 + rng.uniform(-1, 1, (2, count))
    ]
    mean = 10 + rng.uniform(500, 2000, (count, 1, 1)) * share[1][:, :, None] * share[0][:, None, :]
    return rng.poisson(mean).astype(np.float32)


def picasso_fits_per_s(spots, method):
    """Convergence and iterations as its program's defaults were for this solver (0.001 px, 100)."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from picasso import gaussmle

        gaussmle.gaussmle(spots[:10], 0.001, 100, method=method)  # compiles
        start = time.perf_counter()
        gaussmle.gaussmle(spots, 0.001, 100, method=method)
    return len(spots) / (time.perf_counter() - start)


def glint_fits_per_s(program, rois, model, folder):
    out, _ = machine.run(
        [
            program,
            "fit",
            rois,
            "-o",
            folder / "locs.hdf5",
            "--overwrite",
            "--psf",
            model,
            "--sigma",
            f"{SIGMA_PX}px",
            "--pixel-size",
            "100nm",
            "--offset",
            0,
            "--gain",
            1,
            "--threads",
            1,
            "--json",
        ],
        cores=1,
    )
    return json.loads(out)["fits_per_s"]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", default=machine.ROOT / "build/release/bin/glint", help="glint")
    parser.add_argument("--spots", type=int, default=200_000, help="spots for glint; Picasso fits the first of them")
    parser.add_argument("--repeats", type=int, default=5, help="the median of so many is compared")
    parser.add_argument("--json", help="file for the results")
    options = parser.parse_args()
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:1])

    print(f"{'ROI':>5} {'glint':<18}{'fits/s':>12}   {'Picasso':<9}{'fits/s':>9}   ratio (range of {options.repeats})")
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for size, model, method, picasso_spots in CASES:
            spots = make_spots(size, options.spots, seed=size)
            np.save(folder / "rois.npy", spots)
            ours, theirs = [], []
            for _ in range(options.repeats):  # alternating, so that a busy machine affects both
                theirs.append(picasso_fits_per_s(spots[:picasso_spots], method))
                ours.append(glint_fits_per_s(options.program, folder / "rois.npy", model, folder))
            ratios = [a / b for a, b in zip(ours, theirs)]
            rows.append(
                {
                    "roi": size,
                    "model": model,
                    "picasso_method": method,
                    "fits_per_s": statistics.median(ours),
                    "picasso_fits_per_s": statistics.median(theirs),
                    "ratio": statistics.median(ratios),
                    "ratio_min": min(ratios),
                    "ratio_max": max(ratios),
                }
            )
            row = rows[-1]
            print(
                f"{size:>2}x{size:<2} {model:<18}{row['fits_per_s']:>12,.0f}   {method:<9}"
                f"{row['picasso_fits_per_s']:>9,.0f}   {row['ratio']:.0f} ({min(ratios):.0f} to {max(ratios):.0f})",
                flush=True,
            )
    machine.write_json(options.json, {"compare_picasso": rows})


if __name__ == "__main__":
    main()
