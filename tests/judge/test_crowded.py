"""Crowded frames of a third party's simulation: what is found, and whether the stated precision is true. SciPy matches."""
import csv
import json

import h5py
import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment
from scipy.spatial import cKDTree

PIXEL_NM, RADIUS_PX = 100, 1.0


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    return tmp_path_factory.mktemp("crowded") / "locs.hdf5"


@pytest.fixture(scope="module")
def matched(glint, data, out):
    """Of each truth: distance to the next truth, px, and the row that it has, or -1. And the rows."""
    movie = data / "sim_2d_low_density.tif"
    glint("localize", movie, "-o", out, "--emitters", "auto", "--psf-misfit", "0", "--sigma", "108.806nm", "--pixel-size", "100nm",
          "--offset", "500", "--gain", "1", "--readnoise", "17.3205", "--backend", "cpu", "-q")
    with h5py.File(out) as file:
        rows = file["locs"][:]
    with open(data / "sim_2d_low_density_truth.csv", encoding="utf-8") as file:
        truths = np.array([(int(r["Frame"]) - 1, float(r["x (nm)"]) / PIXEL_NM - 0.5, float(r["y (nm)"]) / PIXEL_NM - 0.5)
                           for r in csv.DictReader(file)])
    nearest, partner = np.full(len(truths), 99.0), np.full(len(truths), -1)
    for frame in np.unique(truths[:, 0]):
        here, found = np.flatnonzero(truths[:, 0] == frame), np.flatnonzero(rows["frame"] == frame)
        places = truths[here, 1:]
        if len(here) > 1:
            nearest[here] = cKDTree(places).query(places, k=2)[0][:, 1]
        if len(found) == 0:
            continue
        apart = np.hypot(places[:, None, 0] - rows["x"][found], places[:, None, 1] - rows["y"][found])
        for i, j in zip(*linear_sum_assignment(np.where(apart < RADIUS_PX, apart, 1e6))):
            if apart[i, j] < RADIUS_PX:
                partner[here[i]] = found[j]
    return truths, nearest, partner, rows


def share_at_least(hits, of, bound):
    """A share of n cases is known to sqrt(p (1 - p) / n): four of these below the bound is worse than it."""
    return hits / of >= bound - 4 * np.sqrt(bound * (1 - bound) / of)


def test_what_is_found(matched):
    truths, _, partner, rows = matched
    hits = np.count_nonzero(partner >= 0)
    union = len(truths) + len(rows) - hits
    assert share_at_least(hits, union, 0.96), hits / union
    assert share_at_least(hits, len(rows), 0.995), hits / len(rows)


@pytest.mark.parametrize("low, high, least", [(2, 2.5, 0.985), (2.5, 3, 0.99), (3, 4, 0.995), (4, 100, 0.999)])
def test_recall_by_the_distance_of_the_next(matched, low, high, least):
    _, nearest, partner, _ = matched
    here = (nearest >= low) & (nearest < high)
    hits, of = np.count_nonzero(partner[here] >= 0), np.count_nonzero(here)
    assert share_at_least(hits, of, least), hits / of


def test_errors_are_as_stated(matched):
    truths, nearest, partner, rows = matched
    both = partner >= 0
    pulls = np.concatenate([(truths[both, k] - rows[name][partner[both]]) / rows["lp" + name][partner[both]]
                            for k, name in ((1, "x"), (2, "y"))])
    assert 0.95 < 1.4826 * np.median(np.abs(pulls)) < 1.08
    assert np.std(pulls) < 1.9
    alone = np.tile(nearest[both] >= 4, 2)
    n = np.count_nonzero(alone)
    assert abs(np.std(pulls[alone]) - 1) < 0.03 + 4 / np.sqrt(2 * n)  # 3 %: the Cramer-Rao bound is one for many photons


def test_rows_say_how_many_were_fitted_together(matched):
    _, nearest, partner, rows = matched
    both = partner >= 0
    emitters = rows["emitters"][partner[both]]
    assert np.all(emitters == np.round(emitters)) and emitters.max() > 5
    assert np.mean(emitters[nearest[both] < 3] >= 2) > 0.9


def test_glint_scores_it_the_same(glint, data, matched, out):
    truths, nearest, partner, rows = matched
    score = json.loads(glint("score", out, data / "sim_2d_low_density_truth.csv", "--json"))
    assert score["matched"] == np.count_nonzero(partner >= 0)
    for bin_ in score["recall_by_neighbor"]:
        here = (nearest >= bin_["from_px"]) & (nearest < (bin_["to_px"] or 100))
        # An equal total of distances, or a distance at the bin's edge, may count another truth.
        assert bin_["truths"] == pytest.approx(np.count_nonzero(here), abs=1)
        assert bin_["matched"] == pytest.approx(np.count_nonzero(partner[here] >= 0), abs=2)
    emitters = np.unique(truths[:, 1:], axis=0)
    places = np.column_stack([rows["x"], rows["y"]])
    squared = np.concatenate([cKDTree(places).query(emitters)[0], cKDTree(emitters).query(places)[0]]) ** 2
    assert score["emitters"] == len(emitters) == 512
    assert score["rmsmd_map_nm"] == pytest.approx(PIXEL_NM * np.sqrt(squared.mean()), rel=1e-4)
