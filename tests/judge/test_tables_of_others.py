"""Tables of localizations as other programs and scripts write them, with h5py, pandas and PyYAML as references."""

import subprocess

import h5py
import numpy as np
import pytest
import yaml


def table(n=200, frames=50):
    random = np.random.default_rng(5)
    return {
        "frame": np.sort(random.integers(0, frames, n)).astype("u4"),
        "x": random.uniform(1, 30, n).astype("f4"),
        "y": random.uniform(1, 30, n).astype("f4"),
        "photons": random.uniform(300, 3000, n).astype("f4"),
        "sx": np.full(n, 1.3, "f4"),
        "sy": np.full(n, 1.3, "f4"),
        "bg": random.uniform(5, 30, n).astype("f4"),
        "lpx": np.full(n, 0.1, "f4"),
        "lpy": np.full(n, 0.1, "f4"),
    }


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
    columns = table() | {
        "frame": np.linspace(10, 49, 200).astype("f4") + np.float32(0.25),
        "n": np.arange(200, dtype="u4"),
    }
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
    info = {
        "Byte Order": "<",
        "Data Type": "uint16",
        "Frames": np.int64(7),
        "Height": np.uint16(5),
        "Width": np.int64(6),
        "Pixelsize": np.float64(130),
        "Structure.Angle": np.float32(1.5),
        "Shape": (1, 2),
        "Drift": np.arange(3.0),
        "Kind": np.dtype("f4"),
        "Name": np.str_("a: b"),
        "Flag": np.bool_(True),
        "Text": "two\nlines: of it\n",
        "Class": dict,
    }
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


@pytest.mark.parametrize(
    "text",
    [
        (
            "Width: !!python/long 6\nHeight: !!int 5\nFrames: 7.0\nPixelsize: !!python/float 1.3e2\nX: "
            "!!python/tuple [1, 2]\n"
        ),
        "Width: 6\nCamera:\n  Pixelsize: 130\n  Object: !!python/object:a.b {x: [1}\nHeight: 5\nFrames: 7\n",
        "Width: 6\nHeight: 5\nBad: !!python/name:a [1, 2\nFrames: 7\nPixelsize: 130\n",
        "%YAML 1.1\n---\nWidth: 6\nHeight: 5\nFrames: 7\nPixelsize: 130\n",
    ],
)
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
    info = (
        "Byte Order: <\nCamera:\n  Image Size: 32\n  Pixelsize: 100\nData Type: uint16\nFrames: "
        "50\nHeight: 32\nWidth: 32\n"
    )
    columns = table()
    glint("convert", write(tmp_path / "l.hdf5", columns, info), "-o", tmp_path / "o.csv")
    found = np.loadtxt(tmp_path / "o.csv", delimiter=",", skiprows=1, usecols=2)
    np.testing.assert_allclose(found, (columns["x"] + 0.5) * 100, rtol=1e-5)


@pytest.mark.parametrize(
    "written", [{"format": "fixed"}, {"format": "table"}, {"format": "table", "data_columns": True}]
)
def test_tables_by_pandas_to_hdf(program, tmp_path, written):
    pytest.importorskip("tables")
    pandas = pytest.importorskip("pandas")
    columns = table() | {"group": np.arange(200), "n": np.arange(200, dtype="i4")}
    frame = pandas.DataFrame(columns)
    frame["name"] = "text"
    frame.to_hdf(tmp_path / "l.hdf5", key="locs", mode="w", **written)
    (tmp_path / "l.yaml").write_text("Width: 32\nHeight: 32\nFrames: 50\nPixelsize: 130\n")
    check_pandas(program, tmp_path, columns)


@pytest.mark.parametrize("kind", ["fixed", "table", "columns"])
def test_layouts_of_pandas(program, tmp_path, kind):
    """The same layouts by h5py, where PyTables is not installed."""
    columns = table() | {"group": np.arange(200), "n": np.arange(200, dtype="i4")}
    blocks = {}
    for name, values in columns.items():
        blocks.setdefault(values.dtype, []).append(name)
    pickled = lambda names: (
        b"(lp0\n"
        + b"".join(b"%sV%s\np%d\n" % (b"a" if k else b"", name.encode(), k + 1) for k, name in enumerate(names))
        + b"a."
    )
    with h5py.File(tmp_path / "l.hdf5", "w") as file:
        group = file.create_group("locs")
        group.attrs["pandas_type"] = np.bytes_(b"frame" if kind == "fixed" else b"frame_table")
        if kind == "fixed":
            for k, (dtype, names) in enumerate(blocks.items()):
                group[f"block{k}_items"] = np.array(names, "S")
                group[f"block{k}_values"] = np.stack([columns[name] for name in names], 1)
        else:
            fields = [("index", "i8")] + (
                [(name, columns[name].dtype) for name in columns]
                if kind == "columns"
                else [(f"values_block_{k}", dtype, (len(names),)) for k, (dtype, names) in enumerate(blocks.items())]
            )
            rows = np.zeros(200, fields)
            for k, (dtype, names) in enumerate(blocks.items()):
                for j, name in enumerate(names):
                    if kind == "columns":
                        rows[name] = columns[name]
                    else:
                        rows[f"values_block_{k}"][:, j] = columns[name]
            stored = group.create_dataset("table", data=rows)
            stored.attrs["index_kind"] = np.bytes_(b"integer")
            for k, names in enumerate(blocks.values()):
                stored.attrs[f"values_block_{k}_kind"] = np.bytes_(pickled(names))
    (tmp_path / "l.yaml").write_text("Width: 32\nHeight: 32\nFrames: 50\nPixelsize: 130\n")
    check_pandas(program, tmp_path, columns)


def check_pandas(program, folder, columns):
    done = subprocess.run(
        [program, "convert", folder / "l.hdf5", "-o", folder / "o.hdf5"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    rows = read(folder / "o.hdf5")
    assert "index" not in rows.dtype.names and len(rows) == 200
    for name, values in columns.items():
        np.testing.assert_array_equal(rows[name], values)
    assert rows["group"].dtype.kind == "i"
    assert yaml.safe_load((folder / "o.yaml").read_text().split("---")[0])["Pixelsize"] == 130


def convert(program, path, *more):
    out = path.parent / "o.hdf5"
    done = subprocess.run(
        [program, "convert", path, "-o", out, "--overwrite", "--pixel-size", "100nm", *more],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return read(out), done.stderr.replace(f"{out} has no column", "")


def write_csv(path, columns, before=""):
    lines = [",".join(columns)] + [",".join(f"{value:.9g}" for value in row) for row in zip(*columns.values())]
    path.write_text(before + "\n".join(lines) + "\n")
    return path


def in_nm(first_frame=0, shift=0):
    t = table()
    return t["frame"] + first_frame + shift, t["x"] * 100.0, t["y"] * 100.0, t["photons"], t["bg"], t["lpx"] * 100.0


def test_frames_of_programs_that_are_known(program, tmp_path):
    frame, x, y, photons, bg, precision = in_nm()
    cases = {
        "oni": (
            {
                "Channel": frame * 0,
                "Frame": frame + 5,
                "X (nm)": x,
                "Y (nm)": y,
                "Z (nm)": x * 0,
                "Photons": photons,
                "Background": bg,
            },
            5,
        ),
        "oni_new": (
            {
                "Channel": frame * 0,
                "Frame": frame + 5,
                "X (nm)": x,
                "Y (nm)": y,
                "X precision (nm)": precision,
                "Y precision (nm)": precision,
                "X (pix)": x / 117,
                "Y (pix)": y / 117,
                "X precision (pix)": precision / 117,
                "Photons": photons,
                "Background": bg,
                "PSF Sigma X (pix)": x * 0 + 1.1,
                "PSF Sigma Y (pix)": x * 0 + 1.2,
            },
            5,
        ),
        "smap": (
            {
                "frame": frame + 6,
                "xnm": x,
                "ynm": y,
                "phot": photons,
                "bg": bg,
                "locprecnm": precision,
                "PSFxnm": x * 0 + 130,
            },
            5,
        ),
        "thunderstorm": (
            {
                '"id"': frame,
                '"frame"': frame + 6,
                '"x [nm]"': x,
                '"y [nm]"': y,
                '"intensity [photon]"': photons,
                '"offset [photon]"': bg,
            },
            5,
        ),
        "truth": ({"frame": frame + 5, "x_nm": x, "y_nm": y, "photons": photons, "sx_nm": x, "sy_nm": y}, 5),
        "challenge": (
            {"Ground-truth": frame, "frame": frame + 6, "xnano": x, "ynano": y, "znano": x * 0, "intensity": photons},
            5,
        ),
    }
    for name, (columns, shift) in cases.items():
        rows, said = convert(program, write_csv(tmp_path / f"{name}.csv", columns))
        np.testing.assert_array_equal(rows["frame"], frame + shift, err_msg=name)
        np.testing.assert_allclose(rows["photons"], photons, rtol=1e-5)
        np.testing.assert_allclose(rows["x"], x / 100 - {"truth": 0, "smap": 1}.get(name, 0.5), rtol=1e-4, atol=1e-4)
        assert "count from" not in said, (name, said)
        if name not in ("truth", "challenge"):
            np.testing.assert_allclose(rows["bg"], bg, rtol=1e-5)
        if name in ("oni_new", "smap"):
            np.testing.assert_allclose(rows["lpx"], precision / 100, rtol=1e-5)
        if name == "oni_new":
            np.testing.assert_allclose(rows["sy"], 1.2, rtol=1e-5)


def test_frames_that_nothing_tells(program, tmp_path):
    frame, x, y, photons, bg, _ = in_nm()
    for header in (
        ("frame", "x_nm", "y_nm", "photons"),
        ("frame", "x [nm]", "y [nm]", "intensity [photon]"),
        ("Frame", "x (nm)", "y (nm)", "photons"),
    ):
        for first in (0, 1, 5):
            path = write_csv(tmp_path / "t.csv", dict(zip(header, (frame - frame.min() + first, x, y, photons))))
            rows, said = convert(program, path)
            np.testing.assert_array_equal(rows["frame"], frame - frame.min() + first - (first > 0))
            assert (f"the first row is in frame {first}: taken as counted from 1" in said) == (first > 0)
            assert ("--first-frame 0" in said) == (first > 0)
            for given in (0, 1) if first else (0,):
                rows, said = convert(program, path, "--first-frame", str(given))
                np.testing.assert_array_equal(rows["frame"], frame - frame.min() + first - given)
                assert "count from" not in said
    path = write_csv(tmp_path / "t.csv", dict(zip(header, (frame - frame.min(), x, y, photons))))
    done = subprocess.run(
        [program, "convert", path, "-o", tmp_path / "p.hdf5", "--pixel-size", "100nm", "--first-frame", "1"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2 and "has a frame 0, so its frames do not count from 1" in done.stderr


def test_columns_are_reported(program, tmp_path):
    frame, x, y, photons, bg, precision = in_nm()
    path = write_csv(
        tmp_path / "t.csv",
        {
            "t": frame,
            "pos x": x / 100,
            "pos y": y / 100,
            "N": photons,
            "B [photons]": bg,
            "s (nm)": precision,
            "photons": bg,
        },
    )
    rows, _ = convert(
        program,
        path,
        "--first-frame",
        "0",
        *(
            word
            for column in ("frame=t", "x [px]=pos x", "y [px]=pos y", "photons=N", "bg=B [photons]", "lpx=s (nm)")
            for word in ("--column", column)
        ),
    )
    np.testing.assert_array_equal(rows["frame"], frame)
    np.testing.assert_allclose(rows["x"], x / 100 - 0.5, atol=1e-4)
    np.testing.assert_allclose(rows["photons"], photons, rtol=1e-5)
    np.testing.assert_allclose(rows["bg"], bg, rtol=1e-5)
    np.testing.assert_allclose(rows["lpx"], precision / 100, rtol=1e-5)
    done = subprocess.run(
        [program, "filter", path, "-o", tmp_path / "f.csv", "--where", "x > 0", "--column", "frame=T"],
        capture_output=True,
        text=True,
    )
    assert (
        done.returncode == 2 and 'has no column "T", which was given for frame: its columns are t, pos x' in done.stderr
    )


def test_channels_are_reported(program, tmp_path):
    frame, x, y, photons, bg, _ = in_nm()
    path = write_csv(
        tmp_path / "t.csv",
        {"Channel": np.arange(200) % 2, "Frame": frame, "X (nm)": x, "Y (nm)": y, "Photons": photons, "Background": bg},
    )
    rows, said = convert(program, path)
    assert "several values of Channel" in said and '--where "Channel == 0"' in said
    subprocess.run(
        [program, "filter", path, "-o", tmp_path / "one.hdf5", "--where", "Channel == 1", "--pixel-size", "100nm"],
        check=True,
        capture_output=True,
    )
    np.testing.assert_array_equal(read(tmp_path / "one.hdf5")["frame"], frame[1::2])


@pytest.mark.parametrize(
    "before", ["", "\n\n", '# by a script\n# {"a": 1}\n\n', "% MATLAB\n", "\ufeff# a\n", "// x,y\n"]
)
def test_lines_before_the_header(program, tmp_path, before):
    frame, x, y, photons, bg, _ = in_nm(1)
    path = write_csv(
        tmp_path / "t.csv",
        {"id": frame, "frame": frame, "x [nm]": x, "y [nm]": y, "intensity [photon]": photons},
        before,
    )
    rows, _ = convert(program, path)
    np.testing.assert_array_equal(rows["frame"], frame - 1)
    np.testing.assert_allclose(rows["photons"], photons, rtol=1e-5)


def test_header_that_savetxt_comments(program, tmp_path):
    frame, x, y, photons, _, _ = in_nm(1)
    np.savetxt(
        tmp_path / "t.csv",
        np.stack([frame, x, y, photons], 1),
        "%.9g",
        ",",
        header="frame,x [nm],y [nm],intensity [photon]",
    )
    rows, _ = convert(program, tmp_path / "t.csv", "--first-frame", "1")
    np.testing.assert_array_equal(rows["frame"], frame - 1)
    np.testing.assert_allclose(rows["photons"], photons, rtol=1e-5)


def test_smap_has_a_width_for_each_axis(program, tmp_path):
    frame, x, y, photons, _, precision = in_nm(1)
    wide = np.full_like(x, 150)
    path = write_csv(
        tmp_path / "t.csv",
        {
            "frame": frame,
            "xnm": x,
            "ynm": y,
            "phot": photons,
            "locprecnm": precision,
            "PSFxnm": wide - 30,
            "PSFynm": wide,
        },
    )
    rows, _ = convert(program, path)
    np.testing.assert_allclose(rows["sx"], 1.2, rtol=1e-5)
    np.testing.assert_allclose(rows["sy"], 1.5, rtol=1e-5)


def test_flags_of_the_truth_are_named(program, tmp_path):
    frame, x, y, photons, _, _ = in_nm()
    path = write_csv(
        tmp_path / "t.csv", {"frame": frame - frame.min(), "x [nm]": x, "y [nm]": y, "intensity [photon]": photons}
    )
    score = [program, "score", path, path, "--pixel-size", "100nm", "--first-frame", "0"]
    done = subprocess.run([*score, "--truth-first-frame", "1"], capture_output=True, text=True)
    assert done.returncode == 2 and "leave out --truth-first-frame 1" in done.stderr, done.stderr
    done = subprocess.run([*score, "--truth-column", "q"], capture_output=True, text=True)
    assert done.returncode == 2 and "--truth-column q: give NAME=HEADER" in done.stderr, done.stderr


def test_intensities_that_are_no_photons(program, tmp_path):
    frame, x, y, photons, bg, _ = in_nm(1)
    path = write_csv(
        tmp_path / "t.csv",
        {"id": frame, "frame": frame, "x [nm]": x, "y [nm]": y, "intensity [au]": photons, "offset [au]": bg},
    )
    rows, said = convert(program, path)
    assert "photons" not in rows.dtype.names and 'column "intensity [au]" is not in photons' in said
    np.testing.assert_allclose(rows["intensity [au]"], photons, rtol=1e-5)


def test_tables_of_other_programs_are_named(program, tmp_path):
    (tmp_path / "d.csv").write_text('# DECODE EmitterSet\n# {"schema": "2"}\nid,frame_ix,x,y,z,phot\n0,1,2,3,4,5\n')
    assert 'd.csv: its metadata have the xy_unit ""' in fails(
        program, "render", tmp_path / "d.csv", "-o", tmp_path / "r.png"
    )


def test_files_of_storm_analysis_written_by_h5py(program, tmp_path):
    random = np.random.default_rng(9)
    frames = {
        k: {name: random.uniform(1, 60, 7) for name in ("x", "y", "z", "xsigma", "ysigma", "sum", "background")}
        for k in (2, 11)
    }
    with h5py.File(tmp_path / "a.hdf5", "w") as file:
        file.attrs.update(
            {
                "sa_type": "3D-DAOSTORM",
                "version": 0.1,
                "n_channels": 1,
                "analysis_finished": 1,
                "pixel_size": 160.0,
                "movie_x": 64,
                "movie_y": 62,
                "movie_l": 12,
                "movie_hash_value": "abc",
            }
        )
        file.create_dataset("metadata.xml", (20,), dtype=h5py.special_dtype(vlen=str))[:5] = "<xml>"
        for k, columns in frames.items():
            group = file.create_group(f"fr_{k}")
            group.attrs.update({"dx": 0.0, "dy": 0.0, "dz": 0.0, "n_locs": 7})
            for name, values in columns.items():
                group.create_dataset(name, data=values)
    done = subprocess.run(
        [program, "convert", tmp_path / "a.hdf5", "-o", tmp_path / "o.hdf5"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    rows = read(tmp_path / "o.hdf5")
    np.testing.assert_array_equal(rows["frame"], [2] * 7 + [11] * 7)
    for ours, theirs, factor in (
        ("x", "x", 1),
        ("y", "y", 1),
        ("z", "z", 1000),
        ("sx", "xsigma", 1),
        ("sy", "ysigma", 1),
        ("photons", "sum", 1),
        ("bg", "background", 1),
    ):
        np.testing.assert_allclose(rows[ours], np.concatenate([frames[k][theirs] for k in frames]) * factor, rtol=1e-6)
    info = yaml.safe_load((tmp_path / "o.yaml").read_text().split("---")[0])
    assert (info["Width"], info["Height"], info["Frames"], info["Pixelsize"]) == (64, 62, 12, 160)
