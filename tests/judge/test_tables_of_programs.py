"""SMAP's, DECODE's and .smlm tables: SciPy, h5py, zipfile and NumPy write them, and read those that glint writes."""

import json
import subprocess
import zipfile

import h5py
import numpy as np
import pytest
from scipy.io import savemat


def table(n=300):
    random = np.random.default_rng(7)
    names = ["x", "y", "z", "photons", "bg", "sx", "sy", "lpx", "lpy", "lpz"]
    columns = {"frame": np.sort(random.integers(0, 90, n)).astype("u4")}
    return columns | {name: random.uniform(1, 30, n).astype("f4") for name in names}


def read(path):
    with h5py.File(path) as file:
        return file["locs"][:]


def convert(program, path, out, *flags):
    done = subprocess.run([program, "convert", path, "-o", out, "--overwrite", *flags], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stderr


@pytest.fixture
def picasso(tmp_path):
    columns = table()
    path = tmp_path / "in.hdf5"
    with h5py.File(path, "w") as file:
        file.create_dataset("locs", data=np.rec.fromarrays(list(columns.values()), names=list(columns)))
    path.with_suffix(".yaml").write_text("Width: 32\nHeight: 40\nFrames: 100\nPixelsize: 130\n")
    return path, columns


def smap_loc(t, roi=(20, 30), pixel=(100, 120)):
    return {
        "frame": t["frame"] + 1.0,
        "xnm": ((t["x"] + 1 + roi[0]) * pixel[0]).astype("f4"),
        "ynm": ((t["y"] + 1 + roi[1]) * pixel[1]).astype("f4"),
        "znm": t["z"],
        "phot": t["photons"],
        "bg": t["bg"],
        "PSFxnm": t["sx"] * pixel[0],
        "PSFynm": t["sy"] * pixel[1],
        "xnmerr": t["lpx"] * pixel[0],
        "ynmerr": t["lpy"] * pixel[1],
        "locprecnm": t["lpx"] * 77,
        "locprecznm": t["lpz"],
        "channel": np.zeros(len(t["x"]), "f4"),
        "filenumber": np.ones(len(t["x"]), "u1"),
    }


def check_smap(rows, t, metadata):
    np.testing.assert_array_equal(rows["frame"], t["frame"])
    for name in ("x", "y", "z", "photons", "bg", "sx", "sy", "lpx", "lpy", "lpz"):
        np.testing.assert_allclose(rows[name], t[name], rtol=2e-5, atol=2e-5, err_msg=name)
    assert (
        "Width: 64" in metadata
        and "Height: 48" in metadata
        and "Frames: 500" in metadata
        and "Pixelsize: 100" in metadata
    )


@pytest.mark.parametrize("compressed", [False, True])
def test_smap_of_version_5(program, tmp_path, compressed):
    t = table()
    loc = {name: np.asarray(values)[:, None] for name, values in smap_loc(t).items()}
    info = {"cam_pixelsize_um": [0.1, 0.12], "roi": [20, 30, 64, 48], "Width": 64, "Height": 48, "numberOfFrames": 500}
    saveloc = {"loc": loc, "file": {"name": "a movie", "info": info, "raw": np.zeros((20, 20))}, "history": []}
    savemat(
        tmp_path / "a_sml.mat",
        {"parameters": {"a": 1}, "saveloc": saveloc},
        do_compression=compressed,
        long_field_names=True,
    )
    convert(program, tmp_path / "a_sml.mat", tmp_path / "o.hdf5")
    check_smap(read(tmp_path / "o.hdf5"), t, (tmp_path / "o.yaml").read_text())


@pytest.mark.parametrize("movies", [1, 2])
def test_smap_of_version_73(program, tmp_path, movies):
    t = table()
    with h5py.File(tmp_path / "a_sml.mat", "w", userblock_size=512) as file:
        loc = file.create_group("saveloc/loc")
        for name, values in smap_loc(t).items():
            loc.create_dataset(name, data=np.asarray(values)[None, :], chunks=(1, 100), compression="gzip")
        loc.create_dataset("empty", data=np.array([0, 0], "u8")).attrs["MATLAB_empty"] = np.uint8(1)

        def info(group):
            for name, values in {
                "cam_pixelsize_um": [0.1, 0.12],
                "roi": [20, 30, 64, 48],
                "numberOfFrames": [500],
            }.items():
                group.create_dataset(name, data=np.array(values, "f8")[:, None])
            return group

        if movies == 1:
            info(file.create_group("saveloc/file/info"))
        else:
            infos = [info(file.create_group(f"#refs#/{k}")).ref for k in range(movies)]
            file.create_dataset("saveloc/file/info", data=np.array([infos], dtype=h5py.ref_dtype))
    convert(program, tmp_path / "a_sml.mat", tmp_path / "o.hdf5")
    check_smap(read(tmp_path / "o.hdf5"), t, (tmp_path / "o.yaml").read_text())


def test_smap_is_written_as_other_programs_read_it(program, tmp_path, picasso):
    path, t = picasso
    convert(program, path, tmp_path / "a_sml.mat")
    assert (tmp_path / "a_sml.mat").read_bytes()[:19] == b"MATLAB 7.3 MAT-file" and (
        tmp_path / "a_sml.mat"
    ).read_bytes()[124:128] == b"\0\2IM"
    with h5py.File(tmp_path / "a_sml.mat") as file:
        loc, info = file["saveloc/loc"], file["saveloc/file/info"]
        assert file["saveloc"].attrs["MATLAB_class"] == b"struct" and loc["xnm"].attrs["MATLAB_class"] == b"single"
        assert loc["xnm"].shape == (1, len(t["x"]))  # a column of MATLAB
        np.testing.assert_array_equal(loc["frame"][0], t["frame"] + 1)
        np.testing.assert_allclose(loc["xnm"][0], (t["x"] + 1) * 130, rtol=1e-6)
        np.testing.assert_allclose(loc["ynm"][0], (t["y"] + 1) * 130, rtol=1e-6)
        np.testing.assert_allclose(loc["locprecnm"][0], np.sqrt((t["lpx"] ** 2 + t["lpy"] ** 2) / 2) * 130, rtol=1e-6)
        np.testing.assert_array_equal(info["roi"][:, 0], [0, 0, 32, 40])
        np.testing.assert_allclose(info["cam_pixelsize_um"][:, 0], 0.13)
        assert bytes(file["saveloc/file/name"][:, 0].astype("u1")) == b"glint_sml.mat"


def write_decode(path, t, unit="px"):
    n, px = len(t["x"]), (120.0, 100.0)
    scale = np.array([*px, 1.0]) if unit == "nm" else np.ones(3)
    xyz = np.stack([t["y"], t["x"], t["z"]], 1) * scale
    sig = np.stack([t["lpy"], t["lpx"], t["lpz"]], 1) * scale
    if path.suffix == ".h5":
        with h5py.File(path, "w") as file:
            file.create_group("meta").attrs.update({"xy_unit": unit, "px_size": np.array(px, "f4")})
            file.create_group("decode").attrs["version"] = "v0.10.1"
            data = {
                "xyz": xyz.astype("f4"),
                "xyz_sig": sig.astype("f4"),
                "phot": t["photons"],
                "frame_ix": t["frame"].astype("i8"),
                "id": np.full(n, -1, "i8"),
                "prob": np.full(n, 0.9, "f4"),
                "bg": t["bg"],
            }
            for name, values in data.items():
                file.create_dataset(f"data/{name}", data=values)
            for name in ("xyz_cr", "phot_cr", "phot_sig", "bg_cr", "bg_sig"):
                file.create_dataset(f"data/{name}", data=h5py.Empty("f"))
        return
    columns = {
        "x": xyz[:, 0],
        "y": xyz[:, 1],
        "z": xyz[:, 2],
        "phot": t["photons"],
        "frame_ix": t["frame"],
        "id": np.full(n, -1),
        "prob": np.full(n, 0.9),
        "bg": t["bg"],
        "x_cr": None,
        "y_cr": None,
        "z_cr": None,
        "x_sig": sig[:, 0],
        "y_sig": sig[:, 1],
        "z_sig": sig[:, 2],
    }
    lines = [
        "# DECODE EmitterSet",
        '# {"version": "v0.10.1"}',
        "# " + json.dumps({"xy_unit": unit, "px_size": px}),
        ",".join(columns),
    ]
    lines += [",".join("" if v is None else str(v[k]) for v in columns.values()) for k in range(n)]
    path.write_text("\n".join(lines) + "\n")


@pytest.mark.parametrize("unit", ["px", "nm"])
@pytest.mark.parametrize("ending", ["h5", "csv"])
def test_decode(program, tmp_path, ending, unit):
    t = table()
    write_decode(tmp_path / f"a.{ending}", t, unit)
    said = convert(program, tmp_path / f"a.{ending}", tmp_path / "o.hdf5")
    assert "its x is taken as a frame's rows" in said
    rows = read(tmp_path / "o.hdf5")
    np.testing.assert_array_equal(rows["frame"], t["frame"])
    for name in ("x", "y", "z", "photons", "bg", "lpx", "lpy", "lpz"):
        np.testing.assert_allclose(rows[name], t[name], rtol=1e-5, err_msg=name)
    assert "prob" in rows.dtype.names and "id" not in rows.dtype.names
    assert "Pixelsize: 100" in (tmp_path / "o.yaml").read_text()


def test_smlm_is_written_as_others_read_it(program, tmp_path, picasso):
    path, t = picasso
    convert(program, path, tmp_path / "a.smlm")
    with zipfile.ZipFile(tmp_path / "a.smlm") as archive:
        assert archive.testzip() is None
        manifest = json.loads(archive.read("manifest.json"))
        assert manifest["format_version"] == "0.2"
        info = manifest["files"][0]
        layout = manifest["formats"][info["format"]]
        assert (
            len(layout["headers"])
            == len(layout["dtype"])
            == len(layout["shape"])
            == len(layout["units"])
            == layout["columns"]
        )
        rows = np.frombuffer(
            archive.read(info["name"]),
            list(zip(layout["headers"], ["<" + np.dtype(d).str[1:] for d in layout["dtype"]])),
        )
    assert len(rows) == info["rows"] == len(t["x"])
    np.testing.assert_array_equal(rows["frame"], t["frame"] + 1)
    for theirs, ours, scale, shift in (
        ("x", "x", 130, 0.5),
        ("y", "y", 130, 0.5),
        ("z", "z", 1, 0),
        ("intensity", "photons", 1, 0),
        ("x_precision", "lpx", 130, 0),
    ):
        np.testing.assert_allclose(rows[theirs], (t[ours] + shift) * scale, rtol=1e-6, err_msg=theirs)


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
@pytest.mark.parametrize("is_large", [False, True])  # then numbers are texts, as protobuf writes them
def test_smlm_of_others(program, tmp_path, method, is_large):
    """As ThunderSTORM's plugin writes it: the columns of its table, frames from 1."""
    t = table()
    columns = {
        "frame": ("<f4", "", t["frame"] + 1),
        "x": ("<f4", "nm", (t["x"] + 0.5) * 100),
        "y": ("<f4", "nm", (t["y"] + 0.5) * 100),
        "sigma": ("<f4", "nm", t["sx"] * 100),
        "intensity": ("<f4", "photon", t["photons"]),
        "offset": ("<f8", "photon", t["bg"]),
        "uncertainty": ("<f4", "nm", t["lpx"] * 100),
    }
    rows = np.rec.fromarrays(
        [np.asarray(v).astype(d) for d, _, v in columns.values()], dtype=[(n, d) for n, (d, _, _) in columns.items()]
    )
    layout = {
        "name": "t",
        "type": "table",
        "mode": "binary",
        "columns": len(columns),
        "headers": list(columns),
        "shape": [1] * len(columns),
        "dtype": [np.dtype(d).name for d, _, _ in columns.values()],
        "units": [u for _, u, _ in columns.values()],
    }
    number = str if is_large else int
    layout["shape"] = [number(1)] * len(columns)
    files = [
        {"name": "w.png", "type": "image", "format": "png"},
        {"name": "t.bin", "type": "table", "format": "t", "rows": number(len(rows))},
    ]
    with zipfile.ZipFile(tmp_path / "a.smlm", "w", method) as archive:
        archive.writestr(
            "manifest.json", json.dumps({"format_version": "0.2", "formats": {"t": layout}, "files": files})
        )
        archive.writestr("w.png", b"no picture")
        with archive.open("t.bin", "w", force_zip64=is_large) as file:
            file.write(rows.tobytes())
    said = convert(program, tmp_path / "a.smlm", tmp_path / "o.hdf5", "--pixel-size", "100nm", "--first-frame", "1")
    assert said == "", said
    out = read(tmp_path / "o.hdf5")
    np.testing.assert_array_equal(out["frame"], t["frame"])
    for name in ("x", "y", "photons", "bg", "sx", "lpx"):
        np.testing.assert_allclose(out[name], t[name], rtol=2e-5, atol=2e-5, err_msg=name)


def test_csv_with_every_column(program, tmp_path, picasso):
    path, t = picasso
    convert(program, path, tmp_path / "a.all.csv")
    lines = [line for line in (tmp_path / "a.all.csv").read_text().splitlines() if not line.startswith("#")]
    names = [name.strip('"').split(" [")[0] for name in lines[0].split(",")]
    rows = np.array([line.split(",") for line in lines[1:]], "f8")
    for name, values in t.items():
        np.testing.assert_array_equal(rows[:, names.index(name)].astype(values.dtype), values, err_msg=name)
    convert(program, tmp_path / "a.all.csv", tmp_path / "o.hdf5")
    assert read(tmp_path / "o.hdf5").tobytes() == read_again(program, path, tmp_path)
    assert (tmp_path / "o.yaml").read_text() == (tmp_path / "again.yaml").read_text()


def read_again(program, path, tmp_path):
    convert(program, path, tmp_path / "again.hdf5")
    return read(tmp_path / "again.hdf5").tobytes()
