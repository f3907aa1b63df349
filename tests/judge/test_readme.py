"""README.md and the page about your own movie: the commands work on a real movie, `glint inspect` prints as shown."""

import shutil

import pytest
import tifffile

from conftest import ROOT


def indented(page):
    return [line.strip() for line in (ROOT / page).read_text().splitlines() if line.startswith("    ")]


def commands(page):
    return [line for line in indented(page) if line.startswith("glint ")]


PAGE = "docs/how-to/your_movie.md"


@pytest.fixture
def folder(data, tmp_path):
    shutil.copy(data / "storm_microtubules_astigmatic.tif", tmp_path / "MOVIE.tif")
    return tmp_path


def test_inspect_says_what_is_shown(glint, folder):
    said = [" ".join(line.split()) for line in glint("inspect", "MOVIE.tif", "-q", cwd=folder).splitlines()]
    shown = [" ".join(line.split()) for line in indented(PAGE) if line not in commands(PAGE)]
    assert len(shown) >= 5
    for line in shown:
        assert line in said, "\n".join(said)


@pytest.mark.parametrize("page", ["README.md", PAGE])
def test_commands_work(page, glint, folder):
    frames = tifffile.imread(folder / "MOVIE.tif")[:60]
    tifffile.imwrite(folder / "MOVIE.tif", frames)
    assert len(commands(page)) == (3 if page == "README.md" else 5)
    for command in commands(page):
        glint(*command.split()[1:], cwd=folder)
    written = ["results/summary.csv", "results/MOVIE/picture.png"]
    if page == "README.md":
        written.append("report.html")
    if page == PAGE:
        written += ["spots.png", "locs.hdf5", "picture.png"]
    for name in written:
        assert (folder / name).is_file()
