"""Interactive reports of localizations: one HTML file each."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import dataclasses
import os
import pathlib
import warnings
from typing import TYPE_CHECKING

from . import _core
from .arguments import INT32, number, path as path_of, switch, whole
from .errors import OptionError, warn
from .localizations import Localizations, StrPath, localizations_of
from .movies import open_movie

if TYPE_CHECKING:
    from .fits import Fits
    from .movies import MovieLike


@dataclasses.dataclass(frozen=True)
class ReportInfo:
    """The result of `report()`."""

    rows: int  #: rows of the table with a position
    stored_rows: int  #: rows in the file; fewer if the page has a random sample
    bytes: int  #: size of the file
    raw_frames: int
    missing: list[str]  #: sentences: what the page lacks, and why


def report(
    source: Localizations | Fits | StrPath,
    out: StrPath,
    *,
    movie: MovieLike | None = None,
    title: str | None = None,
    report_size_mb: float = 80.0,
    raw_frames: int = 20,
    resolution: bool = True,
    overwrite: bool = False,
) -> ReportInfo:
    """Writes an interactive report: one HTML file that opens in a browser without a network.

    source: a table, a file, or the folder in which `run()` left a movie's results, with its drift and record.
    out: the file, `.html`.
    movie: for raw frames with what was found in them; None: the movie of the folder, if it is still there.
    title: None: the name of the file or folder.
    report_size_mb: limit of the localizations in the file; above it, the page has a random sample, and says so.
    raw_frames: maximum number of raw frames, evenly spaced.
    resolution: measure NeNA and FRC of a table, which takes longer than the rest; a folder has them.

    >>> info = glint.report(locs, "report.html", resolution=False)
    >>> info.stored_rows == len(locs)
    True
    """
    out = path_of("out", out)
    if pathlib.Path(out).suffix.lower() not in (".html", ".htm"):
        raise OptionError(f"out={out!r}: a report ends in .html")
    arguments = _core.ReportArguments()
    arguments.title = title or ""
    arguments.size_mb = number("report_size_mb", report_size_mb, 80)
    arguments.raw_frames = whole("raw_frames", raw_frames, INT32)
    arguments.overwrite = switch("overwrite", overwrite)
    of_movie = None if movie is None else open_movie(movie)._movie
    if isinstance(source, (str, os.PathLike)):
        if os.path.isdir(source):
            return ReportInfo(**_core.report_folder(out, os.fspath(source), arguments, of_movie, warn))
        arguments.tables = [os.fspath(source)]
    with warnings.catch_warnings(record=True) as of_table:
        warnings.simplefilter("always")
        table = localizations_of(source, "source")._core()
    arguments.warnings = [str(warning.message) for warning in of_table]  # who gets the page alone must read them, too
    for text in arguments.warnings:
        warn(text)
    return ReportInfo(**_core.report_table(out, table, arguments, of_movie, switch("resolution", resolution)))
