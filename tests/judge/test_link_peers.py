"""Reference test of `glint link`: SciPy's assignment, Picasso's link, NumPy's weighted means, and blinks with a known
truth.
"""

import json
import subprocess

import h5py
import numpy as np
import pandas
import pytest
import yaml
from picasso import postprocess
from scipy.optimize import linear_sum_assignment
from scipy.spatial import cKDTree

PIXEL_NM = 100.0


def write(path, rows, frames, size):
    with h5py.File(path, "w") as file:
        file["locs"] = rows.to_records(index=False)
    path.with_suffix(".yaml").write_text(
        yaml.dump({"Width": size, "Height": size, "Frames": frames, "Pixelsize": PIXEL_NM})
    )


def read(path):
    with h5py.File(path) as file:
        return pandas.DataFrame({name: file["locs"][name] for name in file["locs"].dtype.names})


def blinks(random, count, frames, size_nm, seen=1.0, on=4.0, axial=False, places=None):
    """Blinks at random places, on for `on` frames in the mean, each frame seen with the probability `seen`; the true
    blink in `event`.
    """
    place = random.uniform(1000, size_nm - 1000, (count, 2)) if places is None else random.permutation(places)[:count]
    place = np.column_stack([place, random.uniform(-300, 300, count)])
    length = random.geometric(1 / on, count)
    start = random.integers(0, frames - 60, count)
    event = np.repeat(np.arange(count), length)
    frame = np.repeat(start, length) + np.arange(len(event)) - np.repeat(np.cumsum(length) - length, length)
    keep = (random.uniform(size=len(event)) < seen) & (frame < frames)
    event, frame = event[keep], frame[keep]
    photons = random.uniform(400, 2500, len(event))
    sigma = np.column_stack([9 * np.sqrt(1000 / photons)] * 3) * [1, 1.1, 2.5]
    at = place[event] + sigma * random.normal(size=sigma.shape)
    rows = pandas.DataFrame(
        {"frame": frame.astype("u4"), "x": (at[:, 0] / PIXEL_NM).astype("f4"), "y": (at[:, 1] / PIXEL_NM).astype("f4")}
    )
    if axial:
        rows["z"], rows["lpz"] = at[:, 2].astype("f4"), sigma[:, 2].astype("f4")
    rows["photons"], rows["bg"] = photons.astype("f4"), random.uniform(5, 15, len(event)).astype("f4")
    rows["lpx"], rows["lpy"] = (sigma[:, 0] / PIXEL_NM).astype("f4"), (sigma[:, 1] / PIXEL_NM).astype("f4")
    order = np.argsort(frame, kind="stable")
    return rows.iloc[order].reset_index(drop=True), event[order], place


@pytest.fixture
def link(glint, tmp_path):
    """Writes a table and links it: (rows of the output, summary)."""

    def run(rows, *flags, frames=2000, size=200):
        write(tmp_path / "in.hdf5", rows, frames, size)
        said = json.loads(
            glint("link", tmp_path / "in.hdf5", "-o", tmp_path / "out.hdf5", "--overwrite", "--json", "-q", *flags)
        )
        return read(tmp_path / "out.hdf5"), said

    return run


def pairs_of(label):
    """A partition that does not depend on the numbers of its parts: of each row the first row of its part."""
    _, first, inverse = np.unique(np.asarray(label), return_index=True, return_inverse=True)
    return first[inverse]


def reference(rows, radius, gap):
    """Tracks by linear_sum_assignment, frame by frame: most links, then the smallest sum of squared scaled distances to
    weighted means.
    """
    names = ["x", "y"] + (["z"] if "z" in rows else [])
    units = [PIXEL_NM if name != "z" else 1.0 for name in names]
    at = np.column_stack([rows[name].astype(float) * unit for name, unit in zip(names, units)])
    variance = np.column_stack([(rows["lp" + name].astype(float) * unit) ** 2 for name, unit in zip(names, units)])
    tracks, label = [], np.full(len(rows), -1)
    for now, of_frame in rows.groupby("frame").indices.items():
        open_ = [track for track in tracks if int(now) - track["last"] <= gap + 1]
        taken = {}
        if open_:
            mean, var = np.array([track["mean"] for track in open_]), np.array([track["var"] for track in open_])
            d2 = ((at[of_frame][:, None] - mean) ** 2 / (variance[of_frame][:, None] + var)).sum(2)
            cost = np.where(d2 <= radius**2, d2, 1e6)
            for i, j in zip(*linear_sum_assignment(cost)):
                if cost[i, j] < 1e6:
                    taken[i] = open_[j]
        for i, row in enumerate(of_frame):
            track = taken.get(i)
            if track is None:
                track = {"number": len(tracks), "mean": at[row], "var": variance[row]}
                tracks.append(track)
            else:
                total = track["var"] + variance[row]
                track["mean"] = (track["mean"] * variance[row] + at[row] * track["var"]) / total
                track["var"] = track["var"] * variance[row] / total
            track["last"] = int(now)
            label[row] = track["number"]
    return label


@pytest.mark.parametrize("axial", [False, True])
@pytest.mark.parametrize("gap", [0, 2])
def test_crowded_frames_are_linked_as_scipy_assigns(link, axial, gap):
    random = np.random.default_rng(5 + gap)
    rows, _, _ = blinks(random, 1200, 120, 4200, seen=0.8, axial=axial, places=None)
    out, said = link(rows, "--radius", "4sigma", "--gap", gap, "--unmerged", frames=120, size=42)
    wanted = reference(rows, 4.0, gap)
    assert said["tracks"] == wanted.max() + 1
    assert (pairs_of(out["track"]) == pairs_of(wanted)).all()


def test_blinks_apart_are_linked_as_picasso_links(link):
    """Where no row has a choice, greedy and assigned links are the same: a place has one blink, and the radius holds
    all of it.
    """
    places = np.stack(np.meshgrid(np.arange(1, 60), np.arange(1, 60)), -1).reshape(-1, 2) * 300.0
    random = np.random.default_rng(7)
    rows, _, _ = blinks(random, 3000, 20000, 18000, seen=0.8, places=places)
    info = [{"Width": 200, "Height": 200, "Frames": 20000, "Pixelsize": PIXEL_NM}]
    frame = rows["frame"].to_numpy()
    for radius_nm, gap in [(100, 0), (100, 3)]:
        out, _ = link(rows, "--radius", f"{radius_nm}nm", "--gap", gap, "--unmerged", frames=20000)
        theirs = postprocess._get_link_groups(
            frame, rows["x"].to_numpy(), rows["y"].to_numpy(), radius_nm / PIXEL_NM, gap, np.zeros(len(rows), "i4")
        )
        assert (pairs_of(out["track"]) == pairs_of(theirs)).all()
        merged, _ = link(rows, "--radius", f"{radius_nm}nm", "--gap", gap, frames=20000)
        picasso = postprocess.link(
            rows, info, r_max=radius_nm / PIXEL_NM, max_dark_time=gap, remove_ambiguous_lengths=False
        )
        key = lambda table: table.sort_values(["frame", "x"]).reset_index(drop=True)
        merged, picasso = key(merged), key(picasso)
        assert len(merged) == len(picasso)
        for name in ("frame", "n", "len"):
            assert (merged[name].astype(int) == picasso[name].astype(int)).all(), name
        picasso["bg"] /= picasso["n"]  # Picasso sums the background of a pixel, too
        for name in ("x", "y", "photons", "bg"):
            np.testing.assert_allclose(merged[name], picasso[name], rtol=1e-5, err_msg=name)
        if "photon_rate" in merged:
            np.testing.assert_allclose(merged["photon_rate"], picasso["photon_rate"], rtol=1e-5)


def test_crowded_blinks_number_as_picassos_but_for_rows_with_a_choice(link):
    random = np.random.default_rng(9)
    rows, _, _ = blinks(random, 6000, 1000, 12000, seen=0.9)
    x, y, frame = (rows[name].to_numpy() for name in ("x", "y", "frame"))
    frame = frame.astype(int)
    out, said = link(rows, "--radius", "40nm", "--gap", 1, "--unmerged", frames=1000, size=120)
    theirs = postprocess._get_link_groups(frame, x, y, 0.4, 1, np.zeros(len(rows), "i4"))
    # Only a row that has two others of one frame within the radius, at most two frames away, has a choice.
    near = cKDTree(np.column_stack([x, y])).query_ball_point(np.column_stack([x, y]), 0.4)
    lags = [frame[found] - frame[k] for k, found in enumerate(near)]
    choices = sum(np.bincount(lag[(lag != 0) & (np.abs(lag) <= 2)] + 2, minlength=1).max() > 1 for lag in lags)
    assert 0 < choices < len(rows) / 2
    assert abs(said["tracks"] - (theirs.max() + 1)) <= choices


def test_merged_rows_are_weighted_means(link):
    rows, _, _ = blinks(np.random.default_rng(3), 2000, 2000, 20000, seen=0.9, axial=True)
    tracks, said = link(rows, "--unmerged")
    merged, _ = link(rows)
    rows["track"] = tracks["track"].to_numpy()
    assert merged["track"].dtype.kind in "iu" and merged["n"].dtype.kind in "iu" and merged["len"].dtype.kind in "iu"
    by = rows.groupby("track")
    merged = merged.set_index("track").sort_index()
    assert (by["frame"].first() == merged["frame"]).all()
    assert (by.size() == merged["n"]).all()
    assert (by["frame"].last() - by["frame"].first() + 1 == merged["len"]).all()
    np.testing.assert_allclose(merged["photons"], by["photons"].sum(), rtol=1e-5)
    np.testing.assert_allclose(merged["bg"], by["bg"].mean(), rtol=1e-5)
    for name in ("x", "y", "z"):
        weight = 1 / rows["lp" + name].astype(float) ** 2
        total = weight.groupby(rows["track"]).sum()
        mean = (weight * rows[name]).groupby(rows["track"]).sum() / total
        np.testing.assert_allclose(merged[name], mean, rtol=1e-5, atol=1e-3)
        # Stated precisions are honest here, so A and B are 0 and 1 within their errors, and these move precisions by
        # half as much.
        variance = said["axial" if name == "z" else "lateral"]
        unit = 1.0 if name == "z" else PIXEL_NM
        slack = 4 * variance["b_error"] + 4 * variance["a_error_nm2"] / np.percentile(rows["lp" + name] * unit, 5) ** 2
        np.testing.assert_allclose(merged["lp" + name], 1 / np.sqrt(total), rtol=slack)


@pytest.mark.parametrize("axial", [False, True])
def test_blinks_of_known_truth_are_found(link, axial):
    random = np.random.default_rng(21 + axial)
    rows, event, place = blinks(random, 8000, 3000, 20000, axial=axial)
    tracks, said = link(rows, "--unmerged", frames=3000)
    track = tracks["track"].to_numpy()
    order = np.lexsort((rows["frame"], track))
    wrong = ((track[order][1:] == track[order][:-1]) & (event[order][1:] != event[order][:-1])).sum()
    order = np.lexsort((rows["frame"], event))
    missed = ((event[order][1:] == event[order][:-1]) & (track[order][1:] != track[order][:-1])).sum()
    links = len(rows) - len(np.unique(event))
    # The radius is at most 5 standard deviations, and at least where a link is as likely wrong as right.
    assert wrong < 0.01 * links and missed < 0.01 * links
    # Estimates are counts, too: as good as their number lets them be, and a factor of two.
    assert abs(said["false_links"] - wrong) < max(wrong, 1) + 4 * np.sqrt(wrong + 10)
    for which in ["lateral"] + ["axial"] * axial:
        variance = said[which]
        assert abs(variance["a_nm2"]) < 4 * variance["a_error_nm2"]
        assert abs(variance["b"] - 1) < 4 * variance["b_error"]
        assert variance["b_error"] < (0.05 if which == "lateral" else 0.1)


def test_precisions_that_lie_are_reported(link):
    """Precisions stated a third too small: B is 1 / (2/3)^2, and merged rows are as precise as they say."""
    rows, event, place = blinks(np.random.default_rng(33), 8000, 3000, 20000)
    for name in ("lpx", "lpy"):
        rows[name] *= np.float32(2 / 3)
    merged, said = link(rows, frames=3000)
    assert abs(said["lateral"]["b"] - 2.25) < 4 * said["lateral"]["b_error"]
    tracks, _ = link(rows, "--unmerged", frames=3000)
    of_track = pandas.Series(event).groupby(tracks["track"].to_numpy()).first()
    truth = place[of_track.to_numpy()[merged["track"]], 0]
    pull = (merged["x"] * PIXEL_NM - truth) / (merged["lpx"] * PIXEL_NM)
    clean = np.abs(pull) < 5  # wrong links, which are fewer than 1 %
    assert clean.mean() > 0.99
    # Standard deviation 1 within its sampling error and that of B, by half.
    assert abs(pull[clean].std() - 1) < 4 * (np.sqrt(0.5 / len(pull)) + said["lateral"]["b_error"] / 2.25 / 2) + 0.01


def test_gaps_are_taken_from_the_data(link):
    """The gap grows with the share of missed frames. It is 0 if blinks are seen in all frames, even at low density."""
    for seen, low, high in [(1.0, 0, 0), (0.95, 1, 3), (0.7, 2, 8)]:
        rows, event, _ = blinks(np.random.default_rng(41), 5000, 5000, 20000, seen=seen)
        tracks, said = link(rows, "--unmerged", frames=5000)
        assert low <= said["gap"] <= high
        order = np.lexsort((rows["frame"], event))
        together = event[order][1:] == event[order][:-1]
        missed = (together & (np.diff(tracks["track"].to_numpy()[order].astype(int)) != 0)).sum()
        assert missed < 0.03 * together.sum()


def test_order_of_rows_and_threads_do_not_matter(link, glint, tmp_path, monkeypatch):
    rows, _, _ = blinks(np.random.default_rng(51), 4000, 1000, 12000, seen=0.9)
    tracks, said = link(rows, "--unmerged", frames=1000)
    order = np.random.default_rng(1).permutation(len(rows))
    monkeypatch.setenv("GLINT_THREADS", "1")
    mixed, also = link(rows.iloc[order], "--unmerged", frames=1000)
    assert said == also
    assert (pairs_of(tracks["track"].to_numpy()[order]) == pairs_of(mixed["track"])).all()


def test_without_precisions_the_error_names_the_way_out(program, tmp_path):
    rows, _, _ = blinks(np.random.default_rng(2), 100, 200, 12000)
    write(tmp_path / "in.hdf5", rows.drop(columns=["lpx", "lpy"]), 200, 120)
    call = [program, "link", tmp_path / "in.hdf5", "-o", tmp_path / "out.hdf5"]
    done = subprocess.run(call, capture_output=True, text=True)
    assert done.returncode == 2 and "lpx" in done.stderr and "--radius 30nm" in done.stderr
    assert not (tmp_path / "out.hdf5").exists()
    assert subprocess.run([*call, "--radius", "30nm"], capture_output=True).returncode == 0
    assert len(read(tmp_path / "out.hdf5")) < len(rows)
