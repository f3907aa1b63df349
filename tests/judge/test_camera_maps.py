"""NumPy, tifffile, SciPy, h5py and Picasso write maps of a camera; `glint localize` must find the same with each as
with glint's own.
"""

import importlib.resources
import json
import subprocess

import h5py
import numpy as np
import pytest
import scipy.io
import tifffile
import yaml

HEIGHT, WIDTH = 40, 56
FLAGS = ("--sigma", "130nm", "--pixel-size", "100nm")


@pytest.fixture(scope="module")
def sensor():
    """Maps with different rows, columns and quantities, so that a rotation or a mix-up is detected."""
    rng = np.random.default_rng(5)
    shape = (HEIGHT, WIDTH)
    return {
        "offset": rng.normal(100, 3, shape).astype(np.float32),
        "adu_per_e": rng.uniform(1.8, 2.6, shape).astype(np.float32),
        "variance": rng.uniform(4, 60, shape).astype(np.float32),
    }


@pytest.fixture(scope="module")
def folder(tmp_path_factory, sensor):
    """A movie of spots, seen by the sensor, and glint's own camera.toml."""
    folder, rng = tmp_path_factory.mktemp("maps"), np.random.default_rng(6)
    y, x = np.mgrid[:HEIGHT, :WIDTH]
    frames = []
    for _ in range(20):
        light = np.full((HEIGHT, WIDTH), 10.0)
        for v, u in zip((10, 11, 29, 28), (9, 40, 12, 44)):
            v, u = v + rng.uniform(-1, 1), u + rng.uniform(-1, 1)
            light += 1500 / (2 * np.pi * 1.3**2) * np.exp(-((y - v) ** 2 + (x - u) ** 2) / (2 * 1.3**2))
        counts = (
            sensor["offset"]
            + sensor["adu_per_e"] * rng.poisson(light)
            + rng.normal(size=light.shape) * np.sqrt(sensor["variance"])
        )
        frames.append(np.clip(np.rint(counts), 0, 65535))
    tifffile.imwrite(folder / "movie.tif", np.array(frames, np.uint16))
    with h5py.File(folder / "own.hdf5", "w") as file:
        file["offset"], file["gain"], file["readvar"] = sensor["offset"], sensor["adu_per_e"], sensor["variance"]
        file["gain"].attrs["unit"] = "ADU/e-"
    (folder / "own.toml").write_text('maps = "own.hdf5"\n')
    return folder


def localized(glint, folder, camera, *flags, movie="movie.tif"):
    glint("localize", folder / movie, "-o", folder / "out.hdf5", "--overwrite", "--camera", camera, *FLAGS, *flags)
    with h5py.File(folder / "out.hdf5") as file:
        return file["locs"][()]


@pytest.fixture(scope="module")
def expected(glint, folder):
    locs = localized(glint, folder, folder / "own.toml")
    assert len(locs) >= 70, "80 spots of 1500 photoelectrons"
    return locs


def test_rois_of_a_part_of_the_maps_need_the_corner(glint, program, tmp_path, sensor):
    """The last ROI ends one column before the maps do."""
    (tmp_path / "camera.toml").write_text(write_npy(tmp_path, sensor) + 'gain_unit = "ADU/e-"\n')
    with h5py.File(tmp_path / "rois.h5", "w") as file:
        file["rois"] = np.full((2, 7, 7), 200, np.uint16)
        file["x_corner"], file["y_corner"] = [0, WIDTH - 8], [0, HEIGHT - 7]
    command = [
        "fit",
        tmp_path / "rois.h5",
        "-o",
        tmp_path / "l.csv",
        "--camera",
        tmp_path / "camera.toml",
        *FLAGS,
        "-q",
    ]
    done = subprocess.run([program, *map(str, command)], capture_output=True, text=True)
    assert (
        done.returncode == 2
        and f"the ROIs reach over {WIDTH - 1}x{HEIGHT} of their movie" in done.stderr
        and "--sensor-roi" in done.stderr
    )
    glint(*command, "--sensor-roi", "0,0")
    with h5py.File(tmp_path / "rois.h5", "r+") as file:
        file["x_corner"][1] += 1
    glint(*command, "--overwrite")


def write_npy(folder, sensor):
    np.save(folder / "o.npy", sensor["offset"].astype(">f4"))
    np.save(folder / "g.npy", np.asfortranarray(sensor["adu_per_e"]))
    np.save(folder / "v.npy", sensor["variance"].astype(np.float64))
    return 'offset = "o.npy"\ngain = "g.npy"\nreadvar = "v.npy"\n'


def write_tif(folder, sensor):
    for name, quantity in (("o", "offset"), ("g", "adu_per_e"), ("v", "variance")):
        tifffile.imwrite(folder / f"{name}.tif", sensor[quantity])
    return 'offset = "o.tif"\ngain = "g.tif"\nreadvar = "v.tif"\n'


@pytest.mark.parametrize("write", [write_npy, write_tif])
def test_a_file_for_each_map(glint, program, folder, sensor, expected, write):
    text = write(folder, sensor)
    (folder / "each.toml").write_text(text + 'gain_unit = "ADU/e-"\n')
    np.testing.assert_array_equal(localized(glint, folder, folder / "each.toml"), expected)
    (folder / "each.toml").write_text(text)
    np.testing.assert_array_equal(localized(glint, folder, folder / "each.toml", "--gain-unit", "ADU/e-"), expected)
    assert "does not state its unit" in refused(program, folder, folder / "each.toml")


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize(
    "names, flags",
    [
        (("ccdoffset", "gain", "ccdvar"), ()),
        (("offsetmap", "gainmap", "varmap"), ("--gain-unit", "ADU/e-")),
        (("offset", "gain", "variance"), ("--gain-unit", "ADU/e-")),
    ],
)
def test_mat(glint, program, folder, sensor, expected, names, flags, compressed):
    values = dict(zip(names, (sensor["offset"], sensor["adu_per_e"], sensor["variance"].astype(np.float64))))
    scipy.io.savemat(folder / "maps.mat", values, do_compression=compressed)
    np.testing.assert_array_equal(localized(glint, folder, folder / "maps.mat", *flags), expected)
    if flags:
        assert "does not state its unit" in refused(program, folder, folder / "maps.mat")


def test_mat_of_smaps_dark_movie(glint, folder, sensor):
    scipy.io.savemat(
        folder / "dark.mat", {"mean": sensor["offset"], "variance": sensor["variance"], "metadata": {"pix2phot": 0.5}}
    )
    with h5py.File(folder / "dark.hdf5", "w") as file:
        file["offset"], file["readvar"] = sensor["offset"], sensor["variance"]
    (folder / "dark.toml").write_text('maps = "dark.hdf5"\n')
    np.testing.assert_array_equal(
        localized(glint, folder, folder / "dark.mat", "--gain", "2", "--gain-unit", "ADU/e-"),
        localized(glint, folder, folder / "dark.toml", "--gain", "0.5"),
    )


def test_mat_73(glint, folder, sensor, expected):
    with h5py.File(folder / "maps73.mat", "w", userblock_size=512) as file:
        for name, quantity in (("ccdoffset", "offset"), ("gain", "adu_per_e"), ("ccdvar", "variance")):
            file.create_dataset(name, data=sensor[quantity].T).attrs["MATLAB_class"] = np.bytes_("single")
    with open(folder / "maps73.mat", "r+b") as file:
        file.write(b"MATLAB 7.3 MAT-file".ljust(116) + bytes(8) + b"\x00\x02IM")
    np.testing.assert_array_equal(localized(glint, folder, folder / "maps73.mat"), expected)


def write_accent(folder, sensor, exposure_s):
    """ACCeNT's folder (github.com/ries-lab/Accent, CalibrationProcessor): its lines give `sensor` at this exposure."""
    folder.mkdir()
    per_s = {"offset": np.full((HEIGHT, WIDTH), 8, np.float32), "variance": np.full((HEIGHT, WIDTH), 16, np.float32)}
    for at_0, name_per_s, quantity in (("Baseline", "DC_per_sec", "offset"), ("RN_sq", "TN_sq_per_sec", "variance")):
        tifffile.imwrite(folder / f"{name_per_s}.tiff", per_s[quantity])
        tifffile.imwrite(folder / f"{at_0}.tiff", sensor[quantity] - np.float32(exposure_s) * per_s[quantity])
    tifffile.imwrite(folder / "Gain.tiff", sensor["adu_per_e"])


def test_accents_folder(glint, program, folder, sensor, tmp_path):
    exact = {
        name: np.round(values * 16) / np.float32(16) for name, values in sensor.items()
    }  # so that sums in float32 are
    write_accent(tmp_path / "accent", exact, 0.25)
    metadata = {"Exposure-ms": 250}
    tifffile.imwrite(
        folder / "exposed.tif",
        tifffile.imread(folder / "movie.tif"),
        extratags=[(51123, "s", 0, json.dumps(metadata), True)],
    )
    for quantity in exact:
        tifffile.imwrite(tmp_path / f"{quantity}.tif", exact[quantity])
    (tmp_path / "each.toml").write_text(
        'offset = "offset.tif"\nreadvar = "variance.tif"\ngain = "adu_per_e.tif"\ngain_unit = "ADU/e-"\n'
    )
    found = localized(glint, folder, tmp_path / "accent", movie="exposed.tif")
    assert len(found) >= 70
    np.testing.assert_array_equal(found, localized(glint, folder, tmp_path / "each.toml"))
    assert "depend on the exposure" in refused(program, folder, tmp_path / "accent")
    gain = exact["adu_per_e"].copy()
    gain[3, 4], gain[5, 6] = -1, 0  # lines through noisy points
    tifffile.imwrite(tmp_path / "accent/Gain.tiff", gain)
    said = json.loads(
        glint(
            "localize",
            folder / "exposed.tif",
            "-o",
            folder / "out.hdf5",
            "--overwrite",
            "--camera",
            tmp_path / "accent",
            *FLAGS,
            "--json",
        )
    )
    assert said["masked_pixels"] == 2
    assert "is not a file, and no folder of ACCeNT's" in refused(program, folder, tmp_path)


def test_mat_of_version_4_is_named(program, folder, sensor):
    scipy.io.savemat(folder / "old.mat", {"offset": sensor["offset"]}, format="4")
    assert "is a MATLAB file of version 4" in refused(program, folder, folder / "old.mat")
    done = subprocess.run([program, "inspect", folder / "old.mat"], capture_output=True, text=True)
    assert done.returncode == 3 and "is a MATLAB file of version 4" in done.stderr


def test_a_camera_of_bad_pixels_alone_is_refused(program, folder, sensor):
    with h5py.File(folder / "bad.hdf5", "w") as file:
        file["offset"], file["gain"], file["readvar"] = sensor["offset"], sensor["adu_per_e"], sensor["variance"]
        file["faults"] = np.ones((HEIGHT, WIDTH), np.uint8)
        file["gain"].attrs["unit"] = "ADU/e-"
    assert f"all {WIDTH}x{HEIGHT} pixels are masked" in refused(program, folder, folder / "bad.hdf5")


def test_picassos_calibration(glint, folder, sensor, expected):
    io = pytest.importorskip("picasso.io")
    io.save_camera_calibration(
        str(folder / "picasso.hdf5"),
        {"offset": sensor["offset"], "variance": sensor["variance"], "gain": sensor["adu_per_e"]},
    )
    np.testing.assert_array_equal(localized(glint, folder, folder / "picasso.hdf5"), expected)


def test_a_movie_of_a_part_of_the_sensor(glint, program, folder, expected):
    movie = tifffile.imread(folder / "movie.tif")
    tifffile.imwrite(folder / "part.tif", movie[:, 3:, 5:])
    part = localized(glint, folder, folder / "own.toml", "--sensor-roi", "5,3", movie="part.tif")
    assert len(part) >= 70
    tifffile.imwrite(folder / "wide.tif", np.pad(movie, ((0, 0), (0, 0), (0, 8)), "edge"))
    message = refused(program, folder, folder / "own.toml", movie="wide.tif")
    assert f"{WIDTH}x{HEIGHT}" in message and f"{WIDTH + 8}x{HEIGHT}" in message


def test_every_camera_of_picassos_template(glint, program, folder):
    """Offset and gain that Picasso's conversion to photoelectrons takes: (counts - Baseline) * Sensitivity / Gain."""
    template = importlib.resources.files("picasso") / "config_template.yaml"
    (folder / "config.yaml").write_text(template.read_text())
    cameras = yaml.safe_load(template.read_text())["Cameras"]
    checked = 0
    for name, camera in cameras.items():
        for settings, sensitivity in leaves(camera["Sensitivity"]):
            chosen = [word for setting in settings for word in ("--camera-setting", setting)]
            if "Gain Property Name" in camera:  # an EM gain, that Micro-Manager's metadata have for Picasso
                assert "--em-gain 300" in refused(
                    program, folder, folder / "config.yaml", "--camera-name", name, *chosen
                )
                chosen += ["--em-gain", 1]
            found = localized(glint, folder, folder / "config.yaml", "--camera-name", name, *chosen)
            same = with_numbers(glint, folder, camera["Baseline"], sensitivity)
            np.testing.assert_array_equal(found, same)
            checked += 1
            if checked % 9 == 1 and settings:
                message = refused(program, folder, folder / "config.yaml", "--camera-name", name)
                assert all(f'"{word}"' in message for word in camera["Sensitivity"])
    assert checked >= 20
    message = refused(program, folder, folder / "config.yaml")
    assert all(f'"{name}"' in message for name in cameras)


def leaves(sensitivity, path=()):
    if not isinstance(sensitivity, dict):
        return [(path, sensitivity)]
    return [leaf for key, value in sensitivity.items() for leaf in leaves(value, (*path, key))]


def with_numbers(glint, folder, offset, gain):
    glint(
        "localize",
        folder / "movie.tif",
        "-o",
        folder / "same.hdf5",
        "--overwrite",
        "--offset",
        offset,
        "--gain",
        gain,
        *FLAGS,
    )
    with h5py.File(folder / "same.hdf5") as file:
        return file["locs"][()]


def refused(program, folder, camera, *flags, movie="movie.tif"):
    done = subprocess.run(
        [program, "localize", folder / movie, "-o", folder / "none.hdf5", "--camera", camera, *FLAGS, *flags],
        capture_output=True,
        text=True,
    )
    assert done.returncode != 0 and not (folder / "none.hdf5").exists()
    return done.stderr


def test_fitted_tables_of_a_preset_say_that_its_values_are_typical(glint, tmp_path):
    rois = np.full((2, 7, 7), 110, np.float32)
    rois[:, 2:5, 2:5] += 400
    np.save(tmp_path / "rois.npy", rois)
    said = glint(
        "fit",
        tmp_path / "rois.npy",
        "-o",
        tmp_path / "locs.hdf5",
        "--sigma",
        "130nm",
        "--pixel-size",
        "100nm",
        "--camera-preset",
        "andor-zyla",
        "--keep-failed",
    )
    for text in (said, (tmp_path / "locs.yaml").read_text()):
        assert "typical of Andor Zyla, 16-bit (low noise & high well capacity), not measured" in text
