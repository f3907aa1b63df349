"""Compares `glint fit` with maximum-likelihood fits of the same spots by SciPy and Picasso."""

import h5py
import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import erf

PIXEL_UM = 0.1
OFFSET_ADU, GAIN_E_PER_ADU = 100.0, 0.5
CURVE_UM = dict(sx0=0.13, sy0=0.13, gamma=0.20, d=0.40)

# For each model: the ROI's edge, px; the columns of the free parameters after x, y, N, bg, with their true values (px;
# z in
# micrometres); and how the two widths (px) follow from them. `--sigma` is 1.3 px.
WIDTHS = {
    "GaussianXYNB": (7, {}, lambda free: (1.3, 1.3)),
    "GaussianXYNBS": (9, {"sx": 1.3}, lambda free: (free[0], free[0])),
    "GaussianXYNBSXSY": (10, {"sx": 1.2, "sy": 1.5}, lambda free: (free[0], free[1])),
    "AstigmaticXYZNB": (13, {"z": 0.1}, lambda free: astigmatic_widths_px(free[0])),
}


def astigmatic_widths_px(z_um):
    def width(sigma, u):
        return sigma / PIXEL_UM * np.sqrt(1 + u * u)

    c = CURVE_UM
    return width(c["sx0"], (z_um - c["gamma"]) / c["d"]), width(c["sy0"], (z_um + c["gamma"]) / c["d"])


def share_of_pixels(size, position, sigma):
    edges = (np.arange(size + 1) - 0.5 - position) / (np.sqrt(2) * sigma)
    return np.diff(erf(edges)) / 2


def expected(model, size, theta):
    sigma_x, sigma_y = WIDTHS[model][2](theta[4:])
    x, y, photons, background = theta[:4]
    spot = np.outer(share_of_pixels(size, y, sigma_y), share_of_pixels(size, x, sigma_x))
    return background + photons * spot


def simulate(model, size, spots, rng, readnoise_e=0.0):
    """Truths (x, y, photons, background, ...) and photoelectrons of independent spots near the ROI's centre."""
    free = WIDTHS[model][1]
    truths = np.empty((spots, 4 + len(free)))
    truths[:, :2] = (size - 1) / 2 + rng.uniform(-1, 1, (spots, 2))
    truths[:, 2] = rng.uniform(1000, 3000, spots)
    truths[:, 3] = 10
    truths[:, 4:] = list(free.values())
    mean = np.array([expected(model, size, t) for t in truths])
    return truths, rng.poisson(mean) + rng.normal(0, readnoise_e, mean.shape)


def scipy_fit(model, pixels, start, variance):
    """Maximum of the Poisson likelihood of d + v, with the log-likelihood ratio and the Cramer-Rao bound there."""
    size = pixels.shape[0]
    data = np.maximum(pixels + variance, 0)
    scale = np.abs(start) * 0.01 + 0.01

    def deviance(scaled):
        mean = expected(model, size, scaled * scale) + variance
        if np.any(mean <= 0):
            return 1e12
        return np.sum(mean - data + np.where(data > 0, data * np.log(np.maximum(data, 1e-300) / mean), 0))

    coarse = minimize(deviance, start / scale, method="Nelder-Mead", options=dict(maxiter=4000, xatol=1e-3, fatol=1e-9))
    best = minimize(deviance, coarse.x, method="BFGS", jac="3-point", options=dict(gtol=1e-7))
    theta = min(coarse, best, key=lambda result: result.fun).x * scale

    slopes = []
    for k in range(theta.size):
        step = np.zeros_like(theta)
        step[k] = 1e-4 * scale[k]
        ahead, behind = expected(model, size, theta + step), expected(model, size, theta - step)
        slopes.append((ahead - behind).ravel() / (2 * step[k]))
    weighted = np.array(slopes) / np.sqrt(expected(model, size, theta) + variance).ravel()
    crlb = np.sqrt(np.diag(np.linalg.inv(weighted @ weighted.T)))
    return theta, crlb, -deviance(theta / scale)


def glint_fit(glint, folder, model, pixels, *flags):
    """Columns of the localizations that glint makes of a stack of ROIs given in ADU."""
    np.save(folder / "rois.npy", (pixels / GAIN_E_PER_ADU + OFFSET_ADU).astype(np.float32))
    if "z" in WIDTHS[model][1]:
        curve = {f"{name}_um": value for name, value in CURVE_UM.items()}
        curve |= dict(ax=0, bx=0, ay=0, by=0, z_min_um=-0.6, z_max_um=0.6)
        lines = [f"{name} = {value}" for name, value in curve.items()]
        (folder / "curve.toml").write_text("\n".join(["[astigmatism]", *lines, ""]))
        psf = ["--calibration", folder / "curve.toml"]
    else:
        psf = ["--sigma", "1.3px"]
    glint(
        "fit",
        folder / "rois.npy",
        "-o",
        folder / "locs.hdf5",
        "--psf",
        model,
        *psf,
        "--pixel-size",
        "100nm",
        "--offset",
        OFFSET_ADU,
        "--gain",
        GAIN_E_PER_ADU,
        *flags,
    )
    with h5py.File(folder / "locs.hdf5") as file:
        locs = file["locs"][:]
    assert len(locs) == len(pixels)
    return locs


def as_theta(model, locs):
    """Values and uncertainties in the units of the reference fit: px, photons, micrometres."""
    names = ["x", "y", "photons", "bg", *WIDTHS[model][1]]
    uncertainties = {"x": "lpx", "y": "lpy", "z": "lpz"}
    unit = np.array([1e-3 if name == "z" else 1 for name in names])
    values = np.stack([locs[name] for name in names], axis=1) * unit
    spreads = np.stack([locs[uncertainties.get(name, name + "_unc")] for name in names], axis=1) * unit
    return values, spreads


@pytest.mark.parametrize("readnoise_e", [0.0, 2.0])
@pytest.mark.parametrize("model", WIDTHS)
def test_fit_finds_the_maximum_that_scipy_finds(glint, tmp_path, model, readnoise_e):
    size = WIDTHS[model][0]
    rng = np.random.default_rng(7)
    truths, pixels = simulate(model, size, 50, rng, readnoise_e)
    locs = glint_fit(glint, tmp_path, model, pixels, *(["--readnoise", readnoise_e] if readnoise_e else []))
    values, spreads = as_theta(model, locs)
    assert np.all(locs["status"] == 0)
    judged = [scipy_fit(model, roi, truth, readnoise_e**2) for roi, truth in zip(pixels, truths)]
    theta, crlb, llr = (np.array([fit[k] for fit in judged]) for k in range(3))

    # Numbers are single precision and steps stop at a hundredth of the CRLB.
    off = np.abs(values - theta) / crlb
    assert np.median(off) < 0.01
    assert off.max() < 0.05
    np.testing.assert_allclose(spreads, crlb, rtol=0.01)
    np.testing.assert_allclose(locs["log_likelihood"], llr, rtol=1e-3, atol=0.02)


def test_fit_agrees_with_picasso(glint, tmp_path):
    from picasso import gaussmle

    rng = np.random.default_rng(8)
    truths, pixels = simulate("GaussianXYNBS", 9, 300, rng)
    with pytest.warns(Warning, match="deprecated"):
        theta, variances, _, _ = gaussmle.gaussmle(pixels.astype(np.float32), 1e-5, 1000, method="sigma")
    values, spreads = as_theta("GaussianXYNBS", glint_fit(glint, tmp_path, "GaussianXYNBS", pixels))
    crlb = np.sqrt(variances[:, :5])

    # Picasso's diagonal Newton steps stop when x and y rest, with photons and width still a little on their way.
    off = np.abs(values - theta[:, :5]) / crlb
    assert np.median(off[:, :2]) < 0.02
    assert np.quantile(off, 0.95) < 0.1
    np.testing.assert_allclose(np.median(spreads / crlb, axis=0), 1, atol=0.02)


def test_an_emccd_reports_its_excess_noise(glint, tmp_path):
    """Gamma-distributed multiplication doubles the variance: std(x) / CRLB is 1 only when the fit knows it."""
    rng = np.random.default_rng(9)
    truths, electrons = simulate("GaussianXYNB", 7, 4000, rng)
    em_gain = 100.0
    multiplied = rng.gamma(np.maximum(electrons, 1e-9), em_gain)
    locs = glint_fit(glint, tmp_path, "GaussianXYNB", multiplied, "--em-gain", em_gain)
    for axis in range(2):
        pull = (locs["xy"[axis]] - truths[:, axis]) / locs["lp" + "xy"[axis]]
        assert abs(pull.std() - 1) < 4 / np.sqrt(2 * pull.size)
        assert abs(pull.mean()) < 4 / np.sqrt(pull.size)
