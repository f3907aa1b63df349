"""A PSF of beads that is corrected for the sample, against molecules above a coverslip computed here."""

import json
import subprocess

import h5py
import numpy as np
import pytest
import tifffile

PIXEL_NM, FINE, HALF, OFFSET_ADU, BACKGROUND = 100, 5, 16, 100, 10
NA, WAVELENGTH_NM, OIL, WATER, DEPTH_NM = 1.3, 670, 1.518, 1.33, 1500
CAMERA = ["--pixel-size", f"{PIXEL_NM}nm", "--offset", OFFSET_ADU, "--gain", 1]
OPTICS = ["--na", NA, "--wavelength", f"{WAVELENGTH_NM}nm"]
POINTS = 512
K = (np.arange(POINTS) - POINTS // 2) * FINE / (POINTS * PIXEL_NM)
KX, KY = np.meshgrid(K, K)
RADIUS, ANGLE = np.hypot(KX, KY) * WAVELENGTH_NM / NA, np.arctan2(KY, KX)
AXIAL = {index: np.sqrt(np.maximum(index**2 - (NA * RADIUS) ** 2, 0)) for index in (OIL, WATER)}
ASTIGMATISM = 0.8 * np.sqrt(6) * RADIUS**2 * np.cos(2 * ANGLE)


def intensity(phase):
    field = np.fft.fftshift(np.fft.fft2(np.fft.ifftshift((RADIUS <= 1) * np.exp(1j * phase))))
    return np.abs(field) ** 2


def best_focus_nm():
    """The focus of the brightest spot without aberrations, of a molecule at DEPTH_NM."""
    candidates = np.arange(1.0, 1.4, 0.0025) * DEPTH_NM
    k0 = 2 * np.pi / WAVELENGTH_NM
    inside = RADIUS <= 1
    deep, near = DEPTH_NM * AXIAL[WATER][inside], AXIAL[OIL][inside]
    return max(candidates, key=lambda f: abs(np.exp(1j * k0 * (deep - f * near)).sum()))


def volume(z_nm, of_z):
    """The light of pixels around each fine point, for each z."""
    planes = []
    for z in z_nm:
        light = intensity(of_z(z) + ASTIGMATISM)
        sums = np.cumsum(np.cumsum(light / light.sum(), 0), 1)
        planes.append(sums[FINE:, FINE:] - sums[FINE:, :-FINE] - sums[:-FINE, FINE:] + sums[:-FINE, :-FINE])
    return planes


MIDDLE = POINTS // 2 - (FINE + 1) // 2


def add(mean, plane, x, y, photons):
    """Adds a molecule at fine points (x, y)."""
    i, j = round(x / FINE), round(y / FINE)
    columns = MIDDLE - x + np.arange(i - HALF, i + HALF + 1) * FINE
    lines = MIDDLE - y + np.arange(j - HALF, j + HALF + 1) * FINE
    mean[j - HALF : j + HALF + 1, i - HALF : i + HALF + 1] += photons * plane[np.ix_(lines, columns)]


def write(path, frames, random):
    counts = random.poisson(np.array(frames)) + OFFSET_ADU
    tifffile.imwrite(path, counts.astype(np.uint16), photometric="minisblack")


@pytest.fixture(scope="module")
def folder(tmp_path_factory, glint):
    folder, random = tmp_path_factory.mktemp("in_situ"), np.random.default_rng(1)
    k0 = 2 * np.pi / WAVELENGTH_NM
    stage = np.arange(-700, 701, 20)
    beads = volume(stage, lambda z: k0 * z * AXIAL[OIL])
    places = [(x, y) + random.integers(-10, 11, 2) for x in (100, 320, 540) for y in (100, 320, 540)]
    frames = []
    for plane in beads:
        frames.append(np.full((130, 130), float(BACKGROUND)))
        for x, y in places:
            add(frames[-1], plane, x, y, 30_000)
    write(folder / "beads.tif", frames, random)

    height, focus = np.arange(-500, 501, 20), best_focus_nm()
    molecules = volume(height, lambda z: k0 * ((DEPTH_NM + z) * AXIAL[WATER] - focus * AXIAL[OIL]))
    frames, rows = [], []
    for frame in range(60):
        frames.append(np.full((252, 252), float(BACKGROUND)))
        for x in range(20, 240, 42):
            for y in range(20, 240, 42):
                at, k = np.array([x, y]) * FINE + random.integers(-15, 16, 2), random.integers(len(height))
                add(frames[-1], molecules[k], *at, random.uniform(2000, 5000))
                rows.append((frame, *(at / FINE), height[k]))
    write(folder / "movie.tif", frames, random)
    np.save(folder / "truth.npy", np.array(rows))
    glint("calibrate", "psf", "beads.tif", "--z-step", "20nm", "-o", "lens.h5", *CAMERA, cwd=folder)
    return folder


def z_errors(folder, glint, psf):
    """z error and z of all lone molecules that were found."""
    glint("localize", "movie.tif", "-o", "locs.csv", "--psf", psf, "--emitters", 1, "--overwrite", *CAMERA, cwd=folder)
    table = np.genfromtxt(folder / "locs.csv", delimiter=",", names=True, deletechars="")
    truth, found = np.load(folder / "truth.npy"), []
    for frame, x, y, z in truth:
        near = table[table["frame"] == frame + 1]
        # Columns are in nm, and pixel 0 begins at 0.
        apart = np.hypot(near["x_[nm]"] / PIXEL_NM - 0.5 - x, near["y_[nm]"] / PIXEL_NM - 0.5 - y)
        if len(near) and apart.min() < 1:
            found.append((near["z_[nm]"][apart.argmin()] - z, z))
    return np.array(found).T


def biases(errors, z):
    return np.array([np.median(errors[(z >= low) & (z < low + 200)]) for low in range(-500, 400, 200)])


def test_the_depth_corrects_z(folder, glint):
    optics = [*OPTICS, "--sample-index", WATER]
    text = glint("calibrate", "psf-in-situ", "movie.tif", "--psf", "lens.h5", "-o", "in_situ.h5", "--json", *optics,
                 *CAMERA, cwd=folder)  # fmt: skip
    found = json.loads(text)
    depth = found["aberrations"][0]
    assert depth["name"] == "depth" and found["is_better"]
    assert depth["value"] == pytest.approx(DEPTH_NM, rel=0.1)
    assert found["refined"]["p_above_0.01"] > found["beads"]["p_above_0.01"]
    by_beads, refined = (z_errors(folder, glint, psf) for psf in ("lens.h5", "in_situ.h5"))
    assert refined.shape[1] > 1500
    assert np.abs(biases(*by_beads)).max() > 30
    assert np.abs(biases(*refined)).max() < 15


def test_without_the_index_spherical_aberration_is_found(folder, glint):
    text = glint("calibrate", "psf-in-situ", "movie.tif", "--psf", "lens.h5", "-o", "free.h5", "--json", *OPTICS,
                 *CAMERA, cwd=folder)  # fmt: skip
    found = json.loads(text)
    assert [one["name"] for one in found["aberrations"][:2]] == ["spherical", "spherical growth"]
    assert found["is_better"] and found["added_likelihood"] > 5 * found["added_likelihood_error"]


def test_beads_need_no_correction(folder, glint):
    """A movie of the beads' own lens: the PSF stays, byte for byte."""
    glint("simulate", "-o", "same.tif", "--psf", "lens.h5", "--structure", "random", "--spots", 16, "--size", 256,
          "--frames", 100, "--photons", "2000:5000", "--z-range", "400nm", *CAMERA, cwd=folder)  # fmt: skip
    run = ["calibrate", "psf-in-situ", "same.tif", "--psf", "lens.h5", "-o", "same.h5", *OPTICS, *CAMERA]
    text = json.loads(glint(*run, "--json", cwd=folder))
    assert not text["is_better"] and "The PSF of the beads is kept" in "".join(text["warnings"])
    with h5py.File(folder / "same.h5") as same, h5py.File(folder / "lens.h5") as lens:
        assert np.array_equal(same["psf/coefficients"][:], lens["psf/coefficients"][:])


def test_what_cannot_be_refined_is_refused(folder, program):
    def message(*given, camera=CAMERA):
        run = [program, "calibrate", "psf-in-situ", *given, "-o", "none.h5", *camera]
        done = subprocess.run([str(part) for part in run], cwd=folder, capture_output=True, text=True)
        assert done.returncode != 0 and not (folder / "none.h5").exists()
        return done.stderr

    movie = ["movie.tif", "--psf", "lens.h5"]
    assert "not below the sample index" in message(*movie, "--na", 1.4, "--wavelength", "670nm", "--sample-index", 1.33)
    assert "at least 300 are needed" in message(*movie, *OPTICS, "--frames", "0:3")
    assert "give nm or um" in message(*movie, "--na", 1.3, "--wavelength", "6px")
    assert "pixels of" in message(*movie, *OPTICS, camera=["--pixel-size", "90nm", *CAMERA[2:]])
    assert "z were" in message(*movie, "--na", 0.9, "--wavelength", "670nm", "--sample-index", 1.33)
