"""Tables of localizations as other programs and scripts write them, with h5py, pandas and PyYAML as references."""
import subprocess

import h5py
import numpy as np
import pytest
import yaml


def table(n=200, frames=50):
    random = np.random.default_rng(5)
    return {"frame": np.sort(random.integers(0, frames, n)).astype("u4"), "x": random.uniform(1, 30, n).astype("f4"),
            "y": random.uniform(1, 30, n).astype("f4"), "photons": random.uniform(300, 3000, n).astype("f4"),
            "sx": np.full(n, 1.3, "f4"), "sy": np.full(n, 1.3, "f4"), "bg": random.uniform(5, 30, n).astype("f4"),
            "lpx": np.full(n, 0.1, "f4"), "lpy": np.full(n, 0.1, "f4")}


def write(path, columns, info="Width: 32\nHeight: 32\nFrames: 50\nPixelsize: 130\n"):
    with h5py.File(path, "w") as file:
        file.create_dataset("locs", data=np.rec.fromarrays(list(columns.values()), names=list(columns)))
    path.with_suffix(".yaml").write_text(info)
    return path


def read(path):
    with h5py.File(path) as file:
        return file["locs"][:]


def fails(program, *arguments, **keywords):
    done = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True, **keywords)
    assert done.returncode == 3, done.stdout + done.stderr
    return done.stderr


@pytest.fixture(params=["hdf5", "csv", "late"])
def molecules(request, tmp_path):
    """Cluster centres: frame is a mean. In "late", the first rows have whole frames."""
    columns = table() | {"frame": np.linspace(10, 49, 200).astype("f4") + np.float32(0.25), "n": np.arange(200, dtype="u4")}
    if request.param == "late":
        columns["frame"][:199] = np.floor(columns["frame"][:199])
    if request.param == "csv":
        path = tmp_path / "m.csv"
        rows = np.stack([columns["frame"] + 1, columns["x"] * 130 + 65, columns["y"] * 130 + 65, columns["photons"]], 1)
        np.savetxt(path, rows, "%.9g", ",", header="frame,x [nm],y [nm],intensity [photon]", comments="")
        return path, columns
    return write(tmp_path / "m.hdf5", columns), columns


def test_molecules_with_mean_frames(program, tmp_path, molecules):
    path, columns = molecules
    pixel = ["--pixel-size", "130nm"] if path.suffix == ".csv" else []
    done = subprocess.run([program, "convert", path, "-o", tmp_path / "o.hdf5", *pixel], capture_output=True, text=True)
    assert done.returncode == 0 and "taken as molecules with mean frames" in done.stderr, done.stderr
    rows = read(tmp_path / "o.hdf5")
    np.testing.assert_array_equal(rows["frame"], np.floor(columns["frame"]))
    np.testing.assert_allclose(rows["mean_frame"], columns["frame"], rtol=1e-6)
    np.testing.assert_allclose(rows["x"], columns["x"], rtol=1e-4)
    if path.suffix == ".hdf5":  # with precisions
        subprocess.run([program, "render", path, "-o", tmp_path / "o.png"], check=True, capture_output=True)
    for source, more in ((path, pixel), (tmp_path / "o.hdf5", [])):
        for command, output in (("drift", True), ("link", True), ("resolution", False)):
            out = ["-o", tmp_path / "never.hdf5"] if output else []
            message = fails(program, command, source, *out, *more)
            assert "molecules with mean frames (column mean_frame)" in message
    assert not (tmp_path / "never.hdf5").exists()


def numpy_info(**more):
    info = {"Byte Order": "<", "Data Type": "uint16", "Frames": np.int64(7), "Height": np.uint16(5), "Width": np.int64(6),
            "Pixelsize": np.float64(130), "Structure.Angle": np.float32(1.5), "Shape": (1, 2), "Drift": np.arange(3.0),
            "Kind": np.dtype("f4"), "Name": np.str_("a: b"), "Flag": np.bool_(True), "Text": "two\nlines: of it\n", "Class": dict}
    return info | more


@pytest.mark.parametrize("style", [False, None])
@pytest.mark.parametrize("big", ["<", ">"])
def test_yaml_with_numpy_objects(dump, glint, tmp_path, style, big):
    info = numpy_info(Pixelsize=np.array(130, big + "f8")[()], Frames=np.array(7, big + "i4")[()])
    text = yaml.dump(info, default_flow_style=style)
    assert "!!python/object/apply:numpy" in text
    frames = np.random.default_rng(1).integers(0, 999, (7, 5, 6), dtype=np.uint16)
    frames.tofile(tmp_path / "m.raw")
    (tmp_path / "m.yaml").write_text(text)
    facts, found = dump(tmp_path / "m.raw")
    np.testing.assert_array_equal(found, frames)
    assert facts["pixel_size_nm"] == 130
    columns = table() | {"x": np.full(200, 3, "f4"), "y": np.full(200, 2, "f4"), "frame": np.full(200, 1, "u4")}
    glint("convert", write(tmp_path / "l.hdf5", columns, text), "-o", tmp_path / "o.hdf5")
    steps = list(yaml.safe_load_all((tmp_path / "o.yaml").read_text()))  # without Python's tags now
    known = {key: value for step in steps for key, value in step.items()}
    assert (known["Width"], known["Height"], known["Frames"], known["Pixelsize"]) == (6, 5, 7, 130)
    assert known["Text"] == info["Text"] and known["Structure.Angle"] == 1.5


@pytest.mark.parametrize("text", ["Width: !!python/long 6\nHeight: !!int 5\nFrames: 7.0\nPixelsize: !!python/float 1.3e2\nX: !!python/tuple [1, 2]\n",
                                  "Width: 6\nCamera:\n  Pixelsize: 130\n  Object: !!python/object:a.b {x: [1}\nHeight: 5\nFrames: 7\n",
                                  "Width: 6\nHeight: 5\nBad: !!python/name:a [1, 2\nFrames: 7\nPixelsize: 130\n",
                                  "%YAML 1.1\n---\nWidth: 6\nHeight: 5\nFrames: 7\nPixelsize: 130\n"])
def test_keys_that_are_needed_are_read(dump, glint, tmp_path, text):
    np.zeros((7, 5, 6), np.uint16).tofile(tmp_path / "m.raw")
    (tmp_path / "m.yaml").write_text(text + "Byte Order: <\nData Type: uint16\n")
    facts, _ = dump(tmp_path / "m.raw")
    assert (facts["frames"], facts["height"], facts["width"], facts["pixel_size_nm"]) == (7, 5, 6, 130)
    columns = table() | {"x": np.full(200, 3, "f4"), "y": np.full(200, 2, "f4"), "frame": np.full(200, 1, "u4")}
    glint("convert", write(tmp_path / "l.hdf5", columns, text), "-o", tmp_path / "o.csv", "--overwrite")
    line = (tmp_path / "o.csv").read_text().splitlines()[1].split(",")
    assert float(line[2]) == pytest.approx(3.5 * 130)


def test_pixel_size_of_the_camera(glint, tmp_path):
    info = "Byte Order: <\nCamera:\n  Image Size: 32\n  Pixelsize: 100\nData Type: uint16\nFrames: 50\nHeight: 32\nWidth: 32\n"
    columns = table()
    glint("convert", write(tmp_path / "l.hdf5", columns, info), "-o", tmp_path / "o.csv")
    found = np.loadtxt(tmp_path / "o.csv", delimiter=",", skiprows=1, usecols=2)
    np.testing.assert_allclose(found, (columns["x"] + 0.5) * 100, rtol=1e-5)
