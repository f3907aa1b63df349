"""Plots for notebooks, by matplotlib: `from glint import plots`. Each draws into `axes`, or a new figure, and returns the axes.

`glint run` draws the same by gnuplot.
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

    from .fits import Fits
    from .localizations import Localizations
    from .resolving import Frc, Nena

__all__ = ["counts", "drift", "frc", "nena", "photons", "precision"]


def _axes(axes: Any, title: str, x: str, y: str) -> Any:
    if axes is None:
        try:
            import matplotlib.pyplot as pyplot
        except ImportError as error:
            raise ImportError("glint.plots needs matplotlib: pip install matplotlib") from error
        axes = pyplot.figure(layout="constrained").add_subplot()
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
    """Histogram of photons, to a little beyond the 99th percentile."""
    return _histogram(_column(localizations_of(locs, "locs"), "photons"), axes, "Photons of a localization", "Photons")


def precision(locs: Localizations | Fits | StrPath, axes: Axes | None = None) -> Axes:
    """Histogram of the precisions that rows state (root mean square of lpx and lpy), nm; needs the pixel size."""
    table = localizations_of(locs, "locs")
    if not table.pixel_size_nm:
        raise OptionError("locs has no pixel_size_nm, which nanometres need")
    values = np.sqrt((_column(table, "lpx_px") ** 2 + _column(table, "lpy_px") ** 2) / 2) * table.pixel_size_nm
    return _histogram(values, axes, "Stated precision (CRLB), along an axis", "Precision (nm)")


def counts(locs: Localizations | Fits | StrPath, axes: Axes | None = None) -> Axes:
    """Localizations per frame, means over blocks of frames."""
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
    """The histogram of `glint.nena()` with its fit."""
    precision_nm = found.precision_nm
    axes = _axes(axes, f"NeNA ({precision_nm.value:.3g} ± {precision_nm.error:.2g}) nm", "Distance (nm)", "Pairs")
    if len(found.distance_nm) > 1:
        axes.bar(found.distance_nm, found.counts, width=found.distance_nm[1] - found.distance_nm[0], alpha=0.4, label="pairs")
        axes.plot(found.distance_nm, found.fit, label="fit")
        axes.legend()
    return axes


def frc(found: Frc, axes: Axes | None = None) -> Axes:
    """The curve of `glint.frc()`, and the 1/7 at which it is read."""
    resolution_nm = found.resolution_nm
    axes = _axes(axes, f"Fourier ring correlation: ({resolution_nm.value:.3g} ± {resolution_nm.error:.2g}) nm", "Spatial frequency (1/nm)",
                 "Correlation")
    axes.plot(found.frequency_per_nm, found.correlation, ".", markersize=2, label="rings")
    axes.plot(found.frequency_per_nm, found.smoothed, label="smoothed")
    axes.axhline(1 / 7, linestyle="--", color="gray", label="1/7")
    axes.legend()
    return axes


def _drift_csv(file: StrPath) -> dict[str, np.ndarray]:
    table = np.atleast_1d(np.genfromtxt(file, delimiter=",", names=True))
    names = table.dtype.names or ()
    if "frame" not in names or "x_nm" not in names:
        raise OptionError(f"{file} has no columns frame and x_nm: give figures/drift.csv of glint run, or the result of glint.drift()")
    return {name: table[name] for name in names}


def drift(found: Drift | StrPath, axes: Axes | None = None) -> Axes:
    """The drift of `glint.drift()`, or that `glint run` left as figures/drift.csv, with bands of one standard error where it is known."""
    columns = {"frame": np.arange(len(found)), **found._arrays()} if isinstance(found, Drift) else _drift_csv(found)
    known = "x_error_nm" in columns
    axes = _axes(axes, "Drift of the sample" + (", with its standard error" if known else ""), "Frame", "Drift (nm)")
    for axis in "xyz":
        if f"{axis}_nm" not in columns:
            continue
        frame, nm = columns["frame"], columns[f"{axis}_nm"]
        line, = axes.plot(frame, nm, label=axis)
        if f"{axis}_error_nm" in columns:
            error_nm = columns[f"{axis}_error_nm"]
            axes.fill_between(frame, nm - error_nm, nm + error_nm, alpha=0.3, color=line.get_color())
    axes.legend()
    return axes
