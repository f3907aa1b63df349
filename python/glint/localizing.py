"""Localizes movies, and detects spots."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import copy
import dataclasses
import math
import os
from collections.abc import Callable
from typing import Any

from . import _core
from .arguments import INT32, INT64, callback, number, path as path_of, shown, switch, threads_of, two, whole
from .camera import Camera, camera_of_movie, warn_of_pixel_size
from .errors import OptionError, warn
from .estimating import Estimate, with_estimates
from .fits import FitInfo, OnWait, Progress, count_or, fit_options, gpu_count, warn_of_gpu
from .localizations import Localizations, StrPath, load_localizations
from .movies import Movie, MovieLike, camera_for, open_movie
from .old_names import renamed
from .psf import Psf, core_psf
from .table import Table


@renamed
@dataclasses.dataclass(frozen=True)
class LocalizeInfo:
    """Statistics of a run of `localize()`. `molecules` = `spots` + `added` - `merged` is the number of fitted
    molecules. Removing `not_converged`, `left_spot` and `duplicates` leaves the `localizations`; with `keep_failed`,
    nothing is removed."""

    frames: int  #: finished frames, including resumed ones
    resumed_frames: int  #: finished frames read from the journal
    localizations: int
    spots: int  #: spots found by the detection
    added: int  #: molecules found in addition to one per spot
    merged: int  #: spots without a molecule of their own: their light belongs to a neighbour
    molecules: int  #: fitted molecules
    not_converged: int  #: fits that did not converge
    left_spot: int  #: fits that moved away from their spot
    duplicates: int  #: fits of a molecule that has a better fit; with emitters=1
    #: localizations with `status` 2: z ended at the bound of the calibrated range (the molecule is there or farther
    #: away), or a free width ended at `width_bounds_nm`
    at_bound: int
    bad_pixels: int  #: NaN or infinite pixels, omitted in detection and fits
    zero_border_frames: int  #: frames with a border of zeros, e.g. from registration, whose edges cause false rows
    masked_pixels: int  #: pixels without weight, by the camera's map of faults
    defective_pixels: int  #: further pixels without weight, found defective in the movie
    hits: int  #: dropped spots that were a single pixel in a single frame
    saturation_adu: float | None  #: the count at which pixels saturate; None if none do
    saturated_spots: int  #: spots with saturated pixels, which the fits omit
    mostly_saturated: int  #: localizations with `status` 5: more than half of their light is in saturated pixels
    #: rows of the .hdf5 with x or y below 0 or beyond the last pixel; Picasso drops them when it opens the file
    hidden_rows: int
    #: measured noise of empty regions over the noise predicted by the camera: 1 if the camera's values are correct; 0:
    #: not measured, because there are no empty regions
    noise_check: float
    noise_check_error: float  #: its standard error; 0: too few frames to estimate it
    psf_misfit: float  #: with emitters="auto": as given, or estimated from lone spots
    #: part of the misfit by which lone spots differ from each other, e.g. by depth or by two kinds of emitters
    psf_scatter: float
    psf_residual: list[
        float
    ]  #: shares of a molecule's photons that the misfit alone would assign to a second one at 0, 0.5, ... 12 px
    lone_spots: int  #: lone spots from which misfit and width were estimated; 0: none
    crowd_molecules: int  #: molecules of crowded frames from which the misfit was measured instead; 0: none
    #: median width of lone spots; 0 in 3D, and if crowds hide it. Compare it with a given `sigma_nm`
    lone_spot_width_nm: float
    width_bounds_nm: tuple[float, float]  #: bounds of free widths of overlapping molecules; (0, 0): none
    #: maximum of the static background that detection and fits include, photoelectrons per pixel; 0: a flat background
    #: suffices
    static_background_e: float
    static_background_changed: (
        float  #: part of the field in which that background changes over the movie by more than half of a frame's noise
    )
    #: estimated share of false spots, for movies that are not crowded; 0: no more than chance explains
    false_spots: float
    #: Estimates used for "auto", with standard errors: `offset` (ADU), `gain` (photoelectrons per ADU), `sigma_px`
    estimated: dict[str, Estimate]
    seconds: float
    fit: FitInfo  #: how this run was fitted; seconds are summed over the threads


def localize(
    movie: MovieLike,
    psf: Psf | None = None,
    camera: Camera | None = None,
    out: StrPath | None = None,
    *,
    roi_size: int | None = None,
    threshold: float | None = None,
    frames: tuple[int, int] | slice | None = None,
    neighbor_rounds: int = 3,
    emitters: int | str = "auto",
    psf_misfit: float | None = None,
    keep_failed: bool = False,
    keep_defective: bool = False,
    resume: bool = False,
    overwrite: bool = False,
    backend: str = "auto",
    region: tuple[int, int, int, int] | None = None,
    auto_timeout: float = 300.0,
    gpu_timeout: float = math.inf,
    gpus: int | str = 1,
    gpu_memory: int | str = 1 << 30,
    batch_size: int | None = None,
    threads: int | None = None,
    always_gpu: bool = False,
    gpu_worker: str | None = None,
    max_iterations: int = 50,
    tolerance: float = 0.01,
    memory: int = 256 << 20,
    follow: float | None = None,
    on_status: Callable[[dict[str, Any]], object] | None = None,
    progress: Progress | None = None,
    on_wait: OnWait | None = None,
    log: Callable[[str], object] | None = None,
) -> Localizations:
    """Detects the molecules in a movie, fits each, and returns the table of localizations.

    movie: a file, a list of files that form one movie, an array (frames, height, width), or the result of
    `open_movie()`.
    psf: the model, e.g. GaussianXYNB(sigma_nm=130). Required.
    camera: None: from the movie's metadata; OptionError if they are incomplete.
    psf and camera may contain "auto" instead of a number: GaussianXYNB(sigma_nm="auto"),
        IdealCamera(pixel_size_nm=100, offset="auto", gain="auto"). `localize()` then estimates the value from up to
        1024 frames of the whole movie, like `inspect()`. Raises OptionError if the estimate fails. `info.estimated`
        contains values and errors; the file's metadata record them ("Estimated from the movie").
    out: file to which the growing table is also written: `.hdf5` Picasso, `.csv` ThunderSTORM, `.smlm.h5` SMLMAnalysis.
        Memory use then does not grow with the movie until the table is read back. After Ctrl-C, OUT.journal and a valid
        NAME.partial.EXT contain the finished blocks; after a crash, only OUT.journal does.
    resume: continue an interrupted run; the result is byte-identical. A finished output is read back (`info` is None).
        Raises OptionError if its settings differ. A `.csv` stores no settings: a warning reports that they were not
        compared.
    overwrite: replace an existing file or journal. No other existing file is ever overwritten.
    roi_size: edge of the fitted window, px; None: from the PSF or its calibration.
    threshold: detection threshold in standard deviations of the noise; None: 5, or 6 for an EMCCD.
    frames: (begin, end) or slice(begin, end): localize only these. Frame numbers are those of the whole movie.
    region: (x, y, width, height) in px: localize only this part, as if the frames were cropped. Positions are those of
        whole frames. Maps of the camera cover whole frames, and need its `sensor_roi`.
    neighbor_rounds: how often overlapping spots are fitted again with their neighbours as a known signal; 0: never.
    emitters: "auto": fit overlapping molecules together, and search for more molecules between them; 1: one molecule
        per window.
    psf_misfit: with "auto", the relative deviation of the PSF from the model that does not count as another molecule;
        None: estimated from lone spots of the movie (`info.psf_misfit`).
    keep_failed: also keep fits that did not converge, left their spot, or are duplicates.
    keep_defective: use pixels that look defective in the movie, and hits of single pixels. By default both are
        excluded.
    memory: bytes of frames in memory.
    follow: localize the movie (a file, a list of files or a folder) into `out` while it is written, until so many
        seconds have passed without a new frame. on_status: called each second with a dict: `frame`, `frames_there`,
        `lag_s`, `localizations`, `spots_per_frame`, `density_per_um2`, `precision_nm`, `photons`, `background`,
        `noise_check`. While the movie grows, the fit uses a PSF misfit of 0.05 and no bounds of free widths. If the
        finished movie gives other values, it is localized again at the end, and `progress` then counts its frames. So
        the result is always that of the finished movie.
    The other arguments are those of `fit()`; `progress` counts frames. Warnings are Python warnings.

    With z, a molecule beyond the calibrated range has a row with `status` 2 (FitStatus.AT_BOUND) and z at the bound.
    `locs[locs.status == 0]` excludes these rows.

    Ctrl-C finishes the blocks in progress. The result is the same, byte for byte, for any number of threads.
    Raises OptionError for an invalid argument, InputError if the movie cannot be read, and OutputError if `out` cannot
    be written.

    >>> locs = glint.localize(movie, psf, camera)
    >>> locs.info.frames
    20
    """
    growing = follow is not None
    if growing and (out is None or frames is not None):
        raise OptionError("follow= writes to a file, and takes the whole movie: give out=, and no frames=")
    if not growing and on_status is not None:
        raise OptionError("on_status= is for a movie that is still being written: give follow=30 as well")
    movie = _open_growing(movie, number("follow", follow, 30, 1, 1e6)) if growing else open_movie(movie)
    part = None if region is None else _region(region, movie, growing)
    if part is not None:
        whole_shape = movie.shape
        movie = Movie(_core.Movie.region(movie._movie, *part))
    camera = camera_for("localize(movie", psf, camera, movie)
    if part is not None and camera._corner() is None and camera._has_maps():
        raise OptionError(
            "region= and maps of the camera: give the camera's sensor_roi=(x, y), the sensor's pixel at "
            "which whole frames begin, "
            "(0, 0) if the maps have their size"
        )
    if part is not None and camera._corner() is not None:
        camera, corner = copy.copy(camera), two("sensor_roi", camera._corner(), (0, 0))
        object.__setattr__(camera, "sensor_roi", (corner[0] + part[0], corner[1] + part[1]))
    psf, camera, estimated, text = with_estimates(psf, camera, movie)
    core = camera_of_movie(camera, movie)
    options = _core.LocalizeOptions()
    if part is not None:
        options.region = (*part, whole_shape[2], whole_shape[1])
    options.estimated, options.starting_values = text, camera._starting_values
    options.psf, options.pixel_size_nm = core_psf(psf, camera.pixel_size_nm), float(camera.pixel_size_nm)
    options.psf_file = getattr(psf, "_file", "")
    usual = _core.default_roi_size(options.psf, options.pixel_size_nm)
    options.roi_size = whole("roi_size", roi_size, 7, -INT32, none=usual)
    options.threshold = number("threshold", threshold, 5, 1, 1000, none=0.0)
    options.neighbor_rounds, options.keep_failed = (
        whole("neighbor_rounds", neighbor_rounds, 3, -INT32),
        switch("keep_failed", keep_failed),
    )
    options.keep_defective = switch("keep_defective", keep_defective)
    options.emitters = count_or("emitters", emitters, "auto", 1)
    options.psf_misfit = number("psf_misfit", psf_misfit, 0.05, 0, 1, none=options.psf_misfit)
    options.frames = range_of(frames, movie.shape[0], movie.name)
    options.threads, options.memory_bytes = threads_of(threads), whole("memory", memory, "2**28", 1, INT64)
    options.resume, options.overwrite = switch("resume", resume), switch("overwrite", overwrite)
    if growing and backend == "auto" and "GLINT_BACKEND" not in os.environ:
        backend = "cpu"  # do not hold a GPU while waiting for frames
    fits = fit_options(
        backend,
        auto_timeout,
        gpu_timeout,
        gpu_memory,
        batch_size,
        threads,
        always_gpu,
        gpu_worker,
        max_iterations,
        tolerance,
    )
    fits.gpus = gpu_count(gpus)
    callbacks = _core.Callbacks(
        callback("progress", progress), callback("on_wait", on_wait), callback("log", log), warn
    )
    if out is None:
        if resume:
            raise OptionError("resume=True continues a run that wrote to a file: give that file as out=")
        rows, example, info = _core.localize_frames(movie._movie, core, options, fits, callbacks)
        info = _info_of(info, estimated)
        warn_of_gpu(info.fit, set())
        return Localizations._of_core(rows, example.columns, info)
    out = path_of("out", out)
    if resume and _core.is_already_localized(movie._movie, core, out, options, fits, callbacks):
        return load_localizations(out, pixel_size_nm=options.pixel_size_nm)
    try:
        if growing:
            info = _core.follow(
                movie._movie, core, out, options, fits, callbacks, float(follow), callback("on_status", on_status)
            )
        else:
            info = _core.localize(movie._movie, core, out, options, fits, callbacks)
    except KeyboardInterrupt as stop:
        if hasattr(stop, "add_note"):  # from Python 3.11 on
            stop.add_note(
                f"What is finished is kept in {_core.journal_path(out)}, and readable as "
                f"{_core.partial_path(out)}: localize(..., out={out!r}, resume=True) continues"
            )
        raise
    info = _info_of(info, estimated)
    warn_of_gpu(info.fit, set())
    locs = load_localizations(out, pixel_size_nm=options.pixel_size_nm)
    locs.info = info
    return locs


def _region(region, movie, growing):
    if growing:
        raise OptionError(
            "region= is for movies that are finished: leave out follow=, or use glint localize --follow --region"
        )
    if not isinstance(region, (tuple, list)) or len(region) != 4:
        raise OptionError(f"region={shown(region)}: give (x, y, width, height) in px, as in region=(0, 0, 256, 512)")
    return [whole(f"region[{k}]", value, 0, -INT32) for k, value in enumerate(region)]


def _open_growing(movie, wait_s):
    files = [movie] if isinstance(movie, (str, bytes, os.PathLike)) else movie
    if not (
        isinstance(files, (list, tuple)) and files and all(isinstance(f, (str, bytes, os.PathLike)) for f in files)
    ):
        raise OptionError(f"follow= follows files: the movie is {shown(movie)}")
    return Movie(_core.Movie.open_growing([os.fsdecode(f) for f in files], wait_s))


def _info_of(info, estimated):
    return LocalizeInfo(**{**info, "estimated": estimated, "fit": FitInfo(**info["fit"])})


def range_of(frames, count, name):
    if frames is None:
        return _core.FrameRange(0, -1)
    begin, end = (frames.start, frames.stop) if isinstance(frames, slice) else two("frames", frames, (0, 100))
    begin = whole("frames[0]", begin, 0, -INT64, INT64, none=0)
    end = whole("frames[1]", end, count, -INT64, INT64, none=count)
    if getattr(frames, "step", None) not in (None, 1) or not 0 <= begin < end <= count:
        raise OptionError(f"frames={frames}: give (begin, end) within the {count} frames of {name}, in steps of 1")
    return _core.FrameRange(begin, end)


class Spots(Table):
    """The spots found by `detect()`, ordered by frame, row and column: `frame`, `x_px`, `y_px` (the pixel of the
    maximum), `score` (standard deviations)."""

    def _with_columns(self, columns, rows):
        return Spots(columns)

    def __repr__(self) -> str:
        return f"<Spots: {len(self):,}>"


def detect(
    movie: MovieLike,
    psf: Psf | None = None,
    camera: Camera | None = None,
    *,
    threshold: float | None = None,
    progress: Progress | None = None,
) -> Spots:
    """Finds spots by a weighted score test for a spot of the PSF's width on a flat background.

    movie, psf, camera: as in `localize()`; also one frame (height, width). threshold: standard deviations of the noise;
    None: 5, or 6 for an EMCCD. progress: called as progress(frames, all).

    >>> spots = glint.detect(movie, psf, camera)
    >>> spots.columns.keys()
    dict_keys(['frame', 'x_px', 'y_px', 'score'])
    """
    movie = open_movie(movie)
    camera = camera_for("detect(movie", psf, camera, movie)
    psf, camera, _, _ = with_estimates(psf, camera, movie)
    core = camera_of_movie(camera, movie)
    warn_of_pixel_size(camera, movie)
    sigma_px = core_psf(psf, camera.pixel_size_nm).filter_width_px(float(camera.pixel_size_nm))
    return Spots(
        _core.detect(
            movie._movie,
            core,
            sigma_px,
            number("threshold", threshold, 5, 1, 1000, none=0.0),
            callback("progress", progress),
        )
    )
