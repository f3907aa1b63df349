"""The point spread function (PSF): the image of a single molecule.

The models below are Gaussians integrated over the pixels; one that was added to the library may have any shape. A model's
name lists the fitted parameters: X, Y, N (photons), B (background), S (one width), SXSY (two widths), Z.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import dataclasses
import math
from typing import Any, Literal

from . import _core
from .arguments import completed_by, number, shown, whole
from .errors import OptionError

descriptions: dict[str, _core.PsfDescription] = {model.name: model for model in _core.psf_models()}


_widest_um = 10.0  # more is a value in nm


class Psf:
    """A point spread function (PSF) model with its values; base of the classes below."""

    def _auto(self):
        """The values that a movie shall tell."""
        return [
            name
            for name in ("sigma_um", "sigma_px")
            if isinstance(value := getattr(self, name, None), str) and value == "auto"
        ]

    def _numbers(self):
        """The model-specific numbers, in the library's order."""
        return [number(n.name, getattr(self, n.name), n.usual) for n in descriptions[type(self).__name__].numbers]


@dataclasses.dataclass(frozen=True)
class _Sigma(Psf):
    """A width in micrometres or in camera pixels: exactly one of them, or "auto" in its place."""

    sigma_um: float | Literal["auto"] | None = None
    _: dataclasses.KW_ONLY
    sigma_px: float | Literal["auto"] | None = None

    def __post_init__(self) -> None:
        name = type(self).__name__
        if (self.sigma_um is None) == (self.sigma_px is None):
            raise OptionError(f"{name} needs its width, once: {name}(sigma_um=0.13) or {name}(sigma_px=1.3)")
        if self._auto():
            return
        width = self.sigma_um if self.sigma_px is None else self.sigma_px
        if (
            self.sigma_um is not None
            and isinstance(self.sigma_um, (int, float))
            and _widest_um < self.sigma_um < math.inf
        ):
            raise OptionError(
                f"{name}(sigma_um={self.sigma_um}): micrometres, as in sigma_um=0.13 for 130 nm; no PSF is "
                f"wider than {_widest_um:g}"
            )
        if (
            not 0
            < number("sigma_um" if self.sigma_px is None else "sigma_px", width, 0.13 if self.sigma_px is None else 1.3)
            < math.inf
        ):
            raise OptionError(f"{name}: a width of {width!r}: give a number greater than 0")

    def _core(self, pixel_size_um):
        if self._auto():
            raise OptionError(
                f'{self}: "auto" is for glint.localize() and glint.detect(), which have a movie to estimate from. Here give a '
                "number, as of glint.inspect(movie).sigma_px"
            )
        if self.sigma_px is not None:
            sigma_um = float(self.sigma_px) * (pixel_size_um or 1)
        elif pixel_size_um:
            sigma_um = float(self.sigma_um)
        else:
            name = type(self).__name__
            raise OptionError(
                f"{self}: a width in micrometres needs the size of a pixel: give a camera, as in "
                f"camera=glint.IdealCamera(pixel_size_um=0.1, offset=100, gain=0.5), or the width in pixels, {name}(sigma_px=1.3)"
            )
        return _core.Psf(type(self).__name__, sigma_um, _core.AstigmaticCurve(), self._numbers())

    def __repr__(self) -> str:
        text = f"sigma_um={self.sigma_um!r}" if self.sigma_px is None else f"sigma_px={self.sigma_px!r}"
        for n in descriptions[type(self).__name__].numbers:
            text += f", {n.name}={getattr(self, n.name)}"
        return f"{type(self).__name__}({text})"


@dataclasses.dataclass(frozen=True, repr=False)
class GaussianXYNB(_Sigma):
    """A Gaussian of a known width: position, photons and background are fitted.

    `sigma_um` is the standard deviation in the sample, about 0.21 wavelength / NA; `sigma_px` the same in camera
    pixels. sigma_um="auto": estimated from the movie by `localize()` and `detect()`.

    >>> glint.GaussianXYNB(sigma_um=0.13)
    GaussianXYNB(sigma_um=0.13)
    """


@dataclasses.dataclass(frozen=True, repr=False)
class GaussianXYNBS(_Sigma):
    """A Gaussian with one free width, which starts at `sigma_um` (or `sigma_px`)."""


@dataclasses.dataclass(frozen=True, repr=False)
class GaussianXYNBSXSY(_Sigma):
    """A Gaussian with free widths along x and y, which start at `sigma_um` (or `sigma_px`)."""


@completed_by("glint.AstigmaticXYZNB(sx0_um=0.14, sy0_um=0.135, gamma_um=0.2, d_um=0.29)")
@dataclasses.dataclass(frozen=True)
class AstigmaticXYZNB(Psf):
    """A Gaussian whose two widths depend on z, by a calibrated astigmatic lens (Huang et al., Science 319, 810 (2008)).

    sigma_x(z) = sx0 sqrt(1 + u^2 + ax u^3 + bx u^4) with u = (z - gamma) / d, and sigma_y(z) likewise with
    u = (z + gamma) / d; all in micrometres. z stays within [z_min_um, z_max_um]. `load_calibration()` and
    `calibrate_astigmatism()` return one.

    roi_size, pixel_size_um: the window in which the widths were measured, px, and the edge of its pixels. The widths of a
    real PSF depend on the window, so z is correct in this one only, which is the default of `localize()`. 0: valid in any.
    -1: unknown; `localize()` and `fit()` warn.

    >>> psf = glint.AstigmaticXYZNB(sx0_um=0.14, sy0_um=0.135, gamma_um=0.2, d_um=0.29)
    >>> round(psf.sigma_x_um(0.2), 3)
    0.14
    """

    sx0_um: float
    sy0_um: float
    gamma_um: float
    d_um: float
    ax: float = 0.0
    bx: float = 0.0
    ay: float = 0.0
    by: float = 0.0
    z_min_um: float = -0.6
    z_max_um: float = 0.6
    roi_size: int = 0
    pixel_size_um: float = 0.0

    def __post_init__(self) -> None:
        self._curve()

    def _curve(self):
        curve = _core.AstigmaticCurve()
        for field in dataclasses.fields(AstigmaticXYZNB):
            value = getattr(self, field.name)
            setattr(
                curve,
                field.name,
                whole("roi_size", value, 13, -1) if field.name == "roi_size" else number(field.name, value, 0.1),
            )
        return curve

    def sigma_x_um(self, z_um: float) -> float:
        """The width along x at z."""
        return self._curve().sigma_x_um(z_um)

    def sigma_y_um(self, z_um: float) -> float:
        """The width along y at z."""
        return self._curve().sigma_y_um(z_um)

    def _core(self, pixel_size_um):
        if not pixel_size_um:
            raise OptionError(
                f"{type(self).__name__} is in micrometres and needs the size of a pixel: give a camera, as "
                "in camera=glint.IdealCamera(pixel_size_um=0.1, offset=100, gain=0.5)"
            )
        return _core.Psf(type(self).__name__, 0.0, self._curve(), self._numbers())

    @classmethod
    def _of_curve(cls, curve):
        return cls(**{field.name: getattr(curve, field.name) for field in dataclasses.fields(cls)})


def _class_of(model):
    """A class for a model without one above: with a width or a calibration, and the model-specific numbers."""
    fields = [(n.name, float, dataclasses.field(default=n.usual, kw_only=True)) for n in model.numbers]
    base = AstigmaticXYZNB if model.calibrated else _Sigma
    made = dataclasses.make_dataclass(model.name, fields, bases=(base,), frozen=True, repr=False)
    made.__module__ = __name__
    meanings = "".join(
        f"\n\n{n.name}: {n.meaning}; {n.usual:g} unless given, from {n.low:g} to {n.high:g}." for n in model.numbers
    )
    made.__doc__ = (
        f"A PSF with {model.about}, of "
        + ("a calibration." if model.calibrated else "the width `sigma_um` (or `sigma_px`).")
        + meanings
    )
    return made


models: dict[str, type[Any]] = {name: globals().get(name) or _class_of(model) for name, model in descriptions.items()}


def description_of(psf: Any) -> _core.PsfDescription:
    """The description of a PSF's model."""
    if not isinstance(psf, Psf):
        raise OptionError(f"psf={shown(psf)} is no PSF: give one as in psf=glint.GaussianXYNB(sigma_um=0.13)")
    return descriptions[type(psf).__name__]


def core_psf(psf: Any, pixel_size_um: float | None) -> _core.Psf:
    """The C++ object of a PSF; without a pixel size, a pixel is 1 um."""
    description_of(psf)
    return psf._core(pixel_size_um)
