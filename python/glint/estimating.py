"""Estimates camera and PSF values given as "auto" from the movie: offset, gain, sigma_nm."""

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


class WithEstimates(NamedTuple):
    """PSF and camera with estimates instead of "auto". Also the estimates by name (`offset`, `gain`, `sigma_px`) and as
    text.
    """

    psf: Any
    camera: Any
    estimated: dict[str, Estimate]
    text: str


def with_estimates(psf: Any, camera: Any, movie: Movie) -> WithEstimates:
    """Estimates the values given as "auto" from the movie. Reads no frames if no value is "auto".

    Raises OptionError if a value cannot be estimated.
    """
    description_of(psf)
    known = core_camera(camera, instead=1.0)
    wanted = {name: f'{name}="auto"' for name in (*camera._auto(), *psf._auto())}
    if not wanted:
        return WithEstimates(psf, camera, {}, "")
    sigma = wanted.get("sigma_nm") or wanted.get("sigma_px", "")
    values, text = _core.estimate_parameters(
        movie._movie, known, wanted.get("offset", ""), wanted.get("gain", ""), sigma
    )
    found = {name: Estimate(*value) for name, value in values.items()}
    numbers = {name: found[name].value for name in camera._auto()}
    if sigma:
        psf = dataclasses.replace(psf, sigma_nm=None, sigma_px=found["sigma_px"].value)
    return WithEstimates(psf, dataclasses.replace(camera, **numbers), found, text)
