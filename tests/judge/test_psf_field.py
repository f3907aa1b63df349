"""A PSF that changes over the field: coma that grows from the middle to the corners."""

import json
import re
import subprocess

import h5py
import numpy as np
import pytest

PIXEL_NM, EDGE, CELLS, COMA, WINDOW, Z_RANGE_NM = 100, 192, 20, 0.3, 17, 450
CAMERA = ["--pixel-size", f"{PIXEL_NM}nm", "--offset", 100, "--gain", 1]
OPTICS = ["--na", 1.4, "--wavelength", "670nm", "--zernike", "astigmatism=0.7"]
STACK = ["--structure", "beads", "--z-range", f"{Z_RANGE_NM}nm", "--z-step", "30nm", "--photons", "15000:25000"]
REGIONS = 3  # along each axis


def read_table(path):
    with h5py.File(path) as file:
        return file["psf/coefficients"][:], dict(file["psf"].attrs)


def values(coefficients):
    """The spline at its points, along the last three axes."""
    for axis in (-3, -2, -1):
        c = np.moveaxis(coefficients, axis, 0)
        coefficients = np.moveaxis((c[:-2] + 4 * c[1:-1] + c[2:]) / 6, 0, axis)
    return coefficients


def centre_nm(coefficients, attributes):
    """The centre by convention: the centroid of max(h, 0)^1.5 over the window and the stack's z, without the mean of
    each border."""
    h, samples = values(coefficients.astype(float)), int(attributes["samples_per_px"])
    h = h[np.abs(np.linspace(attributes["z_min_nm"], attributes["z_max_nm"], len(h))) < Z_RANGE_NM + 1]
    middle, half = h.shape[-1] // 2, WINDOW // 2 * samples
    h = h[:, middle - half : middle + half + 1 : samples, middle - half : middle + half + 1 : samples]
    border = np.ones(h.shape[1:], bool)
    border[1:-1, 1:-1] = False
    h = h - h[:, border].mean(1)[:, None, None]
    light = np.clip(h, 0, None) ** 1.5
    places = np.arange(WINDOW) - WINDOW // 2
    return PIXEL_NM * np.array([(light.sum((0, k)) * places).sum() / light.sum() for k in (1, 2)])


def lagrange(nodes, places):
    """The weights of each node at each place, of the polynomials through the nodes."""
    weights = np.ones((len(places), len(nodes)))
    for k, node in enumerate(nodes):
        for other in np.delete(nodes, k):
            weights[:, k] *= (places - other) / (node - other)
    return weights


@pytest.fixture(scope="module")
def lens(glint, tmp_path_factory):
    """The file of a lens whose coma is COMA in the corners, as another program could write it. PSFs computed at 5 x 5
    values of coma are interpolated to all cells."""
    folder = tmp_path_factory.mktemp("lens")
    largest = COMA / np.sqrt(2)
    nodes = largest * np.cos(np.pi * (np.arange(5) + 0.5) / 5)
    computed = np.empty((5, 5), object)
    for j, i in np.ndindex(5, 5):
        coma = [f"coma_x={nodes[i]:.9f}", f"coma_y={nodes[j]:.9f}"]
        glint("simulate", "-o", folder / "one.tif", "--save-psf", folder / "one.h5", "--frames", 1, "--size", 32,
              *OPTICS, *coma, "--z-range", f"{Z_RANGE_NM}nm", "--overwrite", *CAMERA)  # fmt: skip
        coefficients, attributes = read_table(folder / "one.h5")
        edge = int(attributes["samples_per_px"]) * (WINDOW + 3) + 5
        cut = (coefficients.shape[1] - edge) // 2
        computed[j, i] = coefficients[:, cut : cut + edge, cut : cut + edge]
    weights = lagrange(nodes, largest * ((np.arange(CELLS) + 0.5) / CELLS * 2 - 1))
    cells = np.einsum("ya,xb,abkji->yxkji", weights, weights, np.array(computed.tolist()), optimize=True)
    path = folder / "truth.h5"
    with h5py.File(path, "w") as file:
        group = file.create_group("psf")
        group.create_dataset("coefficients", data=cells.astype(np.float32))
        for name, value in attributes.items():
            if name != "hash":
                group.attrs[name] = value
        group.attrs["version"] = "2.0"
        group.attrs["field_left_px"] = group.attrs["field_top_px"] = -0.5
        group.attrs["field_cell_px"] = EDGE / CELLS
    return path


def simulate_beads(glint, folder, psf, stacks):
    names = []
    for k in range(stacks):
        names.append(folder / f"beads{k}.tif")
        glint(
            "simulate", "-o", names[-1], "--psf", psf, "--size", EDGE, *STACK, "--spots", 18, "--seed", 10 + k, *CAMERA
        )
    return names


def calibrate(program, folder, beads, name, *also):
    """The JSON and the warnings."""
    flags = ["-o", folder / name, "--z-step", "30nm", "--roi", WINDOW, "--json", *also, *CAMERA]
    command = [str(part) for part in [program, "calibrate", "psf", *beads, *flags]]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), done.stderr


def biases(glint, folder, psf, lens):
    """Mean x and y errors in each region and part of z, nm, and their largest standard error. The centre of the PSF is
    a convention: the PSFs of the truth have another one."""
    glint("localize", folder / "movie.tif", "-o", folder / "locs.hdf5", "--psf", psf, "--overwrite", *CAMERA)
    with h5py.File(folder / "locs.hdf5") as file:
        locs = file["locs"][:]
    truth = np.genfromtxt(folder / "movie_truth.csv", delimiter=",", names=True)
    names = {name.split("_")[0]: name for name in truth.dtype.names}
    truth = {"frame": truth[names["frame"]], "x": truth[names["x"]] / PIXEL_NM, "y": truth[names["y"]] / PIXEL_NM,
             "z": truth[names["z"]]}  # fmt: skip
    truth = np.rec.fromarrays(list(truth.values()), names=list(truth))
    coefficients, attributes = read_table(lens)
    centres = np.array([[centre_nm(cell, attributes) for cell in row] for row in coefficients])
    errors, regions = [], []
    for frame in np.unique(truth["frame"]):
        here, true = locs[locs["frame"] == frame], truth[truth["frame"] == frame]
        for row in true:
            apart = np.hypot(here["x"] - row["x"], here["y"] - row["y"])
            lone = np.count_nonzero(np.hypot(true["x"] - row["x"], true["y"] - row["y"]) < 16) == 1
            if lone and apart.size and apart.min() < 1:
                found = here[apart.argmin()]
                cell = [int(np.clip((row[k] + 0.5) // (EDGE / CELLS), 0, CELLS - 1)) for k in "xy"]
                error = PIXEL_NM * np.array([found["x"] - row["x"], found["y"] - row["y"]])
                errors.append(error - centres[cell[1], cell[0]])
                part = int(np.clip((row["z"] + 300) // 200, 0, 2))
                regions.append([*(int(np.clip((row[k] + 0.5) * REGIONS / EDGE, 0, REGIONS - 1)) for k in "xy"), part])
    errors, regions = np.array(errors), np.array(regions)
    means, error_of_mean = [], 0
    for region in np.ndindex(REGIONS, REGIONS, 3):
        of_region = errors[(regions == region).all(1)]
        means.append(of_region.mean(0))
        error_of_mean = max(error_of_mean, (of_region.std(0) / np.sqrt(len(of_region))).max())
    return np.array(means), error_of_mean


def test_coma_over_the_field_is_measured_and_corrected(glint, program, lens, tmp_path):
    beads = simulate_beads(glint, tmp_path, lens, 4)
    one, warnings = calibrate(program, tmp_path, beads, "one.h5")
    assert "the PSF changes over the field" in warnings and "--field" in warnings
    assert "field" not in one
    found, warnings = calibrate(program, tmp_path, beads, "field.h5", "--field")
    assert "--field" not in warnings
    field = found["field"]
    assert field["degree"] >= 1 and field["gain"] > 5 * field["gain_error"]
    assert field["p_above_0.01"] > field["p_above_0.01_of_one"]
    assert field["cell_error_nm"] <= 1.01
    with h5py.File(tmp_path / "field.h5") as file:
        assert file["psf"].attrs["version"] in ("2.0", b"2.0")
        assert file["psf/coefficients"].shape[:2] == (field["cells_y"], field["cells_x"])
    glint("simulate", "-o", tmp_path / "movie.tif", "--psf", lens, "--size",
          EDGE, "--structure", "random", "--frames", 600, "--spots", 8, "--on-frames", 1, "--photons", "4000:8000",
          "--z-range", "300nm", "--seed", 3, *CAMERA)  # fmt: skip
    of_field, error = biases(glint, tmp_path, tmp_path / "field.h5", lens)
    of_one, _ = biases(glint, tmp_path, tmp_path / "one.h5", lens)
    assert error < 0.8
    assert np.abs(of_field).max() < 3
    assert np.abs(of_one).max() > 2 * np.abs(of_field).max() and np.abs(of_one).max() > 3


def test_a_lens_without_change_has_one_psf(glint, program, tmp_path):
    glint("simulate", "-o", tmp_path / "one.tif", "--save-psf", tmp_path / "lens.h5", "--frames", 1, "--size", 32,
          *OPTICS, "--z-range", f"{Z_RANGE_NM}nm", *CAMERA)  # fmt: skip
    beads = simulate_beads(glint, tmp_path, tmp_path / "lens.h5", 2)
    found, _ = calibrate(program, tmp_path, beads, "field.h5", "--field")
    assert found["field"]["degree"] == 0
    assert found["field"]["gain"] < 2 * found["field"]["gain_error"]
    assert (found["field"]["cells_x"], found["field"]["cells_y"]) == (1, 1)
    coefficients, attributes = read_table(tmp_path / "field.h5")
    assert coefficients.ndim == 3 and attributes["version"] in ("1.2", b"1.2")


def test_too_few_beads_are_an_error(glint, program, tmp_path):
    glint("simulate", "-o", tmp_path / "beads.tif", "--size", 128, *OPTICS, *STACK, "--spots", 6, "--seed", 1, *CAMERA)
    command = [program, "calibrate", "psf", tmp_path / "beads.tif", "-o", tmp_path / "lens.h5", "--z-step", "30nm",
               "--roi", WINDOW, "--field", *CAMERA]  # fmt: skip
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    assert done.returncode == 3
    assert re.search(r"\d usable beads? of \d+ spots are too few .* --field, which needs 12", done.stderr)
