#!/usr/bin/env python3
"""Compares rows of `glint localize` with the truth, for spots that real lenses give.

    bench/lens_truth.py [--glint build/release/bin/glint] [--cases 'airy-*'] [--seeds 1] [--flags='--emitters 1']
                        [--keep FOLDER] [--out table.md]

The movies are simulated here, not by `glint simulate`: pupil functions, transformed at each molecule's exact place
and integrated over each pixel. A case is named PSF-PHOTONS-BACKGROUND-PLACES, as in `airy-2000-5-lone`:

- photons of a molecule, and photoelectrons of background per pixel;
- `lone`: molecules 25 px apart; `dense`: 0.005 per pixel at random;
- a fifth word names a fault of the scene or camera, as in `gauss-2000-8-lone-edge`;
- PSFs that begin with `lens3d` have z, and a bead stack for `glint calibrate astigmatism`;
- cases that begin with `data` are files of `../shared/data` (or GLINT_DATA), if that folder exists.

`--sigma` is the width that `glint inspect` recommends for the movie. With `--keep FOLDER`, movies, truth and widths
stay in that folder, and the next run uses them: two programs are then compared on the same files. `--flags` can be
repeated: each set gives a row. An empty set means the defaults.

A row of the table pools all seeds. The median shift of all pairs is subtracted first (not of Gaussian spots), since an
aberrated PSF has no obvious centre. Pulls are errors over stated errors, x and y together. Their standard deviation
and 1.4826 times their median absolute value are both 1 if the stated errors are right. Lone molecules have no other
one within 10 px.
The verdict is "ok", or names what is wrong: precision below 0.98, or a pull above 2 (of positions, z or photons).
It begins with SILENT if the program printed no warning. The warnings are listed below the table. The
script does not check whether they name the cause.
"""

# SPDX-License-Identifier: MIT
import argparse
import fnmatch
import functools
import gzip
import json
import os
import pathlib
import re
import shlex
import subprocess
import tempfile
import time

import h5py
import numpy as np
import tifffile
from scipy.ndimage import gaussian_filter
from scipy.optimize import linear_sum_assignment
from scipy.special import ndtr

from machine import ROOT, describe

PIXEL_UM, EDGE_PX, FRAMES = 0.1, 128, 40
WAVELENGTH_UM, NA, INDEX = 0.67, 1.45, 1.518
OFFSET = 100
HALF_PX = 20  # a spot is drawn in 41 x 41 pixels
PUPIL = 64  # samples across the pupil: the PSF repeats only after 14.8 um
LONE_PX = 10.0  # no other molecule is nearer than this
SPACING_PX, JITTER_PX = 25, 3
DENSITY, MARGIN_PX = 0.005, 8  # molecules per pixel; distance of molecules from the frame's edges
BEAD_STEP_UM, BEAD_Z_UM = 0.02, 0.6
DATA = pathlib.Path(os.environ.get("GLINT_DATA", ROOT.parent / "shared/data"))


# --- Lenses ---

PUPIL_PER_UM = (np.arange(PUPIL) - (PUPIL - 1) / 2) * (2 * NA / WAVELENGTH_UM / PUPIL)
KX, KY = np.meshgrid(PUPIL_PER_UM, PUPIL_PER_UM)
RHO, PHI = np.hypot(KX, KY) * WAVELENGTH_UM / NA, np.arctan2(KY, KX)
APERTURE = np.clip((1 - RHO) * PUPIL / 2 + 0.5, 0, 1)
SIN = np.minimum(RHO * NA / INDEX, 0.999)
COS = np.sqrt(1 - SIN**2)

# Zernike polynomials of rms 1 over the pupil
ASTIGMATISM = np.sqrt(6) * RHO**2 * np.cos(2 * PHI)
OBLIQUE_ASTIGMATISM = np.sqrt(6) * RHO**2 * np.sin(2 * PHI)
COMA = np.sqrt(8) * (3 * RHO**3 - 2 * RHO) * np.cos(PHI)
SPHERICAL = np.sqrt(5) * (6 * RHO**4 - 6 * RHO**2 + 1)


def scalar(phase):
    """The field in an evenly lit pupil: without a phase, the Airy pattern."""
    return [APERTURE * np.exp(1j * phase)]


def fixed_dipole(polar, azimuth):
    """The two components of the field in the pupil, of a molecule that cannot turn."""
    x, y, z = np.sin(polar) * np.cos(azimuth), np.sin(polar) * np.sin(azimuth), np.cos(polar)
    radial = COS * (x * np.cos(PHI) + y * np.sin(PHI)) - SIN * z
    azimuthal = y * np.cos(PHI) - x * np.sin(PHI)
    amplitude = APERTURE / np.sqrt(COS)
    return [
        amplitude * (radial * np.cos(PHI) - azimuthal * np.sin(PHI)) + 0j,
        amplitude * (radial * np.sin(PHI) + azimuthal * np.cos(PHI)) + 0j,
    ]


# Fields in the pupil, and the depths (um) of molecules: a range
LENSES = {
    "airy": (scalar(0 * RHO), (0, 0)),
    "astigmatism": (scalar(2 * np.pi * 0.08 * ASTIGMATISM), (0, 0)),  # 0.08 waves rms
    "mixed": (scalar(0.64 / np.sqrt(3) * (COMA + ASTIGMATISM + SPHERICAL)), (0, 0)),  # 0.64 rad rms together
    "coma": (scalar(0.5 * COMA), (0, 0)),
    "oblique": (scalar(2 * np.pi * 0.08 * OBLIQUE_ASTIGMATISM), (0.2, 0.2)),  # an ellipse at 45 degrees
    "dipole": (fixed_dipole(np.pi / 4, np.pi / 6), (0.15, 0.15)),  # a tilted molecule, out of focus
    "depth": (scalar(0 * RHO), (-0.5, 0.5)),
    "lens3d": (scalar(0.6 * ASTIGMATISM), (-0.35, 0.35)),  # foci at about -0.2 and 0.2 um
}
GAUSSIANS = {"gauss": (1.3,), "widths": (1.1, 1.8)}  # px; each movie uses one of these


def pixel_nodes():
    """Three Gauss nodes in each pixel of a spot's window (px from its centre), and the weight of each."""
    nodes, weights = np.polynomial.legendre.leggauss(3)
    pixels = np.arange(-HALF_PX, HALF_PX + 1)
    return (pixels[:, None] + nodes / 2).ravel(), np.tile(weights / 2, len(pixels))


def pupil_spots(fields, x_px, y_px, z_um):
    """Images of one photon each, for places relative to the window's central pixel."""
    nodes, weights = pixel_nodes()
    period_um = PUPIL * WAVELENGTH_UM / (2 * NA)
    power = sum(np.sum(np.abs(field) ** 2) for field in fields) * (period_um / PIXEL_UM) ** 2
    axial = 2 * np.pi * INDEX / WAVELENGTH_UM * COS
    images = np.zeros((len(x_px), 2 * HALF_PX + 1, 2 * HALF_PX + 1), np.float32)
    for begin in range(0, len(x_px), 32):
        part = slice(begin, begin + 32)
        phases = [2 * np.pi * PIXEL_UM * (nodes - at[part, None])[:, :, None] * PUPIL_PER_UM for at in (x_px, y_px)]
        waves = [np.exp(1j * phase).astype(np.complex64) for phase in phases]
        defocus = np.exp(1j * axial * z_um[part, None, None]).astype(np.complex64)
        for field in fields:
            amplitude = waves[1] @ (field.astype(np.complex64) * defocus) @ waves[0].transpose(0, 2, 1)
            density = np.abs(amplitude) ** 2 * (weights[:, None] * weights / power).astype(np.float32)
            images[part] += density.reshape(-1, 2 * HALF_PX + 1, 3, 2 * HALF_PX + 1, 3).sum((2, 4))
    return images


def gaussian_spots(sigma_px, x_px, y_px):
    edges = np.arange(-HALF_PX, HALF_PX + 2) - 0.5
    shares = [np.diff(ndtr((edges - at[:, None]) / sigma_px[:, None]), axis=1) for at in (x_px, y_px)]
    return (shares[1][:, :, None] * shares[0][:, None, :]).astype(np.float32)


def draw(psf, truth, random):
    """Frames of photoelectrons without background, if each molecule sends `truth["factor"]` photons."""
    x_px, y_px = np.rint(truth["x"]).astype(int), np.rint(truth["y"]).astype(int)
    place = truth["x"] - x_px, truth["y"] - y_px
    if psf in GAUSSIANS:
        images = gaussian_spots(random.choice(GAUSSIANS[psf], len(x_px)), *place)
    else:
        images = pupil_spots(LENSES[psf][0], *place, truth["z"])
    movie = np.zeros((int(truth["frame"].max()) + 1, EDGE_PX + 2 * HALF_PX, EDGE_PX + 2 * HALF_PX), np.float32)
    for image, factor, frame, x, y in zip(images, truth["factor"], truth["frame"], x_px, y_px):
        movie[frame, y : y + 2 * HALF_PX + 1, x : x + 2 * HALF_PX + 1] += factor * image
    return movie[:, HALF_PX:-HALF_PX, HALF_PX:-HALF_PX]


# --- Movies with truth ---


def brightness(spread, random, count):
    """Photons of molecules relative to their mean."""
    if spread == "exponential":
        return random.exponential(1, count)
    if spread == "wide":
        return 20 ** random.uniform(0, 1, count)
    return random.lognormal(-0.125, 0.5, count) if spread == "lognormal" else random.uniform(0.7, 1.3, count)


def blurred_noise(random, sigma_px):
    noise = gaussian_filter(random.standard_normal((EDGE_PX, EDGE_PX)), sigma_px, mode="wrap")
    return noise / noise.std()


X_PX = np.arange(EDGE_PX)[None, :]
# Light that is added to the background, photoelectrons per pixel
STRUCTURES = {
    "edge": lambda random: 52.0 * (X_PX > EDGE_PX / 2),
    "gradient": lambda random: 0.47 * X_PX,
    "blobs": lambda random: 20 * np.maximum(blurred_noise(random, 4.5), 0),
    "texture": lambda random: 10 * np.maximum(blurred_noise(random, 3), -2) + 20,
}


def add_fault(fault, counts, random):
    """Counts of a camera with a fault."""
    if fault == "clipped":  # the full scale of 12 bits
        return np.minimum(counts, 4095)
    if fault == "hot":  # 40 static pixels
        y, x = random.integers(0, EDGE_PX, (2, 40))
        counts = counts.copy()
        counts[:, y, x] += random.uniform(100, 1500, 40).astype(int)
    return counts


def places(kind, random):
    """Frame, x, y (px; 0 is the centre of the first pixel) of molecules."""
    if kind == "dense":
        count = random.poisson(DENSITY * (EDGE_PX - 2 * MARGIN_PX) ** 2, FRAMES)
        frame = np.repeat(np.arange(FRAMES), count)
        return frame, *random.uniform(MARGIN_PX, EDGE_PX - 1 - MARGIN_PX, (2, len(frame)))
    grid = np.arange(EDGE_PX // SPACING_PX) * SPACING_PX + (EDGE_PX % SPACING_PX + SPACING_PX) / 2 - 0.5
    x, y = (np.tile(at.ravel(), FRAMES) for at in np.meshgrid(grid, grid))
    jitter = random.uniform(-JITTER_PX, JITTER_PX, (2, len(x)))
    return np.repeat(np.arange(FRAMES), len(grid) ** 2), x + jitter[0], y + jitter[1]


@functools.lru_cache(maxsize=1)
def one_photon(psf, kind, seed, spread):
    """Truth, and its frames for one photon a molecule."""
    random = np.random.default_rng([seed, sum(map(ord, psf + kind))])
    frame, x, y = places(kind, random)
    low, high = LENSES[psf][1] if psf in LENSES else (0, 0)
    truth = {
        "frame": frame,
        "x": x,
        "y": y,
        "z": random.uniform(low, high, len(x)),
        "factor": brightness(spread, random, len(x)),
    }
    return truth, draw(psf, truth, random)


def write_counts(path, electrons, random, fault=""):
    counts = add_fault(fault, OFFSET + random.poisson(electrons), random)
    tifffile.imwrite(path, np.minimum(counts, 65535).astype(np.uint16), metadata=None)


def simulate(folder, name, seed, spread):
    """Movie and truth of a case; those of an earlier run are used if they are there."""
    psf, photons, background, kind, *fault = name.split("-")
    movie = folder / f"{name}-{spread}-{seed}.tif"
    truth_file = movie.with_suffix(".npz")
    if not truth_file.exists():
        truth, light = one_photon(psf, kind, seed, "wide" if "clipped" in fault else spread)
        random = np.random.default_rng([seed, len(name), int(photons)])
        added = STRUCTURES[fault[0]](random) if fault and fault[0] in STRUCTURES else 0
        write_counts(movie, float(photons) * light + float(background) + added, random, *fault)
        np.savez(truth_file, **truth, photons=float(photons) * truth["factor"])
    return movie, dict(np.load(truth_file))


def bead_stack(folder):
    """The 3D lens's stack: nine beads of 20,000 photons on a background of 20."""
    path = folder / "lens3d_beads.tif"
    if not path.exists():
        random = np.random.default_rng(1)
        z = np.arange(-BEAD_Z_UM, BEAD_Z_UM + 1e-9, BEAD_STEP_UM)
        x, y = 24.0 + 40 * np.indices((3, 3)).reshape(2, 9) + random.uniform(-3, 3, (2, 9))
        truth = {
            "frame": np.repeat(np.arange(len(z)), 9),
            "x": np.tile(x, len(z)),
            "y": np.tile(y, len(z)),
            "z": np.repeat(z, 9),
            "factor": np.full(9 * len(z), 20_000.0),
        }
        write_counts(path, draw("lens3d", truth, random) + 20, random)
    return path


def truth_of_csv(path, frame, x, y, photons, z=None):
    """Truth from columns of these numbers, of positions in nm from the frame's outer edge and frames from 1."""
    lines = (gzip.open(path, "rt") if path.suffix == ".gz" else open(path)).read().splitlines()
    table = np.array([line.split(",") for line in lines if line.strip()[0].isdigit()], float).T
    return {
        "frame": table[frame].astype(int) - 1,
        "x": table[x] / 100 - 0.5,
        "y": table[y] / 100 - 0.5,
        "z": table[z] / 1000 if z else 0 * table[x],
        "photons": table[photons],
    }


EMCCD = ["--offset", "100", "--em-gain", "300", "--gain", "45"]  # 0.15 photoelectrons per ADU after the register
PLAIN = ["--offset", str(OFFSET), "--gain", "1"]
NAIRR = ["--offset", "500", "--gain", "1", "--readnoise"]
NAIRR_LENS = """[astigmatism]
sx0_um = 0.140
sy0_um = 0.135
gamma_um = -0.205
d_um = 0.290
ax = 0.05
bx = 0.03
ay = -0.01
by = 0.02
z_min_um = -0.4
z_max_um = 0.4
roi_px = 0
"""


def bead_slices(folder, name, first, last):
    """Slices `first` to `last`, from 1, of a bead stack of ../shared/data, and their truth."""
    movie = folder / f"{name}_{first}_{last}.tif"
    if not movie.exists():
        tifffile.imwrite(movie, tifffile.imread(DATA / f"{name}.tif")[first - 1 : last], metadata=None)
    bead = np.genfromtxt(DATA / "beads_truth.csv", delimiter=",", names=True)
    slices = last - first + 1
    x, y = (np.tile(bead[axis] / 100 - 0.5, slices) for axis in ("x_nm", "y_nm"))
    return movie, {
        "frame": np.repeat(np.arange(slices), len(bead)),
        "x": x,
        "y": y,
        "z": np.repeat(np.arange(first - 76, last - 75) / 100, len(bead)),
        "photons": np.full(len(x), 0.15 * 247_000),
    }


def data_case(folder, name):
    """Movie, truth, camera, options of the PSF, radius of a match (nm), and the stack to calibrate with."""
    kind = name.removeprefix("data-")
    if kind.startswith("sim_2d"):
        suffix, sigma = (".csv.gz", "97.98nm") if "airy" in kind else (".csv", "108.806nm")
        truth = truth_of_csv(DATA / f"{kind}_truth{suffix}", 1, 3, 4, photons=6)
        return DATA / f"{kind}.tif", truth, NAIRR + ["17.32"], ["--sigma", sigma], 100, None
    if kind.startswith("sim_3d"):
        lens = folder / "nairr.toml"
        lens.write_text(NAIRR_LENS)
        truth = truth_of_csv(DATA / f"{kind}_truth.csv", 1, 3, 4, photons=8, z=5)
        return DATA / f"{kind}.tif", truth, NAIRR + ["4.472"], ["--calibration", str(lens)], 100, None
    if kind == "challenge_frames_64":
        beads, _ = bead_slices(folder, "beads_astigmatic", 36, 116)
        truth = truth_of_csv(DATA / f"{kind}_truth.csv", 1, 2, 3, photons=5, z=4)
        return DATA / f"{kind}.tif", truth, EMCCD, None, 250, beads
    if kind == "beads_astigmatic_z":
        movie, truth = bead_slices(folder, "beads_astigmatic", 36, 116)
        return movie, truth, EMCCD, None, 300, movie
    movie, truth = bead_slices(folder, kind, 1, 151)
    return movie, truth, EMCCD, [], (700 if "helix" in kind else 300), None


DATA_CASES = [
    "sim_2d_low_density",
    "sim_2d_airy_low_density",
    "sim_3d_astigmatic_low_density",
    "beads_2d",
    "beads_astigmatic",
    "beads_astigmatic_z",
    "beads_double_helix",
    "challenge_frames_64",
]


# --- The program ---


def glint(program, *words):
    """Result of a command as JSON (None if it failed), its warnings (or its error), and its seconds."""
    start = time.perf_counter()
    done = subprocess.run([program, *map(str, words), "--json", "--quiet"], capture_output=True, text=True)
    seconds = time.perf_counter() - start
    said = re.findall(r"^glint: warning: (.*)$", done.stderr, re.M)
    if done.returncode != 0:
        return None, said + ["ERROR: " + done.stderr.strip().splitlines()[-1]], seconds
    return json.loads(done.stdout), said, seconds


def sigma_of(program, movie, camera, note):
    """The width that `glint inspect` recommends, or the median of free fits, px. The file `note` keeps it."""
    if not note.exists():
        found, _, _ = glint(program, "inspect", movie, "--pixel-size", "100nm", *camera)
        sigma = (found or {"spots": {"sigma_px": None}})["spots"]["sigma_px"]
        if sigma:
            sigma_px = sigma["value"]
        else:
            psf = ["--psf", "GaussianXYNBS", "--sigma", "1.3px"]
            rows, _, said, _ = localize(program, movie, psf, camera, ["--emitters", "1"], note.with_suffix(".hdf5"))
            if rows is None:
                raise SystemExit("\n".join(said))
            sigma_px = float(np.median(rows["sx"]))
        note.write_text(json.dumps(round(sigma_px, 3)))
    return json.loads(note.read_text())


def calibrate(program, beads, step_um, camera, out):
    """Options of the calibration, and the warnings; no options if the stack was refused."""
    _, said, _ = glint(
        program,
        "calibrate",
        "astigmatism",
        beads,
        "-o",
        out,
        "--overwrite",
        "--pixel-size",
        "100nm",
        "--z-step",
        f"{1000 * step_um:g}nm",
        *camera,
    )
    said = ["calibrate: " + one for one in said]
    return (None if any("ERROR" in one for one in said) else ["--calibration", str(out)]), said


def localize(program, movie, psf, camera, flags, out):
    found, said, seconds = glint(
        program, "localize", movie, "-o", out, "--overwrite", "--pixel-size", "100nm", *camera, *psf, *flags
    )
    if not found:
        return None, {}, said, seconds
    with h5py.File(out) as file:
        rows = {name: file["locs"][name].astype(float) for name in file["locs"].dtype.names}
    return rows, found, said, seconds


# --- Rows beside the truth ---


def pairs_of(truth, rows, shift_px, radius_px):
    """Pairs of truths and rows of a frame, each used once: as many as possible within the radius, then the nearest."""
    found = []
    for frame in np.unique(truth["frame"]):
        at, row = np.flatnonzero(truth["frame"] == frame), np.flatnonzero(rows["frame"] == frame)
        distance = np.hypot(*(truth[axis][at][:, None] - rows[axis][row] + off for axis, off in zip("xy", shift_px)))
        cost = np.where(distance <= radius_px, distance, 1e6)
        i, j = linear_sum_assignment(cost)
        near = cost[i, j] < 1e6
        found.append(np.stack([at[i[near]], row[j[near]]]))
    return np.concatenate(found, axis=1) if found else np.zeros((2, 0), int)


def lone(truth):
    """Whether each truth has no other within LONE_PX."""
    alone = np.ones(len(truth["frame"]), bool)
    for frame in np.unique(truth["frame"]):
        at = np.flatnonzero(truth["frame"] == frame)
        distance = np.hypot(*(truth[axis][at][:, None] - truth[axis][at] for axis in "xy"))
        alone[at] = (distance < LONE_PX).sum(1) == 1
    return alone


def compare(truth, rows, radius_nm, centred):
    """Counts, and of each pair: errors in nm, pulls, p value, photons over true ones, and whether the truth is lone.
    `centred`: positions mean the PSF's centre, so that a shift is an error."""
    shift = np.zeros(2)
    for radius_px in () if centred else (3.0, 1.5):  # a PSF's centre is off by at most one pixel
        i, j = pairs_of(truth, rows, shift, radius_px)
        if len(i):
            shift = np.array([np.median(rows[axis][j] - truth[axis][i]) for axis in "xy"])
    i, j = pairs_of(truth, rows, shift, radius_nm / 100)
    error = np.stack([rows[axis][j] - truth[axis][i] - off for axis, off in zip("xy", shift)])
    stated = np.stack([rows["lpx"][j], rows["lpy"][j]])
    photons, found = truth["photons"][i], rows["photons"][j]
    counts = {"truths": len(truth["frame"]), "rows": len(rows["frame"]), "pairs": len(i)}
    pairs = {
        "lone": lone(truth)[i],
        "error_nm": 100 * error,
        "pull": error / stated,
        "p": rows["p_value"][j],
        "photons": found / photons,
        "photon_pull": (found - photons) / rows["photons_unc"][j],
    }
    if "z" in rows:
        z_error = rows["z"][j] - 1000 * truth["z"][i]
        z_error -= np.median(z_error) if len(i) else 0
        pairs |= {"z_nm": 1000 * truth["z"][i], "z_error_nm": z_error, "z_pull": z_error / rows["lpz"][j]}
    return counts, pairs


def spread(values):
    """Standard deviation, and 1.4826 times the median absolute value."""
    values = values[np.isfinite(values)]
    return [float(np.std(values)), float(1.4826 * np.median(np.abs(values)))] if values.size else [np.nan, np.nan]


def figures(counts, pairs):
    """A row of the table from the counts and pairs of all seeds."""
    total = {name: sum(one[name] for one in counts) for name in ("truths", "rows", "pairs")}
    pairs = {name: np.concatenate([one[name] for one in pairs], axis=-1) for name in pairs[0]}
    alone = pairs["lone"]
    row = total | {
        "precision": total["pairs"] / max(total["rows"], 1),
        "recall": total["pairs"] / total["truths"],
        "jaccard": total["pairs"] / max(total["truths"] + total["rows"] - total["pairs"], 1),
        "rmse_lone_nm": float(np.sqrt(np.mean(pairs["error_nm"][:, alone] ** 2))) if alone.any() else np.nan,
        "bias_lone_nm": list(map(float, np.mean(pairs["error_nm"][:, alone], axis=1))) if alone.any() else [np.nan] * 2,
        "pull_lone": spread(pairs["pull"][:, alone]),
        "pull_all": spread(pairs["pull"]),
        "p_below_05": float(np.mean(pairs["p"][alone] < 0.05)) if alone.any() else np.nan,
        "photons_lone": float(np.median(pairs["photons"][alone])) if alone.any() else np.nan,
        "photon_pull": spread(pairs["photon_pull"][alone])[1],
    }
    if "z_nm" in pairs and alone.sum() > 2:
        error = pairs["z_error_nm"][alone]
        row |= {
            "z_rms_nm": float(np.sqrt(np.mean(error**2))),
            "z_pull": spread(pairs["z_pull"][alone]),
            "z_slope": float(1 + np.polyfit(pairs["z_nm"][alone], error, 1)[0]),
        }
    return row


def wrong_in(row):
    wrong = []
    if row["precision"] < 0.98:
        wrong.append("precision")
    if max(row["pull_lone"][1], row.get("z_pull", [0, 0])[1]) > 2:
        wrong.append("lone pull")
    if row["pull_all"][1] > 2:
        wrong.append("pull")
    if row["photon_pull"] > 2:
        wrong.append("photons")
    return wrong


def measure(options, folder, scratch, name, flags, calibrations):
    """A row of the table: one case with one set of flags. Movies are in `folder`; the program writes to `scratch`."""
    program, counts, pairs, warnings, seconds, used = options.glint, [], [], [], 0, {}
    for seed in range(1 if name.startswith("data-") else options.seeds):
        radius_nm, camera, psf, beads, step_um = options.radius, PLAIN, [], None, 0.01
        if name.startswith("data-"):
            movie, truth, camera, psf, radius_nm, beads = data_case(folder, name)
        else:
            movie, truth = simulate(folder, name, seed, options.spread)
            if name.startswith("lens3d"):
                beads, step_um = bead_stack(folder), BEAD_STEP_UM
        if beads:
            if beads not in calibrations:
                calibrations[beads] = calibrate(program, beads, step_um, camera, scratch / f"{beads.stem}.toml")
            psf, said = calibrations[beads]
            warnings += said
            if psf is None:
                return {"case": name, "flags": flags, "failed": True, "warnings": warnings}
        elif not psf:
            used["sigma_px"] = sigma_of(program, movie, camera, folder / f"{movie.stem}.sigma.json")
            psf = ["--sigma", f"{100 * used['sigma_px']:.4g}nm"]
        rows, found, said, took = localize(program, movie, psf, camera, shlex.split(flags), scratch / "rows.hdf5")
        warnings += [one for one in said if one not in warnings]
        seconds += took
        if rows is None:
            return {"case": name, "flags": flags, "failed": True, "warnings": warnings, "seconds": seconds} | used
        used["psf_misfit"] = found.get("psf_misfit")
        count, pair = compare(truth, rows, radius_nm, name.split("-")[0] in GAUSSIANS)
        counts.append(count)
        pairs.append(pair)
    row = {"case": name, "flags": flags, "seconds": seconds, "warnings": warnings} | used | figures(counts, pairs)
    wrong = wrong_in(row)
    row["verdict"] = "ok" if not wrong else ("warned: " if warnings else "SILENT: ") + ", ".join(wrong)
    return row


# --- The table ---

HEAD = [
    "case",
    "flags",
    "sigma px",
    "misfit",
    "truths",
    "rows",
    "precision",
    "recall",
    "Jaccard",
    "lone RMSE, bias x, y nm",
    "lone pull std, MAD",
    "pull std, MAD",
    "lone p < .05",
    "lone photons",
    "photon pull",
    "z RMS nm, slope, pull std, MAD",
    "s",
    "verdict",
    "warnings",
]


def line(row, notes):
    """A row in Markdown. Warnings that differ in numbers only have one note, with the numbers of the first."""
    marks = []
    for text in row["warnings"]:
        notes.setdefault(re.sub(r"[\d.,]+", "#", text), text)
        marks.append(str(list(notes).index(re.sub(r"[\d.,]+", "#", text)) + 1))
    flags = f"`{row['flags']}`" if row["flags"] else ""
    if row.get("failed"):
        return "| " + " | ".join([row["case"], flags] + [""] * 15 + ["FAILED", " ".join(marks)]) + " |"
    sigma = f"{row['sigma_px']:.3f}" if "sigma_px" in row else ""
    misfit = f"{row['psf_misfit']:.3f}" if isinstance(row.get("psf_misfit"), float) else ""
    z = "{z_rms_nm:.1f}, {z_slope:.3f}, {z_pull[0]:.2f}, {z_pull[1]:.2f}".format(**row) if "z_slope" in row else ""
    cells = (
        "{truths:,} | {rows:,} | {precision:.4f} | {recall:.4f} | {jaccard:.4f} | {rmse_lone_nm:.2f}, "
        "{bias_lone_nm[0]:.2f}, {bias_lone_nm[1]:.2f} | "
        "{pull_lone[0]:.2f}, {pull_lone[1]:.2f} | {pull_all[0]:.2f}, {pull_all[1]:.2f} | {p_below_05:.3f} | "
        "{photons_lone:.3f} | {photon_pull:.2f}"
    ).format(**row)
    verdict = f"{row['seconds']:.2f} | {row['verdict']} | {' '.join(marks)}"
    return f"| {row['case']} | {flags} | {sigma} | {misfit} | {cells} | {z} | {verdict} |"


def case_names():
    simulated = [
        f"{psf}-{photons}-{background}-{kind}"
        for psf in [*GAUSSIANS, *LENSES]
        for kind in ("lone", "dense")
        for photons in (2000, 10_000)
        for background in (5, 100)
    ]
    simulated += [f"gauss-2000-8-{kind}-{fault}" for fault in ["hot", *STRUCTURES] for kind in ("lone", "dense")]
    simulated += [f"gauss-6000-8-{kind}-clipped" for kind in ("lone", "dense")]
    return simulated + ["data-" + name for name in DATA_CASES if DATA.is_dir()]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--glint", default=ROOT / "build/release/bin/glint", help="the program")
    parser.add_argument("--cases", nargs="+", default=["*"], help="names or patterns, as 'airy-*' 'data-*'")
    parser.add_argument("--seeds", type=int, default=1, help="movies of each simulated case")
    parser.add_argument("--flags", action="append", help="more flags for localize; repeat it for more rows")
    parser.add_argument(
        "--spread",
        choices=["even", "lognormal", "exponential"],
        default="even",
        help="photons of molecules: within 30 %% of their mean, or of that distribution",
    )
    parser.add_argument("--radius", type=float, default=150, help="of a match, nm")
    parser.add_argument("--keep", type=pathlib.Path, help="folder for movies and truth, used again if they are there")
    parser.add_argument("--out", type=pathlib.Path, help="file for the table, in Markdown")
    parser.add_argument("--json", type=pathlib.Path, help="file for the numbers")
    options = parser.parse_args()
    names = [name for name in case_names() if any(fnmatch.fnmatch(name, pattern) for pattern in options.cases)]
    text, notes, results, calibrations = [], {}, [], {}

    def say(words):
        text.append(words)
        print(words, flush=True)
        if options.out:
            options.out.write_text("\n".join(text) + "\n")

    say(json.dumps(describe()) + "\n")
    if not DATA.is_dir():
        say(f"Without the cases `data-*`: there is no folder {DATA}.\n")
    say("| " + " | ".join(HEAD) + " |\n|" + " --- |" * len(HEAD))
    with tempfile.TemporaryDirectory() as temporary:
        scratch = pathlib.Path(temporary)
        folder = options.keep or scratch
        folder.mkdir(parents=True, exist_ok=True)
        for name in names:
            for flags in options.flags or [""]:
                results.append(measure(options, folder, scratch, name, flags, calibrations))
                say(line(results[-1], notes))
                if options.json:
                    options.json.write_text(json.dumps({"machine": describe(), "rows": results}, indent=1) + "\n")
    silent = sum(row.get("verdict", "").startswith("SILENT") for row in results)
    say(f"\n{len(results)} rows, {silent} wrong without a warning\n")
    single = {row["case"]: row.get("recall", 0) for row in results if row["flags"] == "--emitters 1"}
    for row in results:
        if row.get("recall", 1) < single.get(row["case"], 0):
            say(
                f"- {row['case']} {row['flags']}: recall {row['recall']:.4f}, but "
                f"{single[row['case']]:.4f} with --emitters 1"
            )
    say("")
    for number, note in enumerate(notes.values(), 1):
        say(f"{number}. {note}")


if __name__ == "__main__":
    main()
