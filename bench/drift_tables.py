"""Localization tables with a known drift: blinking molecules on origami or filaments, background and beads. In nm;
numpy alone.
"""

# SPDX-License-Identifier: MIT
import numpy as np

FRAMES, FIELD_NM, PIXEL_NM, SIGMA_NM, AXIAL = 20000, 40000.0, 100.0, 9.0, 2.5


def smoothed(values, width):
    """A Gaussian filter; the ends are mirrored through their last value."""
    padded = np.concatenate([2 * values[0] - values[::-1], values, 2 * values[-1] - values[::-1]])
    kernel = np.exp(-2 * (np.pi * np.fft.rfftfreq(len(padded)) * width) ** 2)
    return np.fft.irfft(np.fft.rfft(padded) * kernel, len(padded))[len(values) : 2 * len(values)]


def drift_nm(rng, dims, jump=30.0, jitter=4.0, forget=150.0, white=1.0):
    """A smooth walk of about 150 nm, a jitter that is forgotten, one that is new in each frame, and a jump: (frames,
    3).
    """
    drift = np.zeros((FRAMES, 3))
    for axis in range(dims):
        walk = smoothed(np.cumsum(rng.standard_normal(FRAMES)), 400)
        noise, keep = rng.standard_normal(FRAMES), np.exp(-1 / forget)
        forgetting = np.empty(FRAMES)
        forgetting[0] = noise[0]
        for frame in range(1, FRAMES):
            forgetting[frame] = keep * forgetting[frame - 1] + np.sqrt(1 - keep**2) * noise[frame]
        drift[:, axis] = (
            walk * 150 * rng.uniform(0.7, 1.3) / np.ptp(walk)
            + jitter * forgetting
            + white * rng.standard_normal(FRAMES)
        )
    direction = rng.standard_normal(dims)
    drift[int(FRAMES * rng.uniform(0.45, 0.7)) :, :dims] += jump * direction / np.linalg.norm(direction)
    return drift - drift[0]


def origami(rng, dims, count=400):
    """Each 4 x 3 molecules 20 nm apart; in 3D two layers of 40 nm, tilted."""
    x, y = (grid.ravel() for grid in np.meshgrid(np.arange(4) * 20.0 - 30, np.arange(3) * 20.0 - 20))
    z = np.where((np.arange(12) // 2) % 2, 20.0, -20.0) * (dims == 3)
    places = []
    for centre in rng.uniform(500, FIELD_NM - 500, (count, 2)):
        turn, tilt = rng.uniform(0, 2 * np.pi), rng.uniform(-0.5, 0.5) * (dims == 3)
        u, w = x * np.cos(tilt) + z * np.sin(tilt), -x * np.sin(tilt) + z * np.cos(tilt)
        height = rng.uniform(-250, 250) * (dims == 3)
        places.append(
            np.column_stack(
                [
                    u * np.cos(turn) - y * np.sin(turn) + centre[0],
                    u * np.sin(turn) + y * np.cos(turn) + centre[1],
                    w + height,
                ]
            )
        )
    return np.concatenate(places)


def filaments(rng, dims, count=40, radius=20.0, spacing=8.0, bend=20000.0, angle=None):
    """Hollow tubes that bend, a molecule every 8 nm. `angle`: all begin in that direction."""
    places = []
    for _ in range(count):
        steps = int(1.6 * FIELD_NM / 50)
        first = rng.uniform(0, 2 * np.pi) if angle is None else angle
        turn = first + np.cumsum(rng.standard_normal(steps)) * np.sqrt(50 / bend)
        line = np.cumsum(50 * np.column_stack([np.cos(turn), np.sin(turn)]), 0)
        line += rng.uniform(0.1, 0.9, 2) * FIELD_NM - line[steps // 2]
        height = smoothed(np.cumsum(rng.standard_normal(steps)), 20)
        height = 500 * (height - height.mean()) / np.ptp(height)
        at = np.arange(0, (steps - 1) * 50.0, spacing)
        k, part = (at / 50).astype(int), (at / 50 % 1)[:, None]
        around = rng.uniform(0, 2 * np.pi, len(at))
        across = radius * np.cos(around)[:, None] * np.column_stack([-np.sin(turn[k]), np.cos(turn[k])])
        flat = line[k] * (1 - part) + line[k + 1] * part + across
        place = np.column_stack([flat, (height[k] + radius * np.sin(around)) * (dims == 3)])
        places.append(place[(flat > 100).all(1) & (flat < FIELD_NM - 100).all(1)])
    return np.concatenate(places)


def blinks(rng, places, rows, on=4.0):
    """Frame, molecule and photons of `rows` localizations of molecules that shine for `on` frames, mean, in frames they
    share with dark.
    """
    frame, molecule, photons = [], [], []
    left = rows
    while left > 0:
        count = max(1000, int(left / (0.8 * on)))
        start = rng.uniform(0, FRAMES, count)
        end = start + rng.exponential(on, count)
        first = start.astype(int)
        spans = end.astype(int) - first + 1
        of = np.repeat(np.arange(count), spans)
        at = first[of] + np.arange(len(of)) - np.repeat(np.cumsum(spans) - spans, spans)
        lit = np.minimum(end[of], at + 1) - np.maximum(start[of], at)
        seen = rng.poisson(1000 * rng.lognormal(0, 0.25, count)[of] * lit)
        good = np.flatnonzero((at < FRAMES) & (seen >= 350))[:left]
        (
            frame.append(at[good]),
            molecule.append(rng.integers(0, len(places), count)[of[good]]),
            photons.append(seen[good]),
        )
        left -= len(good)
    return (np.concatenate(part) for part in (frame, molecule, photons))


def table(places, rows, dims, rng, drift, background=0.05, beads=0, bead_sigma_nm=2.0, loose=()):
    """Returns columns in px and nm, in the order of frames.

    loose: the motion (frames, 3) in nm of each of the first beads.
    """
    scattered = int(rows * background)
    frame, molecule, photons = blinks(rng, places, rows - scattered)
    frame = np.concatenate([frame, rng.integers(0, FRAMES, scattered)])
    photons = np.concatenate([photons, rng.integers(350, 1500, scattered)])
    anywhere = np.column_stack(
        [rng.uniform(0, FIELD_NM, (scattered, 2)), rng.uniform(-300, 300, scattered) * (dims == 3)]
    )
    place = np.concatenate([places[molecule], anywhere])
    sigma = SIGMA_NM * np.sqrt(1000 / photons)
    for bead in range(beads):
        own = loose[bead] if bead < len(loose) else np.zeros((FRAMES, 3))
        frame = np.concatenate([frame, np.arange(FRAMES)])
        place = np.concatenate([place, np.append(rng.uniform(2000, FIELD_NM - 2000, 2), 0) + own])
        photons = np.concatenate([photons, np.full(FRAMES, 20000)])
        sigma = np.concatenate([sigma, np.full(FRAMES, bead_sigma_nm)])
    sigma = sigma[:, None] * [1, 1, AXIAL]
    seen = place + drift[frame] + sigma * rng.standard_normal(place.shape)
    order = np.argsort(frame, kind="stable")
    columns = {
        "frame": frame,
        "x_px": seen[:, 0] / PIXEL_NM - 0.5,
        "y_px": seen[:, 1] / PIXEL_NM - 0.5,
        "photons": photons,
        "lpx_px": sigma[:, 0] / PIXEL_NM,
        "lpy_px": sigma[:, 1] / PIXEL_NM,
    }
    if dims == 3:
        columns |= {"z_nm": seen[:, 2], "lpz_nm": sigma[:, 2]}
    return {name: values[order] for name, values in columns.items()}


def errors(found_nm, drift):
    """Returns errors per frame and of means of 100 frames along an axis, without the undetermined constant."""
    error = found_nm - drift
    error = error - error.mean(0)
    return error, error.reshape(len(error) // 100, 100, -1).mean(1)
