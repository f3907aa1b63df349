"""`glint.report()`: the file, its source, and errors."""

import json
import re

import h5py
import numpy as np
import pytest

import glint


@pytest.fixture(scope="module")
def locs():
    random = np.random.default_rng(1)
    rows = 400
    return glint.Localizations(
        {
            "frame": np.sort(random.integers(0, 20, rows)),
            "x_px": random.uniform(0, 60, rows),
            "y_px": random.uniform(0, 40, rows),
            "photons": random.uniform(200, 3000, rows),
            "lpx_px": random.uniform(0.05, 0.1, rows),
            "lpy_px": random.uniform(0.05, 0.1, rows),
        },
        width=64,
        height=48,
        frames=20,
        pixel_size_nm=100,
    )


def facts_of(path):
    text = path.read_text()
    return json.loads(re.search('class="data-facts">(.*?)</script>', text)[1])


def test_a_table_becomes_a_page(locs, tmp_path):
    info = glint.report(locs, tmp_path / "r.html", title="<cells>", resolution=False)
    assert info.rows == info.stored_rows == len(locs)
    assert info.bytes == (tmp_path / "r.html").stat().st_size
    assert any("no background" in sentence for sentence in info.missing)
    facts = facts_of(tmp_path / "r.html")
    assert facts["title"] == "<cells>" and facts["rows"] == len(locs)
    with pytest.raises(glint.OptionError, match="r.html"):
        glint.report(locs, tmp_path / "r.html", resolution=False)
    glint.report(locs, tmp_path / "r.html", resolution=False, overwrite=True)


def test_rows_left_out_on_reading_are_in_the_page(locs, tmp_path):
    locs.save(tmp_path / "locs.hdf5")
    with h5py.File(tmp_path / "locs.hdf5", "r+") as file:
        table = file["locs"][:]
        table["x"][3] = np.nan
        file["locs"][...] = table
    with pytest.warns(UserWarning, match="NaN"):
        glint.report(tmp_path / "locs.hdf5", tmp_path / "r.html", resolution=False)
    assert any("NaN" in warning for warning in facts_of(tmp_path / "r.html")["warnings"])


def test_a_file_and_its_movie(locs, tmp_path):
    locs.save(tmp_path / "locs.hdf5")
    frames = np.random.default_rng(2).poisson(50, (20, 48, 64)).astype(np.uint16)
    info = glint.report(tmp_path / "locs.hdf5", tmp_path / "r.html", movie=frames, raw_frames=5)
    assert info.raw_frames == 5
    facts = facts_of(tmp_path / "r.html")
    assert facts["tables"] == [str(tmp_path / "locs.hdf5")]
    assert [frame["frame"] for frame in facts["raw_frames"]] == [2, 6, 10, 14, 18]
    assert facts["raw_frames"][0]["high"] == frames[2].max()
    assert facts["resolution"]["nena"]["pairs"] > 0


def test_errors_name_the_argument(locs, tmp_path):
    with pytest.raises(glint.OptionError, match="ends in .html"):
        glint.report(locs, tmp_path / "r.png")
    with pytest.raises(glint.OptionError, match="report_size_mb=0"):
        glint.report(locs, tmp_path / "r.html", report_size_mb=0, resolution=False)
    with pytest.raises(glint.InputError, match="run.json"):
        glint.report(tmp_path, tmp_path / "r.html")
