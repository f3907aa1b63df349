"""Maximum-likelihood fits of regions of interest (ROIs)."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import dataclasses
import enum
import inspect
import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from . import _core
from .arguments import (
    INT32,
    INT64,
    backend as backend_of,
    callback,
    number,
    seconds,
    shown,
    switch,
    threads_of,
    whole,
    worker_program,
)
from .arrays_in import capsule_of, columns_of, dtype_name, integers, on_gpu, pixels_of
from .camera import Camera, camera_of_rois
from .errors import OptionError, warn
from .localizations import Localizations, StrPath
from .old_names import renamed
from .psf import GaussianXYNB, Psf, core_psf, description_of, descriptions
from .table import Table, one_row

if TYPE_CHECKING:
    from typing_extensions import Self  # typing's, from Python 3.11 on

OnWait = Callable[[float, int, int], object]
Progress = Callable[[int, int], object]


class FitStatus(enum.IntEnum):
    """The outcome of a fit. A failed fit is not an exception: every ROI has a row."""

    CONVERGED = 0
    ITERATION_LIMIT = 1  #: not converged after the last iteration
    AT_BOUND = 2  #: converged with a parameter at its bound: the CRLB is not valid
    SINGULAR = 3  #: the fit does not determine a position
    BAD_INPUT = 4  #: NaN or infinity among the pixels
    SATURATED = 5  #: in movies: more than half of the light is in saturated pixels, which the fit omits


@dataclasses.dataclass(frozen=True)
class FitInfo:
    """How fits were run."""

    backend: str  #: "cpu", "gpu"
    device: str  #: "avx512", "avx2", "sse2", "neon", or the GPU's name
    note: str  #: why no GPU was used, or only for a part of the work; else empty
    gpu_failed: bool  #: the note is about a GPU that failed, not about one that is in use, missing or slower
    timed_out: bool  #: no GPU was free within auto_timeout: the note names who uses the GPUs
    decision: str  #: reason for the choice of backend="auto"
    threads: int
    fits: int
    seconds: float
    batches: int
    batch_size: int
    bytes_up: int
    bytes_down: int
    transfer_seconds: float
    kernel_seconds: float
    waited_seconds: float
    retries: int
    events: tuple[tuple[float, str], ...]  #: waits, failures and retries on GPUs: (seconds since the call, text)
    gpus: tuple[tuple[str, str, int, float], ...]  #: for each GPU: (name, UUID, fits, seconds)
    cpu_fits: int  #: number of fits by the CPU

    @property
    def n_batches(self) -> int:
        """`batches`, as GaussMLE.jl calls it."""
        return self.batches


class Rois(NamedTuple):
    """A stack of ROIs with their origin in the movie: input of `fit()`."""

    pixels: np.ndarray  #: (n, S, S) counts, or photoelectrons
    corners: np.ndarray | None = None  #: (n, 2) px of the movie, (x, y) of the first pixel; None: unknown
    frames: np.ndarray | None = None  #: (n,) from 0; None: ROI k is from frame k
    start: np.ndarray | None = None  #: (n, 2) pixel of detection, px in the ROI; None: unknown
    movie_shape: tuple[int, int] | None = None  #: (height, width) of the movie; None: unknown


@renamed
class Fits(Table):
    """The results of `fit()`: one row per ROI, in the same order; with several `emitters`, one per molecule.

    Columns (n,): `x_px`, `y_px` (from the centre of the ROI's first pixel), `photons`, `bg` (photoelectrons per pixel),
    then `sigma_px` | `sigma_x_px`, `sigma_y_px` | `z_nm`; for each the standard deviation from the Cramer-Rao lower
    bound, `x_unc_px`, `photons_unc`, ...; `log_likelihood` (ratio against the saturated model, at most 0), `p_value`
    (small if the model does not describe the pixels), `iterations`, and `status` (FitStatus). With several emitters,
    `window` is the ROI of each row, from 0, and `emitters` the number of molecules fitted together in the ROI; 0:
    fitted alone. Molecules fitted together share `bg`, `log_likelihood` and `p_value`. All columns except those of z
    share the library's memory, without a copy.
    """

    psf: Psf
    pixel_size_nm: float | None
    roi_size: int
    info: FitInfo
    x_corner: np.ndarray | None
    y_corner: np.ndarray | None
    frames: np.ndarray | None

    def __init__(
        self,
        columns: Mapping[str, np.ndarray],
        psf: Psf,
        pixel_size_nm: float | None,
        roi_size: int,
        info: FitInfo,
        x_corner: np.ndarray | None = None,
        y_corner: np.ndarray | None = None,
        frames: np.ndarray | None = None,
    ) -> None:
        super().__init__(columns)
        self.psf, self.pixel_size_nm, self.roi_size, self.info = psf, pixel_size_nm, roi_size, info
        self.x_corner, self.y_corner, self.frames = x_corner, y_corner, frames

    @property
    def model(self) -> str:
        """The PSF model's name."""
        return type(self.psf).__name__

    @property
    def converged(self) -> np.ndarray:
        """(n,) bool: the valid fits. `fits[fits.converged]` selects them."""
        return self.status == FitStatus.CONVERGED

    def to_localizations(self, *, keep_failed: bool = False) -> Localizations:
        """Returns the converged fits (all fits with `keep_failed`) as Localizations in frame coordinates, by adding the
        corners. Without frames, ROI k is from frame k. Needs a camera's pixel size."""
        if not self.pixel_size_nm:
            raise OptionError(
                "localizations need the size of a pixel: fit with a camera, as in "
                "camera=glint.IdealCamera(pixel_size_nm=100, offset=100, gain=0.5)"
            )
        rows = self if keep_failed else self[self.converged]
        numbered = (
            rows.frames
            if rows.frames is not None
            else (np.arange(len(self), dtype=np.uint32)[slice(None) if keep_failed else self.converged])
        )

        def table(columns, frames):
            return _core.to_localizations(
                _numbered(columns, self.model),
                rows.x_corner,
                rows.y_corner,
                frames,
                core_psf(self.psf, self.pixel_size_nm),
                self.pixel_size_nm,
                self.roi_size,
            )

        row = None if len(rows) else table(one_row(self.columns), np.zeros(1, np.uint32)).columns
        return Localizations._of_core(table(rows.columns, numbered), row)

    def to_picasso(self) -> tuple[Any, list[dict[str, Any]]]:
        """`Localizations.to_picasso()` of the converged fits."""
        return self.to_localizations().to_picasso()

    def save(self, path: StrPath, *, keep_failed: bool = False, overwrite: bool = False) -> None:
        """Writes the fits as localizations: `Localizations.save()`."""
        self.to_localizations(keep_failed=keep_failed).save(path, overwrite=overwrite)

    def _with_columns(self, columns, rows):
        part = [None if values is None else values[rows] for values in (self.x_corner, self.y_corner, self.frames)]
        return Fits(columns, self.psf, self.pixel_size_nm, self.roi_size, self.info, *part)

    def __repr__(self) -> str:
        n = len(self)
        share = f"{self.converged.mean():.1%} converged" if n else "none"
        where = f"{self.info.device}, {self.info.threads} threads" if self.info.backend == "cpu" else self.info.device
        batches = f" in {self.info.batches:,} batches" if self.info.batches > 1 else ""
        return (
            f"<Fits: {n:,} of {self.model}, {self.roi_size}x{self.roi_size} px, {share}; "
            f"{self.info.seconds:.3g} s on {where}{batches}>"
        )


class Fitter:
    """A reusable configuration of `fit()`, for several stacks. Keeps its GPU lease from one stack to the next, until
    closed.

    psf, camera, options: defaults for each `fit()`, with the names and meanings of `glint.fit()`. The constructor
        checks them all and raises the OptionError of a fit. Widths in nanometres are checked only if the camera is
        given, too.

    Use it in a `with` statement, or call `close()`. Concurrent calls from several threads wait for each other on a GPU.
    After a request for a GPU has failed or timed out, "auto" uses the CPU for a second; after repeated failures, for up
    to a minute.

    >>> with glint.Fitter(psf, camera, batch_size=5000) as fitter:
    ...     for stack in stacks:
    ...         fits = fitter.fit(stack)
    """

    def __init__(self, psf: Psf | None = None, camera: Camera | None = None, **options: Any) -> None:
        for name in options:
            if name not in _FIT_DEFAULTS:
                raise TypeError(
                    f"Fitter() got an unexpected keyword argument {name!r}: it takes {', '.join(_FIT_DEFAULTS)}"
                )
        _check_configuration(psf, camera, {**_FIT_DEFAULTS, **options})
        self.psf, self.camera, self.options = psf, camera, options
        self._fitter, self._warned = _core.Fitter(), set()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Releases the GPU. The next `fit()` leases one again."""
        self._fitter = _core.Fitter()

    def fit(self, rois: Any, psf: Psf | None = None, camera: Camera | None = None, **options: Any) -> Fits:
        """As `glint.fit()`, with the Fitter's psf, camera and options unless they are given here."""
        psf, camera = (self.psf if psf is None else psf), (self.camera if camera is None else camera)
        return fit(rois, psf, camera, fitter=self, **{**self.options, **options})

    def __repr__(self) -> str:
        given = [
            *(repr(value) for value in (self.psf, self.camera) if value is not None),
            *(f"{name}={value!r}" for name, value in self.options.items()),
        ]
        return f"Fitter({', '.join(given)})"


def fit(
    rois: Any,
    psf: Psf | None = None,
    camera: Camera | None = None,
    *,
    corners: Any = None,
    frames: Any = None,
    start: Any = None,
    variance: float = 0.0,
    excess_noise: float = 1.0,
    qe: float = 1.0,
    backend: str = "auto",
    auto_timeout: float = 300.0,
    gpu_timeout: float = math.inf,
    gpus: int | str = 1,
    gpu_memory: int | str = 1 << 30,
    batch_size: int | None = None,
    threads: int | None = None,
    restart_batches: bool = False,
    always_gpu: bool = False,
    gpu_worker: str | None = None,
    max_iterations: int = 50,
    tolerance: float = 0.01,
    position_margin_px: float = 1.5,
    min_sigma_px: float = 0.3,
    max_sigma_px: float | None = None,
    emitters: int | str = 1,
    psf_misfit: float = 0.05,
    progress: Progress | None = None,
    on_wait: OnWait | None = None,
    log: Callable[[str], object] | None = None,
    fitter: Fitter | None = None,
) -> Fits:
    """Fits every ROI of a stack by maximum likelihood (Smith et al., Nat. Methods 7, 373 (2010)).

    rois: (n, S, S), S from 3 to 31: counts, which `camera` converts to photoelectrons, or, without a camera,
        photoelectrons. NumPy arrays, arrays that support DLPack (PyTorch, CuPy), or Rois from `cut_rois()` or
        `load_rois()`, with corners, frames and start. uint8, uint16 and float32 in C order are used without a copy;
        other number types, byte orders and strides are first copied to float32. Arrays of uint8, uint16 or float32 on a
        GPU are fitted there, unless the CPU fits (backend="cpu", several emitters, or "auto" finds it faster). In that
        case they are copied to the host, like arrays of other types.
    psf: the model, e.g. GaussianXYNB(sigma_nm=130); widths in nanometres need a camera.
    camera: the camera, with its `pixel_size_nm`.
    corners: (n, 2) pixels of the movie, (x, y) of each ROI's first pixel. Required by a camera with maps.
    frames: (n,) frame of each ROI, from 0; by default ROI k is from frame k.
    start: start values: (n, 2) positions in the ROI, px, or (n, p) values of all parameters in the order and
        the units of the columns. By default estimated from the pixels.
    variance, excess_noise, qe: noise without a camera: read variance in photoelectrons^2, F^2, and the relative quantum
        efficiency by which the pixels were divided.
    backend: "auto": the value of the variable GLINT_BACKEND, else the backend expected to finish first; "cpu"; "gpu",
        also called "cuda"; "prefer-gpu": a GPU if there is one, else the CPU, as "auto" with always_gpu=True.
    auto_timeout, gpu_timeout: seconds of waiting or retrying until "auto" uses the CPU, and until "gpu" raises an
        error.
    gpus: maximum number of GPUs, or "all". The fit starts with the free GPUs and adds further GPUs as they become free.
        With "auto", the CPU also fits a part of the ROIs if that saves a tenth of the time.
    gpu_memory: bytes to request, and to use at most, on each GPU beyond the context: 2**30, "1GiB", "25%".
    batch_size: ROIs in a batch, on a GPU and on the CPU; None: chosen for the link or the core.
    restart_batches: after a failure on a GPU, fit all batches again, not only those without a result.
    threads: CPU threads; None: GLINT_THREADS, or all that may be used.
    always_gpu: "auto" uses a GPU if there is one, even if the CPU is expected to finish first, and waits for it up to
        auto_timeout.
    gpu_worker: "auto": a background process does the work on the GPU and keeps the GPU open for some seconds. The
        process is started if none runs (docs/explanation/gpu-sharing.md, "Warm workers"). It accepts stacks on the host
        and movies, for one GPU. "off": this process opens the GPU. None: the value of the variable GLINT_GPU_WORKER,
        else "off".
    max_iterations, tolerance: a fit has converged when each parameter's step is below `tolerance` times its CRLB.
    position_margin_px, min_sigma_px, max_sigma_px: bounds of the position around the ROI, and of free widths.
    emitters: maximum number of molecules in a ROI, 1 to 64, or "auto": no limit. With more than 1, a ROI that one
        molecule does not explain is searched for more molecules. These molecules are fitted together with one
        background, on the CPU. Each molecule is a row; `fits.window` is its ROI.
    psf_misfit: with several emitters, the relative deviation of the PSF from the model that does not count as another
        molecule.
    progress: called as progress(done, total). on_wait: called as on_wait(elapsed_s, available_bytes, required_bytes)
        while waiting for a GPU. log: called with a sentence about each wait, failure and retry on a GPU. All three run
        in the calling thread. An exception in one of them stops the fit.
    fitter: the Fitter whose GPU is used; set by `Fitter.fit()`.

    Issues a RuntimeWarning if a GPU failed or was not free in time and the CPU replaced it. Ctrl-C stops within 0.2 s.
    The same input gives the same result, bit for bit, for any number of threads.

    Raises OptionError for an invalid argument. With backend="gpu", also raises gpu.LeaseTimeout, gpu.NoGpu or another
    GpuError.

    >>> rois, truth = glint.simulate_rois(1000, psf, camera, seed=1)
    >>> fits = glint.fit(rois, psf, camera)
    >>> len(fits), bool(fits.converged.mean() > 0.99)
    (1000, True)
    """
    movie_shape = None
    if isinstance(rois, Rois):
        movie_shape = rois.movie_shape
        rois, corners, frames, start = (
            own if own is not None else given for own, given in zip((None, corners, frames, start), rois)
        )
    noise = _noise_of(camera, variance, excess_noise, qe)
    stack = pixels_of(rois)
    if camera is None and dtype_name(stack) in ("uint8", "uint16"):
        warn(
            "the ROIs are integers, and without a camera they count as photoelectrons: give camera=, or "
            "rois.astype('float32') if "
            "that is what they are"
        )
    if not isinstance(fitter, (Fitter, type(None))):
        raise OptionError(f"fitter={shown(fitter)}: give a glint.Fitter, or None")
    n, size = stack.shape[:2]
    pixel_size_nm = float(camera.pixel_size_nm) if isinstance(camera, Camera) else None
    x_corner, y_corner = (None, None) if corners is None else integers("corners", corners, (n, 2)).T.copy()
    if frames is not None:
        frames = integers("frames", frames, (n,), np.uint32)
    if movie_shape is None and x_corner is not None and n:
        movie_shape = int(y_corner.max()) + size, int(x_corner.max()) + size
    core = _core.Stack(
        capsule_of(stack) if on_gpu(stack) else stack,
        x_corner,
        y_corner,
        _start_of(columns_of("start", start, n, _widths_of(psf)), psf),
        None if camera is None else camera_of_rois(camera, movie_shape),
        *noise,
    )
    options = _core_options(
        backend,
        auto_timeout,
        gpu_timeout,
        gpus,
        gpu_memory,
        batch_size,
        threads,
        always_gpu,
        gpu_worker,
        max_iterations,
        tolerance,
        position_margin_px,
        min_sigma_px,
        max_sigma_px,
        emitters,
        psf_misfit,
        restart_batches,
    )
    of_psf = core_psf(psf, pixel_size_nm)
    if warning := _core.calibration_warning(of_psf, size, pixel_size_nm or 1000.0):
        warn(warning)
    columns, info, warning = (fitter._fitter if fitter else _core.Fitter()).fit(
        core,
        of_psf,
        float(pixel_size_nm or 1000),
        options,
        callback("progress", progress),
        callback("on_wait", on_wait),
        callback("log", log),
    )
    info = FitInfo(**info)
    warn_of_gpu(info, fitter._warned if fitter else set())
    if warning:
        warn(warning)
    named = _named(columns, type(psf).__name__)
    if (roi := columns.get("window")) is not None:  # the corner and frame of each row's ROI
        frames = roi if frames is None else frames[roi]
        x_corner, y_corner = (None if corner is None else corner[roi] for corner in (x_corner, y_corner))
    return Fits(named, psf, pixel_size_nm, size, info, x_corner, y_corner, frames)


def _noise_of(camera, variance, excess_noise, qe):
    """Returns the noise options for pixels given as photoelectrons."""
    noise = number("variance", variance, 0), number("excess_noise", excess_noise, 1), number("qe", qe, 1)
    if camera is not None and noise != (0, 1, 1):
        raise OptionError(
            "variance, excess_noise and qe are of pixels that are photoelectrons; with a camera they are its "
            "readnoise, kind and qe: give either"
        )
    return noise


def _check_configuration(psf, camera, options):
    """Raises the OptionError that a fit with these options would raise. Skips checks that need the ROIs, or a psf or
    camera that is not given yet."""
    for name in ("progress", "on_wait", "log"):
        callback(name, options[name])
    core_options = _core_options(**{name: options[name] for name in _CORE_OPTIONS})
    noise = _noise_of(camera, options["variance"], options["excess_noise"], options["qe"])
    of_camera = None if camera is None else camera_of_rois(camera, None)
    pixel_size_nm = None if camera is None else float(camera.pixel_size_nm)
    of_psf = core_psf(GaussianXYNB(sigma_px=1.3), pixel_size_nm)
    if psf is not None:
        description_of(psf)
        given = core_psf(psf, pixel_size_nm or (None if getattr(psf, "sigma_px", None) else 100))
        if pixel_size_nm or getattr(psf, "sigma_px", None):  # otherwise, the width in pixels is still unknown
            of_psf = given
    none = np.empty(0, np.int64)
    core = _core.Stack(np.empty((0, 7, 7), np.float32), none, none, [], of_camera, *noise)
    _core.check_fit(core, of_psf, float(pixel_size_nm or 1000), core_options)


def _core_options(
    backend: Any,
    auto_timeout: Any,
    gpu_timeout: Any,
    gpus: Any,
    gpu_memory: Any,
    batch_size: Any,
    threads: Any,
    always_gpu: Any,
    gpu_worker: Any,
    max_iterations: Any,
    tolerance: Any,
    position_margin_px: Any,
    min_sigma_px: Any,
    max_sigma_px: Any,
    emitters: Any,
    psf_misfit: Any,
    restart_batches: Any,
) -> _core.FitOptions:
    options = fit_options(
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
    options.gpus, options.restart_batches = gpu_count(gpus), switch("restart_batches", restart_batches)
    options.position_margin_px = number("position_margin_px", position_margin_px, 1.5)
    options.min_sigma_px = number("min_sigma_px", min_sigma_px, 0.3)
    options.max_sigma_px = number("max_sigma_px", max_sigma_px, 3, none=0.0)
    options.emitters, options.psf_misfit = (
        count_or("emitters", emitters, "auto", 64),
        number("psf_misfit", psf_misfit, 0.05),
    )
    return options


_CORE_OPTIONS = frozenset(inspect.signature(_core_options).parameters)
#: The options of fit() that hold for all stacks, with their defaults.
_FIT_DEFAULTS = {
    name: parameter.default
    for name, parameter in inspect.signature(fit).parameters.items()
    if parameter.kind is parameter.KEYWORD_ONLY and name not in ("corners", "frames", "start", "fitter")
}


def warn_of_gpu(info: FitInfo, warned: set[str]) -> None:
    """Warns if the CPU replaced a GPU that failed or was not free in time, once per reason in `warned`."""
    reason = "timed out" if info.timed_out else info.note.partition(": ")[2]  # without users' times
    if not (info.gpu_failed or info.timed_out) or reason in warned:
        return
    warned.add(reason)
    if info.gpu_failed:
        warn(
            f'a GPU failed; {info.note}; `glint doctor` looks for the cause, backend="cpu" does without it',
            RuntimeWarning,
        )
    else:
        warn(
            f'{info.note}; auto_timeout= waits longer, gpu_memory= asks for less, backend="cpu" does not wait',
            RuntimeWarning,
        )


def gpu_count(gpus: Any) -> int:
    """Returns the library's number of GPUs; 0 means all GPUs."""
    return count_or("gpus", gpus, "all")


def count_or(name: str, value: Any, every: str, most: int = INT32) -> int:
    """Returns a number from 1 to `most`, or 0 for the word `every`."""
    if isinstance(value, str) and value == every:
        return 0
    try:
        return whole(name, value, 1, 1, most)
    except OptionError:
        wanted = "1" if most == 1 else f"a whole number from 1 to {most}"
        raise OptionError(f"{name}={shown(value)}: give {wanted}, or {every!r}") from None


def _widths_of(psf):
    return (2, len(description_of(psf).parameters))


def _start_of(columns, psf):
    """Returns start values in the library's units."""
    units = description_of(psf).units
    return [np.float32(one / 1000) if unit == "um" else one for one, unit in zip(columns, units)]


def fit_options(
    backend: Any,
    auto_timeout: Any,
    gpu_timeout: Any,
    gpu_memory: Any,
    batch_size: Any,
    threads: Any,
    always_gpu: Any,
    gpu_worker: Any,
    max_iterations: Any,
    tolerance: Any,
) -> _core.FitOptions:
    """Returns the C++ options that `fit()` and `localize()` have in common."""
    options = _core.FitOptions()
    options.backend = getattr(_core.Backend, backend_of("backend", backend).replace("-", "_"))
    options.auto_timeout_s = seconds("auto_timeout", auto_timeout)
    options.gpu_timeout_s = seconds("gpu_timeout", gpu_timeout)
    options.gpu_memory_bytes = _core.parse_gpu_memory(str(gpu_memory))
    options.batch_size = whole("batch_size", batch_size, 10000, 1, INT64, none=0)
    options.threads = threads_of(threads)
    options.always_gpu = switch("always_gpu", always_gpu)
    options.gpu_worker = worker_program(gpu_worker)
    options.max_iterations, options.tolerance = (
        whole("max_iterations", max_iterations, 50, 1, 255),
        number("tolerance", tolerance, 0.01),
    )
    return options


def column_names(model: str) -> tuple[list[str], list[str]]:
    """Returns the column names of a model's parameters and of their uncertainties."""
    names = descriptions[model].parameters
    units = [f"_{unit}".replace("um", "nm") if unit else "" for unit in descriptions[model].units]
    return [n + u for n, u in zip(names, units)], [f"{n}_unc{u}" for n, u in zip(names, units)]


def _in_um(model):
    """Returns the parameters that the library stores in micrometres."""
    return {k for k, unit in enumerate(descriptions[model].units) if unit == "um"}


def named_parameters(columns: Mapping[str, Any], kind: str, model: str) -> dict[str, Any]:
    """Renames the columns theta0, theta1, ... or crlb0, .... Lengths become nm in float64, which can be converted back
    without loss."""
    names, lengths = column_names(model)[kind == "crlb"], _in_um(model)
    given = (columns[f"{kind}{k}"] for k in range(len(names)))
    return {
        name: values.astype(np.float64) * 1000 if k in lengths else values
        for k, (name, values) in enumerate(zip(names, given))
    }


def _numbered(columns, model):
    """Returns a model's columns under the library's names, with contiguous values."""
    values, uncertainties = column_names(model)
    ours = {f"theta{k}": name for k, name in enumerate(values)} | {
        f"crlb{k}": name for k, name in enumerate(uncertainties)
    }
    ours |= {
        name: name for name in ("log_likelihood", "p_value", "iterations", "status", "emitters") if name in columns
    }
    lengths = {f"{kind}{k}" for k in _in_um(model) for kind in ("theta", "crlb")}
    return {
        name: np.ascontiguousarray(columns[our] / 1000 if name in lengths else columns[our], np.float32)
        if name.startswith(("theta", "crlb"))
        else np.ascontiguousarray(columns[our])
        for name, our in ours.items()
    }


def _named(columns, model):
    named = named_parameters(columns, "theta", model) | named_parameters(columns, "crlb", model)
    others = ("log_likelihood", "p_value", "iterations", "status", "window", "emitters")
    return named | {name: columns[name] for name in others if name in columns}
