"""h5py, SciPy, Picasso and Python's pickle write and read files of measured PSFs: glint's table must be the same
function of x, y and z as the file's polynomials.
"""

import json
import os
import pathlib
import pickle
import subprocess

import h5py
import numpy as np
import pytest
import scipy.interpolate
import scipy.io
import scipy.ndimage
import tifffile

LIMIT = 1e-5  # of the peak


@pytest.fixture(scope="session")
def lens_dump(program):
    """Runs lens_dump: (facts, coefficients) of a file, or its message if it is refused."""
    tool = pathlib.Path(os.environ.get("GLINT_BIN", program.parent)) / "lens_dump"

    def run(path, out, kind="raw", *options, refused=False):
        done = subprocess.run([tool, path, kind, out, *map(str, options)], capture_output=True, text=True)
        assert done.returncode == (1 if refused else 0), done.stdout + done.stderr
        if refused:
            return done.stderr
        facts = json.loads(done.stdout)
        return facts, np.fromfile(out, np.float32).reshape(facts["shape"]) if kind == "raw" else None

    return run


def volume(nz=9, ny=11, nx=13, seed=1):
    """A spot that differs along each axis and direction, with noise: z, y, x."""
    z, y, x = np.meshgrid(*(np.arange(n, dtype=float) for n in (nz, ny, nx)), indexing="ij")
    x, y = x - 0.5 * (nx - 1) - 0.1 * z, y - 0.5 * (ny - 1) + 0.3
    width = 1.2 + 0.15 * z
    spot = np.exp(-(x**2 + 1.5 * y**2 + 0.6 * x * y) / (2 * width**2))
    return spot + np.random.default_rng(seed).normal(0, 0.01, spot.shape)


def polynomials(data, end="not-a-knot"):
    """Coefficients [z, y, x, power of z, of y, of x] of the spline through data[z, y, x]."""
    operators = []
    for n in data.shape:
        spline = scipy.interpolate.CubicSpline(np.arange(n), np.eye(n), axis=0, bc_type=end)
        operators.append(np.moveaxis(spline.c[::-1], 0, 1))
    return np.einsum("aAi,bBj,cCk,ijk->abcABC", *operators, data, optimize=True)


def evaluate(coefficients, at):
    """The polynomials at places (z, y, x) in cells."""
    cell = np.minimum(np.floor(at).astype(int), np.array(coefficients.shape[:3]) - 1)
    powers = (at - cell)[..., None] ** np.arange(4)
    return np.einsum("nABC,nA,nB,nC->n", coefficients[tuple(cell.T)], powers[:, 0], powers[:, 1], powers[:, 2])


def spline(table, w, v, u):
    """The model of theory.md: sum of c B(w - k) B(v - j) B(u - i), straight from its definition."""

    def b(t):
        t = np.abs(t)
        return np.where(t < 1, 2 / 3 - t**2 + t**3 / 2, np.where(t < 2, (2 - t) ** 3 / 6, 0))

    weights = [b(np.asarray(at)[:, None] - np.arange(n)) for at, n in zip((w, v, u), table.shape)]
    return np.einsum("nk,nj,ni,kji->n", *weights, table.astype(float), optimize=True)


def compare(facts, table, coefficients, z_of_point, mirrored=False, count=4000):
    """The table at random places of x, y and z is the file's function, in units of its brightest plane."""
    rng = np.random.default_rng(3)
    cells = np.array(coefficients.shape[:3])
    at = rng.uniform(0, 1, (count, 3)) * cells
    expected = evaluate(coefficients, at)
    nodes = evaluate(
        coefficients,
        np.stack(np.meshgrid(*(np.arange(n + 1) for n in cells), indexing="ij"), -1).reshape(-1, 3).astype(float),
    )
    nodes = nodes.reshape(cells + 1)
    light, peak = nodes.sum((1, 2)).max(), nodes.max()
    z = z_of_point(at[:, 0])
    nz, ny, nx = facts["shape"]
    step = (facts["z_max_nm"] - facts["z_min_nm"]) / (nz - 3)
    y, x = at[:, 1] - cells[1] / 2, at[:, 2] - cells[2] / 2  # of a pixel from the molecule, px
    if mirrored:
        x = -x
    found = spline(table, 1 + (z - facts["z_min_nm"]) / step, y + (ny - 1) / 2, x + (nx - 1) / 2)
    assert np.abs(found - expected / light).max() < LIMIT * peak / light
    return light


def as_matlab(coefficients):
    """(y, x, z, 64) of MATLAB, with powers of y fastest."""
    return np.ascontiguousarray(np.transpose(coefficients, (1, 2, 0, 3, 5, 4))).reshape(
        *np.array(coefficients.shape)[[1, 2, 0]], 64
    )


def smap(coefficients, em=0, pixel_size=0.1, cell=True):
    coeff = as_matlab(coefficients).astype(np.float32)
    if cell:
        held = np.empty((1, 1), object)
        held[0, 0] = coeff
        coeff = held
    parameters = {"dz": 20.0}
    if pixel_size:
        held = np.empty((1, 1), object)
        held[0, 0] = np.array([pixel_size, pixel_size])
        parameters["pixelsize"] = held
    return {
        "SXY": {"cspline": {"coeff": coeff, "dz": 20.0, "z0": 5.0, "x0": 7.0}, "EMon": em},
        "parameters": parameters,
    }


@pytest.mark.parametrize("packed", (False, True))
@pytest.mark.parametrize("em", (0, 1))
@pytest.mark.parametrize("end", ("not-a-knot", "natural", "clamped"))
def test_smap_v5(tmp_path, lens_dump, packed, em, end):
    coefficients = polynomials(volume(), end)
    path = tmp_path / "a_3dcal.mat"
    scipy.io.savemat(path, smap(coefficients, em, cell=not packed), do_compression=packed)
    facts, table = lens_dump(path, tmp_path / "raw")
    assert facts["shape"] == [11, 13, 15] and facts["pixel_size_nm"] == pytest.approx(100)
    compare(facts, table, coefficients, lambda k: (5 - k) * 20, mirrored=bool(em))


def test_smap_without_pixel_size(tmp_path, lens_dump):
    coefficients = polynomials(volume())
    path = tmp_path / "a_3dcal.mat"
    scipy.io.savemat(path, smap(coefficients, pixel_size=None))
    assert "`pixel_size=100nm`" in lens_dump(path, tmp_path / "raw", refused=True)
    assert lens_dump(path, tmp_path / "raw", "raw", 117)[0]["pixel_size_nm"] == 117


def test_smap_two_channels(tmp_path, lens_dump):
    held = np.empty((1, 2), object)
    both = [polynomials(volume(seed=seed)) for seed in (1, 2)]
    for k in range(2):
        held[0, k] = as_matlab(both[k]).astype(np.float32)
    content = smap(both[0])
    content["SXY"]["cspline"]["coeff"] = held
    path = tmp_path / "a_3dcal.mat"
    scipy.io.savemat(path, content)
    assert "2 channels" in lens_dump(path, tmp_path / "raw", refused=True)
    for k in range(2):
        facts, table = lens_dump(path, tmp_path / "raw", "raw", 0, k + 1)
        compare(facts, table, both[k], lambda k: (5 - k) * 20)
    assert "no channel 3" in lens_dump(path, tmp_path / "raw", "raw", 0, 3, refused=True)


@pytest.mark.parametrize("channels", (1, 2))
def test_smap_v73(tmp_path, lens_dump, channels):
    """By h5py as MATLAB lays it out: dimensions reversed, cells and arrays of structures as references."""
    both = [polynomials(volume(seed=seed)) for seed in (1, 2)]
    path = tmp_path / "a_3dcal.mat"
    with h5py.File(path, "w", userblock_size=512) as f:
        refs = f.create_group("#refs#")
        sxy = f.create_group("SXY")
        groups = [sxy.create_group("cspline")] if channels == 1 else [refs.create_group(f"s{k}") for k in range(2)]
        for k, group in enumerate(groups):
            refs[f"c{k}"] = as_matlab(both[k]).astype(np.float32).T
            group.create_dataset("coeff", data=np.array([[refs[f"c{k}"].ref]], h5py.ref_dtype))
            group["dz"], group["z0"] = [[20.0]], [[5.0]]
        if channels == 2:
            sxy.create_dataset("cspline", data=np.array([[g.ref for g in groups]], h5py.ref_dtype))
        refs["p"] = [[0.11], [0.11]]
        f.create_dataset("parameters/pixelsize", data=np.array([[refs["p"].ref]], h5py.ref_dtype))
    with open(path, "r+b") as f:
        f.write(b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(116) + bytes(8) + b"\x00\x02IM")
    for k in range(channels):
        facts, table = lens_dump(path, tmp_path / "raw", "raw", 0, k + 1 if channels > 1 else 0)
        assert facts["pixel_size_nm"] == pytest.approx(110)
        compare(facts, table, both[k], lambda k: (5 - k) * 20)


def picasso_calibration(data, **changes):
    from picasso import spline as picasso_spline

    template = np.ascontiguousarray(np.transpose(data, (2, 1, 0)))  # x, y, z as Picasso
    coefficients = picasso_spline.spline_coefficients(template)
    return {
        "model": "spline-3d",
        "coefficients": coefficients,
        "n_data": list(template.shape),
        "n_intervals": list(coefficients.shape[1:]),
        "oversampling": 1.0,
        "z_center": 3.5,
        "z_init": 4.0,
        "z_step_nm": 20.0,
        "magnification_factor": 0.79,
        "photon_scale": 9.0,
        "box": template.shape[0],
        "pixelsize": 130.0,
        "n_channels": 1,
        "note": float("nan"),
        **changes,
    }


def test_picasso(tmp_path, lens_dump):
    picasso_io = pytest.importorskip("picasso.io")
    pytest.importorskip("picasso.spline")
    data = volume(ny=13)
    path = tmp_path / "a_spline_calib.hdf5"
    picasso_io.save_spline_calibration(path, picasso_calibration(data))
    facts, table = lens_dump(path, tmp_path / "raw")
    assert facts["pixel_size_nm"] == 130
    # localize.locs_from_fits_spline, where the spline's z is -z_shift
    compare(facts, table, polynomials(data, "natural"), lambda k: (4 - k) * 20 * 0.79 + (3.5 - 4) * 20)
    picasso_io.save_spline_calibration(path, picasso_calibration(data, model="spline-2d"))
    assert "spline-3d" in lens_dump(path, tmp_path / "raw", refused=True)
    picasso_io.save_spline_calibration(path, picasso_calibration(data, oversampling=2.0))
    assert "oversampling" in lens_dump(path, tmp_path / "raw", refused=True)
    two = picasso_calibration(data, model="spline-3d-multichannel", n_channels=2)
    other = picasso_calibration(volume(ny=13, seed=4))["coefficients"]
    two["coefficients"] = np.stack([two["coefficients"], other], -1)
    picasso_io.save_spline_calibration(path, two)
    facts, table = lens_dump(path, tmp_path / "raw", "raw", 0, 2)
    compare(facts, table, polynomials(volume(ny=13, seed=4), "natural"), lambda k: (4 - k) * 15.8 - 10)


def uipsf_coefficients(data):
    """As uiPSF 0.x computes them (psf2cspline_np): 64 values at thirds of a cell, in float32."""
    up = scipy.ndimage.zoom(data.astype(np.float32), 3.0, mode="grid-constant", grid_mode=True)[1:-1, 1:-1, 1:-1]
    powers = (np.arange(4) / 3)[:, None] ** np.arange(4)
    system = np.kron(np.kron(powers, powers), powers).astype(np.float32)
    out = np.zeros((64, *(n - 1 for n in data.shape)))
    for i, j, k in np.ndindex(*out.shape[1:]):
        some = up[i * 3 : 3 * i + 4, j * 3 : 3 * j + 4, k * 3 : 3 * k + 4]
        out[:, i, j, k] = scipy.linalg.solve(system, some.flatten())
    return out.astype(np.float32)


@pytest.mark.parametrize("swapped", (False, True))
@pytest.mark.parametrize("kind", ("voxel", "insitu_zernike"))
def test_uipsf(tmp_path, lens_dump, swapped, kind):
    coeff = uipsf_coefficients(volume())
    path = tmp_path / "psf_voxel_single.h5"
    with h5py.File(path, "w") as f:
        f.attrs["params"] = json.dumps(
            {"PSFtype": kind, "swapxy": swapped, "pixel_size": {"x": 0.127, "y": 0.127, "z": 0.05}}
        )
        f["locres/coeff"] = coeff
        f["res/I_model"] = volume()
    facts, table = lens_dump(path, tmp_path / "raw")
    assert facts["pixel_size_nm"] == pytest.approx(127)
    coefficients = np.moveaxis(coeff.astype(float), 0, -1).reshape(*coeff.shape[1:], 4, 4, 4)  # z, y, x, powers
    if swapped:
        coefficients = coefficients.transpose(0, 2, 1, 3, 5, 4)
    sign = 1 if kind.startswith("insitu") else -1
    compare(facts, table, coefficients, lambda k: sign * (k - 4) * 50)


@pytest.mark.parametrize("protocol", (2, 3, 4, 5))
def test_storm_analysis(tmp_path, lens_dump, protocol):
    data = volume(nz=10, ny=10, nx=10)
    coefficients = polynomials(data, "natural")
    content = {
        "pixel_size": 0.1,
        "type": "3D",
        "version": 2.0,
        "zmin": -500.0,
        "zmax": np.float64(400.0),
        "zvals": [-500.0, 400.0],
        "spline": data,
        "coeff": coefficients.reshape(9, 9, 9, 64),
        "psf_name": "a.psf",
    }
    path = tmp_path / "a.spline"
    path.write_bytes(pickle.dumps(content, protocol=protocol))
    if protocol == 2:  # which stores the bytes of arrays by a call of _codecs.encode
        assert "_codecs.encode" in lens_dump(path, tmp_path / "raw", refused=True)
        return
    facts, table = lens_dump(path, tmp_path / "raw")
    compare(facts, table, coefficients, lambda k: -500 + 100 * k)


def test_storm_analysis_refuses(tmp_path, lens_dump):
    path = tmp_path / "a.spline"
    for content, said in (
        ({"type": "3D", "version": 1.0}, "older than 2"),
        ({"type": "2D", "version": 2.0}, "only 3D"),
        ({"version": 2.0}, "no type"),
        ([1, 2], "no dictionary"),
        ({"type": os.path.join}, "posixpath.join"),
        ({"type": "3D", "version": 2.0, "coeff": np.zeros((2, 2, 2, 64), "c16")}, "c16"),
        ({"type": "3D", "version": 2.0, "coeff": np.asfortranarray(np.zeros((2, 2, 2, 64)))}, "Fortran"),
        ({"type": "3D", "version": 2.0, "coeff": np.zeros((2, 2, 2, 63))}, "(2, 2, 2, 63)"),
    ):
        path.write_bytes(pickle.dumps(content))
        assert said in lens_dump(path, tmp_path / "raw", refused=True)


def test_files_of_storm_analysis_and_smap(tmp_path, data, lens_dump):
    path = data / "storm_analysis_3d.spline"
    content = pickle.loads(path.read_bytes())
    facts, table = lens_dump(path, tmp_path / "raw")
    coefficients = content["coeff"].reshape(9, 9, 9, 4, 4, 4)
    compare(facts, table, coefficients, lambda k: -750 + 1500 * k / 9)
    assert "only 3D" in lens_dump(data / "storm_analysis_2d.spline", tmp_path / "raw", refused=True)

    content = scipy.io.loadmat(data / "smap_3dcal_small.mat", simplify_cells=True)
    coefficients = content["SXY"]["cspline"]["coeff"].astype(float).reshape(14, 14, 6, 4, 4, 4)
    coefficients = coefficients.transpose(2, 0, 1, 3, 5, 4)  # y, x, z, powers of z, x, y
    facts, table = lens_dump(data / "smap_3dcal_small.mat", tmp_path / "raw")
    compare(facts, table, coefficients, lambda k: (4 - k) * 10)


@pytest.fixture
def lens(tmp_path, lens_dump):
    """A PSF of 13 x 13 pixels in glint's own file: its path, facts and table."""
    coefficients = polynomials(volume(nz=8, ny=13))
    scipy.io.savemat(tmp_path / "a.mat", smap(coefficients))
    lens_dump(tmp_path / "a.mat", tmp_path / "lens.h5", "glint")
    return tmp_path / "lens.h5", *lens_dump(tmp_path / "lens.h5", tmp_path / "raw")


def test_own_file_as_h5py_sees_it(lens):
    path, facts, table = lens
    with h5py.File(path) as f:
        group = f["psf"]
        assert group.attrs["format"] == b"glint PSF" or group.attrs["format"] == "glint PSF"
        assert group["coefficients"].dtype == np.float32
        np.testing.assert_array_equal(group["coefficients"][()], table)
        for key in ("pixel_size_nm", "z_min_nm", "z_max_nm", "samples_per_px"):
            assert group.attrs[key] == facts[key]


def test_own_file_of_h5py(tmp_path, lens, lens_dump):
    _, facts, table = lens
    path = tmp_path / "by_h5py.h5"
    with h5py.File(path, "w") as f:
        group = f.create_group("psf")
        group.create_dataset("coefficients", data=table.astype(">f8"), compression="gzip")
        group.attrs["format"], group.attrs["version"] = "glint PSF", "1.3"
        for key in ("pixel_size_nm", "z_min_nm", "z_max_nm", "samples_per_px"):
            group.attrs[key] = facts[key]
        group.attrs["origin"] = "h5py"
    again, values = lens_dump(path, tmp_path / "raw2")
    assert again["origin"] == "h5py"
    np.testing.assert_array_equal(values, table)


def test_written_smap(tmp_path, lens, lens_dump):
    path, facts, table = lens
    lens_dump(path, tmp_path / "b_3dcal.mat", "smap")
    content = scipy.io.loadmat(tmp_path / "b_3dcal.mat", simplify_cells=True)
    cspline = content["SXY"]["cspline"]
    assert cspline["coeff"].shape == (12, 12, 7, 64) and cspline["coeff"].dtype == np.float32
    assert cspline["dz"] == pytest.approx(20) and cspline["z0"] == pytest.approx(5) and cspline["x0"] == 7
    assert content["parameters"]["pixelsize"] == pytest.approx(0.1)
    coefficients = cspline["coeff"].astype(float).reshape(12, 12, 7, 4, 4, 4).transpose(2, 0, 1, 3, 5, 4)
    compare(facts, table, coefficients, lambda k: (5 - k) * 20)
    # SMAP indexes a cell array: a loader without simplification sees one.
    raw = scipy.io.loadmat(tmp_path / "b_3dcal.mat")
    assert raw["SXY"]["cspline"][0, 0]["coeff"][0, 0].dtype == object
    facts2, table2 = lens_dump(tmp_path / "b_3dcal.mat", tmp_path / "raw2")
    assert facts2["shape"] == facts["shape"]
    assert np.abs(table2 - table).max() < LIMIT * table.max()


def test_written_picasso(tmp_path, lens, lens_dump):
    """Picasso's loader and its own model give the image that glint's table gives."""
    picasso_io = pytest.importorskip("picasso.io")
    precision = pytest.importorskip("picasso.fitting.precision")
    splinefit = pytest.importorskip("picasso.fitting.splinefit")
    path, facts, table = lens
    out = tmp_path / "b_spline_calib.hdf5"
    lens_dump(path, out, "picasso")
    calibration = picasso_io.load_spline_calibration(str(out))
    coefficients = precision._spline_coeff_reshaped(calibration)
    assert coefficients.shape == (1, 7, 12, 12, 4, 4, 4)
    rng = np.random.default_rng(8)
    nz, ny, nx = facts["shape"]
    step = (facts["z_max_nm"] - facts["z_min_nm"]) / (nz - 3)
    for _ in range(20):
        x, y = rng.uniform(-1, 1, 2)
        z = rng.uniform(facts["z_min_nm"], facts["z_max_nm"])
        z_shift = (z - calibration["z_center"] * calibration["z_step_nm"]) / calibration["z_step_nm"]
        j, i = (a.ravel() for a in np.mgrid[2:11, 2:11])
        theirs = [
            splinefit._eval_spline_3d(coefficients, 0, float(a - x), float(b - y), float(-z_shift))[0]
            for a, b in zip(i, j)
        ]
        ours = spline(
            table,
            np.full(i.shape, 1 + (z - facts["z_min_nm"]) / step),
            j - 6 - y + (ny - 1) / 2,
            i - 6 - x + (nx - 1) / 2,
        )
        theirs = np.array(theirs) / calibration["photon_scale"]
        assert np.abs(theirs - ours).max() < LIMIT * table.max()
    facts2, table2 = lens_dump(out, tmp_path / "raw2")
    assert facts2["z_min_nm"] == pytest.approx(facts["z_min_nm"])
    assert np.abs(table2 - table).max() < LIMIT * table.max()


def test_picasso_fits_with_the_written_file(tmp_path, lens, lens_dump):
    """Picasso fits spots that are drawn with glint's table, and finds their x, y, z and photons."""
    picasso_io, localize = pytest.importorskip("picasso.io"), pytest.importorskip("picasso.localize")
    path, facts, table = lens
    out = tmp_path / "b_spline_calib.hdf5"
    lens_dump(path, out, "picasso")
    calibration = picasso_io.load_spline_calibration(str(out))
    rng = np.random.default_rng(8)
    nz, ny, nx = facts["shape"]
    step = (facts["z_max_nm"] - facts["z_min_nm"]) / (nz - 3)
    j, i = (a.ravel() for a in np.mgrid[:13, :13])
    truth = np.c_[rng.uniform(-0.3, 0.3, (10, 2)), calibration["z_step_nm"] * rng.uniform(-0.5, 0.5, 10)]
    truth[:, 2] += (
        calibration["z_init"] * -1 * calibration["z_step_nm"] + calibration["z_center"] * calibration["z_step_nm"]
    )
    spots = []
    for x, y, z in truth:
        w = np.full(i.shape, 1 + (z - facts["z_min_nm"]) / step)
        h = spline(table, w, j - 6 - y + (ny - 1) / 2, i - 6 - x + (nx - 1) / 2)
        spots.append((1e6 * h + 50000).reshape(13, 13))
    fitted = localize.fit_spots_spline(np.array(spots, np.float32), calibration)
    theta = np.asarray(fitted[0] if isinstance(fitted, tuple) else fitted)
    assert np.abs(theta[:, 1] - truth[:, 0]).max() < 0.01
    assert np.abs(theta[:, 2] - truth[:, 1]).max() < 0.01
    z = theta[:, 3] * calibration["z_step_nm"] + calibration["z_center"] * calibration["z_step_nm"]
    assert np.abs(z - truth[:, 2]).max() < 3
    assert theta[:, 0] * calibration["photon_scale"] == pytest.approx(1e6, rel=0.02)


def localize(glint_program, folder, *options):
    """Runs `glint localize` on a small movie of Gaussian spots: (exit code, stderr)."""
    movie = folder / "movie.tif"
    if not movie.exists():
        y, x = np.mgrid[:40, :40]
        spot = 3000 * np.exp(-((x - 19.7) ** 2 + (y - 20.2) ** 2) / (2 * 3.0**2)) / (2 * np.pi * 3.0**2)
        random = np.random.default_rng(5)
        tifffile.imwrite(movie, (random.poisson(spot + 5, (20, 40, 40)) + 100).astype(np.uint16))
    done = subprocess.run(
        [glint_program, "localize", movie, "-o", folder / "locs.hdf5", "--overwrite", "--offset", "100", "--gain", "1"]
        + [str(option) for option in options],
        capture_output=True,
        text=True,
    )
    return done.returncode, done.stderr


@pytest.fixture
def wide_lens(tmp_path):
    """glint's own file of a PSF of 25 px, as another program may write it."""
    path = tmp_path / "lens.h5"
    z, y, x = np.meshgrid(np.arange(12) / 11 - 0.5, np.arange(25) - 12.0, np.arange(25) - 12.0, indexing="ij")
    widths = [3.0 + 2 * sign * z for sign in (1, -1)]
    table = np.exp(-(x**2) / (2 * widths[0] ** 2) - y**2 / (2 * widths[1] ** 2)) / (2 * np.pi * widths[0] * widths[1])
    with h5py.File(path, "w") as f:
        group = f.create_group("psf")
        group.create_dataset("coefficients", data=table.astype(np.float32))
        group.attrs["format"], group.attrs["version"] = "glint PSF", "1.0"
        group.attrs["pixel_size_nm"], group.attrs["samples_per_px"] = 107.0, 1.0
        group.attrs["z_min_nm"], group.attrs["z_max_nm"] = -400.0, 400.0
    return path


def test_the_lens_gives_the_pixel_size_and_is_recorded(tmp_path, program, wide_lens):
    code, text = localize(program, tmp_path, "--psf", wide_lens)
    assert code == 0, text
    assert "pixel size 107 nm (measured PSF lens.h5)" in text
    metadata = (tmp_path / "locs.yaml").read_text()
    assert "Measured PSF: lens.h5" in metadata.replace('"', "") and "Table of coefficients: 12 x 25 x 25" in metadata
    code, text = localize(program, tmp_path, "--psf", wide_lens, "--pixel-size", "110nm")
    assert code == 2 and "107 nm" in text and "110 nm" in text


def test_windows_with_little_light_are_refused(tmp_path, program, wide_lens):
    code, text = localize(program, tmp_path, "--psf", wide_lens, "--roi", 3)
    assert code == 2 and "a window of 3 px contains" in text and "give --roi" in text.lower(), text
    code, text = localize(program, tmp_path, "--psf", wide_lens, "--roi", 5)
    assert code == 0 and "z may be wrong" in text, text
    code, text = localize(program, tmp_path, "--psf", wide_lens)
    assert code == 0 and "z may be wrong" not in text, text


TABLE = b"[table]\npixel_size_um=0.1\nz_min_um=-1\nz_max_um=1\n"


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("empty.h5", b"", "is empty"),
        ("notes.txt", b"my lens\n", 'begins with "my lens"'),
        ("beads.tif", b"II*\0\x08\0\0\0", "TIFF"),
        ("a.npy", b"\x93NUMPY\x01\x00", "bytes 93 4e"),
        ("cal.toml", b"[astigmatism]\nsx0_um = 0.1\n", "--calibration"),
        ("table.toml", TABLE + b"samples_per_px = 0.37\n", "samples_per_px is 0.37, outside 1 to 2"),
        ("table2.toml", TABLE + b"samples_per_px = 1.5\n", "is 1.5"),
    ],
)
def test_files_of_other_kinds_are_refused(tmp_path, program, name, content, words):
    (tmp_path / name).write_bytes(content)
    code, text = localize(program, tmp_path, "--psf", tmp_path / name, "--pixel-size", "107nm")
    assert code == 3 and name in text and words in text, text
    if not name.startswith("table"):
        assert "SMAP" in text and "glint calibrate psf" in text


def test_a_folder_and_a_matlab_file_without_a_lens_are_refused(tmp_path, program):
    scipy.io.savemat(tmp_path / "a.mat", {"x": np.zeros(3)})
    for name, words in (("", "a folder"), ("a.mat", "no structure SXY")):
        code, text = localize(program, tmp_path, "--psf", f"{tmp_path}/{name}", "--pixel-size", "107nm")
        assert code == 3 and words in text and "storm-analysis" in text, text


def test_a_channel_is_chosen_by_a_flag(tmp_path, program):
    content = smap(polynomials(volume(nz=8, ny=13)))
    held = np.empty((1, 2), object)
    held[0, 0] = content["SXY"]["cspline"]["coeff"][0, 0]
    held[0, 1] = 2 * held[0, 0]
    content["SXY"]["cspline"]["coeff"] = held
    scipy.io.savemat(tmp_path / "two_3dcal.mat", content)
    code, text = localize(program, tmp_path, "--psf", tmp_path / "two_3dcal.mat")
    assert code == 3 and "2 channels" in text and "--psf-channel 1" in text, text
    code, text = localize(program, tmp_path, "--psf", tmp_path / "two_3dcal.mat", "--psf-channel", 3)
    assert code == 3 and "no channel 3" in text, text
    code, text = localize(program, tmp_path, "--psf", tmp_path / "two_3dcal.mat", "--psf-channel", 2)
    assert code == 0 and "pixel size 100 nm (measured PSF two_3dcal.mat)" in text, text
    code, text = localize(program, tmp_path, "--sigma", "130nm", "--pixel-size", "100nm", "--psf-channel", 2)
    assert code == 2 and "--psf-channel 2" in text, text


def test_edited_files_are_refused(lens, lens_dump, tmp_path):
    path, _, table = lens
    with h5py.File(path, "r+") as f:
        f["psf/coefficients"][4, 6, 6] *= 1.01
    assert "hash" in lens_dump(path, tmp_path / "raw", refused=True)
    with h5py.File(path, "r+") as f:
        f["psf/coefficients"][...] = 3 * table
        del f["psf"].attrs["hash"]
    assert "0.5 to 1.5" in lens_dump(path, tmp_path / "raw", refused=True)


def test_simulations_and_fits_use_the_lens(tmp_path, program, wide_lens):
    """Its pixel size is the default, and the table of a fit names it."""
    subprocess.run(
        [program, "simulate", "-o", tmp_path / "s.tif", "--psf", wide_lens, "--frames", "3", "--size", "48x48"],
        check=True,
        capture_output=True,
    )
    rois = np.full((30, 13, 13), 105, np.uint16)
    rois[:, 3:10, 3:10] += 20
    np.save(tmp_path / "rois.npy", rois)
    fit = [program, "fit", tmp_path / "rois.npy", "-o", tmp_path / "fits.hdf5", "--offset", "100", "--gain", "1"]
    done = subprocess.run([*fit, "--psf", wide_lens], capture_output=True, text=True)
    assert done.returncode == 0 and "pixel size 107 nm (measured PSF lens.h5)" in done.stderr, done.stderr
    assert "Measured PSF: lens.h5" in (tmp_path / "fits.yaml").read_text().replace('"', "")
