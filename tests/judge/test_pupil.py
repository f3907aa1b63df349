"""PSFs that glint computes from the optics, against a direct sum over the pupil, and what is made with them."""

import json
import subprocess

import h5py
import numpy as np
import pytest
import tifffile

PIXEL_NM, WAVELENGTH_NM = 100, 670
CAMERA = ["--pixel-size", f"{PIXEL_NM}nm", "--offset", 100, "--gain", 1]
RADII, RADIUS_WEIGHTS = np.polynomial.legendre.leggauss(160)
SUB, SUB_WEIGHTS = np.polynomial.legendre.leggauss(6)


def zernike(name, r, angle):
    """Noll, J. Opt. Soc. Am. 66, 207 (1976), table I."""
    return {
        "astigmatism": np.sqrt(6) * r**2 * np.cos(2 * angle),
        "astigmatism_45": np.sqrt(6) * r**2 * np.sin(2 * angle),
        "coma_x": np.sqrt(8) * (3 * r**3 - 2 * r) * np.cos(angle),
        "coma_y": np.sqrt(8) * (3 * r**3 - 2 * r) * np.sin(angle),
        "trefoil": np.sqrt(8) * r**3 * np.cos(3 * angle),
        "spherical": np.sqrt(5) * (6 * r**4 - 6 * r**2 + 1),
        "12": np.sqrt(10) * (4 * r**4 - 3 * r**2) * np.cos(2 * angle),
    }[name]


def light(optics, column, row, z_nm):
    """The part of the light in the pixel whose centre is (column, row) px from the molecule: a sum over the pupil in
    polar coordinates, and over points of the pixel."""
    na, immersion, sample = optics["na"], optics["immersion"], optics["sample"]
    r = (0.5 * (RADII + 1))[:, None]
    angle = np.arange(240)[None, :] * 2 * np.pi / 240
    area = (0.5 * RADIUS_WEIGHTS)[:, None] * r * 2 * np.pi / 240
    axial = {index: np.sqrt(index**2 - (na * r) ** 2) for index in (immersion, sample)}
    path = (optics["depth_nm"] + z_nm) * axial[sample] - optics["focus_nm"] * axial[immersion]
    phase = 2 * np.pi / WAVELENGTH_NM * path
    for name, rad in optics["zernike"].items():
        phase = phase + rad * zernike(name, r, angle)
    wave = area * np.exp(1j * phase)
    per_nm = 2 * np.pi * na / WAVELENGTH_NM
    total = 0
    for v, v_weight in zip(SUB, SUB_WEIGHTS):
        for u, u_weight in zip(SUB, SUB_WEIGHTS):
            x, y = (column + u / 2) * PIXEL_NM, (row + v / 2) * PIXEL_NM
            field = np.sum(wave * np.exp(1j * per_nm * r * (x * np.cos(angle) + y * np.sin(angle))))
            total += u_weight * v_weight / 4 * abs(field) ** 2
    return total * PIXEL_NM**2 * per_nm**2 / (4 * np.pi**3)


def best_focus_nm(na, immersion, sample, depth_nm):
    """The focus with the smallest rms of the phase: linear regression over equal areas of the pupil."""
    squares = na**2 * (np.arange(20000) + 0.5) / 20000
    deep, near = np.sqrt(sample**2 - squares), np.sqrt(immersion**2 - squares)
    return depth_nm * np.polyfit(near, deep, 1)[0]


class Table:
    """The spline of a lens file, at its points along x and y and anywhere along z."""

    def __init__(self, path):
        with h5py.File(path) as file:
            self.coefficients = file["psf/coefficients"][:].astype(float)
            attributes = dict(file["psf"].attrs)
        self.samples = int(attributes["samples_per_px"])
        self.z_min, self.z_max = attributes["z_min_nm"], attributes["z_max_nm"]

    def plane(self, z_nm):
        nz = len(self.coefficients)
        w = 1 + (z_nm - self.z_min) * (nz - 3) / (self.z_max - self.z_min)
        far = np.abs(np.arange(nz) - w)
        weights = np.where(far < 1, 2 / 3 - far**2 + far**3 / 2, np.clip(2 - far, 0, None) ** 3 / 6)
        c = np.tensordot(weights, self.coefficients, 1)
        c = (c[:-2] + 4 * c[1:-1] + c[2:]) / 6
        return (c[:, :-2] + 4 * c[:, 1:-1] + c[:, 2:]) / 6

    def at(self, column, row, z_nm):
        plane = self.plane(z_nm)
        middle = len(plane) // 2
        index = lambda at: np.rint(middle + self.samples * np.asarray(at)).astype(int)  # noqa: E731
        return plane[index(row), index(column)]


def simulate(glint, folder, name, *flags):
    out = glint(
        "simulate", "-o", folder / f"{name}.tif", "--save-psf", folder / f"{name}.h5", *CAMERA, *flags, "--json"
    )
    return json.loads(out)


OPTICS = {
    "airy": (1.4, 1.518, 1.518, 0, {}),
    "aberrated": (1.3, 1.518, 1.518, 0, {"astigmatism": 0.6, "coma_x": 0.4, "coma_y": -0.2, "trefoil": 0.3, "12": 0.3}),
    "deep": (1.2, 1.518, 1.33, 1500, {"astigmatism_45": -0.5, "spherical": 0.4}),
}


@pytest.mark.parametrize("name", OPTICS)
def test_the_table_is_the_sum_over_the_pupil(name, tmp_path, glint):
    na, immersion, sample, depth_nm, terms = OPTICS[name]
    optics = {"na": na, "immersion": immersion, "sample": sample, "depth_nm": depth_nm, "zernike": terms}
    optics["focus_nm"] = best_focus_nm(na, immersion, sample, depth_nm)
    flags = ["--na", na, "--wavelength", f"{WAVELENGTH_NM}nm", "--immersion-index", immersion, "--sample-index", sample]
    flags += ["--depth", f"{depth_nm}nm", "--frames", 1, "--size", 32, "--z-range", "500nm"]
    for term, rad in terms.items():
        flags += ["--zernike", f"{term}={rad}"]
    simulate(glint, tmp_path, name, *flags)
    table = Table(tmp_path / f"{name}.h5")
    assert table.z_min == -600 and table.z_max == 600
    peak = max(light(optics, 0, 0, z) for z in (-200, 0, 200))
    for column, row in [(0, 0), (1, 0), (0, 1.5), (-2.5, 1), (3, -4), (-6, -2.5)]:
        for z_nm in (-500, -130, 0, 260, 475):
            # Half pixels are points of the table. Between its planes the spline adds an error.
            assert table.at(column, row, z_nm) == pytest.approx(light(optics, column, row, z_nm), abs=1e-4 * peak)


def test_photons_are_those_of_the_whole_plane(tmp_path, glint):
    """Without a background, the sum over a frame is the part of the light in the window."""
    flags = ["--na", 1.4, "--wavelength", "670nm", "--structure", "beads", "--spots", 1, "--z-range", "400nm"]
    flags += ["--photons", "200000:200000", "--background", 0, "--z-step", "400nm"]
    result = simulate(glint, tmp_path, "bead", *flags)
    stack = tifffile.imread(tmp_path / "bead.tif").astype(float)
    assert stack.shape[0] == result["frames"] == 3 and result["z_step_nm"] == 400
    light_in_frames = (stack - 100).sum((1, 2)) / 2e5
    noise = 5 * np.sqrt(2e5) / 2e5 + 0.01  # and the border of the window, as the bead is between pixels
    assert abs(light_in_frames[1] - result["light_max"]) < noise
    assert light_in_frames.min() > result["light_min"] - noise
    assert 0.95 < result["light_max"] < 1 and result["light_min"] > 0.9


def test_a_flat_sample_is_in_focus(tmp_path, glint):
    simulate(
        glint, tmp_path, "flat", "--na", 1.2, "--wavelength", "0.6um", "--z-range", 0, "--frames", 20, "--size", 64
    )
    truth = np.genfromtxt(tmp_path / "flat_truth.csv", delimiter=",", names=True)
    assert np.all(truth[next(n for n in truth.dtype.names if n.startswith("z"))] == 0)


@pytest.fixture(scope="module")
def learnt(tmp_path_factory, glint):
    """A lens that is measured on simulated beads, and the truth."""
    folder = tmp_path_factory.mktemp("pupil")
    optics = ["--na", 1.4, "--wavelength", "670nm", "--zernike", "astigmatism=1", "--zernike", "trefoil=0.3"]
    flags = ["--structure", "beads", "--spots", 6, "--size", 160, "--z-range", "700nm", "--z-step", "25nm"]
    result = simulate(glint, folder, "beads", *optics, *flags)
    assert "--z-step 25nm" in result["calibrate"]
    out = glint(
        "calibrate", "psf", folder / "beads.tif", "-o", folder / "learnt.h5", "--z-step", "25nm", *CAMERA, "--json"
    )
    return folder, json.loads(out)


def test_beads_have_the_truth_that_is_written(learnt):
    folder, result = learnt
    truth = np.genfromtxt(folder / "beads_truth.csv", delimiter=",", names=True)
    names = {name.split("_")[0]: name for name in truth.dtype.names}
    used = [bead for bead in result["beads"] if not bead["rejected"]]
    assert len(used) == 6
    first = truth[truth[names["frame"]] == truth[names["frame"]].min()]
    z = np.unique(truth[names["z"]])
    assert len(z) == 57 and z[0] == -700 and z[-1] == 700
    for bead in used:
        off = np.hypot(first[names["x"]] / PIXEL_NM - bead["x_px"], first[names["y"]] / PIXEL_NM - bead["y_px"])
        assert off.min() < 1  # the centre of an aberrated PSF is its own


def test_fits_with_a_measured_psf_have_the_stated_errors(learnt):
    _, result = learnt
    assert result["z_min_nm"] <= -450 and result["z_max_nm"] >= 450
    assert abs(result["z_slope"] - 1) < 0.01
    assert result["z_rms_nm"] < 1.3 * result["z_crlb_nm"]
    assert result["p_above_0.01"] > 0.95


def test_a_measured_psf_is_the_true_one(learnt):
    """At whole pixels, apart from the unit of light, from a constant at each z, which is background, and from its
    centre: a shift is a sum of derivatives."""
    folder, _ = learnt
    true, measured = Table(folder / "beads.h5"), Table(folder / "learnt.h5")
    rows, columns = np.meshgrid(np.arange(-8, 9), np.arange(-8, 9), indexing="ij")

    def planes(table, x=0, y=0, z=0):
        stack = np.array([table.at(columns + x, rows + y, z + z_nm) for z_nm in np.linspace(-400, 400, 17)])
        return (stack - stack.mean((1, 2), keepdims=True)).ravel()

    steps = [("x", 0.5), ("y", 0.5), ("z", 20)]
    slopes = [planes(true, **{axis: step}) - planes(true, **{axis: -step}) for axis, step in steps]
    terms = [planes(true), *slopes]
    weights, *_ = np.linalg.lstsq(np.array(terms).T, planes(measured), rcond=None)
    unit, peak = weights[0], terms[0].max()
    difference = planes(measured) / unit - np.array(terms).T @ weights / unit
    # A slice's noise at the peak, 1 / sqrt(20,000 photons x 0.05), averages over 6 beads and 3 slices a knot: 0.7 %.
    assert np.sqrt(np.mean(difference**2)) < 0.007 * peak
    assert np.all(np.abs(weights[1:] / unit) < 0.3)  # of a pixel, and of 40 nm
    # The window of the truth is wider, and the measured PSF has the sum 1 in its own.
    assert 1 < unit < 1.2


REFUSED = [
    (["--na", 1.4], ["--wavelength 670nm"]),
    (["--wavelength", "670nm"], ["--na too"]),
    (["--zernike", "coma_x=0.3"], ["--zernike coma_x=0.3", "--na too"]),
    (["--na", 1.4, "--wavelength", "670"], ["--wavelength", "unit"]),
    (["--na", 1.4, "--wavelength", "670um"], ["wavelength", "200 to 2000", "--wavelength 670nm"]),
    (["--na", 1.4, "--wavelength", "-670nm"], ["wavelength"]),
    (["--na", 1.4, "--wavelength", "6px"], ["give nm or um"]),
    (["--na", 1.4, "--wavelength", "670nm", "--sample-index", 1.33], ["1.4", "1.33", "evanescent", "--na 1.32"]),
    (["--na", 1.6, "--wavelength", "670nm"], ["1.6", "1.518", "immersion"]),
    (["--na", 1.4, "--wavelength", "670nm", "--sigma", "130nm"], ["leave --sigma 130nm out"]),
    (["--na", 1.4, "--wavelength", "670nm", "--psf", "lens.h5"], ["leave --psf lens.h5 out"]),
    (["--na", 1.4, "--wavelength", "670nm", "--calibration", "c.toml"], ["leave --calibration c.toml out"]),
    (["--na", 1.4, "--wavelength", "670nm", "--zernike", "coma=1"], ["--zernike coma", "coma_x (8)"]),
    (["--na", 1.4, "--wavelength", "670nm", "--zernike", "coma_x"], ["--zernike coma_x=0.3"]),
    (["--na", 1.4, "--wavelength", "670nm", "--zernike", "coma_x=nan"], ["rad rms"]),
    (["--na", 1.4, "--wavelength", "670nm", "--zernike", "8=.1", "--zernike", "coma_x=.1"], ["given twice"]),
    (["--na", 1.4, "--wavelength", "670nm", "--zernike", "56=90"], ["spreads over", "--zernike"]),
    (["--na", 1.4, "--wavelength", "670nm", "--z-range", "50um"], ["--z-range"]),
    (["--na", 1.4, "--wavelength", "670nm", "--z-range", "-5nm"], ["range of z"]),
    (["--na", 1.2, "--wavelength", "670nm", "--sample-index", 1.33, "--depth", "100nm"], ["--depth 400nm"]),
    (["--save-psf", "none.h5"], ["--save-psf none.h5", "Gaussian"]),
    (["--na", 1.4, "--wavelength", "670nm", "--save-psf", "lens.toml"], ["ends in .h5"]),
    (["--structure", "beads"], ["changes with z", "--na 1.4"]),
    (["--z-step", "20nm"], ["--structure beads"]),
    (["--structure", "beads", "--blinks", "3"], ["do not blink"]),
    (["--structure", "beads", "--frames", "9", "--z-range", "300nm"], ["give one of them"]),
    (["--structure", "beads", "--z-step", "2um"], ["--z-step 2000nm", "2 to 1,000,000"]),
    (["--structure", "beads", "--na", 1.4, "--wavelength", "670nm", "--spots", "100"], ["of 100 beads fit"]),
]


@pytest.mark.parametrize(("flags", "words"), REFUSED, ids=[" ".join(map(str, flags)) for flags, _ in REFUSED])
def test_implausible_optics_are_refused(flags, words, tmp_path, program):
    ended = subprocess.run(
        [program, "simulate", "-o", "m.tif", "--frames", "9", *map(str, flags)]
        if "--structure" not in flags
        else [program, "simulate", "-o", "m.tif", *map(str, flags)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert ended.returncode == 2 and all(word in ended.stderr for word in words), ended.stderr
    assert not list(tmp_path.iterdir())
