"""The camera's calibration: offset, read noise, gain and faults of every pixel."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from . import _core
from .arguments import callback, number, path as path_of, switch
from .camera import EMCCDCamera, SCMOSCamera, _check_pixel_size
from .errors import OptionError, warn
from .estimating import Estimate
from .fits import Progress
from .localizations import StrPath
from .movies import MovieLike, open_movie
from .old_names import renamed


@dataclasses.dataclass(frozen=True)
class LightLevel:
    """A movie of constant light, or a part of a ramp."""

    name: str  #: name of the movie; for a ramp with its frames: "ramp.tif, frames 0:500"
    frames: int
    mean_adu: float  #: median over pixels of the mean above the offset
    variance_adu2: float  #: median over pixels
    light_spread: float  #: relative standard deviation of the light over the frames
    drift: float  #: share of the variance by slow changes that differed between pixels; 0: none
    of_ramp: bool
    sample_mean_adu: np.ndarray = dataclasses.field(
        repr=False, compare=False
    )  #: mean of each pixel in `CameraCalibration.sample`
    sample_variance_adu2: np.ndarray = dataclasses.field(repr=False, compare=False)


@dataclasses.dataclass(frozen=True)
class DarkChange:
    """The dark movies, or parts of one, with the lowest and the highest mean."""

    lowest: str
    lowest_adu: float
    highest: str
    highest_adu: float
    share: float  #: variance by changes of the offset over read variance; 0: no change beyond chance


@renamed
@dataclasses.dataclass(frozen=True, eq=False)
class CameraCalibration:
    """The result of `calibrate_camera()`.

    Maps are arrays (height, width). Maps of the gain are None if no light was measured.
    """

    offset: np.ndarray  #: ADU
    offset_error: np.ndarray  #: standard error of the offset; all names ending in `_error` are standard errors
    readvar: np.ndarray  #: variance of the read noise, ADU^2
    readvar_error: np.ndarray
    gain: np.ndarray | None  #: photoelectrons per ADU; the sensor's gain in pixels whose own gain is too uncertain
    gain_error: np.ndarray | None
    gain_chi2: (
        np.ndarray | None
    )  #: reduced chi-squared of each pixel's line; 0: unknown. None with fewer than two levels
    faults: np.ndarray  #: uint8: 0 good, 1 hot, 2 dead, 3 noisy
    levels: list[LightLevel]
    sample: (
        np.ndarray
    )  #: pixels (y * width + x) of the photon transfer curve: up to 1,000 good ones, then up to as many bad ones
    dark_change: DarkChange
    em_gain: float  #: above 1: an EMCCD. `gain` is the gain before EM multiplication
    sensor_readvar: float  #: ADU^2, of a typical pixel: the median, corrected for its bias with few frames
    sensor_gain: Estimate | None  #: photoelectrons per ADU: measured, or as given (with error 0)
    pixel_gain_error: float  #: median relative standard error of one pixel's gain
    gain_spread: float  #: relative standard deviation of the true gains over the sensor
    error_factor: float  #: factor by which misfits of the line increased the error of `sensor_gain`; 1: none
    mean_chi2: float  #: mean of `gain_chi2` over good pixels; 0: unknown
    own_gains: int  #: pixels with a gain of their own
    saturated: int  #: pairs of a pixel and a level, excluded because of saturation
    expected_false_alarms: float  #: maximum expected number of good pixels in `faults`
    dark_frames: int
    pixel_size_nm: float | None  #: as given, or from the metadata of the dark movie
    _measured: Any = dataclasses.field(repr=False)
    _inputs: list[str] = dataclasses.field(repr=False)

    @property
    def masked(self) -> np.ndarray:
        """True where a pixel is hot, dead or noisy."""
        return self.faults != 0

    @property
    def camera(self) -> SCMOSCamera | EMCCDCamera:
        """The calibrated camera, for `localize()`. Raises OptionError if the gain or the pixel size is unknown."""
        if self.sensor_gain is None:
            raise OptionError(
                "calibrate_camera(): the gain is not known: give movies of light= or ramp=, or gain=, "
                "photoelectrons per ADU"
            )
        if self.pixel_size_nm is None:
            raise OptionError(
                "calibrate_camera(): the size of a pixel is not known: give pixel_size_nm=100, what is true of yours"
            )
        gain = np.float32(self.sensor_gain.value) if self.gain is None else self.gain
        values: dict[str, Any] = dict(
            pixel_size_nm=self.pixel_size_nm,
            offset=self.offset,
            gain=float(gain) if self.gain is None else gain,
            readnoise=np.sqrt(self.readvar) * gain,
            masked=self.masked,
        )
        return EMCCDCamera(**values, em_gain=self.em_gain) if self.em_gain > 1 else SCMOSCamera(**values)

    def save(self, path: StrPath, *, overwrite: bool = False) -> None:
        """Writes camera.toml and, beside it, its maps with their errors, camera_maps.hdf5, as `glint calibrate camera`
        does.
        """
        path = path_of("path", path)
        if not path.lower().endswith(".toml"):
            raise OptionError(f"{path}: a camera is written to a name that ends in .toml")
        pixel_nm = 0.0 if self.pixel_size_nm is None else self.pixel_size_nm
        _core.write_camera(path, self._measured, pixel_nm, switch("overwrite", overwrite), self._inputs)

    def __repr__(self) -> str:
        height, width = self.offset.shape
        gain = "no gain" if self.sensor_gain is None else f"{self.sensor_gain.value:.4g} e-/ADU"
        return (
            f"<CameraCalibration of {width}x{height} px: offset {np.median(self.offset):.2f} ADU, {gain}, "
            f"{np.count_nonzero(self.faults)} bad pixels>"
        )


@renamed
def calibrate_camera(
    dark: MovieLike,
    light: MovieLike | list[MovieLike] | None = None,
    *,
    ramp: MovieLike | list[MovieLike] | None = None,
    pixel_size_nm: float | None = None,
    gain: float | None = None,
    em_gain: float | None = None,
    progress: Progress | None = None,
) -> CameraCalibration:
    """Measures offset, read noise and gain of every pixel, and finds bad ones, as `glint calibrate camera` does.

    dark: a movie without light, as for `open_movie()`. A list of files is one movie.
    light: a movie of constant light, or a list or tuple of movies with different levels. The gain follows from variance
        over mean (docs/explanation/theory.md, section 12). Each movie needs at least 2 frames, better 1,000, of the
        same part of the sensor.
    ramp: movies with slowly rising or falling light, instead of levels or in addition; at least 20 frames, better
        5,000.
    pixel_size_nm: edge of a camera pixel in the sample, which `camera` needs. Default: from the dark movie's metadata.
    gain: photoelectrons per ADU, if there are only dark movies.
    em_gain: EM gain of all movies, if the camera is an EMCCD. Default: from the metadata, else none. Without the EM
        gain of an EMCCD, the measured gain is half of the true gain over the EM gain.
    progress: called as progress(frames, all).

    Warns about doubtful results. Raises InputError for movies that cannot be used: different sizes, saturation, or
    light that is not brighter than the dark.

    >>> frames = np.random.default_rng(1).normal(100, 2, (50, 32, 48)).round().astype(np.uint16)
    >>> calibration = glint.calibrate_camera(frames, gain=0.5, pixel_size_nm=100)
    >>> calibration.offset.shape, bool(abs(calibration.offset.mean() - 100) < 0.1)
    ((32, 48), True)

    `calibration.camera` is for `localize()`; `calibration.save("camera.toml")` writes it.
    """
    if pixel_size_nm is not None:
        _check_pixel_size("calibrate_camera", pixel_size_nm)
    dark = open_movie(dark)
    levels, ramps = ([open_movie(movie) for movie in _listed(movies)] for movies in (light, ramp))
    if gain is not None and levels + ramps:
        raise OptionError("gain= is what light= and ramp= measure: give one of them")
    if pixel_size_nm is None:
        pixel_size_nm = dark.pixel_size_nm
    known = number("gain", gain, 0.5, 1e-6, 1e6, none=0.0)
    register = number("em_gain", em_gain, 300, 1, 1e5, none=0.0)
    cores = [movie._movie for movie in (dark, *levels, *ramps)]
    if len({id(core) for core in cores}) < len(cores):
        raise OptionError(
            "a movie is given twice: each movie of light= and ramp= is light of its own, and none is the dark one"
        )
    core = _core.calibrate_camera(
        cores[0], cores[1 : 1 + len(levels)], cores[1 + len(levels) :], known, register, callback("progress", progress)
    )
    for text in _core.camera_calibration_warnings(core):
        warn(text)
    found = _core.camera_calibration_maps(core)
    found["levels"] = [LightLevel(**level) for level in found["levels"]]
    found["dark_change"] = DarkChange(**found["dark_change"])
    found["sensor_gain"] = Estimate(*found["sensor_gain"]) if found["sensor_gain"][0] > 0 else None
    inputs = [name for one in cores for name in one.files]
    return CameraCalibration(
        **found, pixel_size_nm=None if pixel_size_nm is None else float(pixel_size_nm), _measured=core, _inputs=inputs
    )


def _listed(movies):
    if movies is None:
        return []
    return list(movies) if isinstance(movies, (list, tuple)) else [movies]
