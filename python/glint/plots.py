"""Plots for notebooks, by matplotlib: `from glint import plots`. Each function draws into `axes`, or a new figure, and
returns the axes. `camera()` draws several axes in a new figure.

`glint run` and `glint calibrate camera --plot` draw the same plots without matplotlib.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .drifting import Drift
from .errors import OptionError
from .localizations import StrPath, localizations_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from .calibrating import CameraCalibration
    from .fits import Fits
    from .localizations import Localizations
    from .resolving import Frc, Nena

__all__ = ["camera", "counts", "drift", "frc", "nena", "photons", "precision"]


def _figure(**options: Any) -> Any:
    try:
        import matplotlib.pyplot as pyplot
    except ImportError as error:
        raise ImportError("glint.plots needs matplotlib: pip install matplotlib") from error
    return pyplot.figure(layout="constrained", **options)


def _axes(axes: Any, title: str, x: str, y: str) -> Any:
    if axes is None:
        axes = _figure().add_subplot()
    axes.set(title=title, xlabel=x, ylabel=y)
    return axes


def _histogram(values: np.ndarray, axes: Any, title: str, x: str) -> Any:
    values = values[np.isfinite(values)]
    axes = _axes(axes, title, x, "Localizations")
    if len(values):
        axes.hist(values, bins=80, range=(0, 1.1 * float(np.percentile(values, 99)) or 1.0))
    return axes


def _column(locs: Localizations, name: str) -> np.ndarray:
    values = getattr(locs, name)
    if values is None:
        raise OptionError(f"locs has no column {name}")
    return np.asarray(values, float)


def photons(locs: Localizations | Fits | StrPath, axes: Axes | None = None) -> Axes:
    """Plots a histogram of photons, up to slightly beyond the 99th percentile."""
    return _histogram(_column(localizations_of(locs, "locs"), "photons"), axes, "Photons of a localization", "Photons")


def precision(locs: Localizations | Fits | StrPath, axes: Axes | None = None) -> Axes:
    """Plots a histogram of the stated precisions (root mean square of lpx and lpy), nm. Needs the pixel size."""
    table = localizations_of(locs, "locs")
    if not table.pixel_size_nm:
        raise OptionError("locs has no pixel_size_nm, which nanometres need")
    values = np.sqrt((_column(table, "lpx_px") ** 2 + _column(table, "lpy_px") ** 2) / 2) * table.pixel_size_nm
    return _histogram(values, axes, "Stated precision (CRLB), along an axis", "Precision (nm)")


def counts(locs: Localizations | Fits | StrPath, axes: Axes | None = None) -> Axes:
    """Plots localizations per frame, as means over blocks of frames."""
    table = localizations_of(locs, "locs")
    frame = np.asarray(table.frame, int)
    frames = max(int(table.frames or 0), int(frame.max(initial=-1)) + 1, 1)
    block = -(-frames // 500)
    edges = np.minimum(np.arange(0, frames + block, block), frames)
    axes = _axes(axes, "Localizations per frame", "Frame", "Localizations per frame")
    axes.plot((edges[:-1] + edges[1:] - 1) / 2, np.histogram(frame, edges)[0] / np.diff(edges))
    axes.set_ylim(bottom=0)
    return axes


def nena(found: Nena, axes: Axes | None = None) -> Axes:
    """Plots the histogram of `glint.nena()` with its fit."""
    precision_nm = found.precision_nm
    axes = _axes(axes, f"NeNA ({precision_nm.value:.3g} ± {precision_nm.error:.2g}) nm", "Distance (nm)", "Pairs")
    if len(found.distance_nm) > 1:
        axes.bar(
            found.distance_nm, found.counts, width=found.distance_nm[1] - found.distance_nm[0], alpha=0.4, label="pairs"
        )
        axes.plot(found.distance_nm, found.fit, label="fit")
        axes.legend()
    return axes


def frc(found: Frc, axes: Axes | None = None) -> Axes:
    """Plots the curve of `glint.frc()`, and the threshold 1/7."""
    resolution_nm = found.resolution_nm
    axes = _axes(
        axes,
        f"Fourier ring correlation: ({resolution_nm.value:.3g} ± {resolution_nm.error:.2g}) nm",
        "Spatial frequency (1/nm)",
        "Correlation",
    )
    axes.plot(found.frequency_per_nm, found.correlation, ".", markersize=2, label="rings")
    axes.plot(found.frequency_per_nm, found.smoothed, label="smoothed")
    axes.axhline(1 / 7, linestyle="--", color="gray", label="1/7")
    axes.legend()
    return axes


def _drift_csv(file: StrPath) -> dict[str, np.ndarray]:
    table = np.atleast_1d(np.genfromtxt(file, delimiter=",", names=True))
    names = table.dtype.names or ()
    if "frame" not in names or "x_nm" not in names:
        raise OptionError(
            f"{file} has no columns frame and x_nm: give figures/drift.csv of glint run, or the result of glint.drift()"
        )
    return {name: table[name] for name in names}


def drift(found: Drift | StrPath, axes: Axes | None = None) -> Axes:
    """Plots a drift: the result of `glint.drift()`, or figures/drift.csv of `glint run`.

    Bands show one standard error, if it is known.
    """
    columns = {"frame": np.arange(len(found)), **found._arrays()} if isinstance(found, Drift) else _drift_csv(found)
    known = "x_error_nm" in columns
    axes = _axes(axes, "Drift of the sample" + (", with its standard error" if known else ""), "Frame", "Drift (nm)")
    for axis in "xyz":
        if f"{axis}_nm" not in columns:
            continue
        frame, nm = columns["frame"], columns[f"{axis}_nm"]
        (line,) = axes.plot(frame, nm, label=axis)
        if f"{axis}_error_nm" in columns:
            error_nm = columns[f"{axis}_error_nm"]
            axes.fill_between(frame, nm - error_nm, nm + error_nm, alpha=0.3, color=line.get_color())
    axes.legend()
    return axes


def _map(axes: Any, title: str, values: np.ndarray, masked: np.ndarray) -> None:
    good = values[~masked] if not masked.all() else values
    low, high = np.percentile(good, [1, 99])
    axes.set_title(title)
    axes.figure.colorbar(axes.imshow(values, vmin=low, vmax=high), ax=axes)


def _transfer(axes: Any, found: CameraCalibration) -> None:
    bad = found.masked.ravel()[found.sample]
    for level in found.levels:
        axes.plot(level.sample_mean_adu[~bad], level.sample_variance_adu2[~bad], ",", color="gray")
        axes.plot(level.sample_mean_adu[bad], level.sample_variance_adu2[bad], "+", markersize=3, color="tab:red")
    gain, error = found.sensor_gain or (np.nan, np.nan)
    means = [level.mean_adu for level in found.levels]
    light = np.geomspace(max(min(means), 1e-3) / 2, 2 * max(means), 100)
    axes.plot(
        light,
        found.sensor_readvar + light / gain * (2 * found.em_gain if found.em_gain > 1 else 1),
        label="fitted line",
    )
    axes.plot(means, [level.variance_adu2 for level in found.levels], "k.", label="medians of levels")
    axes.set(
        xscale="log",
        yscale="log",
        xlabel="Mean above the offset (ADU)",
        ylabel="Variance (ADU$^2$)",
        xlim=(light[0], light[-1]),
        title=f"Photon transfer: gain ({gain:.5f} ± {error:.5f}) e$^-$/ADU",
    )
    axes.legend()


def camera(found: CameraCalibration) -> Figure:
    """Plots offset, read noise, gain, bad pixels and photon transfer curve of `glint.calibrate_camera()`.

    Bad pixels are red in the photon transfer curve.
    """
    light = bool(found.levels)
    figure = _figure(figsize=(12, 8 if light else 4))
    grid = figure.add_gridspec(2 if light else 1, 3)
    gain = found.gain if found.gain is not None else found.sensor_gain.value if found.sensor_gain else None
    noise = np.sqrt(found.readvar) * (1 if gain is None else gain)
    maps = [("Offset (ADU)", found.offset), (f"Read noise ({'ADU' if gain is None else 'e$^-$'} rms)", noise)]
    if found.gain is not None:
        maps.append(("Gain (e$^-$/ADU)", found.gain))
    for column, (title, values) in enumerate(maps):
        _map(figure.add_subplot(grid[0, column]), title, values, found.masked)
    axes = figure.add_subplot(grid[1, 0] if light else grid[0, 2])
    axes.set(title="Bad pixels", aspect="equal", xlim=(0, found.offset.shape[1]), ylim=(found.offset.shape[0], 0))
    for fault, name, color in ((1, "hot", "tab:red"), (2, "dead", "tab:blue"), (3, "noisy", "tab:orange")):
        y, x = np.nonzero(found.faults == fault)
        axes.plot(x + 0.5, y + 0.5, ".", markersize=3, color=color, label=f"{name} ({len(x)})")
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.1), ncols=3)
    if light:
        _transfer(figure.add_subplot(grid[1, 1:]), found)
    return figure
