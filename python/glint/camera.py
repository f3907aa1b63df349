"""Cameras: conversion of counts (ADU) to photoelectrons, and noise.

photoelectrons = (ADU - offset) * gain / em_gain / qe

offset="auto" and gain="auto": `localize()` and `detect()` estimate them from their movie, as `inspect()` does.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import dataclasses
from typing import Any, Literal

import numpy as np

from . import _core
from .arguments import INT32, completed_by, number, shown, two, whole
from .errors import OptionError, warn
from .old_names import renamed


_least_pixel_nm, _largest_pixel_nm = 1.0, 20000.0  # a smaller value is in um, a larger one is the edge on the chip


def _check_pixel_size(name, pixel_size_nm):
    if not _least_pixel_nm <= number("pixel_size_nm", pixel_size_nm, 100) <= _largest_pixel_nm:
        raise OptionError(
            f"{name}(pixel_size_nm={pixel_size_nm}): the edge of a camera pixel in the sample, in "
            "nanometres, as in pixel_size_nm=100"
        )


def _property(name, value):
    """Returns a number, or a map of the sensor (height, width) as float32."""
    try:
        array = np.asarray(value)
    except ValueError:  # rows of different lengths
        array = np.asarray(None)
    if array.dtype.kind not in "uif":
        raise OptionError(
            f"the camera's {name} is {shown(value)}: give a number, or an array (height, width) of the sensor"
        )
    if array.ndim == 0:
        return float(array)
    if array.ndim != 2:
        raise OptionError(f"the camera's {name} has the shape {array.shape}: give a number, or a map (height, width)")
    return np.ascontiguousarray(array, np.float32)


def _mask(value):
    """Returns a map of defective pixels as uint8; None if there are none."""
    if value is None:
        return None
    array = np.asarray(value)
    if array.dtype.kind not in "bui" or array.ndim != 2:
        raise OptionError(
            f"the camera's masked is {shown(value)}: give an array (height, width) of the sensor, True "
            f"where a pixel is defective"
        )
    return np.ascontiguousarray(array != 0).view(np.uint8)


def _text(value):
    if np.ndim(value) == 2:
        return f"<map {'x'.join(map(str, np.shape(value)))}>"
    if isinstance(value, str):
        return repr(value)
    return f"{value:g}" if np.ndim(value) == 0 else str(value)


def _same(a, b):
    """Whether two values are equal: numbers, maps, corners of maps, "auto" or None."""
    if a is None or b is None or isinstance(a, str) or isinstance(b, str):
        return a is b or (isinstance(a, str) and isinstance(b, str) and a == b)
    a, b = np.asarray(a), np.asarray(b)
    return a.shape == b.shape and bool(np.all((a == b) | ((a != a) & (b != b))))


class _Camera:
    _starting_values = ""  # note of a preset, for the table's metadata

    def _auto(self):
        """Returns the names of values to estimate from the movie."""
        return [
            name for name in ("offset", "gain") if isinstance(value := getattr(self, name), str) and value == "auto"
        ]

    def _corner(self):
        """Position of the movie's first pixel on the maps; None: unknown."""
        return getattr(self, "sensor_roi", None)

    def _has_maps(self):
        """Whether a value is a map, with one element per pixel of the sensor."""
        return any(np.ndim(getattr(self, field.name)) == 2 for field in dataclasses.fields(self))

    def _core(self, instead=None):
        """Returns the C++ object. instead: replaces "auto"; None: "auto" is refused."""
        auto = self._auto()
        if auto and instead is None:
            raise OptionError(
                f'{self}: "auto" is for glint.localize() and glint.detect(), which have a movie to '
                f"estimate from. Here give "
                f"a number for {' and '.join(auto)}, or "
                f"glint.inspect(movie).camera(pixel_size_nm={self.pixel_size_nm:g})"
            )
        corner = (0, 0) if self._corner() is None else two("sensor_roi", self._corner(), (0, 0))
        roi_x, roi_y = (whole(f"sensor_roi[{k}]", corner[k], 0, -INT32) for k in range(2))
        properties = (
            _property(name, instead if name in auto else getattr(self, name, default))
            for name, default in [("offset", 0.0), ("gain", 1.0), ("readnoise", 0.0), ("qe", 1.0)]
        )
        return _core.Camera(
            type(self).__name__,
            *properties,
            number("em_gain", getattr(self, "em_gain", 1.0), 300),
            roi_x,
            roi_y,
            _mask(getattr(self, "masked", None)),
        )

    def __eq__(self, other: object) -> bool:
        """Whether both cameras are of the same kind and have the same values. Compares maps pixel by pixel."""
        if type(other) is not type(self):
            return NotImplemented
        return all(_same(getattr(self, field.name), getattr(other, field.name)) for field in dataclasses.fields(self))

    __hash__ = None  # type: ignore[assignment]  # its values may be changed

    def __repr__(self) -> str:
        said = [
            f"{field.name}={_text(getattr(self, field.name))}"
            for field in dataclasses.fields(self)
            if not np.array_equal(getattr(self, field.name), field.default)
        ]
        return f"{type(self).__name__}({', '.join(said)})"


@renamed
@completed_by("glint.IdealCamera(pixel_size_nm=100, offset=100, gain=0.5)")
@dataclasses.dataclass(repr=False, eq=False)
class IdealCamera(_Camera):
    """A camera without read noise. With `offset=0, gain=1` its counts are photoelectrons.

    pixel_size_nm: edge of a camera pixel in the sample. offset: ADU of a dark pixel (baseline). gain: photoelectrons
    per ADU, not its inverse. "auto": estimated from the movie by `localize()` and `detect()`. qe: response relative to
    the sensor's mean.

    >>> glint.IdealCamera(pixel_size_nm=100, offset=100, gain=0.5)
    IdealCamera(pixel_size_nm=100, offset=100, gain=0.5)
    """

    pixel_size_nm: float
    offset: float | Literal["auto"]
    gain: float | Literal["auto"]
    qe: float = 1.0

    def __post_init__(self) -> None:
        _check_pixel_size("IdealCamera", self.pixel_size_nm)
        self._core(instead=1.0)


@renamed
@completed_by("glint.SCMOSCamera(pixel_size_nm=100, offset=100, gain=0.46, readnoise=1.6)")
@dataclasses.dataclass(repr=False, eq=False)
class SCMOSCamera(_Camera):
    """An sCMOS camera: read noise, and values that may be maps.

    offset (ADU), gain (photoelectrons per ADU), readnoise (photoelectrons rms) and qe (response relative to the
    sensor's mean) are numbers, or maps of the sensor of shape (height, width). offset and gain may be "auto": estimated
    from the movie by `localize()` and `detect()`. `sensor_roi` is the (column, row) on the sensor of the movie's first
    pixel; required if the maps are larger than the movie. masked: a map (height, width), True where a pixel is hot,
    dead or noisy; such pixels have no weight. With maps, ROIs need corners. `calibrate_camera()` measures an sCMOS
    camera, `load_camera()` reads one from camera.toml.
    """

    pixel_size_nm: float
    offset: float | np.ndarray | Literal["auto"]
    gain: float | np.ndarray | Literal["auto"]
    readnoise: float | np.ndarray = 0.0
    qe: float | np.ndarray = 1.0
    sensor_roi: tuple[int, int] | None = None
    masked: np.ndarray | None = None

    def __post_init__(self) -> None:
        _check_pixel_size("SCMOSCamera", self.pixel_size_nm)
        self._core(instead=1.0)


@renamed
@completed_by("glint.EMCCDCamera(pixel_size_nm=100, offset=100, gain=15.6, em_gain=300, readnoise=74)")
@dataclasses.dataclass(repr=False, eq=False)
class EMCCDCamera(_Camera):
    """An EMCCD camera: electron multiplication, whose excess noise doubles the variance.

    gain: photoelectrons per ADU before multiplication. readnoise: photoelectrons rms, before em_gain is divided out.
    The other arguments are those of SCMOSCamera. Each value may be a map.
    """

    pixel_size_nm: float
    offset: float | np.ndarray | Literal["auto"]
    gain: float | np.ndarray | Literal["auto"]
    em_gain: float
    readnoise: float | np.ndarray = 0.0
    qe: float | np.ndarray = 1.0
    sensor_roi: tuple[int, int] | None = None
    masked: np.ndarray | None = None

    def __post_init__(self) -> None:
        _check_pixel_size("EMCCDCamera", self.pixel_size_nm)
        self._core(instead=1.0)


Camera = IdealCamera | SCMOSCamera | EMCCDCamera


def core_camera(camera: Any, instead: float | None = None) -> _core.Camera:
    """Returns the C++ object of a camera. instead: replaces "auto"; without `instead`, "auto" is refused."""
    if not isinstance(camera, Camera):
        raise OptionError(
            f"camera={shown(camera)} is no camera: give one as in "
            "camera=glint.IdealCamera(pixel_size_nm=100, offset=100, gain=0.5)"
        )
    return camera._core(instead)


def camera_of_movie(camera: Any, movie: Any) -> _core.Camera:
    """Returns the C++ camera for this movie.

    Raises OptionError if the maps are larger than the movie and the movie's position on them is unknown.
    """
    core = core_camera(camera)
    if camera._corner() is None:
        _core.require_known_corner(core, movie._movie)
    return core


def camera_of_rois(camera: Any, shape: tuple[int, int] | None) -> _core.Camera:
    """As camera_of_movie(), for ROIs. shape: (height, width) of the movie, or of the part that the ROIs cover; None:
    unknown."""
    core = core_camera(camera)
    if shape is not None and camera._corner() is None:
        _core.require_known_corner_of_rois(core, shape[1], shape[0], "rois")
    return core


def warn_of_pixel_size(camera: Camera, movie: Any) -> None:
    """Warns if the movie's metadata contain another pixel size. `localize()` warns by itself."""
    if text := _core.pixel_size_contradiction(movie._movie, camera.pixel_size_nm):
        warn(text)
