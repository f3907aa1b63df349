"""Simulates movies and ROIs with known truth."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from typing import Any, NamedTuple
from collections.abc import Mapping

import numpy as np

from . import _core
from .arguments import INT32, INT64, UINT64, callback, number, pair, shown, threads_of, whole
from .camera import Camera, core_camera
from .errors import OptionError, warn
from .fits import Progress, named_parameters
from .localizations import Localizations
from .old_names import renamed
from .psf import Psf, core_psf
from .table import Table


class SimulatedMovie(NamedTuple):
    """`movie, truth = simulate(...)`."""

    movie: np.ndarray  #: (frames, height, width) uint16 counts
    truth: Localizations  #: the molecules that are on in each frame, with their shape: sx_px, sy_px, z_nm, ...


@renamed
def simulate(
    psf: Psf,
    camera: Camera,
    *,
    frames: int = 1000,
    width: int = 128,
    height: int = 128,
    structure: str = "microtubules",
    spots_per_frame: float = 10,
    photons: tuple[float, float] = (500, 2000),
    background: float = 10,
    on_frames: float = 3,
    blinks: float = 0,
    drift_nm: float = 0,
    z_range_nm: float = 400,
    seed: int = 1,
    threads: int | None = None,
    progress: Progress | None = None,
) -> SimulatedMovie:
    """Simulates a movie of blinking molecules, with its ground truth.

    psf, camera: as in `fit()`.
    frames, width, height: size of the movie, in frames and px.
    structure: "microtubules", "rings", "random", or "beads": a z-stack of beads, one slice a frame. Beads are always
        on, at fixed places, and z of all rises from -z_range_nm to z_range_nm.
    spots_per_frame: mean number of molecules that are on; number of beads.
    photons: range of the photons of a molecule in a frame, uniformly distributed; constant for each bead.
    background: photoelectrons per pixel and frame.
    on_frames: mean on-time of a molecule, frames.
    blinks: mean number of times that a molecule turns on at the same place; 0: every blink is a new molecule.
    drift_nm: RMS displacement of the sample in the last frame, along x and along y each, by a random walk.
    z_range_nm: z is uniform from minus to plus this value, for models whose shape depends on z.
    seed: the same arguments give the same movie on any machine, with any number of threads.
    progress: called as progress(frames, all).

    The truth also contains columns for the shape: `sx_px`, `sy_px`, `z_nm`, and a column for each further parameter
    that has one. With blinks, it contains `molecule`. With drift, the positions include the drift, which is in
    `drift_x_nm` and `drift_y_nm`.

    >>> movie, truth = glint.simulate(psf, camera, frames=20, width=64, height=48, seed=7)
    >>> movie.shape, movie.dtype.name
    ((20, 48, 64), 'uint16')
    """
    options = _core.SimulateOptions()
    if structure not in ("microtubules", "rings", "random", "beads"):
        raise OptionError(f"structure={shown(structure)} is none: give 'microtubules', 'rings', 'random' or 'beads'")
    options.structure = getattr(_core.Structure, structure)
    core = core_camera(camera)
    options.psf, options.pixel_size_nm = core_psf(psf, camera.pixel_size_nm), float(camera.pixel_size_nm)
    options.width, options.height = whole("width", width, 128, -INT32), whole("height", height, 128, -INT32)
    options.frames, options.seed = whole("frames", frames, 1000, -INT64, INT64), whole("seed", seed, 1, 0, UINT64)
    options.spots_per_frame, options.on_frames = (
        number("spots_per_frame", spots_per_frame, 10),
        number("on_frames", on_frames, 3),
    )
    options.blinks, options.drift_nm = number("blinks", blinks, 5), number("drift_nm", drift_nm, 200)
    options.background = number("background", background, 10)
    options.z_range_nm = number("z_range_nm", z_range_nm, 400)
    options.photons_min, options.photons_max = pair("photons", photons, (500, 2000))
    if warning := _core.beyond_calibration(options):
        warn(f"{warning}: give a smaller z_range_nm")
    movie, truth = _core.simulate(options, core, threads_of(threads), callback("progress", progress))
    return SimulatedMovie(movie, Localizations._of_core(truth))


@renamed
class RoiTruth(Table):
    """True parameters, in the units of Fits' columns; `corners` (n, 2) are the ROIs' positions on a camera with maps,
    or in the field of a PSF that changes over it, else None."""

    corners: np.ndarray | None

    def __init__(self, columns: Mapping[str, Any], corners: np.ndarray | None = None) -> None:
        super().__init__(columns)
        self.corners = corners

    def _with_columns(self, columns, rows):
        return RoiTruth(columns, None if self.corners is None else self.corners[rows])


class SimulatedRois(NamedTuple):
    """`rois, truth = simulate_rois(...)`."""

    rois: np.ndarray  #: (n, S, S) float32 counts, not rounded
    truth: RoiTruth


@renamed
def simulate_rois(
    count: int,
    psf: Psf,
    camera: Camera,
    *,
    size: int = 7,
    photons: tuple[float, float] = (500, 2000),
    background: float = 10,
    spread_px: float = 1.0,
    z_range_nm: float = 400,
    seed: int = 1,
) -> SimulatedRois:
    """Simulates `count` ROIs of one molecule each, to check the accuracy of fits: positions uniform within plus and
    minus `spread_px` of the centre, z within plus and minus `z_range_nm`.

    psf, camera: as in `fit()`. size: edge, px. photons: range, uniform. background: photoelectrons per pixel. seed: the
    same arguments give the same ROIs on any machine.

    >>> rois, truth = glint.simulate_rois(1000, psf, camera, size=7, photons=(1000, 1000))
    >>> fits = glint.fit(rois, psf, camera)
    >>> pull = (fits.x_px - truth.x_px) / fits.x_unc_px
    >>> bool(0.9 < pull.std() < 1.1)
    True
    """
    options, core = _core.RoiSimulation(), core_camera(camera)
    options.count, options.size = whole("count", count, 1000, 0, INT64), whole("size", size, 7, -INT32)
    options.background, options.seed = number("background", background, 10), whole("seed", seed, 1, 0, UINT64)
    options.photons_min, options.photons_max = pair("photons", photons, (500, 2000))
    options.spread_px, options.z_range_nm = number("spread_px", spread_px, 1), number("z_range_nm", z_range_nm, 400)
    rois, columns = _core.simulate_rois(options, core_psf(psf, camera.pixel_size_nm), float(camera.pixel_size_nm), core)
    corners = np.stack([columns["x_corner"], columns["y_corner"]], axis=1) if "x_corner" in columns else None
    return SimulatedRois(rois, RoiTruth(named_parameters(columns, "theta", type(psf).__name__), corners))
