"""What is easily got wrong at first is answered with what to do instead."""
import glint
import numpy as np
import pytest


def test_a_call_without_psf_and_camera_says_what_is_needed(psf, camera, simulated):
    for function in (glint.localize, glint.detect):
        call = rf"glint.{function.__name__}\(movie, glint.GaussianXYNB\(sigma_um=0.13\)"
        with pytest.raises(glint.OptionError, match=r"a psf and a camera \(pixel_size_um, offset, gain not in the metadata.*" + call +
                           r", glint.IdealCamera\(pixel_size_um=0.1"):
            function(simulated.movie)
        with pytest.raises(glint.OptionError, match=r"needs a psf\. .*" + call + r", camera\)"):
            function(simulated.movie, camera=camera)
        with pytest.raises(glint.OptionError, match="pixel_size_um, offset, gain not known"):
            function(simulated.movie, psf)
    with pytest.raises(glint.OptionError, match="no PSF: give one as in psf=glint.GaussianXYNB"):
        glint.fit(np.ones((2, 7, 7)))


def test_swapped_tables_are_noticed(psf, camera, simulated):
    locs = glint.localize(simulated.movie[:10], psf, camera)
    with pytest.warns(UserWarning, match=r"are the two swapped\?.*glint.score\(locs, truth\)"):
        glint.score(simulated.truth, locs)
    with pytest.raises(glint.OptionError, match="locs is of type str: give Localizations"):
        glint.score("locs.hdf5", simulated.truth)


def test_a_table_without_a_pixel_size_names_the_argument_that_there_is(psf, camera, simulated, tmp_path):
    path = tmp_path / "locs.csv"
    locs = glint.localize(simulated.movie[:10], psf, camera, path)
    with pytest.raises(glint.OptionError, match=r"as in pixel_size_nm=100$"):
        glint.load(path)
    for size in (dict(pixel_size_nm=100), dict(pixel_size_um=0.1)):
        np.testing.assert_array_equal(glint.load(path, **size).x_px, locs.x_px)
    with pytest.raises(glint.OptionError, match="not both"):
        glint.load_truth(path, pixel_size_nm=100, pixel_size_um=0.1)


@pytest.mark.parametrize("module", [glint, glint.gpu, glint.offload, glint.arrays], ids=lambda m: m.__name__)
def test_modules_show_what_they_offer_and_nothing_else(module):
    assert {name for name in dir(module) if not name.startswith("_")} <= set(module.__all__)
    for name in module.__all__:
        assert getattr(module, name) is not None or name == "newaxis"


def test_names_that_are_elsewhere_are_shown_the_way():
    with pytest.raises(AttributeError, match="glint.gpu has no Session: it is glint.offload.Session"):
        glint.gpu.Session
    with pytest.raises(AttributeError, match="it has ContextMemory, Device"):
        glint.gpu.Sesion
    assert not hasattr(glint.gpu, "__path__")


def test_the_help_of_arrays_says_what_they_need():
    for words in ("session", "Without a GPU", "NoGpu", "glint.offload"):
        assert words in glint.arrays.__doc__
