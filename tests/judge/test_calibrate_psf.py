"""From stacks of beads to z with a measured PSF, for lenses that no Gaussian along the pixels describes."""

import json
import subprocess
from math import erf

import h5py
import numpy as np
import pytest
import tifffile

PIXEL_NM, SIZE, Z_STEP_NM = 100, 112, 25
Z_NM = np.arange(-600, 601, Z_STEP_NM)
PHOTONS, BACKGROUND, OFFSET_ADU = 20_000, 5, 100
CAMERA = ["--pixel-size", f"{PIXEL_NM}nm", "--offset", OFFSET_ADU, "--gain", 1]
BEADS = [(x, y) for x in (18, 56, 94) for y in (18, 56, 94)]
TURN = np.radians(40)  # of the lens's axes against the pixels
SUB = 5  # points along the edge of a pixel, over which the light is averaged


def spot(x, y, z_nm):
    """The light in each pixel: a Gaussian with axes that are rotated relative to the pixels."""
    at = (np.arange(SIZE * SUB) + 0.5) / SUB - 0.5
    dx, dy = at[None, :] - x, at[:, None] - y
    along, across = np.cos(TURN) * dx + np.sin(TURN) * dy, np.cos(TURN) * dy - np.sin(TURN) * dx
    widths = [1.3 * np.hypot(1, (z_nm + sign * 220) / 380) for sign in (-1, 1)]
    density = np.exp(-0.5 * (along / widths[0]) ** 2 - 0.5 * (across / widths[1]) ** 2)
    density /= 2 * np.pi * widths[0] * widths[1]
    return density.reshape(SIZE, SUB, SIZE, SUB).mean((1, 3))


def write_stack(path, photons, seed):
    random = np.random.default_rng(seed)
    places = np.array(BEADS) + random.uniform(-0.5, 0.5, (len(BEADS), 2))
    means = [BACKGROUND + photons * sum(spot(x, y, z) for x, y in places) for z in Z_NM]
    tifffile.imwrite(path, (random.poisson(means) + OFFSET_ADU).astype(np.uint16))
    return places


@pytest.fixture(scope="module")
def folder(tmp_path_factory, glint):
    folder = tmp_path_factory.mktemp("calibrate_psf")
    write_stack(folder / "beads.tif", PHOTONS, 1)
    out = glint(
        "calibrate",
        "psf",
        folder / "beads.tif",
        "-o",
        folder / "lens.h5",
        "--z-step",
        f"{Z_STEP_NM}nm",
        *CAMERA,
        "--json",
    )
    (folder / "result.json").write_text(out)
    return folder


def test_beads_that_were_left_out_have_the_true_z(folder):
    result = json.loads((folder / "result.json").read_text())
    assert result["beads_used"] == len(BEADS)
    assert result["z_min_nm"] <= -500 and result["z_max_nm"] >= 500
    assert abs(result["z_slope"] - 1) < 0.01
    # A PSF of five beads has an error of its own, about 1 / sqrt(5) of the CRLB of a bead.
    assert result["z_rms_nm"] < 1.3 * result["z_crlb_nm"]
    assert result["p_above_0.01"] > 0.95
    # No Gaussian along the pixels describes a rotated lens.
    assert not result["gaussian"]["suffices"] and result["gaussian"]["p_above_0.01"] < 0.5


def test_molecules_have_the_stated_errors(folder, glint):
    """At a tenth of the light, the error of the PSF is small against that of a molecule."""
    places = write_stack(folder / "movie.tif", 2000, 2)
    glint("localize", folder / "movie.tif", "-o", folder / "locs.hdf5", "--psf", folder / "lens.h5", *CAMERA)
    with h5py.File(folder / "locs.hdf5") as file:
        locs = file["locs"][:]
    inner = np.abs(Z_NM[locs["frame"]]) <= 500
    locs = locs[inner]
    frames = np.sum(np.abs(Z_NM) <= 500)
    assert abs(len(locs) / (frames * len(BEADS)) - 1) < 0.02
    bead = np.argmin(np.hypot(locs["x"][:, None] - places[:, 0], locs["y"][:, None] - places[:, 1]), 1)
    pulls = (locs["z"] - Z_NM[locs["frame"]]) / locs["lpz"]
    # Robust, because a few fits of dim spots far from the focus end in a second maximum.
    low, middle, high = np.percentile(pulls, [16, 50, 84])
    error = 1.25 / np.sqrt(len(pulls))
    assert abs(middle) < 5 * error + 0.1 and abs((high - low) / 2 - 1) < 5 * error + 0.1
    for name, column in (("x", 0), ("y", 1)):
        off = (locs[name] - places[bead, column]) * PIXEL_NM
        assert abs(np.median(off)) < 10  # the centre of a measured PSF is its own
    assert np.mean(locs["p_value"] < 0.01) < 0.05


def test_a_wrong_lens_shows_in_the_p_values(folder, glint):
    """A mirrored stack gives a lens that is rotated the other way: the p values of fits with it are small."""
    stack = tifffile.imread(folder / "beads.tif")
    tifffile.imwrite(folder / "mirrored.tif", stack[:, :, ::-1])
    glint(
        "calibrate", "psf", folder / "mirrored.tif", "-o", folder / "mirrored.h5", "--z-step", f"{Z_STEP_NM}nm", *CAMERA
    )
    glint(
        "localize", folder / "beads.tif", "-o", folder / "wrong.hdf5", "--psf", folder / "mirrored.h5", *CAMERA,
        "--emitters", 1,
    )  # fmt: skip
    with h5py.File(folder / "wrong.hdf5") as file:
        locs = file["locs"][:]
    assert np.mean(locs["p_value"] < 0.01) > 0.5


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (["--z-step", "0nm"], ["z-step"]),
        (["--z-step", "25nm", "--z-scale", "30"], ["scale of z of 30", "between 0.2 and 3"]),
        (["--z-step", "25nm", "--roi", "4"], ["roi"]),
        (["--z-step", "25nm", "--z-center", "1e20nm"], ["1e+20 nm", "-100000 and 100000 nm"]),
    ],
)
def test_values_that_no_lens_has_are_refused(folder, program, change, words):
    ended = subprocess.run(
        [program, "calibrate", "psf", folder / "beads.tif", "-o", folder / "none.h5", *map(str, CAMERA), *change],
        capture_output=True,
        text=True,
    )
    assert ended.returncode == 2 and all(word in ended.stderr for word in words), ended.stderr
    assert not (folder / "none.h5").exists()


def test_one_channel_of_a_stack_is_measured(folder, program):
    """The z planes of a file with one time are the slices; the channel must be given."""
    beads = tifffile.imread(folder / "beads.tif")
    dark = np.full_like(beads, OFFSET_ADU)
    tifffile.imwrite(folder / "channels.tif", np.stack([dark, beads], 1), imagej=True, metadata={"axes": "ZCYX"})
    command = [program, "calibrate", "psf", folder / "channels.tif", "-o", folder / "channel.h5", *map(str, CAMERA)]
    command += ["--z-step", f"{Z_STEP_NM}nm", "--json"]
    ended = subprocess.run(command, capture_output=True, text=True)
    assert ended.returncode == 2 and "--channel" in ended.stderr, ended.stderr
    ended = subprocess.run([*command, "--channel", "1"], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    found, alone = json.loads(ended.stdout), json.loads((folder / "result.json").read_text())
    for name in ("z_min_nm", "z_max_nm", "z_rms_nm", "x_tilt", "samples_per_px"):
        assert found[name] == alone[name]


def test_gaussian_beads_need_no_measured_psf(folder, program):
    """Spots that are Gaussians along the pixels: `glint calibrate astigmatism` describes them exactly."""
    random = np.random.default_rng(5)
    edges = np.arange(SIZE + 1) - 0.5

    def share(center, sigma):
        return np.diff([erf(u) for u in (edges - center) / (sigma * np.sqrt(2))]) / 2

    places = np.array(BEADS) + random.uniform(-0.5, 0.5, (len(BEADS), 2))
    means = np.full((len(Z_NM), SIZE, SIZE), float(BACKGROUND))
    for mean, z in zip(means, Z_NM):
        width, height = (1.3 * np.hypot(1, (z + sign * 220) / 380) for sign in (-1, 1))
        for x, y in places:
            mean += PHOTONS * np.outer(share(y, height), share(x, width))
    tifffile.imwrite(folder / "gaussian.tif", (random.poisson(means) + OFFSET_ADU).astype(np.uint16))
    command = [program, "calibrate", "psf", folder / "gaussian.tif", "-o", folder / "gaussian.h5", *map(str, CAMERA)]
    ended = subprocess.run([*command, "--z-step", f"{Z_STEP_NM}nm"], capture_output=True, text=True)
    assert ended.returncode == 0 and "`glint calibrate astigmatism` suffices" in ended.stderr, ended.stderr


def test_a_stack_without_beads_is_refused(folder, program):
    random = np.random.default_rng(3)
    tifffile.imwrite(folder / "empty.tif", (random.poisson(5, (41, 64, 64)) + OFFSET_ADU).astype(np.uint16))
    ended = subprocess.run(
        [
            program,
            "calibrate",
            "psf",
            folder / "empty.tif",
            "-o",
            folder / "none.h5",
            "--z-step",
            "25nm",
            *map(str, CAMERA),
        ],
        capture_output=True,
        text=True,
    )
    assert ended.returncode == 3 and "empty.tif" in ended.stderr and "bead" in ended.stderr
    assert not (folder / "none.h5").exists()


def test_measured_beads_of_the_challenge_have_their_z(data, folder, glint):
    """Beads of the SMLM challenge (Sage et al., Nat. Methods 16, 387 (2019)): learnt and judged on different beads."""
    camera = ["--pixel-size", "100nm", "--offset", 100, "--gain", 15, "--em-gain", 100]
    result = json.loads(
        glint(
            "calibrate",
            "psf",
            data / "beads_astigmatic.tif",
            "-o",
            folder / "as.h5",
            "--z-step",
            "10nm",
            *camera,
            "--json",
        )
    )
    assert result["beads_used"] == 6
    assert abs(result["z_slope"] - 1) < 0.01 and result["z_rms_nm"] < 7 and result["p_above_0.01"] > 0.95
    assert not result["gaussian"]["suffices"] and result["gaussian"]["p_above_0.01"] < 0.1
    inner = [error for error in result["errors"] if abs(error["z_nm"]) < 600]
    assert max(abs(error["z_bias_nm"]) for error in inner) < 10  # in bins of 50 nm, of 15 to 30 fits


def test_lone_molecules_of_the_challenge_have_their_z(data, tmp_path, glint):
    """64 frames with truth, by the beads of the same lens, found and fitted by default."""
    camera = ["--pixel-size", "100nm", "--offset", 100, "--gain", 15, "--em-gain", 100]
    glint("calibrate", "psf", data / "beads_astigmatic.tif", "-o", "lens.h5", "--z-step", "10nm", *camera, cwd=tmp_path)
    frames = data / "challenge_frames_64.tif"
    glint("localize", frames, "-o", "locs.all.csv", "--psf", "lens.h5", *camera, cwd=tmp_path)
    lines = [line for line in open(tmp_path / "locs.all.csv") if not line.startswith("#")]
    table = np.genfromtxt(lines, delimiter=",", names=True, deletechars="")
    truth = np.genfromtxt(data / "challenge_frames_64_truth.csv", delimiter=",", skip_header=1)
    rows = []
    for _, frame, x, y, z, photons in truth[:, :6]:
        others = truth[truth[:, 1] == frame]
        is_lone = np.sum(np.hypot(others[:, 2] - x, others[:, 3] - y) < 1500) == 1
        near = table[table["frame"] == frame - 1]
        apart = np.hypot(100 * near["x_[px]"] + 50 - x, 100 * near["y_[px]"] + 50 - y)
        if is_lone and photons > 500 and len(near) and apart.min() < 250:
            row = near[apart.argmin()]
            rows.append((row["z_[nm]"] - z, row["lpz_[nm]"], row["p_value"]))
    error, stated, p_value = np.array(rows).T
    assert len(rows) >= 34  # of 40; the others are dim, at z of 500 nm and more
    assert abs(np.median(error)) < 10
    scaled = error / stated
    # A standard deviation by the median of 36 values has an error of 0.19.
    assert abs(1.4826 * np.median(np.abs(scaled - np.median(scaled))) - 1) < 2 * 0.19
    assert np.sum(p_value > 0.01) >= len(rows) - 3  # 0.4 are expected to fail, and four with a probability of 7e-4
