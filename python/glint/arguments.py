"""Arguments of a wrong type, told by their names: nanobind's own message names neither argument nor value."""
# SPDX-License-Identifier: MIT
from __future__ import annotations

import functools
import inspect
import numbers
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from .errors import OptionError

F = TypeVar("F", bound=Callable[..., Any])


def _is_whole(value):
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def _is_number(value):
    return isinstance(value, numbers.Real) and not isinstance(value, (bool, np.bool_))


def _are_two(test):
    return lambda value: isinstance(value, (Sequence, np.ndarray)) and not isinstance(value, str) and len(value) == 2 and all(map(test, value))


_KINDS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "int": (_is_whole, "a whole number"),
    "float": (_is_number, "a number"),
    "bool": (lambda value: isinstance(value, (bool, np.bool_)), "True or False"),
    "str": (lambda value: isinstance(value, str), "a string"),
    "slice": (lambda value: isinstance(value, slice), "a slice"),
    "Progress": (callable, "a function"),
    "OnWait": (callable, "a function"),
    "None": (lambda value: value is None, "None"),
    "tuple[int, int]": (_are_two(_is_whole), "two whole numbers"),
    "tuple[float, float]": (_are_two(_is_number), "two numbers"),
}


def _kinds_of(annotation: Any) -> list[tuple[Callable[[Any], bool], str]]:
    """Those that an annotation names; none where it names any other type."""
    names = [name.strip() for name in annotation.split("|")] if isinstance(annotation, str) else []
    return [_KINDS[name] for name in names] if all(name in _KINDS for name in names) else []


def checked(function: F) -> F:
    """Checks the arguments whose annotations are numbers, pairs of these, bool, str, slice or None, and raises OptionError for others."""
    signature = inspect.signature(function)
    kinds = {name: _kinds_of(parameter.annotation) for name, parameter in signature.parameters.items()}

    @functools.wraps(function)
    def call(*args, **kwargs):
        try:
            given = signature.bind(*args, **kwargs).arguments
        except TypeError:  # too few or too many: Python's own words are better
            given = {}
        for name, value in given.items():
            if kinds[name] and not any(test(value) for test, _ in kinds[name]):
                raise OptionError(f"{name}={value!r}: give {' or '.join(words for _, words in kinds[name])}")
        return function(*args, **kwargs)

    return call  # type: ignore[return-value]
