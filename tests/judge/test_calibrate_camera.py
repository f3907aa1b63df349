"""Compares `glint calibrate camera` with NumPy, tifffile, h5py and ImageIO: maps of a simulated sensor with bad pixels,
and their picture.
"""

import json
import subprocess

import h5py
import imageio.v3 as imageio
import numpy as np
import pytest
import tifffile

EDGE, FRAMES, LEVELS_E = 64, 400, (100, 400)
HOT, DEAD, NOISY = 1, 2, 3


class Sensor:
    def __init__(self, rng):
        shape = (EDGE, EDGE)
        self.offset = rng.normal(100, 2, shape)
        self.adu_per_e = 2 * (1 + 0.03 * rng.standard_normal(shape))
        self.noise = 3 * np.exp(0.1 * rng.standard_normal(shape))
        self.faults = np.zeros(shape, np.uint8)
        places = rng.permutation(EDGE * EDGE)[:60]
        for fault, some in zip((HOT, DEAD, NOISY), places.reshape(3, 20)):
            self.faults.flat[some] = fault
        self.offset[self.faults == HOT] += 150
        self.adu_per_e[self.faults == DEAD] = 0
        self.noise[self.faults == NOISY] *= 20

    def movie(self, rng, light_e):
        """light_e: a number, or one for each frame."""
        light_e = np.broadcast_to(np.asarray(light_e, float), FRAMES)[:, None, None]
        electrons = rng.poisson(light_e, (FRAMES, EDGE, EDGE))
        counts = self.offset + self.adu_per_e * electrons + self.noise * rng.standard_normal(electrons.shape)
        return np.clip(np.rint(counts), 0, 65535).astype(np.uint16)


@pytest.fixture(scope="module")
def calibrated(glint, tmp_path_factory):
    """(sensor, dark movie, light movies, maps as arrays, --json) of one calibration."""
    folder, rng = tmp_path_factory.mktemp("camera"), np.random.default_rng(3)
    sensor = Sensor(rng)
    dark, *light = (sensor.movie(rng, level) for level in (0, *LEVELS_E))
    tifffile.imwrite(folder / "dark.tif", dark)
    for k, movie in enumerate(light):
        tifffile.imwrite(folder / f"light{k}.tif", movie)
    names = [folder / f"light{k}.tif" for k in range(len(light))]
    said = glint(
        "calibrate", "camera", "--dark", folder / "dark.tif", "--light", *names, "-o", folder / "camera.toml", "--json"
    )
    with h5py.File(folder / "camera_maps.hdf5") as file:
        maps = {name: file[name][()] for name in file}
    return sensor, dark, light, maps, json.loads(said)


def test_offset_and_read_variance_are_numpys(calibrated):
    _, dark, _, maps, _ = calibrated
    variance = dark.var(axis=0, ddof=1, dtype=np.float64)
    np.testing.assert_allclose(maps["offset"], dark.mean(axis=0, dtype=np.float64), rtol=1e-6)
    np.testing.assert_allclose(maps["readvar"], variance, rtol=1e-5)
    np.testing.assert_allclose(maps["offset_error"], np.sqrt(variance / FRAMES), rtol=1e-5)


def test_gain_is_that_of_the_sensor_within_its_error(calibrated):
    sensor, dark, light, maps, said = calibrated
    good = sensor.faults == 0
    # The mean over pixels of a straight line's slope, by least squares without weights: another estimate of the same.
    means = np.stack([movie.mean(axis=0) - dark.mean(axis=0) for movie in light])
    variances = np.stack([movie.var(axis=0, ddof=1) - dark.var(axis=0, ddof=1) for movie in light])
    slopes = (means * variances).sum(axis=0)[good] / (means**2).sum(axis=0)[good]
    error = slopes.std() / np.sqrt(good.sum()) / slopes.mean() ** 2
    assert abs(said["gain_e_per_adu"] - 1 / slopes.mean()) < 4 * np.hypot(error, said["gain_error"])
    assert np.all(maps["gain"][~good] == np.float32(said["gain_e_per_adu"]))


def test_bad_pixels_are_found_and_no_others(calibrated):
    sensor, _, _, maps, said = calibrated
    assert maps["faults"].dtype == np.uint8
    assert np.mean(maps["faults"][sensor.faults > 0] == sensor.faults[sensor.faults > 0]) >= 0.99
    assert np.count_nonzero(maps["faults"][sensor.faults == 0]) <= 2  # 0.5 expected at most
    for fault, name in ((HOT, "hot_pixels"), (DEAD, "dead_pixels"), (NOISY, "noisy_pixels")):
        assert said[name] == np.count_nonzero(maps["faults"] == fault)
    assert said["expected_false_alarms"] <= 0.5


def test_dark_frames_without_noise_are_warned_of(program, tmp_path):
    tifffile.imwrite(tmp_path / "dark.tif", np.zeros((5, 8, 8), np.uint16))
    done = subprocess.run(
        [program, "calibrate", "camera", "--dark", tmp_path / "dark.tif", "-o", tmp_path / "camera.toml", "--json"],
        capture_output=True,
        text=True,
    )
    assert (
        done.returncode == 0 and "warning: 64 of 64 pixels have the same count in all 5 dark frames" in done.stderr
    ), done.stderr
    assert "higher offset" in json.loads(done.stdout)["warnings"][0]
    tifffile.imwrite(tmp_path / "full.tif", np.full((5, 8, 8), 65535, np.uint16))
    done = subprocess.run(
        [program, "calibrate", "camera", "--dark", tmp_path / "full.tif", "-o", tmp_path / "full.toml"],
        capture_output=True,
        text=True,
    )
    assert (
        done.returncode == 3
        and "64 of 64 pixels are saturated" in done.stderr
        and not (tmp_path / "full.toml").exists()
    )


@pytest.fixture(scope="module")
def movies(tmp_path_factory):
    """A folder with dark.tif, light.tif and ramp.tif of a sensor with bad pixels."""
    folder, rng = tmp_path_factory.mktemp("movies"), np.random.default_rng(4)
    sensor = Sensor(rng)
    for name, light in (("dark", 0), ("light", 300), ("ramp", np.linspace(0, 800, FRAMES))):
        tifffile.imwrite(
            folder / f"{name}.tif",
            sensor.movie(rng, light),
            imagej=name == "dark",
            resolution=(10, 10),
            metadata={"unit": "um", "axes": "TYX"} if name == "dark" else None,
        )
    return folder, sensor


def test_the_gain_of_a_ramp_is_that_of_numpys_differences(movies, glint):
    folder, sensor = movies
    said = json.loads(
        glint(
            "calibrate",
            "camera",
            "--dark",
            folder / "dark.tif",
            "--ramp",
            folder / "ramp.tif",
            "-o",
            folder / "ramp.toml",
            "--json",
        )
    )
    dark, ramp = (tifffile.imread(folder / f"{name}.tif").astype(float) for name in ("dark", "ramp"))
    good = sensor.faults == 0
    steps = (
        np.diff(ramp, axis=0) ** 2 / 2 - np.mean(np.diff(dark, axis=0) ** 2, axis=0) / 2
    )  # of pairs of frames, without the read noise
    light = (ramp[1:] + ramp[:-1]) / 2 - dark.mean(axis=0)
    slopes = ((light * steps).sum(axis=0) / (light**2).sum(axis=0))[good]  # least squares without weights
    error = slopes.std() / np.sqrt(good.sum()) / slopes.mean() ** 2
    assert abs(said["gain_e_per_adu"] - 1 / slopes.mean()) < 4 * np.hypot(error, said["gain_error"])
    assert all(level["of_ramp"] and level["frames"] == 50 for level in said["levels"]) and len(said["levels"]) == 8
    with h5py.File(folder / "ramp_maps.hdf5") as file:
        assert np.mean(file["faults"][()][sensor.faults > 0] > 0) >= 0.99
        assert np.count_nonzero(file["faults"][()][good]) <= 2


def test_the_pixel_size_is_the_dark_movies(movies, glint):
    folder, _ = movies
    said = json.loads(
        glint("calibrate", "camera", "--dark", folder / "dark.tif", "--gain", 0.5, "-o", folder / "size.toml", "--json")
    )
    assert said["pixel_size_nm"] == pytest.approx(100) and 'pixel_size = "100nm"' in (folder / "size.toml").read_text()
    said = json.loads(
        glint(
            "calibrate", "camera", "--dark", folder / "light.tif", "--gain", 0.5, "-o", folder / "none.toml", "--json"
        )
    )
    assert said["pixel_size_nm"] is None and "pixel_size" not in (folder / "none.toml").read_text()


def test_another_pixel_size_than_the_metadatas_is_warned_of(movies, program):
    folder, _ = movies
    command = [
        program,
        "calibrate",
        "camera",
        "--dark",
        folder / "dark.tif",
        "--gain",
        "0.5",
        "-o",
        folder / "sized.toml",
        "--overwrite",
        "--pixel-size",
    ]
    done = subprocess.run([*command, "160nm"], capture_output=True, text=True)
    assert done.returncode == 0 and "pixels are 100 nm wide, and 160 nm is given" in done.stderr
    assert "is given" not in subprocess.run([*command, "100nm"], capture_output=True, text=True).stderr


@pytest.mark.parametrize("light", [("--light", "light.tif"), ("--ramp", "ramp.tif"), ()])
def test_the_picture(movies, glint, light, tmp_path):
    folder, _ = movies
    for name in ("camera.png", "it's $(a) camera.svg"):
        said = json.loads(
            glint(
                "calibrate",
                "camera",
                "--dark",
                "dark.tif",
                *light,
                "-o",
                tmp_path / "camera.toml",
                "--plot",
                tmp_path / name,
                "--overwrite",
                "--json",
                cwd=folder,
            )
        )
        assert said["plot"] == str(tmp_path / name)
    picture = imageio.imread(tmp_path / "camera.png")
    assert picture.shape[:2] == ((1200, 1800) if light else (630, 1800)) and picture.std() > 20
    text = (tmp_path / "it's $(a) camera.svg").read_text()
    assert (
        "Offset (ADU)" in text
        and "Read noise" in text
        and "hot (20)" in text
        and ("Photon transfer" in text) == bool(light)
    )
    assert text.count("crispEdges") == 2 * (3 if light else 2)  # maps, each with its colours
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "camera.png",
        "camera.toml",
        "camera_maps.hdf5",
        "it's $(a) camera.svg",
    ]


def test_a_picture_of_another_format_is_refused_first(movies, program, tmp_path):
    folder, _ = movies
    words = [program, "calibrate", "camera", "--dark", folder / "dark.tif", "-o", tmp_path / "camera.toml", "--plot"]
    for name in ("camera.jpg", "camera.pdf"):
        done = subprocess.run([*words, tmp_path / name], capture_output=True, text=True)
        assert done.returncode == 2 and ".png or .svg" in done.stderr, done.stderr
    assert not list(tmp_path.iterdir())
