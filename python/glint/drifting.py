"""The drift of the sample."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import dataclasses
import os
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _core
from .arguments import INT64, callback, number, path as path_of, shown, switch, whole
from .errors import OptionError, warn
from .fits import Progress
from .localizations import Localizations, StrPath, localizations_of

if TYPE_CHECKING:
    from .fits import Fits


@dataclasses.dataclass(frozen=True)
class DriftJump:
    """A sudden shift between the frames `frame` - 1 and `frame`."""

    frame: int
    by_nm: tuple[float, ...]  #: x, y and, if known, z


@dataclasses.dataclass(frozen=True)
class DriftBead:
    """A fiducial bead."""

    x_px: float  #: position without drift
    y_px: float
    own_nm: tuple[
        float, ...
    ]  #: RMS of its motion relative to other beads and the molecules, beyond errors: x, y and, if known, z
    used: bool  #: False: the bead moves by itself, or no other data confirm its motion


@dataclasses.dataclass(frozen=True, eq=False)
class Drift:
    """The drift of the sample: observed position = molecule + drift. Arrays contain one value per frame, from frame 0;
    all axes are in nm. `z_nm` is None without z.

    A drift read from a file has no errors (None); its statistics are empty or 0. Create one from arrays with
    `glint.Drift(x_nm, y_nm)`.
    """

    #: the mean over all rows is 0; constant before the first and after the last row; zeros if refused
    x_nm: np.ndarray
    y_nm: np.ndarray
    z_nm: np.ndarray | None = None
    x_error_nm: np.ndarray | None = None  #: standard error per frame; NaN before the first and after the last row
    y_error_nm: np.ndarray | None = None
    z_error_nm: np.ndarray | None = None
    jumps: tuple[DriftJump, ...] = ()
    beads: tuple[DriftBead, ...] = ()  #: beads found or given
    refused: bool = False  #: the table cannot support an estimate: `apply_drift()` changes nothing
    why: str = ""  #: the reason, a sentence; empty unless refused
    error_100_nm: tuple[
        float, ...
    ] = ()  #: standard error of the mean drift of 100 frames, RMS over the rows: x, y and, if known, z
    halves_differ_nm: tuple[float, ...] = ()  #: RMS difference between both halves of the field, means of 100 frames
    blinks: int = 0  #: number of blinks linked from the localizations
    first_segment_frames: int = 0  #: length of the segments of the first, rough estimate
    searched_nm: float = 0.0  #: search radius of the first estimate around the previous segment
    rms_100_nm: tuple[float, ...] = ()  #: RMS of the mean drift of 100 frames over the rows: x, y and, if known, z
    sides_differ_nm: tuple[
        float, ...
    ] = ()  #: slow motion of two sides of the field against each other, RMS beyond errors: sides along x, along y
    wrong_match: float = 0.0  #: mean probability that a segment of the first estimate has a wrong shift
    wrong_match_nm: float = 0.0  #: possible error of the shift of the least certain segment

    def __post_init__(self) -> None:
        if not isinstance(self.why, str):
            raise OptionError(f"why={shown(self.why)}: give a text")
        for name, value in (
            ("refused", switch("refused", self.refused)),
            ("blinks", whole("blinks", self.blinks, 1000, 0, INT64)),
        ):
            object.__setattr__(self, name, value)
        for name in ("error_100_nm", "halves_differ_nm", "rms_100_nm", "sides_differ_nm"):
            object.__setattr__(self, name, _of_axes(name, getattr(self, name)))
        for name, kind in (("jumps", DriftJump), ("beads", DriftBead)):
            values = getattr(self, name)
            if not isinstance(values, (tuple, list)) or not all(isinstance(value, kind) for value in values):
                raise OptionError(f"{name}={shown(values)}: give a tuple of {kind.__name__}")
        for name in ("x_nm", "y_nm", "z_nm", "x_error_nm", "y_error_nm", "z_error_nm"):
            if (values := getattr(self, name)) is not None:
                object.__setattr__(self, name, _per_frame(name, values))
        for name in ("x_nm", "y_nm"):
            if getattr(self, name) is None:
                raise OptionError(f"{name}=None: give an array with a number for each frame")
        for name, values in self._arrays().items():
            if len(values) != len(self.x_nm):
                raise OptionError(
                    f"{name} has {len(values)} frames, x_nm {len(self.x_nm)}: give all of the same frames"
                )

    def _arrays(self):
        names = ("x_nm", "y_nm", "z_nm", "x_error_nm", "y_error_nm", "z_error_nm")
        return {name: getattr(self, name) for name in names if getattr(self, name) is not None}

    def _dict(self):
        extra = {name: getattr(self, name) for name in ("refused", "why", "jumps", "blinks", "error_100_nm")}
        return self._arrays() | extra | {"beads_used": [bead.used for bead in self.beads]}

    @classmethod
    def _of_core(cls, found: dict[str, Any]) -> Drift:
        return cls(
            **found
            | {
                "jumps": tuple(DriftJump(*jump) for jump in found["jumps"]),
                "beads": tuple(DriftBead(*bead) for bead in found["beads"]),
            }
        )

    def __len__(self) -> int:
        """The number of frames."""
        return len(self.x_nm)

    def __repr__(self) -> str:
        if self.refused:
            return f"<Drift of {len(self):,} frames, not known: {self.why}>"
        axes = [values for name, values in self._arrays().items() if "error" not in name]
        spans = ", ".join(f"{np.ptp(values) if len(values) else 0:.3g}" for values in axes)
        error = (
            f"; error of 100 frames {', '.join(f'{value:.2g}' for value in self.error_100_nm)} nm"
            if self.x_error_nm is not None
            else ""
        )
        return f"<Drift of {len(self):,} frames: range {spans} nm{error}>"


def _of_axes(name, values):
    if not isinstance(values, (tuple, list)) or len(values) not in (0, 2, 3):
        raise OptionError(f"{name}={shown(values)}: give two or three numbers, of x, y and z, or none")
    return tuple(number(name, value, 1.0) for value in values)


def _per_frame(name, values):
    try:
        array = np.asarray(values)
    except ValueError:  # lists of different lengths
        array = np.empty(0, object)
    if array.ndim != 1 or array.dtype.kind not in "uif":
        raise OptionError(f"{name}={shown(values)}: give an array with a number for each frame")
    array = np.array(array, np.float64)  # a copy, since a Drift is frozen
    array.flags.writeable = False
    good = np.isfinite(array) | (np.isnan(array) & name.endswith("_error_nm"))  # NaN beyond the rows is valid
    if not good.all():
        raise OptionError(f"{name} is {array[~good][0]} in frame {int(np.argmin(good))}: give finite numbers")
    return array


def drift(
    locs: Localizations | Fits | StrPath, *, beads: StrPath | np.ndarray = "auto", progress: Progress | None = None
) -> Drift:
    """Estimates the drift of the sample, like `glint drift` (docs/explanation/theory.md, section 15).

    The estimate uses molecules that blink repeatedly, and fiducial beads.

    locs: localizations with a pixel size.
    beads: fiducial beads. A bead that moves on its own, or that no other data confirm, is excluded.
        - "auto": spots present in at least 80 % of the frames
        - "none"
        - an array (n, 2) of x and y in px, or a text file with one line "x y" per bead
    progress: called as progress(steps, all).

    If the table does not determine the drift, warns and returns a drift of zeros with `refused` and `why` set.

    >>> found = glint.Drift([0.0, 5.0], [0.0, -5.0])  # glint.drift(locs), of some thousand frames
    >>> found
    <Drift of 2 frames: range 5, 5 nm>
    """
    table, progress = localizations_of(locs, "locs")._core(), callback("progress", progress)
    found = Drift._of_core(
        _core.drift(table, isinstance(beads, str) and beads == "auto", _bead_places(beads), progress, warn)
    )
    if found.refused:
        warn(f"the drift is not corrected: {found.why}")
    return found


def _bead_places(beads):
    if isinstance(beads, (str, bytes, os.PathLike)):
        return [] if beads in ("auto", "none") else _core.read_bead_places(path_of("beads", beads))
    wrong = OptionError(
        f'beads={shown(beads)}: give "auto", "none", a file, or an array with x and y in px for each bead'
    )
    try:
        places = np.asarray(beads, np.float64)
    except (TypeError, ValueError):
        raise wrong from None
    if places.ndim != 2 or places.shape[1] != 2 or not len(places) or not np.isfinite(places).all():
        raise wrong
    return places.tolist()


def apply_drift(locs: Localizations | Fits | StrPath, drift: Drift | StrPath, *, undo: bool = False) -> Localizations:
    """Returns the table with the drift subtracted: x - dx, y - dy, z - dz. A refused drift changes nothing.

    drift: the result of `drift()`, or a drift file.
    undo: adds a drift that was subtracted before.

    Raises InputError if the drift ends before the last row. Warns if
        - drift and movie have different numbers of frames
        - only one of the two has z
        - by `history`, the drift was already subtracted or added back

    >>> moved = glint.apply_drift(locs, glint.Drift(np.full(20, 10.0), np.zeros(20)))
    >>> bool(np.allclose(locs.x_nm - moved.x_nm, 10, atol=0.01))
    True
    """
    table, name = localizations_of(locs, "locs"), "drift"
    if isinstance(drift, (str, bytes, os.PathLike)):
        name = path_of("drift", drift)
        drift = load_drift(name, pixel_size_nm=table.pixel_size_nm)
    moved = _core.apply_drift(table._core(), _given(drift)._dict(), name, switch("undo", undo), warn)
    return Localizations._of_core(moved, table.columns, table.info)


def _given(drift):
    if not isinstance(drift, Drift):
        raise OptionError(
            f"drift={shown(drift)}: give the result of glint.drift(), a glint.Drift, or the name of a drift file"
        )
    return drift


def load_drift(path: StrPath, *, pixel_size_nm: float) -> Drift:
    """Reads a drift file of Picasso (`.txt`): one line "x y [z]" per frame, x and y in camera pixels, z in nm.

    Raises InputError if the file cannot be read.
    """
    return Drift._of_core(_core.read_drift(path_of("path", path), number("pixel_size_nm", pixel_size_nm, 100)))


def save_drift(path: StrPath, drift: Drift, *, pixel_size_nm: float, overwrite: bool = False) -> None:
    """Writes a drift file of Picasso (`.txt`). The file appears only when it is complete. A refused drift is written as
    zeros.

    Raises OptionError if the file exists and `overwrite` is False, OutputError if it cannot be written.
    """
    _core.write_drift(
        path_of("path", path),
        _given(drift)._dict(),
        number("pixel_size_nm", pixel_size_nm, 100),
        switch("overwrite", overwrite),
    )
