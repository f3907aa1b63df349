"""From a z-stack of beads to z, with all defaults. The PSF is no Gaussian: like a real one, it has tails."""

import subprocess

import h5py
import numpy as np
import pytest
import tifffile
from scipy.special import erf

PIXEL_NM, SIZE, Z_STEP_NM, SLICES = 100, 96, 20, 51
PHOTONS, BACKGROUND, OFFSET_ADU = 5000, 5, 100
CAMERA = ["--pixel-size", f"{PIXEL_NM}nm", "--offset", OFFSET_ADU, "--gain", 1]
LENS = dict(s0=0.13, gamma=0.22, d=0.38)  # um
TAIL_SHARE, TAIL_WIDTH = 0.25, 2.2  # of the light, in widths of the core
BEADS = [(x, y) for x in (17, 48, 79) for y in (17, 48, 79)]


def z_um(k):
    return (k - (SLICES - 1) / 2) * Z_STEP_NM / 1000


def profile(center, sigma_px):
    edges = (np.arange(SIZE + 1) - 0.5 - center) / (np.sqrt(2) * sigma_px)
    return np.diff(erf(edges)) / 2


def stack(path, seed):
    """Poisson counts of beads over the slices."""
    random = np.random.default_rng(seed)
    places = np.array(BEADS) + random.uniform(-0.5, 0.5, (len(BEADS), 2))
    frames = []
    for k in range(SLICES):
        sx, sy = (
            LENS["s0"] * np.hypot(1, (z_um(k) + sign * LENS["gamma"]) / LENS["d"]) * 1000 / PIXEL_NM for sign in (-1, 1)
        )
        mean = np.full((SIZE, SIZE), float(BACKGROUND))
        for x, y in places:
            for share, wider in [(1 - TAIL_SHARE, 1), (TAIL_SHARE, TAIL_WIDTH)]:
                mean += PHOTONS * share * np.outer(profile(y, wider * sy), profile(x, wider * sx))
        frames.append(random.poisson(mean) + OFFSET_ADU)
    tifffile.imwrite(path, np.array(frames, np.uint16))


def slope_of(path):
    """z against the truth, where the calibration's middle is; with its standard error."""
    with h5py.File(path) as file:
        locs = file["locs"][:]
    truth = z_um(locs["frame"].astype(float))
    inner = np.abs(truth) < 0.35
    truth, z = truth[inner], locs["z"][inner] / 1000
    assert len(z) > 0.9 * len(BEADS) * 35
    slope, offset = np.polyfit(truth, z, 1)
    scatter = np.std(z - offset - slope * truth, ddof=2)
    return slope, scatter / (np.sqrt(len(z)) * np.std(truth))


@pytest.fixture(scope="module")
def folder(tmp_path_factory, glint):
    folder = tmp_path_factory.mktemp("calibrate")
    stack(folder / "beads.tif", 1)
    stack(folder / "movie.tif", 2)
    glint(
        "calibrate",
        "astigmatism",
        folder / "beads.tif",
        "-o",
        folder / "cal.toml",
        "--z-step",
        f"{Z_STEP_NM}nm",
        *CAMERA,
    )
    return folder


def localize(program, folder, *flags, calibration="cal.toml"):
    done = subprocess.run(
        [
            program,
            *map(
                str,
                [
                    "localize",
                    folder / "movie.tif",
                    "-o",
                    folder / "locs.hdf5",
                    "--overwrite",
                    "--calibration",
                    folder / calibration,
                    *CAMERA,
                    *flags,
                ],
            ),
        ],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return slope_of(folder / "locs.hdf5"), done.stderr


def test_z_has_the_scale_of_the_stage_at_all_defaults(program, folder):
    (slope, error), said = localize(program, folder)
    # The calibration is made of as many beads as are measured with it: its error is as large as theirs.
    assert abs(slope - 1) < 4 * np.sqrt(2) * error
    assert "calibration" not in said.replace("--calibration", "")


def test_another_window_is_told_of_and_wrong(program, folder):
    (slope, error), said = localize(program, folder, "--roi", "9")
    assert "window of 9 px is not the one of 15 px" in said
    assert slope < 1 - 8 * np.sqrt(2) * error  # or the test above could not fail


def test_a_calibration_of_an_older_version_is_read_with_a_warning(program, folder):
    lines = (folder / "cal.toml").read_text().splitlines(keepends=True)
    (folder / "old.toml").write_text(
        "".join(line for line in lines if not line.startswith(("roi_px", "pixel_size_um")))
    )
    (slope, error), said = localize(program, folder, "--roi", "15", calibration="old.toml")
    assert "does not record in which window" in said and "roi_px = 15" in said
    assert abs(slope - 1) < 4 * np.sqrt(2) * error


def test_a_window_that_is_asked_for_is_kept(program, folder, glint):
    glint(
        "calibrate",
        "astigmatism",
        folder / "beads.tif",
        "-o",
        folder / "cal9.toml",
        "--z-step",
        f"{Z_STEP_NM}nm",
        "--roi",
        9,
        *CAMERA,
    )
    (slope, error), said = localize(program, folder, calibration="cal9.toml")
    assert "ROI 9 px" in said
    assert abs(slope - 1) < 4 * np.sqrt(2) * error
