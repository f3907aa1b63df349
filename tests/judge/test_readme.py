"""README.md's commands work on a real movie, and its output of `glint inspect` is the real output."""

import shutil

import pytest
import tifffile

from conftest import ROOT

SECTION = (ROOT / "README.md").read_text().partition("## Your movie\n")[2].partition("\n## ")[0]
INDENTED = [line.strip() for line in SECTION.splitlines() if line.startswith("    ")]
COMMANDS = [line for line in INDENTED if line.startswith("glint ")]


@pytest.fixture
def folder(data, tmp_path):
    shutil.copy(data / "storm_microtubules_astigmatic.tif", tmp_path / "MOVIE.tif")
    return tmp_path


def test_inspect_says_what_is_shown(glint, folder):
    said = [" ".join(line.split()) for line in glint("inspect", "MOVIE.tif", "-q", cwd=folder).splitlines()]
    shown = [" ".join(line.split()) for line in INDENTED if line not in COMMANDS]
    assert len(shown) >= 5
    for line in shown:
        assert line in said, "\n".join(said)


def test_commands_work(glint, folder):
    frames = tifffile.imread(folder / "MOVIE.tif")[:60]
    tifffile.imwrite(folder / "MOVIE.tif", frames)
    assert len(COMMANDS) == 5
    for command in COMMANDS:
        glint(*command.split()[1:], cwd=folder)
    for name in ("results/summary.csv", "results/MOVIE/picture.png", "spots.png", "locs.hdf5", "picture.png"):
        assert (folder / name).is_file()
