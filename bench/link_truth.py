"""Compares the results of `glint link` and `glint resolution` for simulated blinks with the truth.

    bench/link_truth.py [--seeds 10] [--glint build/release/bin/glint]

Mistakes: links that join two blinks, and those within a blink that were not made, as stated over as counted (sums over
seeds). A and B of the in-track variance beside those of the true blinks, and NeNA beside the median precision of the
same pairs. No option is given: all is chosen from the data.
"""

# SPDX-License-Identifier: MIT
import argparse
import json
import pathlib
import subprocess
import tempfile

import h5py
import numpy as np

from machine import ROOT, describe

PIXEL_NM = 100.0


def sites_of(random, field_nm, structures):
    """Places of molecules: everywhere (None), or grids of 4 x 3 sites 20 nm apart, turned by chance."""
    if structures == 0:
        return None
    x, y = np.meshgrid(np.arange(4) * 20.0 - 30, np.arange(3) * 20.0 - 20)
    grid = np.stack([x.ravel(), y.ravel()], 1)
    angle = random.uniform(0, 2 * np.pi, structures)
    turned = np.stack([np.cos(angle), -np.sin(angle), np.sin(angle), np.cos(angle)], 1).reshape(-1, 2, 2)
    centres = random.uniform(500, field_nm - 500, (structures, 2))
    return (np.einsum("sij,kj->ski", turned, grid) + centres[:, None]).reshape(-1, 2)


def simulate(
    seed,
    rows,
    frames,
    field_nm,
    on=4.0,
    unseen=0.0,
    pause=0.0,
    pause_frames=2.0,
    structures=0,
    background=0.0,
    in_3d=False,
):
    """A table of Picasso's columns, and the number of each row's blink. Blinks last exponentially long, `on` frames in
    the mean; a frame within is not seen with the probability `unseen`; when one ends it continues, with the probability
    `pause`, after so many dark frames in the mean (a geometric number). `background`: a share of rows that are blinks
    of one frame anywhere."""
    random = np.random.Generator(np.random.PCG64(seed))
    sites = sites_of(random, field_nm, structures)
    wanted = int(rows * (1 - background))
    blinks = int(1.5 * wanted / (on + 0.5)) + 100
    frame, blink = [], []
    begin, open_blinks = random.uniform(0, frames, blinks), np.arange(blinks)
    while len(open_blinks):
        end = begin + random.exponential(on, len(begin))
        first, count = np.floor(begin).astype(int), np.floor(end).astype(int) - np.floor(begin).astype(int) + 1
        at = np.repeat(first, count) + np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
        frame.append(at), blink.append(np.repeat(open_blinks, count))
        goes_on = random.random(len(begin)) < pause
        dark = random.geometric(1 / pause_frames, len(begin))
        begin, open_blinks = (np.floor(end) + 1 + dark)[goes_on], open_blinks[goes_on]
    frame, blink = np.concatenate(frame), np.concatenate(blink)
    seen = (frame < frames) & (random.random(len(frame)) >= unseen)
    frame, blink = frame[seen], blink[seen]
    keep = blink < np.searchsorted(np.cumsum(np.bincount(blink, minlength=blinks)), wanted)  # whole blinks
    frame, blink = frame[keep], blink[keep]
    alone = rows - wanted
    frame = np.concatenate([frame, random.integers(0, frames, alone)])
    blink = np.concatenate([blink, blinks + np.arange(alone)])
    places = random.uniform(0, field_nm, (blinks + alone, 2))
    if sites is not None:
        places[:blinks] = sites[random.integers(0, len(sites), blinks)]
    depth = random.uniform(-300, 300, blinks + alone)
    brightness = 1000 * random.lognormal(0, 0.25, blinks + alone)
    photons = np.maximum(random.poisson(brightness[blink] * random.uniform(0.5, 1, len(blink))), 100)
    sigma = 9 * np.sqrt(1000 / photons)
    table = {"frame": frame.astype("u4"), "photons": photons.astype("f4")}
    for axis, name in enumerate(("x", "y")):
        seen_at = places[blink, axis] + sigma * random.standard_normal(len(blink))
        table[name] = (seen_at / PIXEL_NM - 0.5).astype("f4")
        table["lp" + name] = (sigma / PIXEL_NM).astype("f4")
    if in_3d:
        table["z"] = (depth[blink] + 2.5 * sigma * random.standard_normal(len(blink))).astype("f4")
        table["lpz"] = (2.5 * sigma).astype("f4")
    return table, blink


def write(path, table, frames, field_nm):
    records = np.zeros(len(table["frame"]), dtype=[(name, values.dtype) for name, values in table.items()])
    for name, values in table.items():
        records[name] = values
    with h5py.File(path, "w") as file:
        file["locs"] = records
    edge = int(np.ceil(field_nm / PIXEL_NM))
    path.with_suffix(".yaml").write_text(f"Width: {edge}\nHeight: {edge}\nFrames: {frames}\nPixelsize: {PIXEL_NM:g}\n")


def steps(frame, group, other):
    """How often successive rows of a group differ in `other`."""
    order = np.lexsort((frame, group))
    group, other = group[order], other[order]
    return int(np.sum((group[1:] == group[:-1]) & (other[1:] != other[:-1])))


def true_variance(table, blink):
    """A and B of successive frames of true blinks: least squares, weighted as squares of normal numbers are."""
    order = np.lexsort((table["frame"], blink))
    i, j = order[:-1], order[1:]
    pairs = (blink[i] == blink[j]) & (table["frame"][j] - table["frame"][i] == 1)
    i, j = i[pairs], j[pairs]
    crlb, square = [], []
    for axis in "xy":
        place, sigma = table[axis].astype(float) * PIXEL_NM, table["lp" + axis].astype(float) * PIXEL_NM
        crlb.append((sigma[i] ** 2 + sigma[j] ** 2) / 2), square.append((place[i] - place[j]) ** 2 / 2)
    crlb, square = np.concatenate(crlb), np.concatenate(square)
    b, a = np.polyfit(crlb, square, 1, w=1 / crlb)
    return a, b, float(np.median(np.sqrt(crlb)))


def glint_says(program, command, *arguments):
    done = subprocess.run([program, command, *map(str, arguments), "--json", "--quiet"], capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(done.stderr)
    return json.loads(done.stdout)


SCENES = {
    "apart, 4 frames": dict(rows=100_000, frames=2000, field_nm=20_000),
    "3 times denser": dict(rows=300_000, frames=2000, field_nm=20_000),
    "10 times denser": dict(rows=300_000, frames=2000, field_nm=11_000),
    "long, 12 frames": dict(rows=200_000, frames=2000, field_nm=20_000, on=12.0),
    "short, 1.5 frames": dict(rows=200_000, frames=2000, field_nm=20_000, on=1.5),
    "5 % of frames unseen": dict(rows=200_000, frames=2000, field_nm=20_000, unseen=0.05),
    "20 % of frames unseen": dict(rows=200_000, frames=2000, field_nm=20_000, on=8.0, unseen=0.2),
    "pauses of 2 frames": dict(rows=200_000, frames=2000, field_nm=20_000, pause=0.5),
    "pauses of 8 frames": dict(rows=200_000, frames=2000, field_nm=20_000, pause=0.5, pause_frames=8.0),
    "half are single rows": dict(rows=200_000, frames=2000, field_nm=20_000, background=0.5),
    "in 3D": dict(rows=200_000, frames=2000, field_nm=20_000, in_3d=True),
    "in 3D, 10 times denser": dict(rows=300_000, frames=2000, field_nm=11_000, in_3d=True),
    "structures of 12 sites": dict(rows=200_000, frames=20_000, field_nm=40_000, structures=400, background=0.05),
    "structures, crowded": dict(rows=200_000, frames=5000, field_nm=40_000, structures=200, background=0.05),
}


def measure(program, scene, seed, folder):
    table, blink = simulate(seed, **scene)
    locs, tracks = folder / "locs.hdf5", folder / "tracks.hdf5"
    write(locs, table, scene["frames"], scene["field_nm"])
    said = glint_says(program, "link", locs, "-o", tracks, "--unmerged", "--overwrite")
    with h5py.File(tracks) as file:
        track = file["locs"]["track"]
    a, b, median_nm = true_variance(table, blink)
    resolution = glint_says(program, "resolution", locs)
    nena = resolution["nena"]
    return {
        "links": said["links"],
        "radius": said["radius_sigma"],
        "gap": said["gap"],
        "wrong": steps(table["frame"], track, blink),
        "said_wrong": said["false_links"],
        "missed": steps(table["frame"], blink, track),
        "said_missed": said["missed_links"],
        "a": said["lateral"]["a_nm2"],
        "b": said["lateral"]["b"] / b,
        "true_a": a,
        "nena": nena,
        "median_nm": median_nm,
    }


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    options.add_argument("--seeds", type=int, default=10)
    options.add_argument("--glint", default=ROOT / "build/release/bin/glint")
    options.add_argument("--scene", help="only those whose name contains this")
    given = options.parse_args()
    print(json.dumps(describe()))
    print(
        f"{'':24}{'links':>8}{'radius':>7}{'gap':>4}{'wrong':>8}{'said':>6}{'missed':>8}{'said':>6}   A "
        f"(worst)    B / true (worst)   NeNA / true"
    )
    for name, scene in SCENES.items():
        if given.scene and given.scene not in name:
            continue
        with tempfile.TemporaryDirectory() as folder:
            found = [measure(given.glint, scene, seed, pathlib.Path(folder)) for seed in range(given.seeds)]
        mean = {
            key: np.mean([one[key] for one in found])
            for key in ("links", "radius", "gap", "wrong", "said_wrong", "missed", "said_missed", "a", "b")
        }
        worst_a = max((one["a"] for one in found), key=abs)
        worst_b = max((one["b"] for one in found), key=lambda b: abs(b - 1))
        nena = [one["nena"]["precision"]["nm"] / one["median_nm"] for one in found]
        print(
            f"{name:24}{mean['links']:8.0f}{mean['radius']:7.2f}{mean['gap']:4.1f}{mean['wrong']:8.0f}"
            f"{mean['said_wrong'] / max(mean['wrong'], 1):6.2f}{mean['missed']:8.0f}"
            f"{mean['said_missed'] / max(mean['missed'], 1):6.2f}   {mean['a']:+.2f} ({worst_a:+.2f})"
            f"   {mean['b']:.3f} ({worst_b:.3f})   {np.mean(nena):.3f} ({max(nena, key=lambda r: abs(r - 1)):.3f})",
            flush=True,
        )


if __name__ == "__main__":
    main()
