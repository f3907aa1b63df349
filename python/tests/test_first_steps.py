"""Common mistakes of new users raise errors that name the remedy."""

import sys
import warnings

import glint
import numpy as np
import pytest


def test_a_call_without_psf_and_camera_says_what_is_needed(psf, camera, simulated):
    for function in (glint.localize, glint.detect):
        call = rf"glint.{function.__name__}\(movie, glint.GaussianXYNB\(sigma_nm=130\)"
        with pytest.raises(
            glint.OptionError,
            match=r"a psf and a camera \(pixel_size_nm, offset, gain not in the metadata.*"
            + call
            + r", glint.IdealCamera\(pixel_size_nm=100",
        ):
            function(simulated.movie)
        with pytest.raises(glint.OptionError, match=r"needs a psf\. .*" + call + r", camera\)"):
            function(simulated.movie, camera=camera)
        with pytest.raises(glint.OptionError, match="pixel_size_nm, offset, gain not known"):
            function(simulated.movie, psf)
    with pytest.raises(glint.OptionError, match="no PSF: give one as in psf=glint.GaussianXYNB"):
        glint.fit(np.ones((2, 7, 7)))


def test_swapped_tables_are_noticed(psf, camera, simulated):
    locs = glint.localize(simulated.movie[:10], psf, camera)
    with pytest.warns(UserWarning, match=r"are the two swapped\?.*glint.score\(locs, truth\)"):
        glint.score(simulated.truth, locs)
    with pytest.raises(glint.OptionError, match="locs is of type list: give Localizations.*name of a file"):
        glint.score([1, 2], simulated.truth)


def test_a_table_without_a_pixel_size_names_the_argument_that_there_is(psf, camera, simulated, tmp_path):
    path = tmp_path / "locs.csv"
    locs = glint.localize(simulated.movie[:10], psf, camera, path)
    with pytest.raises(glint.OptionError, match=r"as in pixel_size_nm=100$"):
        glint.load(path)
    np.testing.assert_array_equal(glint.load(path, pixel_size_nm=100).x_px, locs.x_px)
    locs.pixel_size_nm = 0.0
    with pytest.warns(UserWarning, match="has no pixel size.*as in locs.pixel_size_nm = 100$"):
        locs.save(tmp_path / "without.hdf5")


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


def test_a_camera_invents_no_values():
    with pytest.raises(
        glint.OptionError, match=r"needs pixel_size_nm, offset, gain .*: glint.IdealCamera\(pixel_size_nm=100, offset"
    ):
        glint.IdealCamera()
    with pytest.raises(glint.OptionError, match="SCMOSCamera needs offset, gain"):
        glint.SCMOSCamera(pixel_size_nm=100)
    with pytest.raises(glint.OptionError, match=r"EMCCDCamera needs em_gain .*em_gain=300"):
        glint.EMCCDCamera(100, 100, 15.6)
    with pytest.raises(glint.OptionError, match=r"AstigmaticXYZNB needs d_nm"):
        glint.AstigmaticXYZNB(140, 135, 200)


@pytest.mark.parametrize(
    "call, example",
    [
        (lambda: glint.GaussianXYNB(0.13), "sigma_nm=130"),
        (lambda: glint.GaussianXYNB(130000), "sigma_nm=130"),
        (lambda: glint.IdealCamera(0.1, 100, 1), "pixel_size_nm=100"),
        (lambda: glint.IdealCamera(100000, 100, 1), "pixel_size_nm=100"),
        (lambda: glint.AstigmaticXYZNB(0.14, 0.135, 0.2, 0.29), "sx0_nm=140"),
        (lambda: glint.AstigmaticXYZNB(140, 135, 200, 290, pixel_size_nm=0.1), "pixel_size_nm=140"),
    ],
)
def test_values_that_are_not_nanometres_are_noticed(call, example):
    """Also without a name, as they were given in micrometres before."""
    with pytest.raises(glint.OptionError, match=f"nanometres, as in {example}"):
        call()


def test_integers_without_a_camera_are_noticed(counts, camera, psf):
    with pytest.warns(UserWarning, match="without a camera they count as photoelectrons.*camera=, or rois.astype"):
        glint.fit(counts, glint.GaussianXYNB(sigma_px=1.3))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        glint.fit(counts, psf, camera)
        glint.fit(counts.astype(np.float32), glint.GaussianXYNB(sigma_px=1.3))


def test_columns_are_set_and_typos_refused(simulated):
    table = simulated.truth[:]
    table.photons = 2 * simulated.truth.photons
    np.testing.assert_array_equal(table.columns["photons"], 2 * simulated.truth.photons)
    table["mine"] = np.arange(len(table))
    assert table.mine.dtype == np.int64 and "mine" in table.columns
    table.pixel_size_nm = 108.0
    with pytest.raises(AttributeError, match="'photon' to set: did you mean 'photons'"):
        table.photon = table.photons
    with pytest.raises(AttributeError, match="no column or attribute 'pixel_size_um'"):
        table.pixel_size_um = 0.1
    with pytest.raises(glint.OptionError, match="for each row"):
        table.photons = [1, 2]
    with pytest.raises(glint.OptionError, match="give numbers"):
        table.photons = ["a"] * len(table)


def test_no_localizations_are_explained(psf, camera, simulated):
    with pytest.warns(UserWarning, match="no localizations: no spot reached.*sigma_nm.*lower threshold"):
        assert len(glint.localize(simulated.movie[:5], psf, camera, threshold=900)) == 0


def test_lengths_in_nanometres(psf, camera, simulated):
    locs = glint.localize(simulated.movie[:10], psf, camera)
    for name in ("x", "y", "lpx", "lpy", "sx", "sy"):
        np.testing.assert_allclose(getattr(locs, f"{name}_nm"), 100 * getattr(locs, f"{name}_px"), rtol=1e-6)
    with pytest.raises(AttributeError, match="no column or attribute 'lpx_nm'"):
        simulated.truth.lpx_nm
    with pytest.raises(glint.OptionError, match="x_nm needs the size of a pixel"):
        glint.Localizations({"frame": [0], "x_px": [1], "y_px": [1]}).x_nm


def test_notebooks_show_a_table(psf, camera, simulated):
    locs = glint.localize(simulated.movie[:10], psf, camera)
    text = locs._repr_html_()
    assert text.count("<tr>") == 6 and "<th>x_px</th>" in text and f"and {len(locs) - 5:,} rows more" in text
    assert glint.Localizations({"frame": [], "x_px": [], "y_px": []})._repr_html_().count("<tr>") == 1


def test_names_of_files_are_taken_wherever_tables_are(psf, camera, simulated, tmp_path):
    locs = glint.localize(simulated.movie, psf, camera, tmp_path / "locs.hdf5")
    glint.save_truth(tmp_path / "truth.csv", simulated.truth)
    np.testing.assert_array_equal(glint.render(str(tmp_path / "locs.hdf5"), zoom=4), glint.render(locs, zoom=4))
    assert (
        glint.score(tmp_path / "locs.hdf5", tmp_path / "truth.csv").matched
        == glint.score(locs, simulated.truth).matched
    )
    fits = glint.fit(glint.cut_rois(simulated.movie, glint.detect(simulated.movie, psf, camera), 7), psf, camera)
    assert glint.render(fits, zoom=2).ndim == 3
    with pytest.raises(glint.OptionError, match="locs is of type int"):
        glint.render(3)


def test_rois_are_cut_around_localizations_too(psf, camera, simulated, tmp_path):
    locs = glint.localize(simulated.movie, psf, camera, tmp_path / "locs.hdf5")
    for given in (locs, tmp_path / "locs.hdf5"):
        rois = glint.cut_rois(simulated.movie, given, 7)
        again = glint.fit(rois, psf, camera)
        assert len(again) == len(locs)
        near = again.to_localizations(keep_failed=True)
        assert np.median(np.hypot(near.x_px - locs.x_px, near.y_px - locs.y_px)) < 0.1
    with pytest.raises(glint.OptionError, match="of another movie?"):
        glint.cut_rois(simulated.movie[:1], locs, 7)
    with pytest.raises(glint.OptionError, match="give the result of glint.detect"):
        glint.cut_rois(simulated.movie, [1, 2], 7)


def test_tables_are_merged(psf, camera, simulated, tmp_path):
    parts = [glint.localize(simulated.movie, psf, camera, frames=frames) for frames in ((0, 30), (30, 60))]
    whole = glint.localize(simulated.movie, psf, camera)
    parts[1].save(tmp_path / "part2.hdf5")
    merged = glint.merge([parts[0], tmp_path / "part2.hdf5"])
    assert (
        merged.frames == 60 and len(merged) == sum(map(len, parts)) and (np.diff(merged.frame.astype(int)) >= 0).all()
    )
    assert abs(len(merged) - len(whole)) < 0.05 * len(whole)
    twice = glint.merge([whole, whole], consecutive=True)
    assert twice.frames == 120
    np.testing.assert_array_equal(twice.frame[len(whole) :], whole.frame + 60)
    with pytest.warns(UserWarning, match="not every table has them: .*photons"):
        assert (
            "photons" not in glint.merge([whole, glint.Localizations({"frame": [1], "x_px": [2], "y_px": [3]})]).columns
        )
    other = whole[:1]
    other.pixel_size_nm = 160
    with pytest.raises(glint.OptionError, match="100 and 160 nm"):
        glint.merge([whole, other])


def test_pandas_is_asked_for_by_name(simulated, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    for function in (simulated.truth.to_pandas, simulated.truth.to_picasso):
        with pytest.raises(ImportError, match="pip install pandas"):
            function()


def test_a_movie_is_saved_as_tiff(simulated, tmp_path):
    with pytest.raises(glint.OptionError, match="ends in .tif"):
        glint.save_movie(tmp_path / "movie.csv", simulated.movie)


def test_endings_are_known_in_any_case(simulated, tmp_path):
    simulated.truth.save(tmp_path / "LOCS.HDF5")
    assert len(glint.load(tmp_path / "LOCS.HDF5")) == len(simulated.truth)


def test_sessions_take_bytes_with_a_unit():
    with glint.offload.Session("cpu", min_bytes="1MB") as session:
        assert glint.offload.sum([1.0, 2.0], session=session) == 3
    with pytest.raises(glint.OptionError, match="min_bytes=1 stone"):
        glint.offload.Session("cpu", min_bytes="1 stone")


def test_the_history_holds_what_a_table_was_made_with(psf, simulated, tmp_path):
    camera = glint.EMCCDCamera(100, 100, 0.5, em_gain=2, readnoise=3)
    glint.localize(simulated.movie[:10], psf, camera).save(tmp_path / "locs.hdf5")  # made in memory
    _, info = glint.load(tmp_path / "locs.hdf5").to_picasso()
    made = info[-1] if "Baseline" in info[-1] else next(step for step in info if "Baseline" in step)
    assert (made["Baseline"], made["Sensitivity"], made["Gain"], made["Read noise (e-)"]) == (100, 0.5, 2, 3)
    assert (made["Threshold (standard deviations)"], made["Sigma (nm)"], made["Camera"]) == (6, 130, "EMCCD")


class FromTorch(RuntimeError):
    pass


@pytest.mark.parametrize(
    "message, part",
    [
        (
            (
                "CUDA error: an illegal memory access was encountered\nCUDA kernel errors might be "
                "asynchronously reported at some other API call"
            ),
            "compute-sanitizer",
        ),
        ("CUDA error: device-side assert triggered", "stderr"),
        ("Found no NVIDIA driver on your system.", "doctor"),
        ("CUDA error: no kernel image is available for execution on the device", ""),
        ("Torch not compiled with CUDA enabled", "pytorch.org"),
        (
            "Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is False.",
            "map_location='cpu'",
        ),
        ("Cannot re-initialize CUDA in forked subprocess.", "spawn"),
        (
            "Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!",
            "x.to(y.device)",
        ),
        ("CUDA driver initialization failed, you might not have a CUDA gpu.", "doctor"),
        ("CUDA unknown error - this may be due to an incorrectly set up environment", "CUDA_VISIBLE_DEVICES"),
        ("CUDA error: initialization error", "spawn"),
        ("CUDA error: unknown error", "reboot"),
        ("CUDA error: CUDA-capable device(s) is/are busy or unavailable", "nvidia-smi -c DEFAULT"),
        ("CUDA error: operation not permitted when stream is capturing", "end the capture"),
        (
            "Input type (torch.FloatTensor) and weight type (torch.cuda.FloatTensor) should be the same",
            "model.to(x.device",
        ),
        ("Expected object of device type cuda but got device type cpu for argument #1 'self'", "x.to(y.device)"),
        (
            "Attempting to deserialize object on CUDA device 1 but torch.cuda.device_count() is 1.",
            "map_location='cuda:0'",
        ),
        ("CUFFT_ALLOC_FAILED", "glint top"),
        ("CUFFT_INTERNAL_ERROR", "cuFFT"),
        ("cusolver error: CUSOLVER_STATUS_ALLOC_FAILED, when calling `cusolverDnCreate(handle)`", "glint top"),
        ("CUDA error: CUBLAS_STATUS_EXECUTION_FAILED when calling `cublasSgemm( handle, ...)`", "cuBLAS"),
        ("cuDNN error: CUDNN_STATUS_EXECUTION_FAILED", "cuDNN"),
    ],
)
def test_messages_of_pytorch_are_explained(message, part):
    explanation = glint.gpu.explain_error(FromTorch(message))
    assert explanation == glint.gpu.explain_error(message)
    assert explanation.message == message.partition("\n")[0]
    assert part in explanation.suggestion and "no such error is known" not in explanation.suggestion
