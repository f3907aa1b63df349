"""Information about the namespace."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import OptionError
from ..offload.device_arrays import DTYPES
from ..offload.sessions import default_session
from ._dtypes import isdtype
from ._host import ON_HOST


class __array_namespace_info__:
    """Returns capabilities, devices and types, as the standard requires."""

    def capabilities(self) -> dict[str, Any]:
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 16}

    def default_device(self) -> Any:
        """Returns the default session's GPU. Opens it if necessary."""
        return default_session().open()

    def devices(self) -> list[Any]:
        return [self.default_device()]

    def default_dtypes(self, *, device: Any = None) -> dict[str, np.dtype[Any]]:
        return {
            "real floating": np.dtype(np.float64),
            "complex floating": np.dtype(np.complex128),
            "integral": np.dtype(np.int64),
            "indexing": np.dtype(np.int64),
        }

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, np.dtype[Any]]:
        return {
            name: np.dtype(name)
            for name in DTYPES
            if name != "float16" and (kind is None or isdtype(np.dtype(name), kind))
        }


def where_computed(name: str) -> str:
    """Returns "gpu", or "host" for a function that always copies its arrays to the host, where NumPy computes. For some
    types, the functions of "gpu" do so, too (docs/how-to/python_gpu.md).

    >>> glint.arrays.where_computed("sum"), glint.arrays.where_computed("sort")
    ('gpu', 'host')
    """
    from .. import arrays

    place = arrays
    for part in name.split("."):
        place = getattr(place, part, None)
    if not callable(place):
        raise OptionError(f"glint.arrays has no function {name!r}")
    return "host" if name.rpartition(".")[2] in ON_HOST else "gpu"
