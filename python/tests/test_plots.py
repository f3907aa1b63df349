"""glint.plots draws its arguments into the caller's axes or into new ones."""

import subprocess
import sys

import glint
import numpy as np
import pytest

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
from glint import plots  # noqa: E402


@pytest.fixture(scope="module")
def locs():
    rng = np.random.default_rng(1)
    n = 5000
    frame = np.sort(rng.integers(0, 1003, n))
    return glint.Localizations(
        {
            "frame": frame,
            "x_px": rng.uniform(0, 60, n),
            "y_px": rng.uniform(0, 60, n),
            "photons": rng.uniform(500, 900, n),
            "lpx_px": np.full(n, 0.1),
            "lpy_px": np.full(n, 0.2),
        },
        width=60,
        height=60,
        frames=1003,
        pixel_size_nm=100,
    )


def test_matplotlib_is_imported_only_to_draw():
    code = "import glint, sys; from glint import plots; sys.exit('matplotlib' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_histograms(locs):
    bars = plots.photons(locs).patches
    inside = np.asarray(locs.photons) <= 1.1 * np.percentile(locs.photons, 99)
    assert sum(bar.get_height() for bar in bars) == inside.sum()
    tallest = max(plots.precision(locs).patches, key=lambda bar: bar.get_height())
    assert tallest.get_height() == len(locs)
    assert tallest.get_x() <= np.sqrt((10**2 + 20**2) / 2) <= tallest.get_x() + tallest.get_width()


def test_counts_are_means_over_frames(locs):
    frame, count = plots.counts(locs).lines[0].get_data()
    assert len(frame) <= 502 and np.all(np.diff(frame) > 0)
    assert np.mean(count[:-1]) == pytest.approx(len(locs) / 1003, rel=0.01)


def test_results(locs, tmp_path):
    figure = matplotlib.figure.Figure()
    axes = figure.add_subplot()
    found = glint.nena(locs)
    assert plots.nena(found, axes) is axes and "NeNA" in axes.get_title()
    assert len(plots.frc(glint.frc(locs, finest_nm=100)).lines) == 3
    (tmp_path / "drift.csv").write_text("frame,x_nm,x_error_nm,y_nm,y_error_nm\n0,1,0.5,2,0.5\n1,2,0.5,3,0.5\n")
    drawn = plots.drift(tmp_path / "drift.csv")
    assert [line.get_label() for line in drawn.lines] == ["x", "y"] and list(drawn.lines[1].get_ydata()) == [2, 3]


@pytest.mark.parametrize("levels, panels", [((), 3), ((50, 200), 5)])
def test_a_cameras_calibration(levels, panels):
    rng = np.random.default_rng(3)
    dark, *light = [
        (100 + 2 * rng.poisson(level, (100, 24, 32)) + rng.normal(0, 2, (100, 24, 32))).round().astype(np.uint16)
        for level in (0, *levels)
    ]
    dark[:, 3, 4] += 200
    found = glint.calibrate_camera(dark, light, gain=None if levels else 0.5)
    figure = plots.camera(found)
    titles = [axes.get_title() for axes in figure.axes if axes.get_title()]
    assert len(titles) == panels and titles[1] == "Read noise (e$^-$ rms)"
    faults = figure.axes[[axes.get_title() for axes in figure.axes].index("Bad pixels")]
    assert [tuple(line.get_xydata()[0]) for line in faults.lines if len(line.get_xydata())] == [(4.5, 3.5)]
    if levels:
        curve = next(axes for axes in figure.axes if "Photon transfer" in axes.get_title())
        assert any(list(line.get_xdata()) == [level.mean_adu for level in found.levels] for line in curve.lines)


def test_what_is_missing_is_reported(locs, tmp_path):
    with pytest.raises(glint.OptionError, match="pixel_size_nm"):
        plots.precision(glint.Localizations({"frame": [0], "x_px": [1], "y_px": [1], "lpx_px": [1], "lpy_px": [1]}))
    (tmp_path / "other.csv").write_text("a,b\n1,2\n")
    with pytest.raises(glint.OptionError, match="drift.csv"):
        plots.drift(tmp_path / "other.csv")
