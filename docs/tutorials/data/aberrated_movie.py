"""Draws a movie of lone molecules, seen through an objective with coma and spherical aberration (NA 1.4, 670 nm)."""

# SPDX-License-Identifier: MIT
import numpy as np
import glint

random = np.random.default_rng(1)
pixel_nm, fine, half, size = 100, 10, 20, 256  # fine: points per pixel

# The field in the image is the Fourier transform of the pupil. Pixels collect the light of fine x fine points.
points = 1024
k = (np.arange(points) - points // 2) * fine / (points * pixel_nm)
kx, ky = np.meshgrid(k, k)
r, t = np.hypot(kx, ky) / (1.4 / 670), np.arctan2(ky, kx)
phase = 0.35 * np.sqrt(8) * (3 * r**3 - 2 * r) * np.cos(t) + 0.35 * np.sqrt(5) * (6 * r**4 - 6 * r**2 + 1)
light = np.abs(np.fft.fftshift(np.fft.fft2(np.fft.ifftshift((r <= 1) * np.exp(1j * phase))))) ** 2
light = np.cumsum(np.cumsum(light / light.sum(), 0), 1)
light = light[fine:, fine:] - light[fine:, :-fine] - light[:-fine, fine:] + light[:-fine, :-fine]
middle = points // 2 - fine // 2

frames = []
for frame in range(240):
    mean = np.full((size, size), 10.0)
    for _ in range(random.poisson(12)):
        (x, y), photons = random.integers(half * fine, (size - half) * fine, 2), random.gamma(4, 500)
        i, j = x // fine, y // fine
        columns = middle - x + np.arange(i - half, i + half + 1) * fine
        lines = middle - y + np.arange(j - half, j + half + 1) * fine
        mean[j - half : j + half + 1, i - half : i + half + 1] += photons * light[np.ix_(lines, columns)]
    frames.append(random.poisson(mean))
glint.save("movie.tif", np.array(frames, np.uint16) + 100, pixel_size_nm=pixel_nm)
