"""The table of localizations of a movie."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import html
import json
import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _core
from .arguments import INT64, number, path as path_of, shown, switch, whole
from .arrays_in import refuse_mask
from .errors import OptionError, warn
from .old_names import renamed
from .table import Table, import_pandas, mapping_of, one_row, structured

if TYPE_CHECKING:
    import pandas

    from .fits import Fits
    from .localizing import LocalizeInfo

StrPath = str | os.PathLike[str]


class Localizations(Table):
    """Localizations in frame coordinates, one row per molecule.

    Columns (n,), if known: `frame` (from 0), `x_px`, `y_px` (camera pixels, the centre of the first at 0.0), `z_nm`,
    `photons`, `bg` (photoelectrons per pixel), `sx_px`, `sy_px` (PSF widths), `lpx_px`, `lpy_px`, `lpz_nm`
    (localization precision: square roots of the CRLB), `photons_unc`, `bg_unc`, `sx_unc_px`, `sy_unc_px`,
    `detection_score`, `log_likelihood`, `emitters`, `p_value`, `iterations`, `status`, `p_single` (probability that the
    row is a single molecule; if it is below 0.5, `lpx_px` and `lpy_px` include the error of a second, hidden molecule).
    Other columns of a file keep their names. Columns of integers, such as `group`, are int64, and are written to files
    as integers.

    `x_nm`, `y_nm`, `lpx_nm`, `lpy_nm`, `sx_nm`, `sy_nm` are these lengths converted to nanometres by `pixel_size_nm`:
    copies, with the same origin. `locs.photons = values` replaces a column, `locs["mine"] = values` adds one.

    `width`, `height` (px), `frames` and `pixel_size_nm` describe the movie; 0 if unknown. `history` has one YAML
    mapping per processing step; `info` is the LocalizeInfo of `localize()`.

    >>> locs = glint.Localizations({"frame": [0, 1], "x_px": [3.5, 4.0], "y_px": [1.0, 2.0]}, pixel_size_nm=100)
    >>> locs
    <Localizations: 2, pixel 100 nm>
    >>> locs[locs.x_px < 3.7].x_px
    array([3.5], dtype=float32)
    """

    if TYPE_CHECKING:  # the columns
        frame: np.ndarray
        x_px: np.ndarray
        y_px: np.ndarray
        z_nm: np.ndarray
        photons: np.ndarray
        bg: np.ndarray
        sx_px: np.ndarray
        sy_px: np.ndarray
        lpx_px: np.ndarray
        lpy_px: np.ndarray
        lpz_nm: np.ndarray
        photons_unc: np.ndarray
        bg_unc: np.ndarray
        sx_unc_px: np.ndarray
        sy_unc_px: np.ndarray
        detection_score: np.ndarray
        log_likelihood: np.ndarray
        emitters: np.ndarray
        p_value: np.ndarray
        iterations: np.ndarray
        status: np.ndarray
        p_single: np.ndarray
    width: int
    height: int
    frames: int
    pixel_size_nm: float
    history: list[str]
    info: LocalizeInfo | None

    def __init__(
        self,
        columns: Mapping[str, Any],
        *,
        width: int = 0,
        height: int = 0,
        frames: int = 0,
        pixel_size_nm: float = 0.0,
        history: Iterable[str] = (),
        info: LocalizeInfo | None = None,
    ) -> None:
        super().__init__({name: _column(name, values) for name, values in mapping_of("columns", columns).items()})
        for name in ("frame", "x_px", "y_px"):
            if name not in self.columns:
                raise OptionError(f"localizations need a column {name!r}; given: {', '.join(self.columns)}")
        self.width, self.height = whole("width", width, 128), whole("height", height, 128)
        self.frames, self.pixel_size_nm = (
            whole("frames", frames, 1000, 0, INT64),
            number("pixel_size_nm", pixel_size_nm, 100),
        )
        _check_pixel_size_nm(pixel_size_nm)
        self.history, self.info = list(history), info

    def _in_nm(self, name):
        if not self.pixel_size_nm > 0:
            raise OptionError(f"{name[:-3]}_nm needs the size of a pixel: locs.pixel_size_nm = 100")
        return self.columns[name] * np.float32(self.pixel_size_nm) if name in self.columns else getattr(self, name)

    @property
    def x_nm(self) -> np.ndarray:
        """x in nanometres, 0 at the centre of the first pixel."""
        return self._in_nm("x_px")

    @property
    def y_nm(self) -> np.ndarray:
        """y in nanometres, 0 at the centre of the first pixel."""
        return self._in_nm("y_px")

    @property
    def lpx_nm(self) -> np.ndarray:
        """The precision of x in nanometres."""
        return self._in_nm("lpx_px")

    @property
    def lpy_nm(self) -> np.ndarray:
        """The precision of y in nanometres."""
        return self._in_nm("lpy_px")

    @property
    def sx_nm(self) -> np.ndarray:
        """The PSF's width along x in nanometres."""
        return self._in_nm("sx_px")

    @property
    def sy_nm(self) -> np.ndarray:
        """The PSF's width along y in nanometres."""
        return self._in_nm("sy_px")

    def _as_column(self, name, values):
        return _column(name, values)

    @classmethod
    def _of_core(cls, core, columns_without_rows=None, info=None):
        """columns_without_rows: a table that defines the columns if this table has no rows; the library's own table
        does not store them.
        """
        columns = core.columns
        if columns_without_rows and not len(columns["frame"]):
            columns = {name: values[:0] for name, values in columns_without_rows.items()}
        return cls(
            columns,
            width=core.width,
            height=core.height,
            frames=core.frames,
            pixel_size_nm=core.pixel_size_nm,
            history=core.history,
            info=info,
        )

    def _core(self, columns=None):
        return _core.Localizations(
            self.columns if columns is None else columns,
            self.width,
            self.height,
            self.frames,
            self.pixel_size_nm,
            self.history,
        )

    def _with_columns(self, columns, rows):
        return Localizations(
            columns,
            width=self.width,
            height=self.height,
            frames=self.frames,
            pixel_size_nm=self.pixel_size_nm,
            history=self.history,
            info=self.info,
        )

    def to_picasso(self) -> tuple[pandas.DataFrame, list[dict[str, Any]]]:
        """Returns (locs, info) for `picasso.io.save_locs(path, locs, info)`: a pandas.DataFrame with Picasso's columns
        in Picasso's order, and a list of dictionaries."""
        pandas = import_pandas("to_picasso()")
        return pandas.DataFrame(structured(self._picasso_columns())), json.loads(self._core().picasso_info)

    def _picasso_columns(self):
        names = _core.picasso_names()
        known = {theirs: self.columns[ours] for theirs, ours in names if ours in self.columns}
        ours = {ours for _, ours in names}
        return known | {name: values for name, values in self.columns.items() if name not in ours}

    @classmethod
    def from_picasso(cls, locs: Any, info: list[dict[str, Any]]) -> Localizations:
        """Returns a table from the results of `picasso.io.load_locs(path)`: a DataFrame or structured array, and a list
        of dictionaries.
        """
        ours = dict(_core.picasso_names())
        names = locs.dtype.names if isinstance(locs, np.ndarray) else list(getattr(locs, "columns", ()))
        if not names:
            raise OptionError(
                f"locs={shown(locs)}: give the DataFrame or structured array that picasso.io.load_locs() returns first"
            )
        if not isinstance(info, (list, tuple)) or not all(isinstance(step, Mapping) for step in info):
            raise OptionError(
                f"info={shown(info)}: give the list of dictionaries that picasso.io.load_locs() returns second"
            )
        facts = {}
        for step in info:
            facts |= {key: step[key] for key in ("Width", "Height", "Frames", "Pixelsize") if key in step}
        history = [
            "".join(f"{json.dumps(str(key))}: {json.dumps(value, default=str)}\n" for key, value in step.items())
            for step in info
        ]
        return cls(
            {ours.get(name, name): np.asarray(locs[name]) for name in names},
            width=facts.get("Width", 0),
            height=facts.get("Height", 0),
            frames=facts.get("Frames", 0),
            pixel_size_nm=facts.get("Pixelsize", 0),
            history=history,
        )

    def save(self, path: StrPath, *, overwrite: bool = False) -> None:
        """Writes the table: `.hdf5` Picasso, with its `.yaml`; `.csv` ThunderSTORM; `.all.csv` every column;
        `_sml.mat`, `.smap.csv` SMAP; `.smlm`; `.smlm.h5` SMLMAnalysis. The file appears only when it is complete.
        Raises OptionError if the file exists, and OutputError if it cannot be written."""
        columns = self.columns if len(self) else one_row(self.columns)
        _core.write_localizations(
            path_of("path", path), self._core(columns), len(self) > 0, False, switch("overwrite", overwrite), warn
        )

    def _repr_html_(self) -> str:
        """The first rows, for notebooks."""
        shown = 5
        head = "".join(f"<th>{html.escape(name)}</th>" for name in self.columns)
        rows = "".join(
            "<tr>" + "".join(f"<td>{_short(values[k])}</td>" for values in self.columns.values()) + "</tr>"
            for k in range(min(shown, len(self)))
        )
        more = f"<p>and {len(self) - shown:,} rows more</p>" if len(self) > shown else ""
        table = f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
        return f"<p>{html.escape(repr(self)[1:-1])}</p>{table}{more}"

    def __repr__(self) -> str:
        size = f" in {self.frames:,} frames of {self.width}x{self.height} px" if self.frames and self.width else ""
        pixel = f", pixel {self.pixel_size_nm:g} nm" if self.pixel_size_nm else ""
        how = f"; {self.info.seconds:.3g} s on {self.info.fit.device}" if self.info else ""
        return f"<Localizations: {len(self):,}{size}{pixel}{how}>"


def _short(value):
    return f"{value:d}" if isinstance(value, np.integer) else f"{value:.5g}"


_INTEGERS = {"frame": np.uint32, "iterations": np.uint32, "status": np.uint8}
_FLOATS = set(_core.float_columns())
_LARGEST_EXACT = 2**53  # files store other columns in double precision


def _column(name, values):
    """Returns the column in the library's type, without a copy if it has that type already."""
    refuse_mask(f"column {name!r}", values)
    array = np.asarray(values)
    if array.dtype.kind not in "uifb":
        raise OptionError(f"column {name!r} is of {array.dtype}: give numbers")
    other = np.float64 if array.dtype.kind == "f" else np.int64
    wanted = np.dtype(_INTEGERS.get(name, np.float32 if name in _FLOATS else other))
    if wanted == np.int64 and array.size and (array.max() > _LARGEST_EXACT or array.min() < -_LARGEST_EXACT):
        raise OptionError(
            f"column {name!r} has whole numbers beyond {_LARGEST_EXACT}, which tables do not hold "
            f"exactly: give it as floats"
        )
    if array.dtype != wanted and wanted.kind == "u" and array.size:
        limit = np.iinfo(wanted).max
        if not (np.all(array >= 0) and np.all(array <= limit) and np.all(array == np.floor(array))):
            raise OptionError(f"column {name!r} needs whole numbers from 0 to {limit}")
    return np.ascontiguousarray(array, wanted)


def localizations_of(
    table: Localizations | Fits | StrPath, name: str, *, truth: bool = False, pixel_size_nm: float = 0.0
) -> Localizations:
    """Returns a table, the localizations of fits, or the table in a file. `name`: the argument's name, for errors."""
    if isinstance(table, (str, os.PathLike)):
        return _read(table, pixel_size_nm, truth)
    if not isinstance(table, Localizations) and hasattr(table, "to_localizations"):
        table = table.to_localizations()
    if not isinstance(table, Localizations):
        raise OptionError(
            f"{name} is of type {type(table).__name__}: give Localizations, as from glint.localize() and "
            f"glint.load(), or "
            "the name of a file of them"
        )
    return table


def merge(tables: Iterable[Localizations | Fits | StrPath], *, consecutive: bool = False) -> Localizations:
    """Merges several tables, or files of tables, into one. Keeps the columns that all tables have; a warning names the
    omitted columns.

    consecutive: True: the movies follow one another, so the frames of each table continue after those of the previous
    table. False: all tables are of one movie, and the rows are ordered by frame. Raises OptionError for tables of
    different pixel sizes.

    >>> len(glint.merge([locs, locs], consecutive=True)) == 2 * len(locs)
    True
    """
    if isinstance(tables, (str, bytes, os.PathLike, Table)) or not isinstance(tables, Iterable):
        raise OptionError(
            f"tables={shown(tables)}: give a list of tables or files, as in glint.merge([locs, 'more.hdf5'])"
        )
    given = [localizations_of(table, "each of tables") for table in tables]
    consecutive = switch("consecutive", consecutive)
    merged = _core.merge_localizations([table._core() for table in given], consecutive, warn)
    if any(map(len, given)):
        return Localizations._of_core(merged)
    rows = [table._core(one_row(table.columns)) for table in given]
    return Localizations._of_core(merged, _core.merge_localizations(rows, consecutive, warn).columns)


def filter(locs: Localizations | Fits | StrPath, *conditions: str) -> Localizations:
    """Returns the rows of a table or file that fulfil all conditions, like `glint filter --where`.

    docs/reference/filter.md describes conditions. Columns are named as in files of Picasso: `lpx` is in pixels,
    `lpx_nm` in nanometres. Conditions may use

    - + - * / **, abs, sqrt, log, min, max, comparisons, and, or, not
    - `percentile(photons, 5)` and `sx within 10% of mode`
    - `neighbors(50nm)`: the number of other rows within that distance

    A comparison with NaN is false. The history records the conditions. Raises OptionError for an invalid condition,
    with the position of the mistake.

    >>> bright = glint.filter(locs, "photons > 200 and lpx_nm < 30", "frame >= 2")
    >>> bool((bright.photons > 200).all() and bright.frame.min() >= 2)
    True
    """
    table = localizations_of(locs, "locs")
    if not conditions or not all(isinstance(condition, str) for condition in conditions):
        raise OptionError(
            f"conditions={shown(conditions)}: give one or more texts, as in glint.filter(locs, 'photons > 500')"
        )
    left = Localizations._of_core(
        _core.filter_localizations(table._core(), list(conditions)), table.columns, table.info
    )
    if len(left) == 0 and len(table) > 0:
        warn("no row fulfils the conditions: the table that glint.filter returns has none")
    return left


@renamed
def load_localizations(
    path: StrPath,
    *,
    pixel_size_nm: float = 0.0,
    first_frame: int | None = None,
    columns: Mapping[str, str] | None = None,
) -> Localizations:
    """Reads localizations. The content of the file determines its format.

    Formats: Picasso (`.hdf5`), ThunderSTORM (`.csv`), SMLMAnalysis (`.smlm.h5`), SMAP (`_sml.mat`, `.csv`), DECODE
    (`.h5`, `.csv`), `.smlm` and glint's `.all.csv`.

    pixel_size_nm: used if the file does not contain it; required for ThunderSTORM files, which are in nanometres.
    first_frame: number of the movie's first frame in a text table, 0 or 1; None: from its header and rows. If they do
        not determine it, a warning reports the assumption.
    columns: names of columns in a text table, as in {"bg": "Background", "x [px]": "pos_x"}.

    Rows with NaN or infinity are dropped, with a warning. Raises InputError if the file cannot be read, and OptionError
    for an invalid or missing argument.
    """
    return _read(path, pixel_size_nm, False, first_frame, columns)


@renamed
def load_truth(
    path: StrPath,
    *,
    pixel_size_nm: float = 0.0,
    first_frame: int | None = None,
    columns: Mapping[str, str] | None = None,
) -> Localizations:
    """Reads ground truth for `score()`: a file of `save_truth()` or `glint simulate`, another CSV of positions in nm,
    or any localization file. Pixel size, first_frame and columns as in `load_localizations()`."""
    return _read(path, pixel_size_nm, True, first_frame, columns)


def _check_pixel_size_nm(pixel_size_nm):
    if pixel_size_nm != 0 and not 1 <= pixel_size_nm <= 1e5:
        raise OptionError(
            f"pixel_size_nm={shown(pixel_size_nm)}: give 1 to 100000 nm, as in pixel_size_nm=100, or 0 if unknown"
        )


def _read(path, pixel_size_nm, is_truth, first_frame=None, columns=None):
    path = path_of("path", path)
    pixel_size_nm = number("pixel_size_nm", pixel_size_nm, 100)
    _check_pixel_size_nm(pixel_size_nm)
    first_frame = None if first_frame is None else whole("first_frame", first_frame, 1, 0, 1)
    if columns is not None and not (
        isinstance(columns, Mapping) and all(isinstance(x, str) for pair in columns.items() for x in pair)
    ):
        raise OptionError(
            f"columns={shown(columns)}: give a dict of the table's columns and the file's headers, as in "
            f"{{'bg': 'Background'}}"
        )
    core, example = _core.read_localizations(path, pixel_size_nm, is_truth, first_frame, dict(columns or {}), warn)
    return Localizations._of_core(core, example.columns)


def save_truth(path: StrPath, truth: Localizations, *, overwrite: bool = False) -> None:
    """Writes ground truth as CSV, with positions in nm."""
    path, table = path_of("path", path), localizations_of(truth, "truth")
    _core.write_localizations(path, table._core(), True, True, switch("overwrite", overwrite), warn)
