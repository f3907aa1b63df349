# Options that messages name are arguments that exist.
# SPDX-License-Identifier: MIT
import inspect
import re

import glint
import glint.offload
import pytest
from glint import _core


def arguments():
    """The names of all arguments of what glint offers."""
    names = set()
    for module in (glint, glint.gpu, glint.offload):
        for name in dir(module):
            try:
                names |= set(inspect.signature(getattr(module, name)).parameters)
            except (TypeError, ValueError, AttributeError):
                pass
    return names


def test_every_spelling_is_an_argument_or_a_call():
    there = arguments()
    for option, name in _core.spellings.items():
        if re.fullmatch(r"\w+=?", name):
            assert name.rstrip("=") in there or option == "calibration", option
        elif name.startswith("glint."):
            path, _, given = name.removesuffix(")").partition("(")
            found = glint
            for part in path.split(".")[1:]:
                found = getattr(found, part)
            assert not given or given.partition("=")[0] in inspect.signature(found).parameters, option


@pytest.mark.parametrize(
    "message, spelled",
    [
        ("give `pixel_size=100nm`", "give pixel_size_nm=100"),
        ("`sigma=130nm` or `sigma=1.3px`", "sigma_nm=130 or sigma_px=1.3"),
        ("`z_step=20nm`, `radius=30nm`, `tile=5um`", "z_step_nm=20, radius_nm=30, tile_nm=5000"),
        ("usable: `frames=0:3`", "usable: frames=(0, 3)"),
        ("`z_range=-400:400` `sensor_roi=X,Y`", "z_range_nm=(-400, 400) sensor_roi=(X, Y)"),
        ("`backend=cpu`, `gain=0.5`, `gain=auto`", 'backend="cpu", gain=0.5, gain="auto"'),
        ("`overwrite`", "overwrite=True"),
        ("`calibration=FILE`", "psf=glint.load_calibration(FILE)"),
        ("`psf_number=ratio=1.5`", "ratio=1.5"),
        ("`column=x [nm]=2`", 'columns={"x [nm]": "2"}'),
        ("`filter_where=frame < 9`", 'glint.filter(locs, "frame < 9")'),
        ("`table_pixel_size=100nm` `written_pixel_size=100nm`", "pixel_size_nm=100 locs.pixel_size_nm = 100"),
        ("`roi_size", "`roi_size"),
        ("`glint top` and `z`", "`glint top` and z"),
    ],
)
def test_options_are_written_as_arguments(message, spelled):
    assert _core.spelled(message) == spelled
