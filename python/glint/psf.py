"""The point spread function (PSF): the image of a single molecule.

The models below are Gaussians integrated over the pixels. Models that were added to the library may have any shape. A
model's name lists the fitted parameters: X, Y, N (photons), B (background), S (one width), SXSY (two widths), Z.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import dataclasses
import math
import operator
from typing import Any, Literal

import numpy as np

from . import _core
from .arguments import completed_by, number, shown, whole
from .errors import OptionError
from .old_names import renamed

descriptions: dict[str, _core.PsfDescription] = {model.name: model for model in _core.psf_models()}


_narrowest_nm, _widest_nm, _least_depth_nm = 1.0, 10000.0, 10.0  # smaller values are probably in um


class Psf:
    """A point spread function (PSF) model with its values. Base of the classes below."""

    def _auto(self):
        """Returns the names of values to estimate from the movie."""
        return [
            name
            for name in ("sigma_nm", "sigma_px")
            if isinstance(value := getattr(self, name, None), str) and value == "auto"
        ]

    def _numbers(self):
        """Returns the model-specific numbers, in the library's order."""
        numbers = descriptions[type(self).__name__].numbers
        return [number(n.name, getattr(self, n.name), n.default_value) for n in numbers]


@dataclasses.dataclass(frozen=True)
class _Sigma(Psf):
    """A width in nanometres or in camera pixels: exactly one of them, which may be "auto"."""

    sigma_nm: float | Literal["auto"] | None = None
    _: dataclasses.KW_ONLY
    sigma_px: float | Literal["auto"] | None = None

    def __post_init__(self) -> None:
        name = type(self).__name__
        if (self.sigma_nm is None) == (self.sigma_px is None):
            raise OptionError(f"{name} needs its width, once: {name}(sigma_nm=130) or {name}(sigma_px=1.3)")
        if self._auto():
            return
        width = self.sigma_nm if self.sigma_px is None else self.sigma_px
        if (
            self.sigma_nm is not None
            and isinstance(self.sigma_nm, (int, float))
            and (0 < self.sigma_nm < _narrowest_nm or _widest_nm < self.sigma_nm < math.inf)
        ):
            raise OptionError(
                f"{name}(sigma_nm={self.sigma_nm}): nanometres, as in sigma_nm=130; no PSF is narrower than "
                f"{_narrowest_nm:g} or wider than {_widest_nm:g}"
            )
        if (
            not 0
            < number("sigma_nm" if self.sigma_px is None else "sigma_px", width, 130 if self.sigma_px is None else 1.3)
            < math.inf
        ):
            raise OptionError(f"{name}: a width of {width!r}: give a number greater than 0")

    def _core(self, pixel_size_nm):
        if self._auto():
            raise OptionError(
                f'{self}: "auto" is for glint.localize() and glint.detect(), which have a movie to '
                f"estimate from. Here give a "
                "number, as of glint.inspect(movie).sigma_px"
            )
        if self.sigma_px is not None:
            sigma_nm = float(self.sigma_px) * float(pixel_size_nm or 1000)
        elif pixel_size_nm:
            sigma_nm = float(self.sigma_nm)
        else:
            name = type(self).__name__
            raise OptionError(
                f"{self}: a width in nanometres needs the size of a pixel: give a camera, as in "
                f"camera=glint.IdealCamera(pixel_size_nm=100, offset=100, gain=0.5), or the width in "
                f"pixels, {name}(sigma_px=1.3)"
            )
        return _core.Psf(type(self).__name__, sigma_nm, _core.AstigmaticCurve(), self._numbers())

    def __repr__(self) -> str:
        text = f"sigma_nm={self.sigma_nm!r}" if self.sigma_px is None else f"sigma_px={self.sigma_px!r}"
        for n in descriptions[type(self).__name__].numbers:
            text += f", {n.name}={getattr(self, n.name)}"
        return f"{type(self).__name__}({text})"


@renamed
@dataclasses.dataclass(frozen=True, repr=False)
class GaussianXYNB(_Sigma):
    """A Gaussian of a known width: position, photons and background are fitted.

    `sigma_nm` is the standard deviation in the sample, about 0.21 wavelength / NA; `sigma_px` the same in camera
    pixels. sigma_nm="auto": estimated from the movie by `localize()` and `detect()`.

    >>> glint.GaussianXYNB(sigma_nm=130)
    GaussianXYNB(sigma_nm=130)
    """


@renamed
@dataclasses.dataclass(frozen=True, repr=False)
class GaussianXYNBS(_Sigma):
    """A Gaussian with one free width, which starts at `sigma_nm` (or `sigma_px`)."""


@renamed
@dataclasses.dataclass(frozen=True, repr=False)
class GaussianXYNBSXSY(_Sigma):
    """A Gaussian with free widths along x and y, which start at `sigma_nm` (or `sigma_px`)."""


@renamed
@completed_by("glint.AstigmaticXYZNB(sx0_nm=140, sy0_nm=135, gamma_nm=200, d_nm=290)")
@dataclasses.dataclass(frozen=True)
class AstigmaticXYZNB(Psf):
    """A Gaussian whose two widths depend on z, by a calibrated astigmatic lens (Huang et al., Science 319, 810 (2008)).

    sigma_x(z) = sx0 sqrt(1 + u^2 + ax u^3 + bx u^4) with u = (z - gamma) / d. sigma_y(z) has the same form with
    u = (z + gamma) / d; all in nanometres. z stays within [z_min_nm, z_max_nm]. `load_calibration()` and
    `calibrate_astigmatism()` return such a PSF.

    roi_size, pixel_size_nm: the window in which the widths were measured, px, and the edge of its pixels. The widths of
    a real PSF depend on the window, so z is correct in this window only, which is the default of `localize()`. 0: valid
    in any window. -1: unknown; `localize()` and `fit()` warn.

    >>> psf = glint.AstigmaticXYZNB(sx0_nm=140, sy0_nm=135, gamma_nm=200, d_nm=290)
    >>> round(psf.sigma_x_nm(200), 3)
    140.0
    """

    sx0_nm: float
    sy0_nm: float
    gamma_nm: float
    d_nm: float
    ax: float = 0.0
    bx: float = 0.0
    ay: float = 0.0
    by: float = 0.0
    z_min_nm: float = -600.0
    z_max_nm: float = 600.0
    roi_size: int = 0
    pixel_size_nm: float = 0.0

    def __post_init__(self) -> None:
        self._curve()

    def _curve(self):
        curve = _core.AstigmaticCurve()
        for field in dataclasses.fields(AstigmaticXYZNB):
            name, value = field.name, getattr(self, field.name)
            if name == "roi_size":
                curve.roi_size = whole(name, value, 13, -1)
            elif name.endswith("_nm"):
                setattr(curve, name, _length(name, value))
            else:
                setattr(curve, name, number(name, value, 0.1))
        return curve

    @renamed
    def sigma_x_nm(self, z_nm: float) -> float:
        """The width along x at z."""
        return self._curve().sigma_x_nm(float(z_nm))

    @renamed
    def sigma_y_nm(self, z_nm: float) -> float:
        """The width along y at z."""
        return self._curve().sigma_y_nm(float(z_nm))

    def _core(self, pixel_size_nm):
        _need_pixel_size(self, pixel_size_nm)
        return _core.Psf(type(self).__name__, 0.0, self._curve(), self._numbers())

    @classmethod
    def _of_curve(cls, curve):
        return cls(**{field.name: getattr(curve, field.name) for field in dataclasses.fields(cls)})


def _need_pixel_size(psf, pixel_size_nm):
    if not pixel_size_nm:
        raise OptionError(
            f"{type(psf).__name__} is in nanometres and needs the size of a pixel: give a camera, as "
            "in camera=glint.IdealCamera(pixel_size_nm=100, offset=100, gain=0.5)"
        )


def _length(name, value):
    """Returns a length of a lens. Refuses implausible values."""
    if name in ("sx0_nm", "sy0_nm", "d_nm", "pixel_size_nm") and 0 < number(name, value, 140) < _narrowest_nm:
        raise OptionError(f"{name}={value}: nanometres, as in {name}=140")
    return number(name, value, 140)


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class _Table(Psf):
    """Coefficients: an array of float32 of one to four dimensions, for camera pixels of one size and a range of z. A
    table of one plane has no z.

    samples_per_px: coefficients along the edge of a pixel, 1 or 2.
    field: (left_px, top_px, cell_px) for a PSF that changes over the field of view. The table's first two of five
    dimensions are then rows and columns of square cells, with the edge cell_px. The first cell begins at (left_px,
    top_px) in the movie, or on the sensor if the camera has maps.
    """

    table: Any
    _: dataclasses.KW_ONLY
    pixel_size_nm: float
    z_min_nm: float = 0.0
    z_max_nm: float = 0.0
    samples_per_px: int = 1
    field: tuple[float, float, float] | None = None

    def __post_init__(self) -> None:
        scale = [_length(name, getattr(self, name)) for name in ("pixel_size_nm", "z_min_nm", "z_max_nm")]
        if 0 < self.z_max_nm - self.z_min_nm < _least_depth_nm:
            raise OptionError(
                f"z from {self.z_min_nm} to {self.z_max_nm}: nanometres, as in z_min_nm=-600, z_max_nm=600"
            )
        # A copy: later changes by the array's owner must not affect this object or its copies.
        try:
            given = np.asarray(self.table)
        except ValueError as error:
            raise OptionError(f"{type(self).__name__}: the table is no array of numbers: {error}") from None
        if given.dtype.kind not in "fiu" or np.ma.is_masked(self.table):
            what = "a mask" if given.dtype.kind in "fiu" else f"values of type {given.dtype}"
            raise OptionError(f"{type(self).__name__}: a table with {what}: give an array of float32")
        with np.errstate(over="ignore"):  # infinity is refused below
            table = np.array(given, np.float32, order="C", ndmin=1)
        table.setflags(write=False)
        # Created once: all copies of the PSF share it, and a GPU stores it once.
        made = _core.PsfTable(table, *scale, operator.index(self.samples_per_px), self._place())
        object.__setattr__(self, "table", table)
        object.__setattr__(self, "_made", made)

    def _place(self):
        if self.field is None:
            return None
        if not isinstance(self.field, (tuple, list)) or len(self.field) != 3:
            raise OptionError(
                f"field={shown(self.field)}: give (left_px, top_px, cell_px), as in field=(-0.5, -0.5, 64)"
            )
        return tuple(number(f"field[{k}]", value, 64) for k, value in enumerate(self.field))

    def __eq__(self, other) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self._values() == other._values()

    def __hash__(self) -> int:
        return hash(self._values())

    def _values(self):
        names = [n.name for n in descriptions[type(self).__name__].numbers]
        return (type(self).__name__, self._made.hash, *(getattr(self, name) for name in names))

    def __getstate__(self):
        return {name: value for name, value in self.__dict__.items() if name != "_made"}

    def __setstate__(self, state) -> None:
        self.__dict__.update(state)
        self.__post_init__()

    def _core(self, pixel_size_nm):
        _need_pixel_size(self, pixel_size_nm)
        return _core.Psf(type(self).__name__, 0.0, _core.AstigmaticCurve(), self._numbers(), self._made)

    def __repr__(self) -> str:
        shape = " x ".join(map(str, np.shape(self.table)))
        z = f", z from {self.z_min_nm:g} to {self.z_max_nm:g} nm" if self.z_max_nm > self.z_min_nm else ""
        return f"{type(self).__name__}(<table of {shape}>{z})"


def _class_of(model):
    """Creates a class for a model that has none above: with a width, calibration or table, and model-specific
    numbers."""
    fields = [(n.name, float, dataclasses.field(default=n.default_value, kw_only=True)) for n in model.numbers]
    base = _Table if model.has_table else AstigmaticXYZNB if model.calibrated else _Sigma
    made = dataclasses.make_dataclass(model.name, fields, bases=(base,), frozen=True, repr=False, eq=base is not _Table)
    if not model.has_table:  # models from before the new names
        made = renamed(made)
    made.__module__ = __name__
    meanings = "".join(
        f"\n\n{n.name}: {n.description}; default {n.default_value:g}, from {n.min:g} to {n.max:g}."
        for n in model.numbers
    )
    made.__doc__ = (
        f"A PSF with {model.about}, of "
        + (
            "a table of coefficients."
            if model.has_table
            else "a calibration."
            if model.calibrated
            else "the width `sigma_nm` (or `sigma_px`)."
        )
        + meanings
    )
    return made


models: dict[str, type[Any]] = {name: globals().get(name) or _class_of(model) for name, model in descriptions.items()}
globals().update(models)  # where pickle searches for the class


def description_of(psf: Any) -> _core.PsfDescription:
    """Returns the description of a PSF's model."""
    if not isinstance(psf, Psf):
        raise OptionError(f"psf={shown(psf)} is no PSF: give one as in psf=glint.GaussianXYNB(sigma_nm=130)")
    return descriptions[type(psf).__name__]


def core_psf(psf: Any, pixel_size_nm: float | None) -> _core.Psf:
    """Returns the C++ object of a PSF. Without a pixel size, a pixel counts as 1000 nm."""
    description_of(psf)
    return psf._core(pixel_size_nm)
