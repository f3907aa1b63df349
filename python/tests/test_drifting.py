"""The drift of the sample: found, applied, undone, in files; as the command does it."""

import dataclasses
import json
import os
import pathlib
import shutil
import subprocess

import glint
import numpy as np
import pytest
from conftest import ctrl_c_after, same_table
from glint import plots

FRAMES, PIXEL_NM, SIGMA_NM, BLINKS = 4000, 100.0, np.array([9.0, 9.0, 22.5]), 8000
PROGRAM = os.environ.get("GLINT_PROGRAM") or shutil.which("glint")


def truth_nm():
    """A random walk, which the smoother does not tie together for more than some ten frames; y jumps by 30 nm."""
    walk = np.cumsum(np.random.default_rng(0).normal(0, [[0.5], [0.5], [1]], (3, FRAMES)), axis=1)
    walk[1, 2500:] += 30
    return walk


def blinking(dims, seed=1):
    """100 structures of 12 molecules, 20 nm apart, which shine for four frames."""
    rng = np.random.default_rng(seed)
    site = rng.integers(0, 12, BLINKS)
    place = np.zeros((BLINKS, 3))
    place[:, :2] = rng.uniform(0, 20000, (100, 2))[rng.integers(0, 100, BLINKS)] + 20 * np.column_stack(
        [site % 4, site // 4]
    )
    frame = (rng.integers(0, FRAMES - 4, BLINKS)[:, None] + np.arange(4)).ravel()
    seen = np.repeat(place, 4, 0) + truth_nm().T[frame] + SIGMA_NM * rng.standard_normal((len(frame), 3))
    order = np.argsort(frame, kind="stable")
    columns = {
        "frame": frame,
        "x_px": seen[:, 0] / PIXEL_NM + 5,
        "y_px": seen[:, 1] / PIXEL_NM + 5,
        "photons": np.full(len(frame), 1000.0),
        "lpx_px": np.full(len(frame), 0.09),
        "lpy_px": np.full(len(frame), 0.09),
    }
    if dims == 3:
        columns |= {"z_nm": seen[:, 2], "lpz_nm": np.full(len(frame), SIGMA_NM[2])}
    return glint.Localizations(
        {name: values[order] for name, values in columns.items()},
        width=220,
        height=220,
        frames=FRAMES,
        pixel_size_nm=PIXEL_NM,
    )


@pytest.fixture(scope="module", params=[2, 3])
def found(request):
    locs = blinking(request.param)
    return locs, glint.drift(locs), request.param


@pytest.fixture(scope="module")
def small():
    """Two rows in ten frames, and their drift."""
    locs = glint.Localizations(
        {"frame": [0, 9], "x_px": [1, 2], "y_px": [3, 4], "lpx_px": [0.1, 0.1], "lpy_px": [0.1, 0.1]},
        frames=10,
        pixel_size_nm=100,
    )
    return locs, glint.Drift(np.arange(10.0), -np.arange(10.0))


def test_the_drift_is_the_true_one_and_so_is_its_error(found):
    _, drift, dims = found
    assert len(drift) == FRAMES and (drift.z_nm is None) == (dims == 2)
    assert len(drift.error_100_nm) == len(drift.halves_differ_nm) == dims
    for a, axis in enumerate("xyz"[:dims]):
        error = getattr(drift, f"{axis}_nm") - truth_nm()[a]
        segments = (error - error.mean()).reshape(-1, 100).mean(1)
        rms = np.sqrt(np.mean(segments**2))
        assert rms < 4 * SIGMA_NM[a] / np.sqrt(BLINKS * 4 * 100 / FRAMES)  # with each molecule's place known: 1 times
        # 40 segments are independent: their RMS is known to 1/sqrt(80). Four times that, and the same for the stated
        # one, which has it of them.
        assert 1 / (1 + 4 * np.sqrt(2 / 80)) < drift.error_100_nm[a] / rms < 1 + 4 * np.sqrt(2 / 80)
    (jump,) = drift.jumps  # its size is to what the walk does in the frames about it: 0.5 nm sqrt(100), twice
    assert jump.frame == pytest.approx(2500, abs=5) and jump.by_nm[1] == pytest.approx(30, abs=10)


@pytest.mark.skipif(not PROGRAM, reason="needs the program glint")
def test_it_is_what_the_command_does(found, tmp_path):
    locs, drift, dims = found
    locs.save(tmp_path / "locs.hdf5")
    ran = subprocess.run(
        [
            PROGRAM,
            "drift",
            tmp_path / "locs.hdf5",
            "-o",
            tmp_path / "out.hdf5",
            "--drift-file",
            tmp_path / "drift.txt",
            "--json",
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    printed = json.loads(ran.stdout)
    for axis in "xyz"[:dims]:
        np.testing.assert_array_equal(getattr(drift, f"{axis}_nm"), printed[axis]["nm"])
        np.testing.assert_array_equal(
            getattr(drift, f"{axis}_error_nm"), np.array(printed[axis]["error_nm"], float)
        )  # null: NaN
    assert list(drift.error_100_nm) == printed["error_100_nm"] and drift.blinks == printed["blinks"]
    assert [dataclasses.asdict(jump) | {"by_nm": list(jump.by_nm)} for jump in drift.jumps] == printed["jumps"]
    glint.save(tmp_path / "ours.txt", drift, pixel_size_nm=PIXEL_NM)
    assert (tmp_path / "ours.txt").read_bytes() == (tmp_path / "drift.txt").read_bytes()
    corrected = glint.apply_drift(locs, drift)
    same_table(corrected, glint.load(tmp_path / "out.hdf5"))
    subprocess.run(
        [
            PROGRAM,
            "drift",
            tmp_path / "out.hdf5",
            "-o",
            tmp_path / "back.hdf5",
            "--apply",
            tmp_path / "drift.txt",
            "--undo",
        ],
        check=True,
    )
    same_table(glint.apply_drift(corrected, tmp_path / "drift.txt", undo=True), glint.load(tmp_path / "back.hdf5"))


def test_taken_out_and_put_back(found):
    locs, drift, dims = found
    before = locs.x_px.copy()
    corrected = glint.apply_drift(locs, drift)
    np.testing.assert_array_equal(locs.x_px, before)  # a copy
    expected = locs.x_px - drift.x_nm[locs.frame] / PIXEL_NM
    np.testing.assert_allclose(corrected.x_px, expected, rtol=0, atol=2.0**-24 * 256)  # one rounding to float
    back = glint.apply_drift(corrected, drift, undo=True)
    np.testing.assert_allclose(back.y_px, locs.y_px, rtol=0, atol=2 * 2.0**-24 * 256)
    if dims == 3:
        np.testing.assert_allclose(back.z_nm, locs.z_nm, rtol=0, atol=2 * 2.0**-24 * 256)
    assert "Drift: taken out" in corrected.history[-1] and f"Blinks: {drift.blinks}" in corrected.history[-1]
    assert "Drift: put back" in back.history[-1] and len(back.history) == len(locs.history) + 2
    with pytest.warns(UserWarning, match="taken out of the table already"):
        glint.apply_drift(corrected, drift)
    with pytest.warns(UserWarning, match="no drift taken out"):
        glint.apply_drift(back, drift, undo=True)


def test_files(found, tmp_path):
    _, drift, dims = found
    path = tmp_path / "drift.txt"
    glint.save_drift(path, drift, pixel_size_nm=PIXEL_NM)
    with pytest.raises(glint.OptionError, match="drift.txt"):
        glint.save_drift(path, drift, pixel_size_nm=PIXEL_NM)
    glint.save_drift(path, drift, pixel_size_nm=PIXEL_NM, overwrite=True)
    lines = np.loadtxt(path)
    assert lines.shape == (FRAMES, dims)
    for read in (glint.load_drift(path, pixel_size_nm=PIXEL_NM), glint.load(path, pixel_size_nm=PIXEL_NM)):
        np.testing.assert_allclose(read.x_nm, drift.x_nm, atol=1e-5)
        assert read.x_error_nm is None and (read.z_nm is None) == (dims == 2)


def test_a_table_that_cannot_tell_is_refused(tmp_path):
    locs = blinking(2)[::160]
    with pytest.warns(UserWarning, match="not corrected"):
        drift = glint.drift(locs)
    assert drift.refused and drift.why in repr(drift) and not drift.x_nm.any() and drift.x_error_nm is None
    same_table(glint.apply_drift(locs, drift), locs)
    assert "not corrected" in glint.apply_drift(locs, drift).history[-1]
    glint.save_drift(tmp_path / "zeros.txt", drift, pixel_size_nm=PIXEL_NM)
    assert not np.loadtxt(tmp_path / "zeros.txt").any()


@pytest.mark.filterwarnings("error")
def test_mismatches_are_reported(small, tmp_path):
    locs, drift = small
    glint.apply_drift(locs, drift)  # fits, without a warning
    (tmp_path / "long.txt").write_text("1 1\n" * 12)
    with pytest.warns(UserWarning, match=r"long\.txt: the drift is of 12 frames, the table's movie has 10"):
        glint.apply_drift(locs, tmp_path / "long.txt")
    (tmp_path / "short.txt").write_text("1 1\n" * 9)
    with pytest.raises(
        glint.InputError, match=r"short\.txt: the drift ends after 9 frames, and the table has rows in frame 9"
    ):
        glint.apply_drift(locs, tmp_path / "short.txt")
    (tmp_path / "xyz.txt").write_text("1 1 1\n" * 10)
    with pytest.warns(UserWarning, match=r"xyz\.txt: the drift has x y z, the table has no z"):
        moved = glint.apply_drift(locs, tmp_path / "xyz.txt")
    np.testing.assert_array_equal(moved.x_px, locs.x_px - 1)
    deep = glint.Localizations(locs.columns | {"z_nm": [7, 8]}, frames=10, pixel_size_nm=100)
    with pytest.warns(UserWarning, match="leaves the table.s z unchanged"):
        np.testing.assert_array_equal(glint.apply_drift(deep, drift).z_nm, deep.z_nm)


@pytest.mark.parametrize(
    "text, line, message",
    [
        ("1,1\n", 1, r"two or three numbers x y \[z\].*\"1,1\""),
        ("1 1\n1 1 1\n", 2, "two numbers x y"),
        ("1 1 1\n1 1\n", 2, "three numbers x y z"),
        ("1 nan\n", 1, "nan"),
        ("1 1 1 1\n", 1, "two or three"),
    ],
)
def test_damaged_files_are_named(tmp_path, text, line, message):
    (tmp_path / "bad.txt").write_text(text)
    with pytest.raises(glint.InputError, match=rf"bad\.txt: line {line} .*{message}"):
        glint.load_drift(tmp_path / "bad.txt", pixel_size_nm=100)


def test_tables_are_taken_as_by_other_functions(small, tmp_path):
    locs, drift = small
    locs.save(tmp_path / "locs.hdf5")
    expected = glint.apply_drift(locs, drift)
    same_table(glint.apply_drift(tmp_path / "locs.hdf5", drift), expected)
    frame = locs.to_pandas()
    same_table(glint.apply_drift(glint.Localizations(dict(frame), pixel_size_nm=100), drift), expected)
    with pytest.raises(glint.OptionError, match="locs is of type DataFrame: give Localizations"):
        glint.drift(frame)
    picasso = glint.Localizations.from_picasso(*locs.to_picasso())
    same_table(glint.apply_drift(picasso, glint.Drift(list(range(10)), drift.y_nm.astype(np.float32))), expected)


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda locs: glint.drift(3), "locs is of type int"),
        (lambda locs: glint.apply_drift(locs, 3), "drift=3"),
        (lambda locs: glint.drift(locs, progress=3), "progress=3"),
        (lambda locs: glint.apply_drift(locs, glint.Drift([0] * 10, [0] * 10), undo=1), "undo=1"),
        (lambda locs: glint.Drift([0, 1], [0]), "y_nm has 1 frames, x_nm 2"),
        (lambda locs: glint.Drift([0, np.nan], [0, 0]), "x_nm is nan in frame 1"),
        (lambda locs: glint.Drift("a", [0]), "x_nm='a'"),
        (lambda locs: glint.Drift([0], None), "y_nm=None"),
        (lambda locs: glint.save_drift("no.txt", locs, pixel_size_nm=100), "drift="),
        (lambda locs: glint.save_drift("no.txt", glint.Drift([0], [0]), pixel_size_nm="a"), "pixel_size_nm='a'"),
    ],
)
def test_wrong_arguments_are_named(small, call, message):
    with pytest.raises(glint.OptionError) as error:
        call(small[0])
    assert message in str(error.value)
    assert not pathlib.Path("no.txt").exists()


def test_a_pixel_size_is_needed(small):
    locs = glint.Localizations(small[0].columns)
    for call in (lambda: glint.drift(locs), lambda: glint.apply_drift(locs, small[1])):
        with pytest.raises((glint.InputError, glint.OptionError), match="pixel"):
            call()


def test_a_drift_stays_as_it_is(small):
    with pytest.raises(dataclasses.FrozenInstanceError):
        small[1].x_nm = np.zeros(10)


def test_progress_and_ctrl_c():
    locs, calls = blinking(2), []
    glint.drift(locs, progress=lambda *done: calls.append(done))
    assert calls and calls == sorted(calls) and calls[-1][0] == calls[-1][1]
    with ctrl_c_after() as progress, pytest.raises(KeyboardInterrupt):
        glint.drift(locs, progress=progress)


def test_beads_are_found_given_and_left_out(tmp_path):
    locs, places, rng = blinking(2), np.array([[30.0, 40.0], [150.0, 160.0]]), np.random.default_rng(3)
    columns = dict(locs.columns)
    for place in places:
        seen = place + (truth_nm()[:2].T + 2 * rng.standard_normal((FRAMES, 2))) / PIXEL_NM
        bead = {
            "frame": np.arange(FRAMES),
            "x_px": seen[:, 0],
            "y_px": seen[:, 1],
            "photons": np.full(FRAMES, 2e4),
            "lpx_px": np.full(FRAMES, 0.02),
            "lpy_px": np.full(FRAMES, 0.02),
        }
        columns = {name: np.concatenate([values, bead[name]]) for name, values in columns.items()}
    order = np.argsort(columns["frame"], kind="stable")
    locs = glint.Localizations(
        {name: values[order] for name, values in columns.items()},
        width=220,
        height=220,
        frames=FRAMES,
        pixel_size_nm=PIXEL_NM,
    )
    (tmp_path / "beads.txt").write_text("30 40\n150 160\n")
    for beads in ("auto", places, tmp_path / "beads.txt"):
        drift = glint.drift(locs, beads=beads)
        assert [bead.used for bead in drift.beads] == [True, True]
        assert np.std(drift.x_nm - truth_nm()[0]) < 2 / np.sqrt(2)  # the beads alone
        assert "Beads: 2" in glint.apply_drift(locs, drift).history[-1]
    assert glint.drift(locs, beads="none").beads == ()


@pytest.mark.parametrize("beads", [None, 3, [], [[1, 2, 3]], [[1, np.nan]], np.zeros((0, 2))])
def test_places_of_beads_that_cannot_be_are_named(small, beads):
    with pytest.raises(glint.OptionError, match="beads="):
        glint.drift(small[0], beads=beads)


def test_it_is_drawn(found):
    matplotlib = pytest.importorskip("matplotlib.figure")
    _, drift, dims = found
    axes = plots.drift(drift, matplotlib.Figure().add_subplot())
    assert [line.get_label() for line in axes.lines] == list("xyz"[:dims]) and len(axes.collections) == dims
    np.testing.assert_array_equal(axes.lines[1].get_ydata(), drift.y_nm)
    assert not plots.drift(glint.Drift([0, 1], [1, 0]), matplotlib.Figure().add_subplot()).collections


@pytest.mark.parametrize("line", [b"1 \xe9", b"1e308 1e308", b"1e39 1", b"1 -2e7"])
def test_lines_that_are_no_drift_are_reported(tmp_path, line):
    (tmp_path / "drift.txt").write_bytes(b"1 2\n" + line + b"\n")
    with pytest.raises(glint.InputError, match="drift.txt: line 2"):
        glint.load_drift(tmp_path / "drift.txt", pixel_size_nm=100)


@pytest.mark.parametrize(
    "wrong",
    [
        dict(refused="no"),
        dict(why=None),
        dict(blinks=-1),
        dict(jumps=3),
        dict(jumps=[3]),
        dict(error_100_nm=(1, 2, 3, 4)),
        dict(halves_differ_nm=1.0),
        dict(x_nm=[[1], [1, 2]]),
    ],
)
def test_fields_that_cannot_be_are_named(wrong):
    with pytest.raises(glint.OptionError, match=next(iter(wrong))):
        glint.Drift(**dict(x_nm=[1.0, 2.0], y_nm=[1.0, 2.0]) | wrong)


def test_a_drift_has_arrays_of_its_own():
    mine = np.full(3, 10.0)
    drift = glint.Drift(mine, np.zeros(3))
    mine[:] = np.nan
    assert (drift.x_nm == 10).all()
    with pytest.raises(ValueError):
        drift.x_nm[0] = 1
