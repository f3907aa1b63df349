# Deprecated names work until glint 0.2.0 and warn with their new name. To be removed with glint/old_names.py.
# SPDX-License-Identifier: MIT
import dataclasses
import inspect
import re
import warnings

import glint
import numpy as np
import pytest
from glint import old_names

LENS = dict(sx0_nm=140.0, sy0_nm=135.0, gamma_nm=200.0, d_nm=290.0)


def named(path):
    """Returns the function, method or class that a row of the table names."""
    first, *rest = path.split(".")
    homes = (glint, glint.gpu, glint.offload)
    found = glint.GaussianXYNB if first == "_Sigma" else next(getattr(m, first) for m in homes if hasattr(m, first))
    for part in rest:
        found = inspect.getattr_static(found, part)
    return found


def names_of(thing):
    """Returns the arguments; for a class also fields, attributes and methods."""
    names = set(inspect.signature(thing).parameters)
    if isinstance(thing, type):
        names |= set(dir(thing)) | {name for kind in thing.__mro__ for name in vars(kind).get("__annotations__", {})}
    return names


def public():
    """Yields all public functions, classes and methods with their names."""
    for name in glint.__all__:
        thing = getattr(glint, name)
        if inspect.isfunction(thing) or isinstance(thing, type):
            yield name, thing
        if isinstance(thing, type) and thing.__module__.startswith("glint"):
            for part, method in vars(thing).items():
                if inspect.isfunction(method) and not part.startswith("_"):
                    yield f"{name}.{part}", method


@pytest.mark.parametrize("path, old, new, factor", old_names.TABLE)
def test_table_matches_public_names(path, old, new, factor):
    thing = named(path)
    lengths = (old.removesuffix("_um"), factor) == (new.removesuffix("_nm"), 1000)
    assert lengths or (factor == 1 and old != new)
    columns = {"z_nm", "z_unc_nm"} if path in ("Fits", "RoiTruth") else set()
    assert new in names_of(thing) | columns
    assert old not in inspect.signature(thing).parameters
    assert hasattr(thing, old) == isinstance(thing, type)
    if new in inspect.signature(thing).parameters:
        called = thing.__init__ if isinstance(thing, type) else thing
        assert hasattr(called, "__wrapped__"), f"{path} accepts no old names: it lacks @renamed"


def test_no_other_public_name_is_in_micrometres():
    known = {(path, old) for path, old, _, _ in old_names.TABLE}
    seen = 0
    for path, thing in public():
        kinds = [kind.__name__ for kind in thing.__mro__] if isinstance(thing, type) else [path]
        parameters = () if isinstance(thing, type) and thing.__module__ == "builtins" else signature_of(thing)
        assert not [name for name in parameters if name.endswith("_um")], path
        fields = [] if not isinstance(thing, type) else [name for name in dir(thing) if name.endswith("_um")]
        seen += len(fields)
        assert all(any((kind, name) in known for kind in kinds) for name in fields), path
        if dataclasses.is_dataclass(thing):
            assert not [field.name for field in dataclasses.fields(thing) if field.name.endswith("_um")], path
    assert seen > 30


def signature_of(thing):
    try:
        return inspect.signature(thing).parameters
    except ValueError:
        return ()


def old_call(call, *texts):
    """Returns the result of a call with old names.

    Checks the texts of its warnings, and that they point at this file.
    """
    with pytest.warns(DeprecationWarning) as warned:
        result = call()
    assert len(warned) == len(texts)
    for one, text in zip(warned, texts):
        assert re.search(text, str(one.message)) and "is removed in glint 0.2.0" in str(one.message)
        assert one.filename == __file__
    return result


def test_old_arguments_are_converted():
    camera = glint.IdealCamera(133.3, 100, 0.5)
    assert (
        old_call(
            lambda: glint.IdealCamera(pixel_size_um=0.1333, offset=100, gain=0.5),
            (
                r"IdealCamera\(\): pixel_size_um, in micrometres, .* use pixel_size_nm, in nanometres, here "
                r"pixel_size_nm=133.3$"
            ),
        )
        == camera
    )
    psf = glint.GaussianXYNB(sigma_nm=130)
    assert old_call(lambda: glint.GaussianXYNB(sigma_um=0.13), "here sigma_nm=130$") == psf
    assert old_call(lambda: glint.GaussianXYNBS(sigma_um="auto"), "here sigma_nm='auto'$").sigma_nm == "auto"
    lens = old_call(
        lambda: glint.AstigmaticXYZNB(sx0_um=0.14, sy0_um=0.135, gamma_nm=200, d_um=0.29),
        "sx0_nm=140",
        "sy0",
        "d_nm=290",
    )
    assert lens == glint.AstigmaticXYZNB(**LENS)
    sizes = dict(frames=2, width=16, height=16)
    old = old_call(lambda: glint.simulate(lens, camera, z_range_um=0.3, **sizes), "z_range_nm=300")
    np.testing.assert_array_equal(old.movie, glint.simulate(lens, camera, z_range_nm=300, **sizes).movie)
    np.testing.assert_array_equal(
        old_call(lambda: glint.simulate_rois(5, lens, camera, z_range_um=0.3), "z_range_nm=300").rois,
        glint.simulate_rois(5, lens, camera, z_range_nm=300).rois,
    )
    for wrong in (-0.1, True, "0.13"):
        with pytest.raises(glint.OptionError, match="GaussianXYNB|sigma_nm"), pytest.warns(DeprecationWarning):
            glint.GaussianXYNB(sigma_um=wrong)


def test_old_arguments_of_files(tmp_path):
    movie = np.full((3, 16, 16), 110, np.uint16)
    old_call(lambda: glint.save(tmp_path / "a.tif", movie, pixel_size_um=0.1083), "save_movie.*pixel_size_nm=108.3$")
    glint.save(tmp_path / "b.tif", movie, pixel_size_nm=108.3)
    assert (tmp_path / "a.tif").read_bytes() == (tmp_path / "b.tif").read_bytes()
    (tmp_path / "l.csv").write_text("frame,x [nm],y [nm]\n1,100,100\n")
    for read in (glint.load, glint.load_localizations, glint.load_truth):
        assert (
            old_call(
                lambda: read(tmp_path / "l.csv", first_frame=1, pixel_size_um=0.1), "pixel_size_nm=100"
            ).pixel_size_nm
            == 100
        )


@pytest.mark.parametrize(
    "call, names",
    [
        (lambda: glint.IdealCamera(pixel_size_um=0.1, pixel_size_nm=100, offset=0, gain=1), "pixel_size_{}"),
        (lambda: glint.IdealCamera(100, 0, 1, pixel_size_um=0.1), "pixel_size_{}"),
        (lambda: glint.GaussianXYNB(130, sigma_um=0.13), "sigma_{}"),
        (lambda: glint.load_truth("t.csv", pixel_size_um=0.1, pixel_size_nm=100), "pixel_size_{}"),
        (lambda: glint.AstigmaticXYZNB(**LENS, z_min_um=-0.6, z_min_nm=-600), "z_min_{}"),
        (
            lambda: glint.save_movie("a.tif", np.zeros((1, 4, 4), "u2"), pixel_size_um=None, pixel_size_nm=1),
            "pixel_size_{}",
        ),
    ],
)
def test_both_names_are_an_error_that_names_both(call, names):
    with pytest.raises(TypeError, match=f"got both {names.format('um')} and {names.format('nm')}"):
        call()


def test_old_attributes_are_converted():
    camera, lens = glint.SCMOSCamera(133.3, 100, 0.5), glint.AstigmaticXYZNB(**LENS)
    assert old_call(lambda: camera.pixel_size_um, r"SCMOSCamera: pixel_size_um.*pixel_size_nm=133.3$") == 0.1333
    old_call(lambda: setattr(camera, "pixel_size_um", 0.065), "pixel_size_nm=65$")
    assert camera.pixel_size_nm == 65
    assert old_call(lambda: lens.gamma_um, "gamma_nm=200") == 0.2
    assert old_call(lambda: lens.sigma_x_um(0.2), "use sigma_x_nm, in nanometres") == 0.14
    assert old_call(lambda: lens.sigma_x_um(z_um=0.2), "use sigma_x_nm", "z_nm=200") == 0.14
    assert old_call(lambda: glint.GaussianXYNB(sigma_px=1.3).sigma_um, "sigma_nm") is None
    with pytest.raises(dataclasses.FrozenInstanceError):
        lens.d_um = 0.3


def test_names_of_the_same_unit_are_aliases():
    session = old_call(
        lambda: glint.offload.Session("cpu", least_bytes="1MB"),
        r"^Session\(\): least_bytes is removed in glint 0.2.0: use min_bytes='1MB'$",
    )
    session.close()
    with pytest.raises(TypeError, match="got both least_bytes and min_bytes, which mean the same"):
        glint.offload.Session("cpu", least_bytes=1, min_bytes=1)
    found = glint.inspect(np.arange(3 * 32 * 32, dtype=np.uint16).reshape(3, 32, 32))
    assert old_call(lambda: found.least_adu, "^Inspection: least_adu .*: use min_adu=0$") == found.min_adu == 0
    assert old_call(lambda: found.most_adu, "^Inspection: most_adu .*: use max_adu=3071$") == found.max_adu == 3071
    processes = ((7, 2**20),)
    values = {field.name: None for field in dataclasses.fields(glint.gpu.LeaseGpu)}
    gpu = glint.gpu.LeaseGpu(**values | {"unmanaged_count": 1, "unmanaged_processes": processes})
    assert old_call(lambda: gpu.strangers, "^LeaseGpu: strangers .*: use unmanaged_count=1$") == 1
    assert old_call(lambda: gpu.stranger_processes, "use unmanaged_processes$") is processes


def test_old_columns_are_converted():
    lens, camera = glint.AstigmaticXYZNB(**LENS), glint.IdealCamera(100, 0, 1)
    rois, truth = glint.simulate_rois(20, lens, camera, size=13, photons=(3000, 3000), z_range_nm=200)
    fits = glint.fit(rois, lens, camera, backend="cpu")
    assert np.std(fits.z_nm - truth.z_nm) < 30 and np.ptp(truth.z_nm) > 200
    for get in (lambda: fits.z_um, lambda: fits["z_um"], lambda: fits[:].z_um):
        np.testing.assert_allclose(old_call(get, "Fits: z_um.*use z_nm"), fits.z_nm / 1000)
    np.testing.assert_allclose(old_call(lambda: fits.z_unc_um, "z_unc_nm"), fits.z_unc_nm / 1000)
    np.testing.assert_allclose(old_call(lambda: truth["z_um"], "RoiTruth: z_um"), truth.z_nm / 1000)
    np.testing.assert_array_equal(fits.to_localizations(keep_failed=True).z_nm, fits.z_nm.astype(np.float32))
    with pytest.raises(KeyError, match="no column 'z_um'"):
        glint.fit(rois, glint.GaussianXYNB(130), camera)["z_um"]
    at_truth = np.stack(list(truth.columns.values()), axis=1)  # in the columns' units
    again = glint.fit(rois, lens, camera, start=at_truth, backend="cpu", max_iterations=1, tolerance=1)
    assert np.std(again.z_nm - truth.z_nm) < 60


def test_new_names_do_not_warn(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        glint.save_calibration(tmp_path / "c.toml", glint.AstigmaticXYZNB(**LENS))
        assert glint.load_calibration(tmp_path / "c.toml") == glint.AstigmaticXYZNB(**LENS)
        assert "\nd_um = 0.29 " in (tmp_path / "c.toml").read_text()  # files keep micrometres


def test_calibrations_written_before_are_read(tmp_path):
    """Keys of the file remain in micrometres."""
    (tmp_path / "c.toml").write_text(
        "[astigmatism]\nsx0_um = 0.14\nsy0_um = 0.135\ngamma_um = 0.2\nd_um = 0.29\nax = 0\nbx = 0\nay = 0\nby = 0\n"
        "z_min_um = -0.4\nz_max_um = 0.4\nroi_px = 13\npixel_size_um = 0.1\n"
    )
    read = glint.load_calibration(tmp_path / "c.toml")
    assert read == glint.AstigmaticXYZNB(**LENS, z_min_nm=-400, z_max_nm=400, roi_size=13, pixel_size_nm=100)
