"""Draws a stack of beads and a movie, seen through an astigmatic lens that is rotated by 40 degrees."""

# SPDX-License-Identifier: MIT
import math
import numpy as np
import glint

random = np.random.default_rng(1)
places = [(12.3, 15.8), (45.6, 14.2), (30.1, 31.7), (15.4, 49.5), (48.9, 47.1)]
turn, grid = math.radians(40), np.arange(64)


def spot(x, y, z):
    u = math.cos(turn) * (grid[None, :] - x) + math.sin(turn) * (grid[:, None] - y)
    v = math.cos(turn) * (grid[:, None] - y) - math.sin(turn) * (grid[None, :] - x)
    su, sv = 1.4 * math.hypot(1, (z - 200) / 300), 1.35 * math.hypot(1, (z + 200) / 300)
    return np.exp(-0.5 * (u / su) ** 2 - 0.5 * (v / sv) ** 2) / (2 * math.pi * su * sv)


slices = [random.poisson(10 + sum(20000 * spot(x, y, z) for x, y in places)) for z in range(-500, 501, 20)]
glint.save("beads.tif", np.array(slices, np.uint16) + 100, pixel_size_nm=100)
frames = [
    random.poisson(
        10
        + sum(random.uniform(2000, 5000) * spot(*at, random.uniform(-350, 350)) for at in random.uniform(8, 56, (3, 2)))
    )
    for _ in range(300)
]
glint.save("movie.tif", np.array(frames, np.uint16) + 100, pixel_size_nm=100)
