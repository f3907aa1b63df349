"""What cameras and PSFs leave to the movie: offset="auto", gain="auto", sigma_nm="auto"."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

from . import _core
from .camera import core_camera
from .movies import Movie
from .psf import description_of


class Estimate(NamedTuple):
    """A value and its standard error."""

    value: float
    error: float


class Told(NamedTuple):
    """PSF and camera with numbers in place of "auto"; these numbers by name (`offset`, `gain`, `sigma_px`), and as a text."""

    psf: Any
    camera: Any
    estimated: dict[str, Estimate]
    text: str


def with_estimates(psf: Any, camera: Any, movie: Movie) -> Told:
    """Estimates from the movie what is "auto". Without it nothing is read. OptionError where the movie does not tell a value."""
    description_of(psf)
    known = core_camera(camera, instead=1.0)
    wanted = {name: f'{name}="auto"' for name in (*camera._auto(), *psf._auto())}
    if not wanted:
        return Told(psf, camera, {}, "")
    sigma = wanted.get("sigma_nm") or wanted.get("sigma_px", "")
    values, text = _core.tell_values(movie._movie, known, wanted.get("offset", ""), wanted.get("gain", ""), sigma)
    found = {name: Estimate(*value) for name, value in values.items()}
    numbers = {name: found[name].value for name in camera._auto()}
    if sigma:
        psf = dataclasses.replace(psf, sigma_nm=None, sigma_px=found["sigma_px"].value)
    return Told(psf, dataclasses.replace(camera, **numbers), found, text)
