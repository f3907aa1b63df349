"""Reference test of `glint score` with SciPy: linear_sum_assignment on every frame, the values from its pairs, and
distances by cKDTree.
"""

import json

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment
from scipy.spatial import cKDTree
from scipy.stats import median_abs_deviation

HEADER = '"id","frame","x [nm]","y [nm]","intensity [photon]","uncertainty_xy [nm]"'
HEADER_3D = HEADER + ',"z [nm]","uncertainty_z [nm]"'


def write_csv(path, table):
    """ThunderSTORM's columns: frames from 1, positions in nm. Of frame, x, y, precision and, in 3D, z and its
    precision.
    """
    rows = [
        f"{k + 1},{int(f) + 1},{x:.4f},{y:.4f},1000,{p:.4f}" + "".join(f",{value:.4f}" for value in rest)
        for k, (f, x, y, p, *rest) in enumerate(table)
    ]
    path.write_text("\n".join([HEADER if table.shape[1] == 4 else HEADER_3D, *rows]) + "\n")


def scored(glint, folder, found, truth, *flags):
    """What glint says of two tables, 100 nm pixels."""
    write_csv(folder / "truth.csv", truth)
    write_csv(folder / "locs.csv", found)
    return json.loads(
        glint("score", folder / "locs.csv", folder / "truth.csv", "--pixel-size", "100nm", "--json", *flags)
    )


def scene(molecules, frames, seed):
    """Truth and localizations of it, a fifth missed, a tenth false: columns frame, x, y, precision in nm."""
    rng = np.random.default_rng(seed)
    truth = np.column_stack(
        [rng.integers(0, frames, molecules), rng.uniform(200, 6000, (molecules, 2)), rng.uniform(5, 40, molecules)]
    )
    found = truth[rng.random(molecules) < 0.8]
    found[:, 1:3] += rng.normal(size=(len(found), 2)) * found[:, 3:]
    false = np.column_stack(
        [
            rng.integers(0, frames, molecules // 10),
            rng.uniform(200, 6000, (molecules // 10, 2)),
            np.full(molecules // 10, 20.0),
        ]
    )
    return truth, np.concatenate([found, false])


def judge(found, truth, radius):
    """Errors of the pairs (dx, dy, precision), and the squared distances to the nearest, by SciPy and brute force."""
    errors, nearest = [], []
    for frame in np.intersect1d(found[:, 0], truth[:, 0]):
        f, t = found[found[:, 0] == frame], truth[truth[:, 0] == frame]
        difference = f[:, None, 1:3] - t[None, :, 1:3]
        distance = np.hypot(*np.moveaxis(difference, 2, 0))
        i, j = linear_sum_assignment(np.where(distance <= radius, distance, 1e6))
        kept = distance[i, j] <= radius
        errors.append(np.column_stack([difference[i, j], f[i, 3]])[kept])
        nearest += [distance.min(axis=0) ** 2, distance.min(axis=1) ** 2]
    return np.concatenate(errors), np.concatenate(nearest)


@pytest.mark.parametrize("molecules,frames,radius", [(2000, 300, 100), (1500, 2, 100), (900, 1, 400), (50, 40, 250)])
def test_agrees_with_scipy(glint, tmp_path, molecules, frames, radius):
    truth, found = scene(molecules, frames, seed=molecules)
    score = scored(glint, tmp_path, found, truth, "--radius", f"{radius}nm")
    errors, nearest = judge(found, truth, radius)
    matched = len(errors)
    assert (score["truths"], score["localizations"], score["matched"]) == (len(truth), len(found), matched)
    # Positions are single precision: 1e-3 nm here; equal sums of distances may belong to different pairs.
    expected = {
        "recall": matched / len(truth),
        "precision": matched / len(found),
        "jaccard": matched / (len(truth) + len(found) - matched),
        "rmse_nm": np.sqrt((errors[:, :2] ** 2).sum(axis=1).mean()),
        "rmse_x_nm": np.sqrt((errors[:, 0] ** 2).mean()),
        "rmse_y_nm": np.sqrt((errors[:, 1] ** 2).mean()),
        "bias_x_nm": errors[:, 0].mean(),
        "bias_y_nm": errors[:, 1].mean(),
        "rmsmd_nm": np.sqrt(nearest.mean()),
        "std_over_crlb_x": (errors[:, 0] / errors[:, 2]).std(),
        "std_over_crlb_y": (errors[:, 1] / errors[:, 2]).std(),
        "mad_over_crlb_x": median_abs_deviation(errors[:, 0] / errors[:, 2], scale="normal"),
        "mad_over_crlb_y": median_abs_deviation(errors[:, 1] / errors[:, 2], scale="normal"),
        "radius_nm": radius,
    }
    expected["efficiency_lateral"] = 100 - np.hypot(100 * (1 - expected["jaccard"]), expected["rmse_nm"])
    assert "efficiency_3d" not in score
    for name, value in expected.items():
        assert score[name] == pytest.approx(value, rel=2e-3, abs=2e-3), name


def blinking(molecules, frames, depth, seed):
    """Emitters that keep their places and are on in a tenth of the frames; localizations as in scene(). Columns frame,
    x, y, precision, z, its precision."""
    rng = np.random.default_rng(seed)
    places = np.column_stack([rng.uniform(200, 3000, (molecules, 2)), rng.uniform(-depth, depth, molecules)])
    frame, molecule = np.nonzero(rng.random((frames, molecules)) < 0.1)
    n = len(frame)
    truth = np.column_stack(
        [frame, places[molecule, :2], rng.uniform(5, 40, n), places[molecule, 2], rng.uniform(20, 80, n)]
    )
    found = truth[rng.random(n) < 0.8]
    found[:, 1:3] += rng.normal(size=(len(found), 2)) * found[:, 3:4]
    found[:, 4] += rng.normal(size=len(found)) * found[:, 5]
    false = np.column_stack(
        [
            rng.integers(0, frames + 20, n // 10),
            rng.uniform(200, 3000, (n // 10, 2)),
            np.full(n // 10, 20.0),
            rng.uniform(-depth, depth, n // 10),
            np.full(n // 10, 50.0),
        ]
    )
    return truth, np.concatenate([found, false])


def rms(*distances):
    return np.sqrt((np.concatenate(distances) ** 2).mean())


@pytest.mark.parametrize("molecules,frames,dimensions", [(60, 400, 2), (60, 400, 3), (700, 30, 3), (3, 2000, 2)])
def test_minimum_distances_agree_with_ckdtree(glint, tmp_path, molecules, frames, dimensions):
    truth, found = blinking(molecules, frames, 400, seed=molecules + dimensions)
    columns = [1, 2, 4][:dimensions]
    if dimensions == 2:
        truth, found = truth[:, :4], found[:, :4]
    score = scored(glint, tmp_path, found, truth)
    to_found, to_truth = [], []
    for frame in np.intersect1d(found[:, 0], truth[:, 0]):
        f, t = found[found[:, 0] == frame][:, columns], truth[truth[:, 0] == frame][:, columns]
        to_found.append(cKDTree(f).query(t)[0])
        to_truth.append(cKDTree(t).query(f)[0])
    emitters, every = np.unique(truth[:, columns], axis=0), found[:, columns]
    of_emitters, of_found = cKDTree(every).query(emitters)[0], cKDTree(emitters).query(every)[0]
    assert score["emitters"] == len(emitters) <= molecules
    expected = {
        "rmsmd_nm": rms(*to_found, *to_truth),
        "rmsmd_truths_nm": rms(*to_found),
        "rmsmd_localizations_nm": rms(*to_truth),
        "rmsmd_map_nm": rms(of_emitters, of_found),
        "rmsmd_map_emitters_nm": rms(of_emitters),
        "rmsmd_map_localizations_nm": rms(of_found),
    }
    for name, value in expected.items():
        assert score[name] == pytest.approx(value, rel=1e-4, abs=1e-3), name


@pytest.mark.parametrize("dimensions", [2, 3])
def test_recall_by_neighbor_agrees_with_ckdtree(glint, tmp_path, dimensions):
    truth, found = blinking(150, 300, 400, seed=5)
    if dimensions == 2:
        truth, found = truth[:, :4], found[:, :4]
    score = scored(glint, tmp_path, found, truth, "--radius", "80nm")
    distance, matched = np.full(len(truth), np.inf), np.zeros(len(truth), bool)
    for frame in np.unique(truth[:, 0]):
        here, f = np.flatnonzero(truth[:, 0] == frame), found[found[:, 0] == frame]
        places = truth[here, 1:3]
        distance[here] = cKDTree(places).query(places, k=2)[0][:, 1] / 100  # infinity for one alone
        apart = np.hypot(*np.moveaxis(places[:, None] - f[None, :, 1:3], 2, 0))
        i, j = linear_sum_assignment(np.where(apart <= 80, apart, 1e6))
        matched[here[i[apart[i, j] <= 80]]] = True
    edges = [0, 1, 1.5, 2, 2.5, 3, 4, np.inf]
    assert [b["to_px"] for b in score["recall_by_neighbor"]] == [1, 1.5, 2, 2.5, 3, 4, None]
    for bin_, low, high in zip(score["recall_by_neighbor"], edges, edges[1:]):
        here = (distance >= low) & (distance < high)
        assert (bin_["from_px"], bin_["truths"]) == (low, np.count_nonzero(here))
        # Equal totals of distances may leave another truth of a crowd unmatched.
        assert bin_["matched"] == pytest.approx(np.count_nonzero(matched[here]), abs=1)
        assert bin_["recall"] == pytest.approx(bin_["matched"] / bin_["truths"])
    assert sum(b["matched"] for b in score["recall_by_neighbor"]) == score["matched"] == np.count_nonzero(matched)


def test_efficiency_and_pulls_in_3d(glint, tmp_path):
    truth, found = blinking(12, 1500, 400, seed=3)
    score = scored(glint, tmp_path, found, truth, "--radius", "250nm", "--axial-radius", "500nm")
    errors, pulls = [], []
    for frame in np.intersect1d(found[:, 0], truth[:, 0]):
        f, t = found[found[:, 0] == frame], truth[truth[:, 0] == frame]
        difference = f[:, None][:, :, [1, 2, 4]] - t[None][:, :, [1, 2, 4]]
        distance = np.hypot(difference[..., 0], difference[..., 1])
        possible = (distance <= 250) & (abs(difference[..., 2]) <= 500)
        i, j = linear_sum_assignment(np.where(possible, distance, 1e6))
        kept = possible[i, j]
        errors.append(difference[i, j][kept])
        pulls.append((difference[i, j] / f[i][:, [3, 3, 5]])[kept])
    errors, pulls = np.concatenate(errors), np.concatenate(pulls)
    assert score["matched"] == len(errors)
    jaccard = len(errors) / (len(truth) + len(found) - len(errors))
    lateral = 100 - np.hypot(100 - 100 * jaccard, np.sqrt((errors[:, :2] ** 2).sum(axis=1).mean()))
    axial = 100 - np.hypot(100 - 100 * jaccard, 0.5 * np.sqrt((errors[:, 2] ** 2).mean()))
    expected = {
        "radius_nm": 250,
        "axial_radius_nm": 500,
        "efficiency_lateral": lateral,
        "efficiency_axial": axial,
        "efficiency_3d": (lateral + axial) / 2,
    }
    for axis, name in enumerate("xyz"):
        expected["std_over_crlb_" + name] = pulls[:, axis].std()
        expected["mad_over_crlb_" + name] = median_abs_deviation(pulls[:, axis], scale="normal")
    for name, value in expected.items():
        assert score[name] == pytest.approx(value, rel=1e-3), name
