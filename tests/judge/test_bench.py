"""Small runs of the benchmarks that compare with Picasso and the truth: each succeeds and prints the documented
rows."""

import json
import subprocess
import sys

import pytest
from conftest import ROOT


@pytest.fixture
def bench(program, tmp_path):
    """Runs bench/NAME.py and returns what it printed and its results."""

    def run(name, *flags):
        results = tmp_path / "results.json"
        command = [sys.executable, ROOT / "bench" / f"{name}.py", "--program", program, "--json", results, *flags]
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        result = json.loads(results.read_text())
        assert result["machine"]["cores"] >= 1 and result["machine"]["cpu"]
        return done.stdout, result[name]

    return run


def test_localize(bench, tmp_path):
    out, result = bench("compare_localize", "--frames", 4, "--long", 8, "--large", 3, "--folder", tmp_path)
    assert result["memory"]["frames"] == 3 and result["memory"]["movie_bytes"] > 3 * 512 * 512 * 2
    assert result["memory"]["peak_bytes"] > 1 << 20
    for name in ("frames_per_s", "long_frames_per_s", "picasso_frames_per_s", "ratio"):
        assert result[name] > 0, name
    for words in (
        "peak memory on a movie of",
        "glint, 8 frames:",
        "glint, 4 frames:",
        "picasso, 4 frames:",
        "ratio, long movie:",
    ):
        assert words in out


def test_fits(bench):
    out, rows = bench("compare_picasso", "--spots", 50, "--repeats", 1)
    assert [(row["roi"], row["model"]) for row in rows] == [
        (roi, model) for roi in (7, 11) for model in ("GaussianXYNB", "GaussianXYNBS", "GaussianXYNBSXSY")
    ]
    for row in rows:
        assert row["fits_per_s"] > 0 and row["picasso_fits_per_s"] > 0
        assert row["ratio_min"] <= row["ratio"] <= row["ratio_max"]
    assert len(out.splitlines()) == 1 + len(rows)


def test_estimates(bench):
    out, result = bench("compare_estimates", "--every", 150, "--frames", 40)
    assert len(result["cases"]) == 2 and result["sigma"]["told"] >= 1
    for name in ("gain", "offset", "sigma"):
        assert result[name]["told"] <= result[name]["cases"] == 2 and f"{name}: told in" in out


def test_noise_check(bench):
    out, result = bench("compare_noise_check", "--every", 30)
    assert result["movies"] == 2 and result["false"] == [] and result["named"]["gain inverted"] == "2 of 2", out
