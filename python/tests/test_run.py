"""glint.run() writes the files of `glint run`, resumes like it and reports the same."""

# SPDX-License-Identifier: MIT
import filecmp
import json
import os
import subprocess

import glint
import numpy as np
import pytest

CAMERA = {"pixel_size": "100nm", "offset": 100, "gain": 0.5}
PSF = {"sigma": "130nm"}
FLAGS = ["--pixel-size", "100nm", "--offset", "100", "--gain", "0.5", "--sigma", "130nm"]


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    psf, camera = glint.GaussianXYNB(sigma_nm=130), glint.IdealCamera(pixel_size_nm=100, offset=100, gain=0.5)
    movie, _ = glint.simulate(psf, camera, frames=120, width=48, height=48, photons=(800, 2000), seed=5)
    path = tmp_path_factory.mktemp("movies") / "cells.tif"
    glint.save(path, movie, pixel_size_nm=100)
    return path


def run(file, out, **more):
    options = dict(camera=CAMERA, psf=PSF, figures={"formats": []}, backend="cpu")
    return glint.run(file, out, **{**options, **more})


def steps(folder):
    return json.loads((folder / "run.json").read_text())["steps"]


def test_writes_what_the_program_writes(file, tmp_path):
    (result,) = run(file, tmp_path / "python")
    recipe = tmp_path / "recipe.toml"
    recipe.write_text("[figures]\nformats = []\n")
    words = ["run", file, "-o", tmp_path / "program", "--recipe", recipe, "--backend", "cpu", *FLAGS]
    program = os.environ["GLINT_PROGRAM"] if "GLINT_PROGRAM" in os.environ else glint.arguments.program()
    subprocess.run([program, *words], check=True, capture_output=True)
    ours, theirs = tmp_path / "python/cells", tmp_path / "program/cells"
    assert result.folder == ours and result.status == "complete" and result.error is None
    names = sorted(p.name for p in theirs.iterdir() if p.suffix in (".hdf5", ".png", ".tif", ".csv", ".txt"))
    assert names == sorted(p.name for p in ours.iterdir() if p.suffix in (".hdf5", ".png", ".tif", ".csv", ".txt"))
    assert {"1_localized.hdf5", "4_linked.hdf5", "picture.png"} <= set(names)
    assert filecmp.cmpfiles(ours, theirs, names, shallow=False)[1:] == ([], [])
    assert {name: step["key"] for name, step in steps(ours).items()} == {
        name: step["key"] for name, step in steps(theirs).items()
    }
    assert result.figures["localizations"] == len(glint.load_localizations(ours / "1_localized.hdf5"))


def test_does_nothing_twice(file, tmp_path):
    run(file, tmp_path)
    before, notices = steps(tmp_path / "cells"), []
    (result,) = run(file, tmp_path, notice=notices.append, render={"picture_pixel": "20nm"})
    after = steps(tmp_path / "cells")
    assert result.status == "complete" and any("localize is already finished" in line for line in notices)
    assert after["localize"] == before["localize"] and after["render"]["key"] != before["render"]["key"]


def test_a_value_that_is_the_usual_one_wins_over_the_recipe(file, tmp_path):
    run(file, tmp_path, link={"on": False})
    assert "link" not in steps(tmp_path / "cells")
    run(file, tmp_path)
    assert "link" not in steps(tmp_path / "cells")  # recipe.toml says so
    run(file, tmp_path, link={"on": True})
    assert "link" in steps(tmp_path / "cells")


def test_a_failure_is_an_error_or_a_warning(file, tmp_path):
    broken = tmp_path / "broken.tif"
    broken.write_bytes(b"II*\0 no movie")
    with pytest.raises(glint.InputError, match="broken.tif"):
        run(broken, tmp_path / "one")
    with pytest.warns(RuntimeWarning, match="broken.tif failed"):
        results = run([broken, file], tmp_path / "two")
    assert [one.status for one in results] == ["failed", "complete"] and "broken.tif" in results[0].error


def test_a_summary_that_cannot_be_written_leaves_no_movie_out(file, tmp_path):
    second = tmp_path / "second.tif"
    second.write_bytes(file.read_bytes())

    def in_its_place(_):  # a folder, which no file can replace
        (tmp_path / "out/summary.csv").mkdir(exist_ok=True)

    with pytest.raises(glint.OutputError, match="summary.csv"):
        run([file, second], tmp_path / "out", notice=in_its_place)
    assert "render" in steps(tmp_path / "out/cells") and "render" in steps(tmp_path / "out/second")


def test_what_is_missing_is_named_by_the_keys_of_the_recipe(file, tmp_path):
    with pytest.raises(glint.OptionError, match="gain = 0.5 of .camera. in the recipe") as error:
        glint.run(file, tmp_path, camera={"offset": 100})
    assert "--" not in str(error.value)


def test_the_error_of_a_movie_names_the_keys_of_the_recipe(tmp_path):
    glint.save(tmp_path / "dark.tif", np.full((40, 32, 32), 100, np.uint16), pixel_size_nm=100)
    with pytest.raises(glint.OptionError, match="sigma = auto of .psf. in the recipe"):
        run(tmp_path / "dark.tif", tmp_path / "out", psf={"sigma": "auto"})


@pytest.mark.parametrize(
    "sections, words",
    [
        ({"camera": {"gian": 1}}, "gian.*gain"),
        ({"camera": {"gain": "much"}}, "gain"),
        ({"camera": {"gain": float("inf")}}, "camera.*finite"),
        ({"localize": {"roi_size": 500}}, "roi_size"),
        ({"psf": {"sigma": "130"}}, "sigma"),
        ({"filter": {"where": ["nothing > 3"]}}, "nothing"),
        ({"camera": 3}, "camera=3: give a dict"),
        ({"drift": {1: True}}, "keys of a recipe are texts"),
        ({"link": {"on": 1}}, "^link=: on must be true or false"),
        ({"camera": {"offset": 10**400}}, "camera.*finite"),
        ({"camera": {"file": "a\udcff.toml"}}, "camera"),
    ],
)
def test_wrong_values_are_refused_before_any_work(file, tmp_path, sections, words):
    with pytest.raises(glint.OptionError, match=words):
        run(file, tmp_path / "out", **sections)
    assert not (tmp_path / "out/cells/1_localized.hdf5").exists()


def test_values_of_numpy_and_texts_with_quotes_are_taken(file, tmp_path):
    camera = {"pixel_size": "100nm", "offset": np.float32(100), "gain": np.float64(0.5)}
    (result,) = run(
        file, tmp_path, camera=camera, filter={"where": ["photons > 1"]}, localize={"roi_size": np.int64(7)}
    )
    assert result.status == "complete"
    with pytest.raises(glint.OptionError, match="channel"):
        run(file, tmp_path / "other", movie={"channel": 'a "quoted" \\ name\n\x7f'})


def test_progress_names_the_part(file, tmp_path):
    seen = []
    run(file, tmp_path, progress=lambda part, done, every: seen.append((part, done, every)))
    assert any(part.startswith("cells: ") for part, _, _ in seen)
    assert all(0 <= done <= every for _, done, every in seen)


def test_an_exception_of_a_callback_stops_and_what_is_finished_stays(file, tmp_path):
    def stop(line):
        if "localize took" in line:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(file, tmp_path, notice=stop)
    assert "localize" in steps(tmp_path / "cells")
    notices = []
    run(file, tmp_path, notice=notices.append)
    assert any("localize is already finished" in line for line in notices)


@pytest.mark.parametrize("movies", [None, 5, "", [], ["a\0.tif"]])
def test_what_is_no_movie_is_refused(tmp_path, movies):
    with pytest.raises(glint.OptionError, match="movies="):
        run(movies, tmp_path / "out")


def test_names_that_are_no_text_are_taken(file, tmp_path):
    movie = os.path.join(os.fsencode(tmp_path), b"n\xff.tif")
    with open(movie, "wb") as copy:
        copy.write(file.read_bytes())
    (result,) = run(movie, os.path.join(os.fsencode(tmp_path), b"o\xff"))
    assert result.status == "complete" and (result.folder / "1_localized.hdf5").exists()


def test_a_file_that_a_recipe_names_is_found_again(file, tmp_path, monkeypatch):
    (tmp_path / "recipes").mkdir()
    (tmp_path / "camera.toml").write_text('offset = 100\ngain = 0.5\npixel_size = "100nm"\n')
    (tmp_path / "recipes/r.toml").write_text('[camera]\nfile = "../camera.toml"\n[figures]\nformats = []\n')
    monkeypatch.chdir(tmp_path)
    run(file, "out", recipe="recipes/r.toml", camera=None)
    (result,) = run(file, "out", camera=None)
    assert result.status == "complete"
