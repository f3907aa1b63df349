"""Options and statistics of a fit are declared in C++, and named again in Python, docstrings and the command line.
This holds them together: a field that one of these lacks, or gives another default, fails here."""

import dataclasses
import inspect
import pathlib
import re
import subprocess

import glint
import numpy as np
import pytest
from glint import _core

SOURCE = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = pathlib.Path(glint.__file__).resolve().parents[2] / "bin" / "glint"

# A field of the C++ struct: the keyword in Python, and the flag. None: it has none there.
FIT = {
    "backend": ("backend", "--backend"),
    "gpus": ("gpus", "--gpus"),
    "gpu_memory_bytes": ("gpu_memory", "--gpu-memory"),
    "batch_size": ("batch_size", "--batch-size"),
    "auto_timeout_s": ("auto_timeout", "--auto-timeout"),
    "gpu_timeout_s": ("gpu_timeout", "--gpu-timeout"),
    "always_gpu": ("always_gpu", "--always-gpu"),
    "restart_batches": ("restart_batches", "--restart-batches"),
    "gpu_worker": ("gpu_worker", "--gpu-worker"),
    "max_iterations": ("max_iterations", "--max-iterations"),
    "tolerance": ("tolerance", "--tolerance"),
    "position_margin_px": ("position_margin_px", None),
    "min_sigma_px": ("min_sigma_px", None),
    "max_sigma_px": ("max_sigma_px", None),
    "threads": ("threads", "--threads"),
    "on_wait": ("on_wait", None),
    "log": ("log", "--gpu-log"),
    "on_decision": (None, "--explain"),
    "start": ("start", None),
    "emitters": ("emitters", "--emitters"),
    "psf_misfit": ("psf_misfit", "--psf-misfit"),
    "stop": (None, None),
    "progress": ("progress", "--quiet"),
}
LOCALIZE = {
    "psf": ("psf", "--psf"),
    "pixel_size_nm": ("camera", "--pixel-size"),
    "roi_size": ("roi_size", "--roi"),
    "threshold": ("threshold", "--threshold"),
    "frames": ("frames", "--frames"),
    "region": ("region", "--region"),
    "fit": (None, None),
    "neighbor_rounds": ("neighbor_rounds", "--neighbors"),
    "emitters": ("emitters", "--emitters"),
    "psf_misfit": ("psf_misfit", "--psf-misfit"),
    "threads": ("threads", "--threads"),
    "memory_bytes": ("memory", None),
    "keep_failed": ("keep_failed", "--keep-failed"),
    "keep_defective": ("keep_defective", "--keep-defective"),
    "resume": ("resume", "--resume"),
    "overwrite": ("overwrite", "--overwrite"),
    "progress": ("progress", "--quiet"),
    "warn": (None, None),
    "stop": (None, None),
    "estimated": (None, "--gain"),
    "starting_values": (None, "--camera-preset"),
    "psf_file": (None, "--psf"),
}
SETTINGS = {
    "max_iterations",
    "tolerance",
    "position_margin_px",
    "min_sigma_px",
    "max_sigma_px",
    "emitters",
    "psf_misfit",
}
PARENTS_OF_BOTH = set(FIT) - SETTINGS - {"start"}
# localize() bounds positions and widths by itself, cuts batches as it reads, finds the starts, and has groups of its
# own.
FIT_ALONE = {"position_margin_px", "min_sigma_px", "max_sigma_px", "start", "emitters", "psf_misfit"}
NOT_GIVEN = {None, 0, 0.0, -1, ""}  # as a default of a field, each means "chosen by the library"
BY_CALL = {"psf", "pixel_size_nm", "frames"}  # what each call gives

COMMANDS = [
    ("fit", glint.fit, FIT, "FitOptions", "fit.hpp"),
    ("localize", glint.localize, LOCALIZE, "LocalizeOptions", "localize.hpp"),
    ("localize", glint.localize, {k: v for k, v in FIT.items() if k not in FIT_ALONE}, "FitOptions", None),
]


def fields_of(struct, header):
    """The names of a struct's fields, from the public header."""
    path = SOURCE / "include/glint" / header
    if not path.exists():
        pytest.skip(f"{path} is not here: the package is installed without its sources")
    found = re.search(rf"^struct {struct}(?: : ([\w, ]+))? \{{\n(.*?)^\}};", path.read_text(), re.M | re.S)
    body = re.sub(r"//.*", "", found[2])
    names = [name for parent in re.findall(r"\w+", found[1] or "") for name in fields_of(parent, "fit.hpp")]
    for statement in body.split(";"):
        if "operator" in statement:
            continue
        statement = re.sub(r"\{[^}]*\}", "", statement)
        first, *more = re.sub(r"<[^<>]*(?:<[^<>]*>[^<>]*)*>", "", statement).split(",")
        if found := re.search(r"(\w+)\s*(?:=.*)?$", first.strip(), re.S):
            names += [found[1]] + [m.split("=")[0].strip() for m in more]
    return names


def test_fields_are_found_in_the_header():
    assert fields_of("FitEvent", "fit.hpp") == ["seconds", "what"]


@pytest.mark.parametrize(
    "table, struct, header", [(FIT, "FitOptions", "fit.hpp"), (LOCALIZE, "LocalizeOptions", "localize.hpp")]
)
def test_every_option_of_the_library_is_known_here(table, struct, header):
    fields = fields_of(struct, header)
    assert len(set(fields)) == len(fields)
    if struct == "LocalizeOptions":  # `fit` are FitSettings, of which two are options of a movie, too
        assert set(fields) == set(table) - set(SETTINGS) | PARENTS_OF_BOTH
    else:
        assert sorted(fields) == sorted(table)
    bound = {name for name in dir(getattr(_core, struct)) if not name.startswith("_")}
    assert bound <= set(table)


@pytest.mark.parametrize("command, function, table, struct, _", COMMANDS)
def test_options_have_one_default_and_are_explained(command, function, table, struct, _):
    parameters = inspect.signature(function).parameters
    core = getattr(_core, struct)()
    explained = function.__doc__ + (glint.fit.__doc__ if command == "localize" else "")
    for field, (keyword, _flag) in table.items():
        if keyword is None or (command == "localize" and field == "restart_batches"):
            continue
        assert keyword in parameters, f"glint.{command} does not take {keyword}"
        assert re.search(rf"\b{keyword}\b", explained), f"the docstring of glint.{command} does not explain {keyword}"
        if not hasattr(core, field) or field in BY_CALL:
            continue
        default, given = parameters[keyword].default, getattr(core, field)
        if isinstance(default, str):
            continue  # a choice, which is an enumeration in the library
        if default is None:
            assert given in NOT_GIVEN, f"{keyword}: None in Python, {given} in C++"
        else:
            assert default == pytest.approx(given), f"{keyword}: {default} in Python, {given} in C++"


@pytest.mark.parametrize("command, _function, table, struct, _", COMMANDS)
def test_options_are_flags_of_the_command_with_the_same_default(command, _function, table, struct, _):
    if not PROGRAM.exists():
        pytest.skip(f"{PROGRAM} is not here: the package is installed without the program")
    text = subprocess.run([PROGRAM, command, "--help"], capture_output=True, text=True, check=True).stdout
    core = getattr(_core, struct)()
    for field, (_keyword, flag) in table.items():
        if flag is None or (command == "localize" and field in ("batch_size", "restart_batches")):
            continue
        line = re.search(rf"^ .*{flag}\b.*$", text, re.M)
        assert line, f"glint {command} has no {flag}"
        shown = re.search(rf"{flag} \w+ \[([\d.]+)\]", line[0])
        if shown and hasattr(core, field):
            assert float(shown[1]) == pytest.approx(getattr(core, field)), f"{flag}"


def test_figures_of_a_fit_are_those_of_the_library(psf, camera):
    rois, _ = glint.simulate_rois(10, psf, camera, seed=1)
    names = [field.name for field in dataclasses.fields(glint.fit(rois, psf, camera).info)]
    assert sorted(names) == sorted(fields_of("FitInfo", "fit.hpp"))


def test_numbers_outside_their_limits():
    psf, camera = glint.GaussianXYNB(sigma_nm=130), glint.IdealCamera(pixel_size_nm=100, offset=100, gain=1)
    movie = glint.simulate(
        psf, camera, frames=2, width=np.int64(32), height=32, photons=np.array([500, 2000]), background=np.float32(5)
    ).movie
    with pytest.raises(glint.OptionError, match="threads=4097: give a whole number from 1 to 4096"):
        glint.localize(movie, psf, camera, threads=4097)
    for call in (glint.localize, glint.detect):
        with pytest.raises(glint.OptionError, match="threshold=0: give a number from 1 to 1000"):
            call(movie, psf, camera, threshold=0)


def test_what_is_computed_is_not_set():
    locs = glint.Localizations({"frame": [0], "x_px": [1.0], "y_px": [2.0]}, pixel_size_nm=100)
    with pytest.raises(glint.OptionError, match="x_nm is computed from x_px: set x_px"):
        locs.x_nm = locs.x_nm + 100
    with pytest.raises(glint.OptionError, match="x_nm is computed from x_px: set x_px"):
        locs["x_nm"] = [1]
    with pytest.raises(glint.OptionError, match="needs a name"):
        locs[""] = [1]


def test_simulations_beyond_memory_or_the_calibration_are_reported(psf, camera):
    with pytest.raises(
        glint.OptionError, match=r"1000000000 frames of 512x512 px take 5.24e\+05 GB of memory, of which"
    ):
        glint.simulate(psf, camera, frames=10**9, width=512, height=512)
    with pytest.raises(
        glint.OptionError, match=r"1e\+12 rows of truth, which take at least 9.6e\+04 GB of memory, of which"
    ):
        glint.simulate(psf, camera, frames=10**6, width=8, height=8, spots_per_frame=1e6)
    lens = glint.AstigmaticXYZNB(sx0_nm=140, sy0_nm=135, gamma_nm=200, d_nm=290)
    with pytest.warns(
        UserWarning,
        match=(
            "z from -5000 to 5000 nm reaches beyond the -600 to 600 nm of the calibration.*: give a smaller z_range_nm"
        ),
    ):
        glint.simulate(lens, camera, frames=2, width=16, height=16, z_range_nm=5000)
