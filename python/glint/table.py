"""Table: the base class of glint's results."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from .arguments import shown
from .errors import OptionError

if TYPE_CHECKING:
    import pandas
    from typing_extensions import Self  # typing's, from Python 3.11 on


class Table:
    """NumPy arrays of equal length, by column name.

    `table.x_px` and `table["x_px"]` return a column. `table[mask]`, `table[:100]` and `table[indices]` return rows, as
    a table of the same kind. `len(table)` is the number of rows. `table.x_px = values` replaces a column,
    `table["mine"] = values` adds one.
    """

    columns: dict[str, np.ndarray]

    def __init__(self, columns: Mapping[str, Any]) -> None:
        self.columns = dict(mapping_of("columns", columns))
        lengths = {name: np.shape(values) for name, values in self.columns.items()}
        if any(len(shape) != 1 for shape in lengths.values()) or len(set(lengths.values())) > 1:
            raise OptionError(f"columns must be one-dimensional and of one length, not {lengths}")

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))

    def __getattr__(self, name: str) -> np.ndarray:
        columns = self.__dict__.get("columns", {})
        if name in columns:
            return columns[name]
        raise AttributeError(
            f"{type(self).__name__} has no column or attribute {name!r}; columns: {', '.join(columns)}"
        )

    if not TYPE_CHECKING:  # for type checkers, only declared attributes can be set

        def __setattr__(self, name, value):
            if name in self.__dict__.get("columns", {}):
                self[name] = value
            elif name.startswith("_") or any(
                name in vars(kind).get("__annotations__", {}) for kind in type(self).__mro__
            ):
                super().__setattr__(name, value)
            else:
                self._refuse_derived(name)
                near = difflib.get_close_matches(name, self.columns, 1)
                raise AttributeError(
                    f"{type(self).__name__} has no column or attribute {name!r} to set: "
                    f"{f'did you mean {near[0]!r}? ' if near else ''}A new column is table[{name!r}] = values"
                )

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.columns]

    def __setitem__(self, name: str, values: Any) -> None:
        """Replaces a column, or adds one: `table["x_um"] = 0.1 * table.x_px`."""
        if not isinstance(name, str):
            raise TypeError(
                "columns are set by name, as in table['x_px'] = values; their values in place, as in table.x_px[:5] = 0"
            )
        self._refuse_derived(name)
        values = self._as_column(name, values)
        if values.shape != (len(self),):
            raise OptionError(f"column {name!r} of shape {values.shape}: give {len(self)} values, one for each row")
        self.columns[name] = values

    def _refuse_derived(self, name: str) -> None:
        """Refuses to set a property that is computed from a column, or to add a column of its name: one would be
        lost."""
        source = f"{name[:-3]}_px"
        if isinstance(getattr(type(self), name, None), property):
            raise OptionError(
                f"{name} is computed"
                + (f" from {source}: set {source}" if source in self.columns else " and cannot be set")
            )
        if not name:
            raise OptionError("a column needs a name")

    def _as_column(self, name, values):
        return np.asarray(values)

    @overload
    def __getitem__(self, key: str) -> np.ndarray: ...
    @overload
    def __getitem__(self, key: slice | np.ndarray | Sequence[int] | Sequence[bool]) -> Self: ...
    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str):
            if key not in self.columns:
                raise KeyError(f"no column {key!r}; columns: {', '.join(self.columns)}")
            return self.columns[key]
        if isinstance(key, (int, np.integer)):
            raise TypeError("one row is table[k:k+1]; one column is table['x_px']")
        return self._with_columns({name: values[key] for name, values in self.columns.items()}, key)

    def _with_columns(self, columns: dict[str, np.ndarray], rows: Any) -> Self:
        """Returns a table of the same kind with these columns; `rows` is the selection."""
        raise NotImplementedError

    @property
    def array(self) -> np.ndarray:
        """Returns a copy of all columns as one structured array."""
        return structured(self.columns)

    def to_pandas(self) -> pandas.DataFrame:
        """Returns the columns as a pandas.DataFrame."""
        return import_pandas("to_pandas()").DataFrame(self.columns, copy=False)


def one_row(columns: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Returns a row of ones with these columns. The library's result for this row has the columns of a result without
    rows, which the library's own tables do not store."""
    return {name: np.ones(1, values.dtype) for name, values in columns.items()}


def mapping_of(name: str, values: Any) -> Mapping[str, Any]:
    """Returns the columns as a dictionary."""
    if not isinstance(values, Mapping) or not all(isinstance(key, str) for key in values):
        raise OptionError(
            f"{name}={shown(values)}: give a dictionary of columns by name, as in "
            f"{{'frame': [0], 'x_px': [3.5], 'y_px': [4.0]}}"
        )
    return values


def import_pandas(what: str) -> Any:
    """Imports pandas, which is not installed with glint."""
    try:
        import pandas
    except ImportError:
        raise ImportError(
            f"{what} needs pandas, which is not installed: pip install pandas; table.columns is a dictionary of NumPy "
            "arrays, and needs nothing"
        ) from None
    return pandas


def structured(columns: Mapping[str, np.ndarray]) -> np.ndarray:
    """Returns a structured array of these columns."""
    array = np.empty(len(next(iter(columns.values()), ())), [(name, values.dtype) for name, values in columns.items()])
    for name, values in columns.items():
        array[name] = values
    return array
