"""offset="auto", gain="auto", sigma_nm="auto": estimated from the movie, as by the command line."""

import json

import glint
import numpy as np
import pytest
from conftest import same_table

AUTO = glint.IdealCamera(pixel_size_nm=100, offset="auto", gain="auto")


@pytest.fixture(scope="module")
def movie():
    camera = glint.IdealCamera(pixel_size_nm=100, offset=100, gain=0.5)
    return glint.simulate(glint.GaussianXYNB(sigma_nm=130), camera, frames=200, seed=3).movie


def test_rows_and_metadata_are_the_commands(movie, command, tmp_path):
    glint.save_movie(tmp_path / "movie.tif", movie)
    said = json.loads(
        command(
            "localize",
            tmp_path / "movie.tif",
            "-o",
            tmp_path / "command.hdf5",
            "--pixel-size",
            "100nm",
            "--offset",
            "auto",
            "--gain",
            "auto",
            "--sigma",
            "auto",
            "--backend",
            "cpu",
            "--json",
            "-q",
        )
    )
    locs = glint.localize(
        tmp_path / "movie.tif", glint.GaussianXYNB(sigma_nm="auto"), AUTO, tmp_path / "python.hdf5", backend="cpu"
    )
    theirs = glint.load(tmp_path / "command.hdf5")
    assert len(locs) > 1000
    same_table(locs, theirs)
    for table in (locs, theirs):  # of two files
        made = next(step for step in table.to_picasso()[1] if "Baseline" in step)
        assert made["Estimated from the movie"] == said["estimated"]
    assert "offset 99." in said["estimated"] or "offset 100." in said["estimated"]
    in_memory = glint.localize(movie, glint.GaussianXYNB(sigma_px="auto"), AUTO, backend="cpu")
    same_table(in_memory, locs)
    assert in_memory.info.estimated == locs.info.estimated


def test_values_used_are_reported_with_their_errors(movie):
    psf = glint.GaussianXYNBS(sigma_nm="auto")
    locs = glint.localize(movie, psf, AUTO)
    estimated, found = locs.info.estimated, glint.inspect(movie)
    assert list(estimated) == ["offset", "gain", "sigma_px"]
    for name, truth in (("offset", 100), ("gain", 0.5), ("sigma_px", 1.3)):
        assert abs(estimated[name].value - truth) < 4 * estimated[name].error
        assert abs(estimated[name].value - getattr(found, name).value) < 0.1 * estimated[name].error  # rounded
        assert estimated[name].error == getattr(found, name).error
    camera = glint.IdealCamera(100, estimated["offset"].value, estimated["gain"].value)
    again = glint.localize(movie, glint.GaussianXYNBS(sigma_px=estimated["sigma_px"].value), camera)
    same_table(again, locs)
    assert again.info.estimated == {}
    assert (psf.sigma_nm, AUTO.gain) == ("auto", "auto")  # as they were given


def test_what_is_known_makes_the_rest_more_certain(movie, psf):
    gain = {}
    for offset in ("auto", 100):
        gain[offset] = glint.localize(movie, psf, glint.IdealCamera(100, offset, "auto")).info.estimated["gain"]
    assert gain[100].error < gain["auto"].error
    assert (
        gain[100]
        != glint.localize(movie, psf, glint.SCMOSCamera(100, 100, "auto", readnoise=0.5)).info.estimated["gain"]
    )
    maps = glint.SCMOSCamera(100, np.full(movie.shape[1:], 100), "auto")
    assert glint.localize(movie, psf, maps).info.estimated["gain"] == gain[100]


def test_detection_estimates_as_well(movie):
    used = glint.localize(movie, glint.GaussianXYNB(sigma_nm="auto"), AUTO).info.estimated
    camera = glint.IdealCamera(100, used["offset"].value, used["gain"].value)
    same_table(
        glint.detect(movie, glint.GaussianXYNB(sigma_nm="auto"), AUTO),
        glint.detect(movie, glint.GaussianXYNB(sigma_px=used["sigma_px"].value), camera),
    )


def test_what_the_movie_does_not_tell_is_an_error(movie, psf, tmp_path):
    with pytest.raises(glint.OptionError, match='gain="auto": cannot be estimated: .*; give a number'):
        glint.localize(movie[:2], psf, glint.IdealCamera(100, 100, "auto"))
    with pytest.raises(glint.OptionError, match='sigma_px="auto": cannot be estimated'):
        glint.localize(movie[:2], glint.GaussianXYNB(sigma_px="auto"), glint.IdealCamera(100, 100, 0.5))
    glint.save_movie(tmp_path / "movie.tif", movie[:2])
    with pytest.raises(glint.OptionError, match='offset="auto": the movie is still being written'):
        glint.localize(tmp_path / "movie.tif", psf, AUTO, tmp_path / "locs.hdf5", follow=1)


def test_without_a_movie_numbers_are_needed(counts, camera, psf):
    for arguments in (dict(psf=psf, camera=AUTO), dict(psf=glint.GaussianXYNB("auto"), camera=camera)):
        with pytest.raises(
            glint.OptionError, match=r'"auto" is for glint.localize\(\) and glint.detect\(\).*give a number'
        ):
            glint.fit(counts, **arguments)
    with pytest.raises(glint.OptionError, match="'auto'"):
        glint.simulate(psf, AUTO)
    for other in ("Auto", "100"):
        with pytest.raises(glint.OptionError, match="give a number"):
            glint.IdealCamera(100, other, 0.5)
        with pytest.raises(glint.OptionError, match="give a number"):
            glint.GaussianXYNB(other)
    with pytest.raises(glint.OptionError, match="needs its width, once"):
        glint.GaussianXYNB("auto", sigma_px="auto")
    assert repr(AUTO) == "IdealCamera(pixel_size_nm=100, offset='auto', gain='auto')"
    assert repr(glint.GaussianXYNB("auto")) == "GaussianXYNB(sigma_nm='auto')"
