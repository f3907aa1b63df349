"""glint score judged by SciPy: linear_sum_assignment on every frame, and the figures from its pairs."""
import json

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

HEADER = '"id","frame","x [nm]","y [nm]","intensity [photon]","uncertainty_xy [nm]"'


def write_csv(path, table):
    """ThunderSTORM's columns: frames from 1, positions in nm."""
    rows = [f"{k + 1},{int(f) + 1},{x:.4f},{y:.4f},1000,{p:.4f}" for k, (f, x, y, p) in enumerate(table)]
    path.write_text("\n".join([HEADER, *rows]) + "\n")


def scene(molecules, frames, seed):
    """Truth and localizations of it, a fifth missed, a tenth false: columns frame, x, y, precision in nm."""
    rng = np.random.default_rng(seed)
    truth = np.column_stack([rng.integers(0, frames, molecules), rng.uniform(200, 6000, (molecules, 2)),
                             rng.uniform(5, 40, molecules)])
    found = truth[rng.random(molecules) < 0.8]
    found[:, 1:3] += rng.normal(size=(len(found), 2)) * found[:, 3:]
    false = np.column_stack([rng.integers(0, frames, molecules // 10), rng.uniform(200, 6000, (molecules // 10, 2)),
                             np.full(molecules // 10, 20.0)])
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
    write_csv(tmp_path / "truth.csv", truth)
    write_csv(tmp_path / "locs.csv", found)
    score = json.loads(glint("score", tmp_path / "locs.csv", tmp_path / "truth.csv", "--pixel-size", "100nm",
                             "--radius", f"{radius}nm", "--json"))
    errors, nearest = judge(found, truth, radius)
    matched = len(errors)
    assert (score["truths"], score["localizations"], score["matched"]) == (len(truth), len(found), matched)
    # Positions are single precision: 1e-3 nm here; equal sums of distances may belong to different pairs.
    expected = {
        "recall": matched / len(truth), "precision": matched / len(found),
        "jaccard": matched / (len(truth) + len(found) - matched),
        "rmse_nm": np.sqrt((errors[:, :2] ** 2).sum(axis=1).mean()),
        "rmse_x_nm": np.sqrt((errors[:, 0] ** 2).mean()), "rmse_y_nm": np.sqrt((errors[:, 1] ** 2).mean()),
        "bias_x_nm": errors[:, 0].mean(), "bias_y_nm": errors[:, 1].mean(),
        "rmsmd_nm": np.sqrt(nearest.mean()),
        "std_over_crlb_x": (errors[:, 0] / errors[:, 2]).std(), "std_over_crlb_y": (errors[:, 1] / errors[:, 2]).std(),
    }
    for name, value in expected.items():
        assert score[name] == pytest.approx(value, rel=2e-3, abs=2e-3), name
