"""Links the localizations of each blink."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from . import _core
from .arguments import INT32, callback, number, switch, whole
from .errors import OptionError, warn
from .fits import Progress
from .inspecting import Estimate
from .localizations import Localizations, StrPath, localizations_of
from .table import one_row

if TYPE_CHECKING:
    from .fits import Fits


@dataclasses.dataclass(frozen=True)
class InTrackVariance:
    """Fit of the variance within blinks by a + b CRLB, with standard errors.

    Correct precisions give a = 0 and b = 1. nan with fewer than 100 pairs of localizations.
    """

    a_nm2: Estimate
    b: Estimate
    pairs: int  #: number of pairs of localizations in consecutive frames


@dataclasses.dataclass(frozen=True)
class LinkInfo:
    """What `link()` chose and found."""

    tracks: int
    links: int
    unlinkable: int  #: rows without a finite position or without a precision above 0
    radius_sigma: float  #: maximum distance in standard deviations; 0 if radius_nm was given
    radius_nm: float  #: as given, or the radius between two localizations of the median precision
    gap: int  #: maximum number of consecutive dark frames within a blink
    uses_z: bool  #: True: distances are in x, y and z; False: the table lacks z or its precision
    false_links: float  #: expected number of wrong links; nan, as missed_links, if the movie is too short
    missed_links: float
    lateral: InTrackVariance  #: variance of x and y
    axial: InTrackVariance  #: variance of z


def _variance(found):
    return InTrackVariance(Estimate(*found["a_nm2"]), Estimate(*found["b"]), found["pairs"])


def link(
    locs: Localizations | Fits | StrPath,
    *,
    radius_sigma: float | None = None,
    radius_nm: float | None = None,
    gap: int | None = None,
    merged: bool = True,
    progress: Progress | None = None,
) -> tuple[Localizations, LinkInfo]:
    """Links the localizations of each blink, like `glint link` (docs/explanation/theory.md, section 13).

    radius_sigma, radius_nm: maximum distance of a link, in standard deviations of the distance or in nm; None: from the
        data. Give at most one of them.
    gap: maximum number of consecutive dark frames within a blink; None: from the data.
    merged: return one row per blink, with `n` localizations and `len` frames; False: all rows, with their `track`.
    progress: called as progress(frames, all).

    >>> linked, info = glint.link(locs)
    >>> len(linked) == info.tracks, int(linked.n.sum()) == len(locs)
    (True, True)
    """
    if radius_sigma is not None and radius_nm is not None:
        raise OptionError("give radius_sigma or radius_nm, not both")
    table = localizations_of(locs, "locs")
    given, merged = table._core(), switch("merged", merged)
    if warning := _core.linked_warning(given):
        warn(f"locs: {warning}")
    linked, found = _core.link(
        given,
        number("radius_sigma", radius_sigma, 4, none=0.0),
        number("radius_nm", radius_nm, 30, none=0.0),
        _core.auto_gap if gap is None else whole("gap", gap, 2, 0, INT32),
        merged,
        callback("progress", progress),
    )
    row = None if len(table) else _core.link(table._core(one_row(table.columns)), 1.0, 0.0, 0, merged, None)[0].columns
    info = LinkInfo(**found | {"lateral": _variance(found["lateral"]), "axial": _variance(found["axial"])})
    return Localizations._of_core(linked, row), info
