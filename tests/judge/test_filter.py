"""Reference test of `glint filter`: pandas' query, NumPy, SciPy's k-d tree and kernel estimate, and Picasso, which
loads the results.
"""

import json
import subprocess

import h5py
import numpy as np
import pandas
import pytest
import yaml
from picasso import io as picasso_io
from scipy.spatial import cKDTree
from scipy.stats import gaussian_kde

PIXEL_NM = 107.5
ROWS = 40_000


@pytest.fixture(scope="module")
def locs():
    random = np.random.default_rng(11)
    rows = {"frame": np.sort(random.integers(0, 500, ROWS)).astype("u4")}
    for name, low, high in [
        ("x", 1, 31),
        ("y", 1, 15),
        ("photons", 10, 3000),
        ("sx", 0.8, 1.6),
        ("sy", 0.8, 1.6),
        ("bg", 1, 20),
        ("lpx", 0.02, 0.5),
        ("lpy", 0.02, 0.5),
        ("z", -400, 400),
        ("p_value", 0, 1),
    ]:
        rows[name] = random.uniform(low, high, ROWS).astype("f4")
    rows["sx"] = random.gamma(9, 0.15, ROWS).astype("f4")  # skewed, so that mode, median and mean differ
    rows["group"] = random.integers(0, 50, ROWS).astype("i4")
    rows["speed"] = np.where(random.uniform(size=ROWS) < 0.1, np.nan, random.normal(0, 3, ROWS))
    return pandas.DataFrame(rows)


@pytest.fixture(scope="module")
def table(locs, tmp_path_factory):
    path = tmp_path_factory.mktemp("locs") / "locs.hdf5"
    with h5py.File(path, "w") as file:
        file["locs"] = locs.to_records(index=False)
    path.with_suffix(".yaml").write_text(yaml.dump({"Width": 32, "Height": 16, "Frames": 500, "Pixelsize": PIXEL_NM}))
    return path


@pytest.fixture(scope="module")
def chosen(glint, table, tmp_path_factory):
    """The rows that glint keeps, as indices of the table, and what it says."""

    def run(*conditions):
        out = tmp_path_factory.mktemp("filtered") / "out.hdf5"
        said = json.loads(
            glint("filter", table, "-o", out, "--json", *[word for one in conditions for word in ("--where", one)])
        )
        with h5py.File(out) as file:
            rows = file["locs"][:]
        with h5py.File(table) as file:
            all_rows = file["locs"][:]
        places = {(row["frame"], row["x"], row["y"]): k for k, row in enumerate(all_rows)}
        return np.array([places[row["frame"], row["x"], row["y"]] for row in rows], int), said

    return run


QUERIES = [
    ("photons > 500 and lpx_nm < 20 and p_value > 1e-3 and frame >= 100", None),
    ("photons > 500 or sx < 1 and not frame > 30", None),
    ("not (photons > 500 or sx < 1) and group != 7", None),
    ("5 < x <= 7.25 and 100 < frame < 300", None),
    ("x ** 2 + y ** 2 < 15 ** 2 and -x ** 2 < -9", None),
    ("sqrt(sx * sy) > 1.25 and abs(z) <= 200 / 2 * 3 - 10", None),
    ("log(photons) > 7 or photons / bg - 3 > 2 ** 7", None),
    ("x_um > 2 and y_nm < 1000 and sx_nm > 100", None),
    ("group == 3 or group >= 45", None),
    ("speed > 1 or speed < -4", None),
    ("(speed == speed) == True", "speed == speed"),
    ("photons - -2 ** 2 * 3 < +700", None),
]


@pytest.mark.parametrize("query, ours", QUERIES)
def test_pandas_chooses_the_same_rows(locs, chosen, query, ours):
    wide = locs.astype("f8")
    for name in ("x", "y", "sx", "sy", "lpx", "lpy"):
        wide[f"{name}_nm"], wide[f"{name}_um"] = wide[name] * PIXEL_NM, wide[name] * PIXEL_NM / 1000
    wanted = wide.query(query, engine="python").index
    assert 0 < len(wanted) < ROWS, "a query that chooses"
    found, _ = chosen(ours or query)
    np.testing.assert_array_equal(found, wanted)


def test_nothing_compares_with_nan_as_in_pandas_but_for_unequal(locs, chosen):
    nan = locs.speed.isna()
    assert 0 < nan.sum() < ROWS
    for query in ("speed == 1", "speed < 1", "speed >= -1", "not (speed > 1)", "not (speed == speed)"):
        np.testing.assert_array_equal(chosen(query)[0], locs.query(query, engine="python").index)
    assert len(locs.query("speed != 1", engine="python")) == ROWS
    np.testing.assert_array_equal(chosen("speed != 1")[0], np.flatnonzero(~nan))


def test_percentiles_are_numpys(locs, chosen):
    found, _ = chosen("photons > percentile(photons, 5) and speed < percentile(speed, 62.5)", "frame >= 10")
    speed = locs.speed.to_numpy()
    wanted = (locs.photons.astype("f8") > np.percentile(locs.photons.astype("f8"), 5)) & (locs.frame >= 10)
    wanted &= speed < np.percentile(speed[np.isfinite(speed)], 62.5)
    np.testing.assert_array_equal(found, np.flatnonzero(wanted))


def test_min_and_max_are_numpys(locs, chosen):
    found, _ = chosen("min(sx, sy, 1.2) < 0.9 and max(x, 2 * y) > 12")
    wide = locs.astype("f8")
    wanted = (np.minimum.reduce([wide.sx, wide.sy, np.full(ROWS, 1.2)]) < 0.9) & (np.maximum(wide.x, 2 * wide.y) > 12)
    np.testing.assert_array_equal(found, np.flatnonzero(wanted))


def test_mode_is_that_of_scipys_kernel_estimate(locs, chosen):
    sx = locs.sx.to_numpy("f8")
    width = 0.9 * np.subtract(*np.percentile(sx, [75, 25])) / 1.34 * ROWS**-0.2
    grid = np.linspace(0.8, 1.8, 2001)
    density = gaussian_kde(sx, bw_method=width / sx.std(ddof=1))(grid)
    mode = grid[density.argmax()]
    found, _ = chosen("sx within 10% of mode")
    kept = sx[found]
    step = 1e-3  # of the two grids, beside the distance between values there
    assert kept.min() == pytest.approx(0.9 * mode, abs=2 * step) and kept.max() == pytest.approx(
        1.1 * mode, abs=2 * step
    )
    assert len(kept) == np.count_nonzero((sx >= kept.min()) & (sx <= kept.max()))


@pytest.mark.parametrize("length, radius_px", [("50nm", 50 / PIXEL_NM), ("1.5px", 1.5), ("0.2um", 200 / PIXEL_NM)])
def test_neighbors_are_those_of_a_tree(locs, chosen, length, radius_px):
    places = locs[["x", "y"]].to_numpy("f8")
    counts = cKDTree(places).query_ball_point(places, radius_px, return_length=True) - 1
    least = int(np.median(counts)) + 1
    found, _ = chosen(f"neighbors({length}) >= {least}")
    np.testing.assert_array_equal(found, np.flatnonzero(counts >= least))


def test_the_summary_counts_clauses(locs, chosen, glint, table, tmp_path):
    found, said = chosen("photons > 500 and (sx < 1 or sx > 1.4)", "frame >= 100")
    wide = locs.astype("f8")
    masks = [wide.photons > 500, (wide.sx < 1) | (wide.sx > 1.4), wide.frame >= 100]
    left = np.ones(ROWS, bool)
    for clause, mask, text in zip(
        said["clauses"], masks, ["photons > 500", "(sx < 1 or sx > 1.4)", "frame >= 100"], strict=True
    ):
        left &= mask
        assert clause == {"condition": text, "fulfilled": mask.sum(), "left": left.sum()}
    assert said["localizations_before"] == ROWS and said["localizations"] == len(found) == left.sum()
    text = glint("filter", table, "-o", tmp_path / "a.hdf5", "--where", "photons > 500")
    assert f"drops {ROWS - masks[0].sum():,}" in text


def test_picasso_loads_what_is_left_with_its_history(locs, glint, table, tmp_path):
    out = tmp_path / "out.hdf5"
    condition = "photons > 500 and `group` < 20"
    glint("filter", table, "-o", out, "--where", condition)
    rows, info = picasso_io.load_locs(str(out))
    left = locs.query("photons > 500 and group < 20")
    wanted = left[np.isfinite(left.speed)]  # Picasso leaves out rows with NaN in any column
    assert 0 < len(wanted) < len(left)
    np.testing.assert_array_equal(rows["x"], wanted["x"])
    np.testing.assert_array_equal(rows["group"], wanted["group"])
    assert rows["group"].dtype == np.int32
    assert info[-1]["Where"] == [condition] and info[-1]["Localizations left"] == len(left)


def test_a_wrong_condition_is_pointed_at_before_the_table_is_read(program, table, tmp_path):
    def fails(condition, source):
        done = subprocess.run(
            [program, "filter", source, "-o", tmp_path / "o.hdf5", "--where", condition], capture_output=True, text=True
        )
        assert done.returncode == 2 and not (tmp_path / "o.hdf5").exists()
        return done.stderr

    assert "photons >> 5\n" in fails("photons >> 5", tmp_path / "no such file.hdf5")
    message = fails("photons > 5 and fotons < 3", table).splitlines()
    assert "did you mean photons?" in message[0]
    place = message[1].index("fotons")
    assert message[2][place:] == "^^^^^^" and not message[2][:place].strip()
