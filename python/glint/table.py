"""Table: the base class of glint's results."""
# SPDX-License-Identifier: MIT
from __future__ import annotations

import numpy as np

from .errors import OptionError


class Table:
    """NumPy arrays of equal length, by column name.

    `table.x_px` and `table["x_px"]` are one column; `table[mask]`, `table[:100]` and `table[indices]` are rows, as a table of
    the same kind. `len(table)` is the number of rows.
    """

    columns: dict[str, np.ndarray]

    def __init__(self, columns):
        self.columns = dict(columns)
        lengths = {name: np.shape(values) for name, values in self.columns.items()}
        if any(len(shape) != 1 for shape in lengths.values()) or len(set(lengths.values())) > 1:
            raise OptionError(f"columns must be one-dimensional and of one length, not {lengths}")

    def __len__(self):
        return len(next(iter(self.columns.values()), ()))

    def __getattr__(self, name):
        columns = self.__dict__.get("columns", {})
        if name in columns:
            return columns[name]
        raise AttributeError(f"{type(self).__name__} has no column or attribute {name!r}; columns: {', '.join(columns)}")

    def __dir__(self):
        return [*super().__dir__(), *self.columns]

    def __getitem__(self, key):
        if isinstance(key, str):
            if key not in self.columns:
                raise KeyError(f"no column {key!r}; columns: {', '.join(self.columns)}")
            return self.columns[key]
        if isinstance(key, (int, np.integer)):
            raise TypeError("one row is table[k:k+1]; one column is table['x_px']")
        return self._with_columns({name: values[key] for name, values in self.columns.items()}, key)

    def _with_columns(self, columns, rows):
        """A table of the same kind with these columns; `rows` is the selection."""
        raise NotImplementedError

    @property
    def array(self) -> np.ndarray:
        """All columns as one structured array: a copy."""
        return structured(self.columns)

    def to_pandas(self):
        """The columns as a pandas.DataFrame."""
        import pandas

        return pandas.DataFrame(self.columns, copy=False)


def structured(columns):
    """A structured array of these columns."""
    array = np.empty(len(next(iter(columns.values()), ())),
                     [(name, values.dtype) for name, values in columns.items()])
    for name, values in columns.items():
        array[name] = values
    return array
