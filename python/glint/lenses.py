"""Measured PSFs: files, calibration with beads, estimation and refinement by a movie; and computed PSFs."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from . import _core
from .arguments import INT32, callback, number, path as path_of, shown, switch, whole
from .camera import Camera, camera_of_movie, warn_of_pixel_size
from .errors import OptionError, warn
from .fits import Progress
from .localizations import StrPath
from .movies import MovieLike, open_movie
from .psf import Psf, models


_TABLE = ("table", "pixel_size_nm", "z_min_nm", "z_max_nm", "samples_per_px", "field")


def _lens_path(path: StrPath) -> str:
    name = path_of("path", path)
    if not name.lower().endswith((".h5", ".hdf5")):
        raise OptionError(f"{name}: a measured PSF is written to a name that ends in .h5")
    return name


def _measured(table: Any, **scale: Any) -> Psf:
    """Returns the PSF of a table of coefficients (z, y, x): without z if it has one plane."""
    return models["SplineXYNB" if table.shape[-3] == 1 else "SplineXYZNB"](table, **scale)


def MeasuredPsf(path: StrPath, *, pixel_size_nm: float | None = None, channel: int | None = None) -> Psf:
    """Reads a measured PSF, for `fit()`, `localize()` and all functions with the argument `psf`. It is a `SplineXYZNB`,
    or a `SplineXYNB` if it has no z.

    path: a file of `glint calibrate psf`, SMAP or fit3Dcspline (`*_3dcal.mat`), Picasso, uiPSF or storm-analysis.
    pixel_size_nm: edge of a pixel in the sample, used only if the file does not state it.
    channel: which PSF of a file with several, from 1.

    The file's name is recorded in the metadata of `localize()`.

    Raises InputError if the file is damaged, was edited, or contains no measured PSF or several. Raises OptionError if
    the file does not state the pixel size and it is not given.
    """
    size = number("pixel_size_nm", pixel_size_nm, 100, none=0.0)
    path = path_of("path", path)
    psf = _measured(**_core.read_lens(path, size, whole("channel", channel, 1, 1, none=0)))
    object.__setattr__(psf, "_file", os.path.basename(path))
    return psf


def PupilPsf(
    *,
    na: float,
    wavelength_nm: float,
    pixel_size_nm: float,
    z_range_nm: float = 600,
    immersion_index: float = 1.518,
    sample_index: float | None = None,
    depth_nm: float = 0,
    zernike: Mapping[str | int, float] | None = None,
    moving: Literal["molecule", "stage"] = "molecule",
    window_px: int | None = None,
    samples_per_px: int = 2,
) -> Psf:
    """Computes the PSF of an objective by scalar diffraction, as a `SplineXYZNB`.

    na: numerical aperture, below both refractive indices.
    wavelength_nm: of the light, in vacuum.
    pixel_size_nm: edge of a camera pixel in the sample.
    z_range_nm: z is from minus to plus this value. z = 0 is in focus.
    immersion_index, sample_index: refractive indices; sample_index=None: that of the immersion.
    depth_nm: height of the plane z = 0 above the coverslip. It matters only if the indices differ.
    zernike: rms phases of aberrations, rad, by name ("astigmatism", "coma_x", ...) or Noll's number.
    moving: "molecule", or "stage" for stacks of beads, where z is the position of the stage.
    window_px: edge of the window, odd. Default: large enough for 95 % of the light in focus, and 90 % elsewhere.
    samples_per_px: coefficients along the edge of a pixel, 1 or 2.

    The light in the whole plane is 1 at each z, so photons of `simulate()` include the light outside the window.

    >>> psf = glint.PupilPsf(na=1.4, wavelength_nm=670, pixel_size_nm=100, zernike={"astigmatism": 0.8})
    >>> psf.z_max_nm
    600.0
    """
    if moving not in ("molecule", "stage"):
        raise OptionError(f"moving={shown(moving)} is none: give 'molecule' or 'stage'")
    if zernike is not None and not isinstance(zernike, Mapping):
        raise OptionError(f'zernike={shown(zernike)}: give a dict, as in zernike={{"coma_x": 0.3}}')
    terms = [(str(name), number(f"zernike[{name!r}]", value, 0.3)) for name, value in (zernike or {}).items()]
    index = number("immersion_index", immersion_index, 1.518)
    z = number("z_range_nm", z_range_nm, 600)
    computed = _core.compute_psf(
        number("na", na, 1.4),
        number("wavelength_nm", wavelength_nm, 670),
        index,
        number("sample_index", sample_index, 1.33, none=index),
        number("depth_nm", depth_nm, 500),
        terms,
        number("pixel_size_nm", pixel_size_nm, 100),
        -z,
        z,
        moving == "stage",
        whole("window_px", window_px, 25, -INT32, none=0),
        whole("samples_per_px", samples_per_px, 2, -INT32),
    )
    for text in computed.pop("warnings"):
        warn(text)
    return models["SplineXYZNB"](**computed)


@dataclasses.dataclass(frozen=True, eq=False)
class PsfCalibration:
    """The result of `calibrate_psf()`. Errors are those of fits to beads that were left out of the measurement."""

    psf: Psf  #: a `SplineXYZNB`
    usable_min_nm: float  #: range of z in which fits are good
    usable_max_nm: float
    z_slope: float  #: of fitted z over true z; 1 is right
    z_rms_nm: float  #: rms error of z
    z_crlb_nm: float  #: its Cramer-Rao lower bound
    deviance: float  #: per degree of freedom; 1 is right
    good_p: float  #: share of fits with p > 0.01
    x_tilt: float  #: motion of the PSF's centre of light along x with z, nm per nm
    y_tilt: float  #: along y
    roi_size: int  #: edge of the window that the PSF covers, px
    #: Columns stack, x_px, y_px, z_nm, photons, misfit (chi-squared per degree of freedom), rejected (why the bead is
    #: not used, or ""), and sections: None if rejected, else images of the bead through its middle. `xy` (3, S, S),
    #: `xz` and `yz` (3, slices, S) contain data, model, and their difference in standard deviations of the noise.
    #: `z_nm` is that of the slices, and `xy_z_nm` that of `xy`.
    beads: dict[str, Any]
    errors: dict[str, np.ndarray]  #: columns z_nm, z_bias_nm, z_rms_nm, z_crlb_nm, x_bias_nm, y_bias_nm, good_p
    #: What the astigmatic Gaussian of `calibrate_astigmatism()` reaches on the same beads: z_rms_nm, deviance, good_p;
    #: wrong, the share of its fits that fail; added_deviance per slice and its error; and suffices, whether it is as
    #: good as the measured PSF. None if no such Gaussian describes the spots.
    gaussian: dict[str, Any] | None
    #: With `field=True`, how the PSF changes over the field: degree of the polynomials (0: it does not), gain (decrease
    #: of the deviance per slice of beads that were left out) and gain_error, good_p_of_one and good_p (shares of fits
    #: with p > 0.01, with one PSF and with the cells), and cell_error_nm, the largest error by the nearest cell.
    field_fit: dict[str, Any] | None
    warnings: list[str]
    _measured: Any = dataclasses.field(repr=False)
    _inputs: list[str] = dataclasses.field(repr=False)

    def save(self, path: StrPath, *, overwrite: bool = False) -> None:
        """Writes the PSF, HDF5, for `MeasuredPsf()` and `--psf`."""
        path = _lens_path(path)
        origin = f"glint {_core.version()} calibrate_psf()"
        _core.write_lens(path, self._measured, origin, switch("overwrite", overwrite), self._inputs)

    def __repr__(self) -> str:
        return (
            f"<PsfCalibration: z from {self.usable_min_nm:.0f} to {self.usable_max_nm:.0f} nm, error "
            f"{self.z_rms_nm:.1f} nm, {100 * self.good_p:.0f} % of fits good>"
        )


def calibrate_psf(
    beads: MovieLike | list[MovieLike],
    camera: Camera | None = None,
    *,
    z_step_nm: float,
    z_center_nm: float = 0.0,
    z_scale: float = 1.0,
    roi_size: int | None = None,
    field: bool = False,
    progress: Progress | None = None,
) -> PsfCalibration:
    """Measures a PSF of any shape in stacks of beads, as `glint calibrate psf` does.

    beads: a stack with one slice per frame, or a list of stacks.
    z_step_nm: distance between slices; negative if z decreases.
    z_center_nm: stage position of the middle slice.
    z_scale: z in the sample over z of the stage, for a mismatch of refractive indices.
    roi_size: edge of the PSF's window, px. Default: from the spots.
    field: also measure how the PSF changes over the field of view; needs 12 beads all over it.
    progress: called as progress(steps, all).

    Warns about doubtful results. Raises InputError if the stacks have no usable beads, or do not determine z.
    """
    stacks = [open_movie(movie) for movie in (beads if isinstance(beads, (list, tuple)) else [beads])]
    if not stacks:
        raise OptionError("beads=[]: give at least one stack of beads")
    camera = stacks[0].camera() if camera is None else camera
    core = camera_of_movie(camera, stacks[0])
    for stack in stacks:
        warn_of_pixel_size(camera, stack)
    movies = [stack._movie for stack in stacks]
    if len({id(movie) for movie in movies}) < len(movies):
        raise OptionError("a stack is given twice: give each stack of beads once")
    measured = _core.calibrate_psf(
        movies,
        core,
        float(camera.pixel_size_nm),
        number("z_step_nm", z_step_nm, 20),
        number("z_center_nm", z_center_nm, 0),
        number("z_scale", z_scale, 0.8),
        whole("roi_size", roi_size, 25, -INT32, none=0),
        switch("field", field),
        callback("progress", progress),
    )
    found = _core.psf_calibration_values(measured)
    for text in found["warnings"]:
        warn(text)
    scale = {name: found.pop(name) for name in _TABLE}
    inputs = [name for movie in movies for name in movie.files]
    return PsfCalibration(psf=_measured(**scale), **found, _measured=measured, _inputs=inputs)


@dataclasses.dataclass(frozen=True, eq=False)
class EstimatedPsf:
    """The result of `estimate_psf()`. Shares of fits are those of lone spots that the PSF was not estimated from."""

    psf: Psf  #: a `SplineXYNB`
    roi_size: int  #: window that it was estimated in, px
    frames: int  #: read
    spots: int  #: found in these
    lone: int  #: without another spot in their window or beside it
    used: int  #: from which the PSF was estimated
    photons: float  #: median of the used spots
    outside: float  #: estimated share of light that the PSF lacks: beyond the window, or constant
    good_p: float  #: share of fits with p > 0.01; 0.99 is expected
    deviance: float  #: per degree of freedom; 1 is right
    gaussian_good_p: float  #: the same by a Gaussian of free width
    gaussian_deviance: float
    warnings: list[str]
    _found: Any = dataclasses.field(repr=False)
    _inputs: list[str] = dataclasses.field(repr=False)

    def save(self, path: StrPath, *, overwrite: bool = False) -> None:
        """Writes the PSF, HDF5, for `MeasuredPsf()` and `--psf`."""
        path = _lens_path(path)
        origin = f"glint {_core.version()} estimate_psf()"
        _core.write_estimated_psf(path, self._found, origin, switch("overwrite", overwrite), self._inputs)

    def __repr__(self) -> str:
        return f"<EstimatedPsf: from {self.used} lone spots, {100 * self.good_p:.0f} % of fits good>"


def estimate_psf(
    movie: MovieLike,
    camera: Camera | None = None,
    *,
    sigma_nm: float | None = None,
    frames: tuple[int, int] | None = None,
    progress: Progress | None = None,
) -> EstimatedPsf:
    """Estimates a PSF without z from a movie's lone spots, as `glint calibrate psf-2d` does.

    sigma_nm: approximate width of the spots. Default: from the movie.
    frames: (begin, end), the frames to use. Default: all.
    progress: called as progress(steps, all).

    All molecules must have the same image. Warns if they do not. Raises InputError if the movie has fewer than 300 lone
    spots.
    """
    movie = open_movie(movie)
    camera = movie.camera() if camera is None else camera
    core = camera_of_movie(camera, movie)
    warn_of_pixel_size(camera, movie)
    begin, end = (0, -1) if frames is None else (whole(f"frames[{k}]", frames[k], 0, 0) for k in (0, 1))
    found = _core.estimate_psf(
        movie._movie,
        core,
        float(camera.pixel_size_nm),
        number("sigma_nm", sigma_nm, 130, none=0.0),
        begin,
        end,
        callback("progress", progress),
    )
    values = _core.estimated_psf_values(found)
    for text in values["warnings"]:
        warn(text)
    scale = {name: values.pop(name) for name in _TABLE}
    return EstimatedPsf(psf=_measured(**scale), **values, _found=found, _inputs=list(movie._movie.files))


@dataclasses.dataclass(frozen=True, eq=False)
class RefinedPsf:
    """The result of `refine_psf()`. Shares of fits are those of lone spots that were left out of the estimation."""

    psf: Psf  #: a `SplineXYZNB`; that of the beads if `is_better` is false
    aberrations: dict[str, float]  #: what the sample adds: "depth (nm)", "spherical (rad)", "coma_x (rad)", ...
    aberration_errors: dict[str, float]  #: their standard errors
    is_better: bool  #: whether the left-out spots are clearly more likely
    added_likelihood: float  #: trimmed mean of the increase of the log-likelihood of a left-out spot
    added_likelihood_error: float  #: its standard error
    unexplained: float  #: the part of the beads' PSF that Zernike polynomials do not describe
    roi_size: int  #: window of the fits, px
    frames: int  #: read
    spots: int  #: found in these
    lone: int  #: without another spot in their window or beside it
    used: int  #: from which the aberrations were estimated
    good_p: float  #: share of fits with p > 0.01; 0.99 is expected
    deviance: float  #: per degree of freedom; 1 is right
    beads_good_p: float  #: the same by the PSF of the beads
    beads_deviance: float
    left_out: dict[str, np.ndarray]  #: columns beads_z_nm and z_nm of the left-out spots
    warnings: list[str]
    _found: Any = dataclasses.field(repr=False)
    _inputs: list[str] = dataclasses.field(repr=False)

    def save(self, path: StrPath, *, overwrite: bool = False) -> None:
        """Writes the PSF, HDF5, for `MeasuredPsf()` and `--psf`."""
        path = _lens_path(path)
        origin = f"glint {_core.version()} refine_psf()"
        _core.write_refined_psf(path, self._found, origin, switch("overwrite", overwrite), self._inputs)

    def __repr__(self) -> str:
        return f"<RefinedPsf: from {self.used} lone spots, {100 * self.good_p:.0f} % of fits good>"


def refine_psf(
    movie: MovieLike,
    beads: StrPath,
    camera: Camera | None = None,
    *,
    na: float,
    wavelength_nm: float,
    immersion_index: float = 1.518,
    sample_index: float | None = None,
    channel: int | None = None,
    frames: tuple[int, int] | None = None,
    progress: Progress | None = None,
) -> RefinedPsf:
    """Corrects a PSF of beads for the aberrations of the sample, as `glint calibrate psf-in-situ` does.

    movie: its lone spots show the aberrations.
    beads: the file of a measured PSF with z.
    na: numerical aperture, below both refractive indices.
    wavelength_nm: of the light, in vacuum.
    immersion_index, sample_index: refractive indices. With sample_index, the depth of the focus is estimated, and z is
        the height of molecules; z of the beads must be that of the stage. Without, spherical aberration and its growth.
    channel: which PSF of a file with several, from 1.
    frames: (begin, end), the frames to use. Default: all.
    progress: called as progress(steps, all).

    Warns about doubtful results. Raises InputError if the movie has fewer than 300 lone spots, or if Zernike
    polynomials do not describe the PSF.
    """
    movie = open_movie(movie)
    camera = movie.camera() if camera is None else camera
    core = camera_of_movie(camera, movie)
    warn_of_pixel_size(camera, movie)
    path = path_of("beads", beads)
    begin, end = (0, -1) if frames is None else (whole(f"frames[{k}]", frames[k], 0, 0) for k in (0, 1))
    found = _core.refine_psf(
        movie._movie,
        core,
        path,
        whole("channel", channel, 1, 1, none=0),
        float(camera.pixel_size_nm),
        number("na", na, 1.4),
        number("wavelength_nm", wavelength_nm, 670),
        number("immersion_index", immersion_index, 1.518),
        number("sample_index", sample_index, 1.33, none=0.0),
        begin,
        end,
        callback("progress", progress),
    )
    values = _core.refined_psf_values(found)
    for text in values["warnings"]:
        warn(text)
    scale = {name: values.pop(name) for name in _TABLE}
    inputs = [*movie._movie.files, path]
    return RefinedPsf(psf=_measured(**scale), **values, _found=found, _inputs=inputs)
