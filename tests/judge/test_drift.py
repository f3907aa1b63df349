"""Reference test of drift: Picasso reads the drift file and applies it, h5py reads the corrected table."""

import json
import subprocess

import h5py
import numpy as np
import pandas as pd
import pytest
import yaml

FRAMES, PIXEL_NM, SIGMA_NM = 4000, 100.0, 9.0


def drift_nm():
    f = np.arange(FRAMES)
    return np.column_stack([60 * np.sin(f / 900), 0.02 * f, 80 * np.cos(f / 1500)])


def write_table(path, dims, rng):
    """100 structures of 12 molecules, 20 nm apart, that blink for four frames; in the format of Picasso."""
    blinks = 8000
    centres = rng.uniform(0, 20000, (100, 2))
    site = rng.integers(0, 12, blinks)
    place = np.zeros((blinks, 3))
    place[:, :2] = centres[rng.integers(0, 100, blinks)] + 20 * np.column_stack([site % 4, site // 4])
    frame = (rng.integers(0, FRAMES - 4, blinks)[:, None] + np.arange(4)).ravel()
    sigma = SIGMA_NM * np.array([1, 1, 2.5])
    seen = np.repeat(place, 4, 0) + drift_nm()[frame] + sigma * rng.standard_normal((4 * blinks, 3))
    order = np.argsort(frame, kind="stable")
    columns = {"frame": frame.astype("u4"), "x": seen[:, 0] / PIXEL_NM + 5, "y": seen[:, 1] / PIXEL_NM + 5}
    if dims == 3:
        columns["z"] = seen[:, 2]
    columns |= {
        "photons": np.full(len(frame), 1000.0),
        "lpx": np.full(len(frame), SIGMA_NM / PIXEL_NM),
        "lpy": np.full(len(frame), SIGMA_NM / PIXEL_NM),
    }
    if dims == 3:
        columns["lpz"] = np.full(len(frame), 2.5 * SIGMA_NM)
    table = np.zeros(len(frame), [(name, "u4" if name == "frame" else "f4") for name in columns])
    for name, values in columns.items():
        table[name] = values[order]
    with h5py.File(path, "w") as file:
        file["locs"] = table
    path.with_suffix(".yaml").write_text(
        yaml.safe_dump({"Frames": FRAMES, "Width": 220, "Height": 220, "Pixelsize": PIXEL_NM})
    )


def locs_of(path):
    with h5py.File(path) as file:
        return file["locs"][:]


@pytest.fixture(scope="module", params=[2, 3])
def corrected(request, glint, tmp_path_factory):
    folder = tmp_path_factory.mktemp("drift")
    write_table(folder / "locs.hdf5", request.param, np.random.default_rng(request.param))
    result = glint(
        "drift", folder / "locs.hdf5", "-o", folder / "out.hdf5", "--drift-file", folder / "drift.txt", "--json"
    )
    return folder, json.loads(result), request.param


def test_picasso_reads_the_drift_file(corrected):
    from picasso import io

    folder, result, dims = corrected
    read = io.load_drift(str(folder / "drift.txt"))
    assert list(read.columns) == list("xyz")[:dims] and len(read) == FRAMES
    for axis in "xyz"[:dims]:
        unit = 1 if axis == "z" else PIXEL_NM
        np.testing.assert_allclose(read[axis] * unit, result[axis]["nm"], atol=1e-5)


def test_picasso_applies_it_to_the_same_table(corrected):
    from picasso import io, postprocess

    folder, _, dims = corrected
    before = pd.DataFrame(locs_of(folder / "locs.hdf5"))
    applied = postprocess.apply_drift(
        before,
        [{"Frames": FRAMES, "Pixelsize": PIXEL_NM, "Width": 220, "Height": 220}],
        drift=io.load_drift(str(folder / "drift.txt")),
    )
    applied = applied[0] if isinstance(applied, tuple) else applied
    ours = locs_of(folder / "out.hdf5")
    for axis, unit in zip("xyz"[:dims], (PIXEL_NM, PIXEL_NM, 1)):
        np.testing.assert_allclose(applied[axis] * unit, ours[axis] * unit, atol=0.01)


def test_the_drift_is_the_true_one_and_so_is_its_error(corrected):
    _, result, dims = corrected
    squares, stated = 0, 0
    for a, axis in enumerate("xyz"[:dims]):
        error = np.array(result[axis]["nm"]) - drift_nm()[:, a]
        error = (error - error.mean()).reshape(-1, 100).mean(1)
        rms = np.sqrt((error**2).mean())
        known = SIGMA_NM * (1, 1, 2.5)[a] / np.sqrt(8000 * 4 * 100 / FRAMES)  # each molecule's place known
        assert rms < 4 * known
        squares, stated = squares + rms**2, stated + result["error_100_nm"][a] ** 2
    # 40 segments, whose errors the smoother ties together: at least ten of them are independent, so that the
    # RMS itself is known to 1/sqrt(20), and here to four times that. y alone, a straight line, has about two that are.
    assert 1 / (1 + 4 / np.sqrt(20)) < np.sqrt(stated / squares) < 1 + 4 / np.sqrt(20)


BEADS_PX = np.array([[30.0, 40.0], [150.0, 60.0], [90.0, 170.0], [180.0, 180.0]])


@pytest.fixture(scope="module")
def with_beads(tmp_path_factory):
    """The table in 2D, and four beads, each seen in all frames with 2 nm; the last also moves by itself."""
    folder = tmp_path_factory.mktemp("beads")
    write_table(folder / "locs.hdf5", 2, np.random.default_rng(7))
    rng, table = np.random.default_rng(8), locs_of(folder / "locs.hdf5")
    rows = [table]
    for k, place in enumerate(BEADS_PX):
        bead = np.zeros(FRAMES, table.dtype)
        own = 30 * np.sin(np.arange(FRAMES) / 400) * (k == 3)
        seen = place + (drift_nm()[:, :2] + own[:, None] + 2 * rng.standard_normal((FRAMES, 2))) / PIXEL_NM
        bead["frame"], bead["x"], bead["y"], bead["photons"], bead["lpx"], bead["lpy"] = (
            np.arange(FRAMES),
            *seen.T,
            20000,
            0.02,
            0.02,
        )
        rows.append(bead)
    rows = np.concatenate(rows)
    with h5py.File(folder / "locs.hdf5", "w") as file:
        file["locs"] = rows[np.argsort(rows["frame"], kind="stable")]
    (folder / "beads.txt").write_text("\ufeff# x y\n" + "".join(f"{x} {y}\n" for x, y in BEADS_PX))
    return folder


@pytest.mark.parametrize("beads", ["auto", "beads.txt"])
def test_beads_are_used_as_picasso_uses_them_and_a_loose_one_is_left_out(with_beads, glint, beads):
    from picasso import postprocess

    given = with_beads / beads if beads.endswith(".txt") else beads
    result = json.loads(
        glint(
            "drift", with_beads / "locs.hdf5", "-o", with_beads / "out.hdf5", "--beads", given, "--json", "--overwrite"
        )
    )
    beads = sorted((bead["x_px"], bead["y_px"], bead["used"], bead["own_nm"]) for bead in result["beads"])
    assert len(beads) == 4
    for (x, y, used, own), place in zip(beads, sorted(BEADS_PX.tolist())):
        loose = place == BEADS_PX[3].tolist()
        assert used != loose and np.hypot(*(np.array([x, y]) - place)) < 1
        np.testing.assert_allclose(own, 30 / np.sqrt(2) * loose, atol=2)
    table = locs_of(with_beads / "locs.hdf5")
    picked = [
        pd.DataFrame(table[(table["photons"] == 20000) & (np.hypot(table["x"] - x, table["y"] - y) < 4)])
        for x, y in BEADS_PX[:3]
    ]
    peer = postprocess.undrift_from_picked(
        picked, [{"Frames": FRAMES, "Pixelsize": PIXEL_NM, "Width": 220, "Height": 220}]
    )
    for a, axis in enumerate("xy"):
        errors = [
            values - drift_nm()[:, a] for values in (np.array(result[axis]["nm"]), np.asarray(peer[axis]) * PIXEL_NM)
        ]
        ours, theirs = (np.std(error) for error in errors)
        assert theirs == pytest.approx(
            2 / np.sqrt(3), rel=4 / np.sqrt(2 * FRAMES)
        )  # the error of a frame from the beads alone
        assert ours < theirs


def test_beads_are_none_or_where_they_are_given(with_beads, program):
    def run(beads):
        return subprocess.run(
            [
                program,
                "drift",
                with_beads / "locs.hdf5",
                "-o",
                with_beads / "out.hdf5",
                "--overwrite",
                "--json",
                "--beads",
                beads,
            ],
            capture_output=True,
            text=True,
        )

    assert json.loads(run("none").stdout)["beads"] == []
    for text, message in (
        ("1000 1000\n", "no row is within 1 um"),
        ("1 2 3\n", "line 1 is not the two numbers x y"),
        ("# none\n", "no line with a bead"),
    ):
        (with_beads / "wrong.txt").write_text(text)
        ran = run(with_beads / "wrong.txt")
        assert ran.returncode == 3 and message in ran.stderr, ran.stderr
    assert run(with_beads / "missing.txt").returncode == 3


def test_history_tells_of_it(corrected):
    folder, result, _ = corrected
    last = list(yaml.safe_load_all((folder / "out.yaml").read_text()))[-1]
    assert last["Drift"] == "taken out" and last["Blinks"] == result["blinks"]
    assert last["Drift error x (nm, mean of 100 frames)"] == pytest.approx(result["error_100_nm"][0], abs=5e-4)


def test_applied_and_undone(corrected, glint):
    folder, _, dims = corrected
    glint("drift", folder / "locs.hdf5", "-o", folder / "again.hdf5", "--apply", folder / "drift.txt", "--overwrite")
    glint(
        "drift",
        folder / "again.hdf5",
        "-o",
        folder / "back.hdf5",
        "--apply",
        folder / "drift.txt",
        "--undo",
        "--overwrite",
    )
    again, ours = locs_of(folder / "again.hdf5"), locs_of(folder / "out.hdf5")
    back, before = locs_of(folder / "back.hdf5"), locs_of(folder / "locs.hdf5")
    for axis in "xyz"[:dims]:
        np.testing.assert_allclose(again[axis], ours[axis], atol=1e-4)
        np.testing.assert_allclose(back[axis], before[axis], atol=1e-4)


def test_refused_changes_nothing(glint, tmp_path):
    write_table(tmp_path / "locs.hdf5", 2, np.random.default_rng(1))
    few = locs_of(tmp_path / "locs.hdf5")[::160]
    with h5py.File(tmp_path / "locs.hdf5", "w") as file:
        file["locs"] = few
    result = json.loads(glint("drift", tmp_path / "locs.hdf5", "-o", tmp_path / "out.hdf5", "--json"))
    assert result["refused"] and result["why"]
    for axis in "xy":
        np.testing.assert_array_equal(locs_of(tmp_path / "out.hdf5")[axis], few[axis])


def test_a_drift_file_is_a_file_of_its_own(program, tmp_path):
    write_table(tmp_path / "locs.hdf5", 2, np.random.default_rng(5))
    for name in ("out.yaml", "out.hdf5", "locs.yaml"):
        ran = subprocess.run(
            [
                program,
                "drift",
                tmp_path / "locs.hdf5",
                "-o",
                tmp_path / "out.hdf5",
                "--drift-file",
                tmp_path / name,
                "--overwrite",
            ],
            capture_output=True,
            text=True,
        )
        assert ran.returncode == 2 and name in ran.stderr, ran.stderr
    assert not (tmp_path / "out.hdf5").exists()


def test_a_refused_drift_leaves_no_older_file(program, tmp_path):
    table = np.zeros(10, [("frame", "u4"), ("x", "f4"), ("y", "f4"), ("lpx", "f4"), ("lpy", "f4")])
    table["frame"] = np.arange(10)
    with h5py.File(tmp_path / "locs.hdf5", "w") as file:
        file["locs"] = table
    (tmp_path / "locs.yaml").write_text(yaml.safe_dump({"Frames": 10, "Width": 64, "Height": 64, "Pixelsize": 100}))
    (tmp_path / "drift.txt").write_text("5 5\n")
    subprocess.run(
        [
            program,
            "drift",
            tmp_path / "locs.hdf5",
            "-o",
            tmp_path / "out.hdf5",
            "--drift-file",
            tmp_path / "drift.txt",
            "--overwrite",
        ],
        check=True,
        capture_output=True,
    )
    assert np.array_equal(np.loadtxt(tmp_path / "drift.txt"), np.zeros((10, 2)))


@pytest.mark.parametrize(
    "text, code, message",
    [
        ("1 1\n" * 12, 0, "drift.txt: the drift is of 12 frames, the table's movie has 10"),
        ("1 1 1\n" * 10, 0, "drift.txt: the drift has x y z, the table has no z: x and y are used alone"),
        ("1 1\n" * 9, 3, "drift.txt: the drift ends after 9 frames, and the table has rows in frame 9"),
        (
            "1,1\n" * 10,
            3,
            "drift.txt: line 1 is not the two or three numbers x y [z] of a frame's drift, separated by spaces",
        ),
        ("1 1\n" * 10, 0, None),
    ],
)
def test_a_mismatched_drift_file_is_reported(program, tmp_path, text, code, message):
    table = np.zeros(10, [("frame", "u4"), ("x", "f4"), ("y", "f4"), ("lpx", "f4"), ("lpy", "f4")])
    table["frame"] = np.arange(10)
    with h5py.File(tmp_path / "locs.hdf5", "w") as file:
        file["locs"] = table
    (tmp_path / "locs.yaml").write_text(yaml.safe_dump({"Frames": 10, "Width": 64, "Height": 64, "Pixelsize": 100}))
    (tmp_path / "drift.txt").write_text(text)
    ran = subprocess.run(
        [program, "drift", tmp_path / "locs.hdf5", "-o", tmp_path / "out.hdf5", "--apply", tmp_path / "drift.txt"],
        capture_output=True,
        text=True,
    )
    assert ran.returncode == code and (tmp_path / "out.hdf5").exists() == (code == 0), ran.stderr
    if message:
        assert message in ran.stderr
    else:
        assert "warning" not in ran.stderr
    if code == 0:
        np.testing.assert_array_equal(locs_of(tmp_path / "out.hdf5")["x"], table["x"] - 1)
