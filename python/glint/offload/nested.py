"""Arrays among the arguments of a function, also within lists, tuples and dicts."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any


def leaves(values: Any) -> Iterator[Any]:
    """Yields the elements of lists, tuples and dicts, at any depth; other values unchanged."""
    for x in values.values() if isinstance(values, dict) else values:
        if isinstance(x, (list, tuple, dict)):
            yield from leaves(x)
        else:
            yield x


def converted(x: Any, convert: Callable[[Any], Any]) -> Any:
    """Applies convert() to all elements within `x`. Lists, tuples and dicts in which nothing changes stay the same
    objects."""
    if isinstance(x, dict):
        new = {key: converted(value, convert) for key, value in x.items()}
        return x if all(new[key] is value for key, value in x.items()) else new
    if isinstance(x, (list, tuple)):
        parts = [converted(value, convert) for value in x]
        if all(new is value for new, value in zip(parts, x)):
            return x
        return type(x)(*parts) if hasattr(x, "_fields") else tuple(parts) if isinstance(x, tuple) else parts
    return convert(x)
