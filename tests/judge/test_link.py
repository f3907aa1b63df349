"""Reference test of `glint link`: Picasso (tracks at the same radius and gap) and SciPy (assignment)."""

import csv
import json

import h5py
import numpy as np
import pandas as pd
import pytest
import yaml
from picasso import postprocess
from scipy.optimize import linear_sum_assignment

PIXEL = 100.0


def blinks(seed, count=3000, frames=1000, field=12000.0, length=4.0):
    rng = np.random.default_rng(seed)
    first = rng.integers(0, frames, count)
    n = 1 + rng.geometric(1 / length, count)
    blink = np.repeat(np.arange(count), n)
    frame = first[blink] + np.arange(n.sum()) - np.repeat(np.cumsum(n) - n, n)
    keep = frame < frames
    blink, frame = blink[keep], frame[keep]
    sigma = rng.uniform(7, 15, len(blink))
    at = rng.uniform(200, field - 200, (count, 2))[blink] + sigma[:, None] * rng.standard_normal((len(blink), 2))
    order = np.argsort(frame, kind="stable")
    table = np.zeros(
        len(order),
        [
            ("frame", "u4"),
            ("x", "f4"),
            ("y", "f4"),
            ("photons", "f4"),
            ("sx", "f4"),
            ("sy", "f4"),
            ("bg", "f4"),
            ("lpx", "f4"),
            ("lpy", "f4"),
        ],
    )
    table["frame"], table["photons"], table["sx"], table["sy"], table["bg"] = frame[order], 1000, 1.3, 1.3, 10
    table["x"], table["y"] = at[order].T / PIXEL
    table["lpx"] = table["lpy"] = sigma[order] / PIXEL
    return table, blink[order]


def write(path, table, frames=1000):
    with h5py.File(path, "w") as file:
        file["locs"] = table
    path.with_suffix(".yaml").write_text(yaml.dump({"Width": 120, "Height": 120, "Frames": frames, "Pixelsize": PIXEL}))
    return path


@pytest.mark.parametrize("gap", [0, 2])
def test_tracks_are_picassos(glint, tmp_path, gap):
    table, _ = blinks(1)
    path = write(tmp_path / "locs.hdf5", table)
    said = json.loads(glint("link", path, "-o", tmp_path / "out.hdf5", "--radius", "60nm", "--gap", gap, "--json"))
    info = [{"Width": 120, "Height": 120, "Frames": 1000}]
    theirs = postprocess.link(pd.DataFrame(table), info, r_max=60 / PIXEL, max_dark_time=gap)
    # Picasso compares with the last localization, too, but takes the first within the radius, and leaves out tracks
    # that touch the movie's ends
    ours = h5py.File(tmp_path / "out.hdf5")["locs"][:]
    last = ours["frame"] + ours["len"] - 1
    assert said["tracks"] == len(ours)
    inside = (ours["frame"] > 0) & (last < table["frame"].max())
    assert abs(int(inside.sum()) - len(theirs)) <= 0.01 * len(theirs)
    assert ours["n"].sum() == len(table)
    assert abs(np.median(ours["n"][inside]) - np.median(theirs["n"])) == 0


def test_merged_rows_are_means(glint, tmp_path):
    table, _ = blinks(2, count=500)
    path = write(tmp_path / "locs.hdf5", table)
    glint("link", path, "-o", tmp_path / "all.hdf5", "--unmerged")
    glint("link", path, "-o", tmp_path / "merged.hdf5")
    rows = pd.DataFrame(
        h5py.File(tmp_path / "all.hdf5")["locs"][:].astype(
            [(n, "f8") for n in h5py.File(tmp_path / "all.hdf5")["locs"].dtype.names]
        )
    )
    merged = h5py.File(tmp_path / "merged.hdf5")["locs"][:]
    assert all(merged[name].dtype.kind in "iu" for name in ("track", "n", "len"))
    by_track = rows.groupby("track")
    np.testing.assert_array_equal(merged["n"], by_track.size())
    np.testing.assert_array_equal(merged["frame"], by_track["frame"].min())
    np.testing.assert_array_equal(merged["len"], by_track["frame"].max() - by_track["frame"].min() + 1)
    np.testing.assert_allclose(merged["photons"], by_track["photons"].sum())
    weighted = (rows["x"] / rows["lpx"] ** 2).groupby(rows["track"]).sum() / (1 / rows["lpx"] ** 2).groupby(
        rows["track"]
    ).sum()
    np.testing.assert_allclose(merged["x"], weighted, rtol=1e-5)


def test_assignment_of_two_frames_is_scipys(glint, tmp_path):
    """Crowds of two frames: as many links as can be, with the least sum of squared distances."""
    rng = np.random.default_rng(3)
    for trial in range(5):
        n = 40
        table = np.zeros(2 * n, blinks(1, count=2)[0].dtype)
        table["frame"] = np.repeat([0, 1], n)
        table["x"], table["y"] = rng.uniform(2, 6, (2, 2 * n))
        table["photons"], table["sx"], table["sy"], table["lpx"], table["lpy"] = 1000, 1.3, 1.3, 0.2, 0.2
        path = write(tmp_path / f"{trial}.hdf5", table, frames=2)
        glint("link", path, "-o", tmp_path / f"{trial}_out.hdf5", "--radius", "3sigma", "--gap", 0, "--unmerged")
        track = h5py.File(tmp_path / f"{trial}_out.hdf5")["locs"]["track"].astype(int)
        x, y = table["x"].astype(float), table["y"].astype(float)
        d2 = ((x[:n, None] - x[None, n:]) ** 2 + (y[:n, None] - y[None, n:]) ** 2) / (2 * 0.2**2)
        allowed = d2 <= 9
        row, column = linear_sum_assignment(np.where(allowed, d2, 1e6))
        wanted = d2[row, column][allowed[row, column]]
        pairs = [(i, j) for i in range(n) for j in range(n) if track[i] == track[n + j]]
        ours = np.array([d2[i, j] for i, j in pairs])
        assert len(ours) == len(wanted)
        assert ours.sum() == pytest.approx(wanted.sum(), rel=1e-4)


def test_wrong_options_are_explained(glint, program, tmp_path):
    import subprocess

    table, _ = blinks(4, count=20)
    path = write(tmp_path / "locs.hdf5", table)
    for words, said in [
        (["--radius", "4"], "--radius"),
        (["--radius", "-1sigma"], "--radius"),
        (["--gap", "x"], "--gap"),
        (["--gap", "-2"], "--gap"),
    ]:
        done = subprocess.run(
            [program, "link", path, "-o", tmp_path / "o.hdf5", *words], capture_output=True, text=True
        )
        assert done.returncode == 2 and said in done.stderr, done.stderr
    assert not (tmp_path / "o.hdf5").exists()


LAYOUTS = {
    "thunderstorm": [
        "id",
        "frame",
        "x [nm]",
        "y [nm]",
        "z [nm]",
        "sigma1 [nm]",
        "sigma2 [nm]",
        "intensity [photon]",
        "offset [photon]",
        "bkgstd [photon]",
        "chi2",
        "uncertainty_xy [nm]",
    ],
    "picasso": [
        "frame",
        "x",
        "y",
        "photons",
        "sx",
        "sy",
        "bg",
        "lpx",
        "lpy",
        "ellipticity",
        "net_gradient",
        "z",
        "d_zcalib",
    ],
}


def as_of(layout, table, z, tmp_path):
    """The table as ThunderSTORM's or an earlier Picasso's 3D files have it, with z and without its precision, and
    without z.
    """
    names = {
        "x [nm]": (table["x"] + 0.5) * PIXEL,
        "y [nm]": (table["y"] + 0.5) * PIXEL,
        "z [nm]": z,
        "z": z,
        "id": np.arange(len(table)) + 1,
        "uncertainty_xy [nm]": table["lpx"] * PIXEL,
        "intensity [photon]": table["photons"],
    }
    frame = table["frame"] + (1 if layout == "thunderstorm" else 0)
    rows = pd.DataFrame(
        {
            name: frame
            if name == "frame"
            else names[name]
            if name in names
            else table[name]
            if name in table.dtype.names
            else 1.5
            for name in LAYOUTS[layout]
        }
    )
    paths = []
    for stem, of in [("with_z", rows), ("without_z", rows.drop(columns=[name for name in rows if name[0] == "z"]))]:
        if layout == "thunderstorm":
            paths.append(tmp_path / f"{stem}.csv")
            of.to_csv(paths[-1], index=False, quoting=csv.QUOTE_NONNUMERIC)
        else:
            paths.append(
                write(
                    tmp_path / f"{stem}.hdf5",
                    of.astype({name: "f4" for name in of if name != "frame"}).to_records(index=False),
                )
            )
    return paths


@pytest.mark.parametrize("layout", LAYOUTS)
def test_z_without_a_precision_is_not_linked_by(glint, tmp_path, layout):
    table, _ = blinks(5, count=1000)
    z = np.random.default_rng(5).uniform(-300, 300, len(table)).astype("f4")
    found = []
    for path in as_of(layout, table, z, tmp_path):
        flags = ["--pixel-size", "100nm"] if layout == "thunderstorm" else []
        glint("link", path, "-o", tmp_path / "all.hdf5", "--unmerged", "--overwrite", *flags)
        text = glint("link", path, "-o", tmp_path / "merged.hdf5", "--overwrite", *flags)
        said = json.loads(glint("link", path, "-o", tmp_path / "merged.hdf5", "--overwrite", "--json", *flags))
        assert said["uses_z"] is False
        with_z = path.stem == "with_z"
        assert ("x and y only: the table has no precision of z (lpz)" in text) == with_z
        found.append((h5py.File(tmp_path / "all.hdf5")["locs"][:], h5py.File(tmp_path / "merged.hdf5")["locs"][:]))
    (rows, merged), (rows_2d, merged_2d) = found
    np.testing.assert_array_equal(rows["track"], rows_2d["track"])
    np.testing.assert_array_equal(merged["x"], merged_2d["x"])
    assert "lpz" not in merged.dtype.names
    # Means of float32 up to 300.
    np.testing.assert_allclose(
        merged["z"], pd.Series(rows["z"].astype(float)).groupby(rows["track"].astype(int)).mean(), atol=1e-4
    )
