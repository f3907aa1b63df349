"""Crowded frames of a third party's simulation: the found molecules, and whether their stated precision is correct.
SciPy matches rows with the truth.
"""

import csv
import json
import subprocess

import h5py
import numpy as np
import pytest
import tifffile
from scipy.ndimage import map_coordinates, uniform_filter
from scipy.optimize import linear_sum_assignment, minimize
from scipy.spatial import cKDTree
from scipy.special import erf, j1, xlogy

PIXEL_NM, RADIUS_PX = 100, 1.0


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    return tmp_path_factory.mktemp("crowded") / "locs.hdf5"


@pytest.fixture(scope="module")
def matched(glint, data, out):
    """Returns per truth the distance to the nearest other truth, px, and its matched row or -1; and the rows."""
    movie = data / "sim_2d_low_density.tif"
    glint(
        "localize",
        movie,
        "-o",
        out,
        "--sigma",
        "108.806nm",
        "--pixel-size",
        "100nm",
        "--offset",
        "500",
        "--gain",
        "1",
        "--readnoise",
        "17.3205",
        "--backend",
        "cpu",
        "-q",
    )
    with h5py.File(out) as file:
        rows = file["locs"][:]
    with open(data / "sim_2d_low_density_truth.csv", encoding="utf-8") as file:
        truths = np.array(
            [
                (int(r["Frame"]) - 1, float(r["x (nm)"]) / PIXEL_NM - 0.5, float(r["y (nm)"]) / PIXEL_NM - 0.5)
                for r in csv.DictReader(file)
            ]
        )
    nearest, partner = np.full(len(truths), 99.0), np.full(len(truths), -1)
    for frame in np.unique(truths[:, 0]):
        here, found = np.flatnonzero(truths[:, 0] == frame), np.flatnonzero(rows["frame"] == frame)
        places = truths[here, 1:]
        if len(here) > 1:
            nearest[here] = cKDTree(places).query(places, k=2)[0][:, 1]
        if len(found) == 0:
            continue
        apart = np.hypot(places[:, None, 0] - rows["x"][found], places[:, None, 1] - rows["y"][found])
        for i, j in zip(*linear_sum_assignment(np.where(apart < RADIUS_PX, apart, 1e6))):
            if apart[i, j] < RADIUS_PX:
                partner[here[i]] = found[j]
    return truths, nearest, partner, rows


def share_at_least(hits, of, bound):
    """A share of n cases is known to sqrt(p (1 - p) / n): four of these below the bound is worse than it."""
    return hits / of >= bound - 4 * np.sqrt(bound * (1 - bound) / of)


def test_what_is_found(matched):
    truths, _, partner, rows = matched
    hits = np.count_nonzero(partner >= 0)
    union = len(truths) + len(rows) - hits
    assert share_at_least(hits, union, 0.96), hits / union
    assert share_at_least(hits, len(rows), 0.995), hits / len(rows)


@pytest.mark.parametrize("low, high, least", [(2, 2.5, 0.985), (2.5, 3, 0.99), (3, 4, 0.995), (4, 100, 0.999)])
def test_recall_by_the_distance_of_the_next(matched, low, high, least):
    _, nearest, partner, _ = matched
    here = (nearest >= low) & (nearest < high)
    hits, of = np.count_nonzero(partner[here] >= 0), np.count_nonzero(here)
    assert share_at_least(hits, of, least), hits / of


def test_errors_are_as_stated(matched):
    truths, nearest, partner, rows = matched
    both = partner >= 0
    pulls = np.concatenate(
        [
            (truths[both, k] - rows[name][partner[both]]) / rows["lp" + name][partner[both]]
            for k, name in ((1, "x"), (2, "y"))
        ]
    )
    assert 0.95 < 1.4826 * np.median(np.abs(pulls)) < 1.08
    assert np.std(pulls) < 1.75
    alone = np.tile(nearest[both] >= 4, 2)
    n = np.count_nonzero(alone)
    assert abs(np.std(pulls[alone]) - 1) < 0.03 + 4 / np.sqrt(
        2 * n
    )  # 3 %: the Cramer-Rao bound is one for many photons


def test_rows_say_how_many_were_fitted_together(matched):
    _, nearest, partner, rows = matched
    both = partner >= 0
    emitters = rows["emitters"][partner[both]]
    assert np.all(emitters == np.round(emitters)) and emitters.max() > 5
    assert np.mean(emitters[nearest[both] < 3] >= 2) > 0.9


def test_glint_scores_it_the_same(glint, data, matched, out):
    truths, nearest, partner, rows = matched
    score = json.loads(glint("score", out, data / "sim_2d_low_density_truth.csv", "--json"))
    assert score["matched"] == np.count_nonzero(partner >= 0)
    for bin_ in score["recall_by_neighbor"]:
        here = (nearest >= bin_["from_px"]) & (nearest < (bin_["to_px"] or 100))
        # An equal total of distances, or a distance at the bin's edge, may count another truth.
        assert bin_["truths"] == pytest.approx(np.count_nonzero(here), abs=1)
        assert bin_["matched"] == pytest.approx(np.count_nonzero(partner[here] >= 0), abs=2)
    emitters = np.unique(truths[:, 1:], axis=0)
    places = np.column_stack([rows["x"], rows["y"]])
    squared = np.concatenate([cKDTree(places).query(emitters)[0], cKDTree(emitters).query(places)[0]]) ** 2
    assert score["emitters"] == len(emitters) == 512
    assert score["rmsmd_map_nm"] == pytest.approx(PIXEL_NM * np.sqrt(squared.mean()), rel=1e-4)


@pytest.mark.parametrize("psf, alone", [("GaussianXYNBS", 0.999), ("GaussianXYNBSXSY", 0.998)])
def test_free_widths_do_not_take_the_neighbours(glint, data, tmp_path, psf, alone):
    out = tmp_path / "locs.hdf5"
    found = json.loads(
        glint(
            "localize",
            data / "sim_2d_low_density.tif",
            "-o",
            out,
            "--psf",
            psf,
            "--sigma",
            "108.806nm",
            "--pixel-size",
            "100nm",
            "--offset",
            "500",
            "--gain",
            "1",
            "--readnoise",
            "17.3205",
            "--backend",
            "cpu",
            "--json",
        )
    )
    score = json.loads(glint("score", out, data / "sim_2d_low_density_truth.csv", "--json"))
    for bin_ in score["recall_by_neighbor"]:
        for low, least in ((2.5, 0.99), (3, 0.995), (4, alone)):
            if bin_["from_px"] == low:
                assert share_at_least(bin_["matched"], bin_["truths"], least), (low, bin_)
    with h5py.File(out) as file:
        rows = file["locs"][:]
    # What would be wider is held at the bound, and says so.
    held = rows["status"] == 2
    assert 0 < np.count_nonzero(held) == found["at_bound"] < len(rows) / 4
    low, high = (found["width_bounds_nm"][k] / PIXEL_NM for k in (0, 1))
    widths = np.column_stack([rows["sx"], rows["sy"]])
    grouped = widths[rows["emitters"] > 0]
    assert low * (1 - 1e-6) <= grouped.min() and grouped.max() <= high * (1 + 1e-6)
    assert np.all(np.isclose(widths[held], low).any(axis=1) | np.isclose(widths[held], high).any(axis=1))


# The lens as the movie's page gives it.
CALIBRATION = """[astigmatism]
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


def test_three_dimensions(glint, data, tmp_path):
    (tmp_path / "lens.toml").write_text(CALIBRATION)
    out = tmp_path / "locs.csv"
    found = json.loads(
        glint(
            "localize",
            data / "sim_3d_astigmatic_low_density.tif",
            "-o",
            out,
            "--calibration",
            tmp_path / "lens.toml",
            "--pixel-size",
            "100nm",
            "--offset",
            "500",
            "--gain",
            "1",
            "--readnoise",
            "4.4721",
            "--backend",
            "cpu",
            "--json",
        )
    )
    score = json.loads(
        glint("score", out, data / "sim_3d_astigmatic_low_density_truth.csv", "--pixel-size", "100nm", "--json")
    )
    union = score["truths"] + score["localizations"] - score["matched"]
    assert share_at_least(score["matched"], union, 0.91), score["jaccard"]
    assert share_at_least(score["matched"], score["localizations"], 0.97), score["precision"]
    # A root mean square of n errors is known to 1 / sqrt(2 n) of itself.
    assert score["rmse_nm"] < 26 * (1 + 4 / np.sqrt(2 * score["matched"]))
    assert score["rmse_z_nm"] < 50 * (1 + 4 / np.sqrt(2 * score["matched"]))
    assert found["not_converged"] < 0.003 * found["localizations"]


def gaussian(dx, dy, sigma_px):
    """Shares of the light of each of 25x25 pixels, integrated, of spots off their middle."""
    edges = np.arange(-12.5, 13)

    def along(d):
        return np.diff(erf((edges - d[:, None]) / (np.sqrt(2) * sigma_px)) / 2, axis=1)

    return along(dy)[:, :, None] * along(dx)[:, None, :]


def airy(dx, dy, sigma_px):
    """The same of an Airy pattern whose best Gaussian has that width: sigma = 0.21 wavelength / NA. 5x5 points a
    pixel.
    """
    k = 0.42 * np.pi / sigma_px
    points = (np.arange(125) - 62) / 5
    r = k * np.hypot(points - dx[:, None, None], points[:, None] - dy[:, None, None]) + 1e-9
    return ((2 * j1(r) / r) ** 2 * k**2 / (4 * np.pi) / 25).reshape(len(dx), 25, 5, 25, 5).sum((2, 4))


@pytest.mark.parametrize("psf, sigma_px", [(gaussian, 1.3), (gaussian, 1.43), (gaussian, 1.17), (airy, 1.3)])
def test_lone_spots_are_not_split(glint, tmp_path, psf, sigma_px):
    """Also where the PSF is not the model's, of 1.3 px: as many rows as molecules, to 1 in 1,000."""
    random = np.random.default_rng(5)
    frames, edge, apart = 8, 512, 32
    middle = np.arange(apart // 2, edge, apart)
    x, y = (c.ravel() for c in np.meshgrid(middle, middle))
    movie = np.full((frames, edge, edge), 20.0)
    for frame in movie:
        images = psf(*random.uniform(-0.5, 0.5, (2, len(x))), sigma_px)
        images *= np.exp(random.uniform(np.log(500), np.log(20000), len(x)))[:, None, None]
        for i, j, image in zip(x, y, images):
            frame[j - 12 : j + 13, i - 12 : i + 13] += image
    tifffile.imwrite(tmp_path / "movie.tif", (100 + random.poisson(movie)).astype(np.uint16))
    found = json.loads(
        glint(
            "localize",
            tmp_path / "movie.tif",
            "-o",
            tmp_path / "locs.csv",
            "--sigma",
            "130nm",
            "--pixel-size",
            "100nm",
            "--offset",
            "100",
            "--gain",
            "1",
            "--backend",
            "cpu",
            "--json",
        )
    )
    molecules = frames * len(x)
    assert abs(found["localizations"] - molecules) <= 1e-3 * molecules + 4 * np.sqrt(1e-3 * molecules)
    if psf is gaussian:  # a free width is known to 2 % for each spot, and there are a hundred
        assert found["lone_spot_width_nm"] == pytest.approx(100 * sigma_px, rel=0.01)


class Pupil:
    """Images of a scalar pupil, NA 1.4, 670 nm, aberrations in rad rms, at some depths: integrated over pixels of 100
    nm.
    """

    per_px, half = 5, 12

    def __init__(self, depths_nm=(0,), **aberrations):
        n, na, wavelength, immersion = 400, 1.4, 670, 1.515
        f = np.fft.fftfreq(n, PIXEL_NM / self.per_px)
        fx, fy = np.meshgrid(f, f)
        rho, phi = np.hypot(fx, fy) * wavelength / na, np.arctan2(fy, fx)
        polynomials = {
            "astigmatism": np.sqrt(6) * rho**2 * np.cos(2 * phi),
            "coma": np.sqrt(8) * (3 * rho**3 - 2 * rho) * np.cos(phi),
            "spherical": np.sqrt(5) * (6 * rho**4 - 6 * rho**2 + 1),
        }
        phase = sum(rms * polynomials[name] for name, rms in aberrations.items())
        along_axis = 2 * np.pi * np.sqrt(np.maximum((immersion / wavelength) ** 2 - fx**2 - fy**2, 0))
        self.fine = []
        for depth in depths_nm:
            field = np.fft.ifft2(np.where(rho <= 1, np.exp(1j * (phase + along_axis * depth)), 0))
            light = np.fft.fftshift(np.abs(field) ** 2)
            self.fine.append(uniform_filter(light / light.sum(), self.per_px, mode="wrap") * self.per_px**2)

    def image(self, dx, dy, random):
        """25 x 25 px of one molecule at (dx, dy) from the middle."""
        fine = self.fine[random.integers(len(self.fine))]
        places = np.arange(-self.half, self.half + 1) * self.per_px + len(fine) // 2
        return map_coordinates(
            fine, np.meshgrid(places - dy * self.per_px, places - dx * self.per_px, indexing="ij"), order=1
        )


class Widths:
    """Gaussians of several widths."""

    def __init__(self, *sigmas_px):
        self.sigmas_px = sigmas_px

    def image(self, dx, dy, random):
        return gaussian(np.array([dx]), np.array([dy]), random.choice(self.sigmas_px))[0]


LENSES = {
    "Airy": (Pupil(), "92nm"),
    "astigmatism": (Pupil(astigmatism=0.08 * 2 * np.pi), "105nm"),
    "coma, astigmatism, spherical": (Pupil(coma=0.37, astigmatism=0.37, spherical=0.37), "98nm"),
    "tilt": (Pupil(coma=0.6), "98nm"),
    "depth": (Pupil(depths_nm=np.arange(-500, 501, 50)), "120nm"),
    "two widths": (Widths(1.1, 1.8), "140nm"),
}


@pytest.mark.parametrize("photons, background", [(2000, 100), (10000, 5)])
@pytest.mark.parametrize("lens", LENSES)
def test_light_of_real_lenses_is_not_split(glint, tmp_path, lens, photons, background):
    """At 0.005 molecules per px: nearly no false rows by defaults, and no less recall than with one molecule per
    window.
    """
    random = np.random.default_rng(len(lens) + photons)
    psf, sigma = LENSES[lens]
    frames, edge, half = 16, 128, 12
    movie, truths = np.full((frames, edge + 2 * half, edge + 2 * half), float(background)), []
    for frame in range(frames):
        for x, y in random.uniform(4, edge - 5, (random.poisson(0.005 * edge**2), 2)):
            i, j = round(x), round(y)
            movie[frame, j : j + 2 * half + 1, i : i + 2 * half + 1] += (
                photons * random.uniform(0.7, 1.3) * psf.image(x - i, y - j, random)
            )
            truths.append((frame, x, y))
    truths = np.array(truths)
    movie = movie[:, half:-half, half:-half]
    tifffile.imwrite(tmp_path / "movie.tif", (100 + random.poisson(movie)).astype(np.uint16))

    def localize(*flags):
        out = tmp_path / "locs.hdf5"
        glint(
            "localize",
            tmp_path / "movie.tif",
            "-o",
            out,
            "--sigma",
            sigma,
            "--pixel-size",
            "100nm",
            "--offset",
            "100",
            "--gain",
            "1",
            "--backend",
            "cpu",
            "--overwrite",
            "-q",
            *flags,
        )
        with h5py.File(out) as file:
            rows = file["locs"][:]
        hits = 0
        for frame in range(frames):
            here, found = truths[truths[:, 0] == frame, 1:], rows[rows["frame"] == frame]
            apart = np.hypot(here[:, None, 0] - found["x"], here[:, None, 1] - found["y"])
            hits += sum(apart[pair] < 1.5 for pair in zip(*linear_sum_assignment(np.minimum(apart, 2))))
        return hits, len(rows)

    hits, rows = localize()
    hits_of_one, _ = localize("--emitters", "1")
    assert share_at_least(hits, rows, 0.98), f"precision {hits / rows}"
    assert hits >= hits_of_one - 2 * np.sqrt(len(truths) - hits_of_one), (
        f"recall {hits} and {hits_of_one} of {len(truths)}"
    )


def test_z_is_the_same_however_molecules_are_fitted(glint, data, tmp_path):
    """A bead stack of no Gaussian, calibrated and localized by defaults: the same slope of z as with one molecule per
    window.
    """
    with tifffile.TiffFile(data / "beads_astigmatic.tif") as movie:
        tifffile.imwrite(tmp_path / "beads.tif", movie.asarray()[35:116])
    camera = ["--pixel-size", "100nm", "--offset", "100", "--gain", "45", "--em-gain", "300", "-q"]
    glint("calibrate", "astigmatism", tmp_path / "beads.tif", "-o", tmp_path / "lens.toml", "--z-step", "10nm", *camera)
    with open(data / "beads_truth.csv", encoding="utf-8") as file:
        beads = np.array(
            [(float(r["x_nm"]) / PIXEL_NM - 0.5, float(r["y_nm"]) / PIXEL_NM - 0.5) for r in csv.DictReader(file)]
        )
    slopes = []
    for emitters in ("auto", "1"):
        out = tmp_path / f"{emitters}.hdf5"
        glint(
            "localize",
            tmp_path / "beads.tif",
            "-o",
            out,
            "--calibration",
            tmp_path / "lens.toml",
            "--emitters",
            emitters,
            "--backend",
            "cpu",
            *camera,
        )
        with h5py.File(out) as file:
            rows = file["locs"][:]
        own = np.hypot(rows["x"][:, None] - beads[:, 0], rows["y"][:, None] - beads[:, 1]).min(axis=1) < 1.5
        slopes.append(np.polyfit(10.0 * rows["frame"][own], rows["z"][own], 1)[0])
    assert slopes[1] == pytest.approx(1, abs=0.01)
    assert slopes[0] == pytest.approx(slopes[1], abs=0.01)


def test_scipy_finds_the_same_maximum_in_a_roi(glint, tmp_path):
    """ROIs with two molecules, 3.5 px apart: SciPy starts at the truth and maximizes the same likelihood."""
    size, sigma, n, random = 13, 1.3, 40, np.random.default_rng(2)
    edges = np.arange(size + 1) - 0.5

    def mean(theta):
        mu = np.full((size, size), theta[0])
        for x, y, photons in theta[1:].reshape(2, 3):
            along = [np.diff(erf((edges - at) / (np.sqrt(2) * sigma))) / 2 for at in (y, x)]
            mu += photons * np.outer(*along)
        return mu

    def half_deviance(theta, d):
        mu = np.maximum(mean(theta), 1e-3)
        return np.sum(mu - d + xlogy(d, d / mu))

    truths = [
        np.array(
            [10, *random.uniform([4, 5.5, 1500], [4.6, 6.5, 3000]), *random.uniform([7.7, 5.5, 1500], [8.3, 6.5, 3000])]
        )
        for _ in range(n)
    ]
    rois = np.array([random.poisson(mean(theta)) for theta in truths], np.float32)
    np.save(tmp_path / "rois.npy", rois)
    glint(
        "fit",
        tmp_path / "rois.npy",
        "-o",
        tmp_path / "fits.hdf5",
        "--emitters",
        2,
        "--psf-misfit",
        0,
        "--tolerance",
        0.001,
        "--sigma",
        "1.3px",
        "--pixel-size",
        "100nm",
        "--offset",
        0,
        "--gain",
        1,
    )
    with h5py.File(tmp_path / "fits.hdf5") as file:
        rows = file["locs"][:]
    assert np.count_nonzero(np.bincount(rows["frame"], minlength=n) == 2) >= n - 1
    for k in range(n):
        ours = np.sort(rows[rows["frame"] == k], order="x")
        if len(ours) != 2:
            continue
        scale = np.array([1, 0.1, 0.1, 100, 0.1, 0.1, 100])
        best = minimize(
            lambda t: half_deviance(t * scale, rois[k]), truths[k] / scale, method="BFGS", options={"gtol": 1e-5}
        )
        theta = best.x * scale
        assert ours["log_likelihood"][0] == pytest.approx(-best.fun, abs=0.02)
        for e in (0, 1):
            for name, precision, value in zip(("x", "y", "photons"), ("lpx", "lpy", "photons_unc"), theta[1 + 3 * e :]):
                assert abs(ours[name][e] - value) < 0.02 * ours[precision][e], (k, name)
        assert ours["bg"][0] == ours["bg"][1] and abs(ours["bg"][0] - theta[0]) < 0.02 * ours["bg_unc"][0]


def false_and_missed(glint, movie, out, radius, *options):
    """Rows without a truth, truths without a row, and the truths. SciPy's score of the same is compared above."""
    glint(
        "localize",
        movie,
        "-o",
        out,
        "--pixel-size",
        "100nm",
        "--offset",
        "100",
        "--gain",
        "1",
        "--backend",
        "cpu",
        "-q",
        *options,
    )
    truth = movie.with_name(movie.stem + "_truth.csv")
    score = json.loads(glint("score", out, truth, "--radius", radius, "--pixel-size", "100nm", "--json"))
    return score["localizations"] - score["matched"], score["truths"] - score["matched"], score["truths"]


# Blocks of a group share borders: neither has what lies in the other's windows, nor explains its light from afar.
def test_blocks_have_each_molecule_once(glint, tmp_path):
    movie, out = tmp_path / "crowd.tif", tmp_path / "locs.hdf5"
    glint(
        "simulate",
        "-o",
        movie,
        "--structure",
        "random",
        "--size",
        "512",
        "--frames",
        "8",
        "--spots",
        "2621",
        "--photons",
        "500:2000",
        "--background",
        "10",
        "--on-frames",
        "1",
        "--pixel-size",
        "100nm",
        "--offset",
        "100",
        "--gain",
        "1",
        "-q",
    )
    false, missed, truths = false_and_missed(glint, movie, out, "100nm", "--sigma", "130nm")
    hits = truths - missed
    assert share_at_least(hits, hits + false, 0.998), false
    assert share_at_least(hits, truths, 0.965), missed
    with h5py.File(out) as file:
        assert file["locs"]["photons"].max() < 4 * 2000  # of the brightest, four in one place


# Groups of more windows than a block has, which the third party's frames of 32 x 32 px are too small for.
def test_three_dimensions_in_frames_of_many_blocks(glint, tmp_path):
    lens, movie = tmp_path / "lens.toml", tmp_path / "crowd.tif"
    lens.write_text(CALIBRATION.replace("0.4", "0.6"))
    glint(
        "simulate",
        "-o",
        movie,
        "--structure",
        "random",
        "--size",
        "128",
        "--frames",
        "12",
        "--spots",
        "164",
        "--photons",
        "1500:3000",
        "--background",
        "10",
        "--z-range",
        "400nm",
        "--calibration",
        lens,
        "--pixel-size",
        "100nm",
        "--offset",
        "100",
        "--gain",
        "1",
        "-q",
    )
    false, missed, truths = false_and_missed(glint, movie, tmp_path / "locs.csv", "150nm", "--calibration", lens)
    hits = truths - missed
    assert share_at_least(hits, hits + false, 0.97), false
    assert share_at_least(hits, truths, 0.94), missed


# Second moments of a curved background make no molecules: a hump of 200 e- at half of the frame's middle, under lone
# ones.
def test_a_curved_background_is_not_split(glint, tmp_path):
    flat, movie = tmp_path / "flat.tif", tmp_path / "hump.tif"
    glint(
        "simulate",
        "-o",
        flat,
        "--structure",
        "random",
        "--size",
        "96",
        "--frames",
        "20",
        "--spots",
        "4",
        "--photons",
        "2000:2000",
        "--background",
        "10",
        "--sigma",
        "130nm",
        "--pixel-size",
        "100nm",
        "--offset",
        "100",
        "--gain",
        "1",
        "-q",
    )
    y, x = np.mgrid[:96, :96] - 47.5
    hump = 200 * np.exp(-(x**2 + y**2) / (2 * 20**2))
    random = np.random.default_rng(1)
    tifffile.imwrite(movie, tifffile.imread(flat) + random.poisson(hump, (20, 96, 96)).astype(np.uint16))
    (tmp_path / "hump_truth.csv").write_text((tmp_path / "flat_truth.csv").read_text())
    false, missed, truths = false_and_missed(glint, movie, tmp_path / "locs.csv", "100nm", "--sigma", "130nm")
    hits = truths - missed
    assert share_at_least(hits, hits + false, 0.88), false
    assert share_at_least(hits, truths, 0.98), missed


def localized(program, movie, out):
    """What a run with the values of `glint simulate` says on stderr, and its rows."""
    done = subprocess.run(
        [
            program,
            "localize",
            movie,
            "-o",
            out,
            "--sigma",
            "130nm",
            "--pixel-size",
            "100nm",
            "--offset",
            "100",
            "--gain",
            "1",
            "--backend",
            "cpu",
            "-q",
        ],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    with h5py.File(out) as file:
        return done.stderr, file["locs"][:]


def test_a_heap_is_bounded_and_told(program, tmp_path):
    """A hundred molecules within 2 px, among lone ones."""
    random = np.random.default_rng(2)
    frames, edge, apart = 5, 256, 32
    x, y = (c.ravel() for c in np.meshgrid(*2 * [np.arange(apart // 2, edge, apart)]))
    movie = np.full((frames, edge, edge), 10.0)

    def add(frame, i, j, dx, dy):
        for a, b, image in zip(i, j, 1000 * gaussian(dx, dy, 1.3)):
            movie[frame, b - 12 : b + 13, a - 12 : a + 13] += image

    for frame in range(frames):
        add(frame, x, y, *random.uniform(-0.5, 0.5, (2, len(x))))
    heap = np.full(100, 128)
    add(2, heap, heap, *random.uniform(-1, 1, (2, 100)))
    tifffile.imwrite(tmp_path / "movie.tif", (100 + random.poisson(movie)).astype(np.uint16))
    said, rows = localized(program, tmp_path / "movie.tif", tmp_path / "locs.hdf5")
    in_heap = (rows["frame"] == 2) & (np.hypot(rows["x"] - 128, rows["y"] - 128) < 4)
    assert 1 <= np.count_nonzero(in_heap) <= 64
    assert len(rows) - np.count_nonzero(in_heap) == frames * len(x)
    assert (
        abs(rows["photons"][in_heap].sum() / 1e5 - 1) < 0.05
    )  # their noise is 0.3 %; what is not the model's light has some more
    assert "each may stand for several" in said and "is in frame 2 at x 12" in said, said


def test_ten_thousand_in_a_frame_are_bounded_and_told(glint, program, tmp_path):
    movie = tmp_path / "crowd.tif"
    glint(
        "simulate",
        "-o",
        movie,
        "--structure",
        "random",
        "--size",
        "512",
        "--frames",
        "2",
        "--spots",
        "10000",
        "--on-frames",
        "1",
        "-q",
    )
    said, rows = localized(program, movie, tmp_path / "locs.hdf5")
    assert 12000 < len(rows) < 20000  # not more than there are, nor fewer than have no other within 2 px (62 %)
    assert "stand for two molecules or more" in said, said


def test_crowds_that_are_told_apart_give_no_warning(program, data, tmp_path):
    done = subprocess.run(
        [
            program,
            "localize",
            data / "sim_2d_low_density.tif",
            "-o",
            tmp_path / "locs.csv",
            "--sigma",
            "108.806nm",
            "--pixel-size",
            "100nm",
            "--offset",
            "500",
            "--gain",
            "1",
            "--readnoise",
            "17.3205",
            "--frames",
            "0:200",
            "-q",
        ],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0 and done.stderr == "", done.stderr
