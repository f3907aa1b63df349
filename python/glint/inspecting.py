"""Estimates of a movie's camera and spots."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from . import _core
from .arguments import callback, number
from .camera import Camera, EMCCDCamera, IdealCamera, SCMOSCamera, camera_of_movie, warn_of_pixel_size
from .errors import OptionError
from .estimating import Estimate
from .fits import Progress
from .localizing import range_of
from .movies import MovieLike, open_movie
from .old_names import renamed


@renamed
@dataclasses.dataclass(frozen=True)
class Inspection:
    """The result of `inspect()`. Values that could not be estimated are None, with the reason in `why_no_gain` or
    `why_no_sigma`."""

    frames_read: int  #: number of frames read, spread over the movie
    empty_frames: int  #: frames read in which all pixels have the same count
    not_finite: int  #: number of NaN or infinite pixels; all other values exclude them
    min_adu: float | None  #: lowest count; None if no pixel is finite
    max_adu: float | None  #: highest count
    saturation_adu: float | None  #: the highest count, if it is so frequent that it is the camera's limit
    saturated_share: float  #: share of pixels at that count
    why_no_saturation: str  #: reason if saturation cannot be determined from the counts; else ""
    #: number of pixels that differ from their neighbours in most frames, as no lens causes; localize() excludes them
    defective_pixels: int
    patterned_share: float  #: share of such pixels, if there are too many to be single defects; else 0
    background_adu: Estimate | None  #: mean over frames of their median counts; None if no pixel is finite
    background_drift_adu: Estimate | None  #: background in the last tenth of the movie minus the first tenth
    gain: Estimate | None  #: photoelectrons per ADU
    offset: Estimate | None  #: ADU, for a camera with `readnoise`
    noise_mean_adu: float  #: mean count of a typical sample of pixels
    noise_variance_adu2: float  #: variance of the noise of that sample
    why_no_gain: str
    sigma_px: Estimate | None  #: width of the Gaussian that fits lone spots best
    photons: Estimate | None  #: median photoelectrons of a spot in a frame
    spots_per_pixel: Estimate  #: spots found per pixel and frame
    spots: int  #: found in `spot_frames` frames
    spot_frames: int
    lone_spots: int  #: number of these spots that have no other spot near them
    why_no_sigma: str
    psf: str  #: the 2D model that localizes such spots best, by its name
    why_psf: str  #: why `psf` is not the default model; else ""
    readnoise: float  #: as given, e- rms
    em_gain: float  #: as given, or from the metadata
    #: Measured noise of empty regions over the noise predicted by the camera; 1 if the camera's values are correct.
    #: None unless gain and offset were given.
    noise_check: Estimate | None
    #: The camera value that is probably wrong according to the noise check, and the direction. If only the offset was
    #: given: a message if the movie's own offset differs. Else "".
    contradiction: str

    @renamed
    def camera(self, pixel_size_nm: float) -> Camera:
        """Returns a camera with the estimates. Raises OptionError if gain or offset could not be estimated."""
        if self.gain is None or self.offset is None:
            raise OptionError(f"gain and offset could not be estimated: {self.why_no_gain}")
        values: dict[str, Any] = {"pixel_size_nm": pixel_size_nm, "offset": self.offset.value, "gain": self.gain.value}
        if self.em_gain != 1:
            return EMCCDCamera(**values, em_gain=self.em_gain, readnoise=self.readnoise)
        if self.readnoise > 0:
            return SCMOSCamera(**values, readnoise=self.readnoise)
        return IdealCamera(**values)


def inspect(
    movie: MovieLike,
    *,
    camera: Camera | None = None,
    offset: float | None = None,
    gain: float | None = None,
    readnoise: float = 0.0,
    em_gain: float | None = None,
    sigma_px: float | None = None,
    frames: tuple[int, int] | slice | None = None,
    progress: Progress | None = None,
) -> Inspection:
    """Estimates gain, offset, and width, photons and density of the spots from at most 1024 frames of a movie.

    Gain and offset are estimated from the movie's noise (docs/explanation/theory.md, section 11). Given values are not
    estimated, and reduce the errors of the estimates.

    camera: a calibrated camera, instead of offset, gain, readnoise and em_gain. Its noise is compared with the movie's
        (`noise_check`).
    offset: ADU.
    gain: photoelectrons per ADU.
    readnoise: e- rms; a movie does not separate it from the offset.
    em_gain: None: from the metadata, else no EM gain.
    frames: (begin, end) or slice(begin, end): read only these.
    progress: called as progress(frames, all).

    >>> found = glint.inspect(movie)
    >>> found.saturation_adu is None
    True

    For a movie with more than 20 frames, `found.camera(pixel_size_nm=100)` is what `localize()` needs.
    """
    movie = open_movie(movie)
    options = _core.InspectOptions()
    options.offset_adu = None if offset is None else number("offset", offset, 100)
    options.gain_e_per_adu = None if gain is None else number("gain", gain, 0.5)
    options.readnoise_e = number("readnoise", readnoise, 1.6)
    if camera is None and em_gain is None:
        movie._require_agreement("em_gain=300", "EM gain")
    options.em_gain = number("em_gain", movie.em_gain if em_gain is None else em_gain, 300, none=1.0)
    if camera is not None:
        if (offset, gain, readnoise, em_gain) != (None, None, 0, None):
            raise OptionError("inspect(): camera= has offset, gain, readnoise and em_gain: give it, or these")
        options.camera = camera_of_movie(camera, movie)
        warn_of_pixel_size(camera, movie)
        options.readnoise_e = float(np.sqrt(np.mean(np.square(getattr(camera, "readnoise", 0.0)))))
        options.em_gain = getattr(camera, "em_gain", 1.0)
    options.sigma_px = number("sigma_px", sigma_px, 1.3, none=0.0)
    options.frames = range_of(frames, movie.shape[0], movie.name)
    found = _core.inspect(movie._movie, options, callback("progress", progress))
    pairs = {name: Estimate(*value) for name, value in found.items() if isinstance(value, tuple)}
    bounds = {"min_adu": found.pop("least_adu"), "max_adu": found.pop("most_adu")}
    return Inspection(**found | pairs | bounds, readnoise=options.readnoise_e, em_gain=options.em_gain)
