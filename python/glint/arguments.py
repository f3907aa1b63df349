"""Checks of arguments.

Each function returns the value in the library's form, or raises an OptionError that names the argument.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import functools
import inspect
import math
import operator
import os
import pathlib
import sysconfig
from collections.abc import Callable
from typing import Any, TypeVar

from . import _core
from .errors import OptionError

INT32, INT64, UINT64 = 2**31 - 1, 2**63 - 1, 2**64 - 1
_ANY = (-math.inf, math.inf)

Class = TypeVar("Class", bound="type[Any]")


def shown(value: object) -> str:
    """Returns a value's repr for an error message, or its type if the repr is long."""
    text = repr(value)
    return text if len(text) <= 60 else f"<{type(value).__name__}>"


def number(
    name: str, value: Any, example: object, low: float = -math.inf, high: float = math.inf, *, none: float | None = None
) -> float:
    """Returns a float from `low` to `high`. none: the value for None; without `none`, None is refused."""
    if value is None and none is not None:
        return none
    found = _converted(float, value)
    if found is None or (low, high) != _ANY and not low <= found <= high:
        raise _refused(name, value, "a number", low, high, none, example)
    return float(found)


def whole(name: str, value: Any, example: object, low: int = 0, high: int = INT32, *, none: int | None = None) -> int:
    """Returns a whole number from `low` to `high`. none: the value for None; without `none`, None is refused."""
    if value is None and none is not None:
        return none
    found = _converted(operator.index, value)
    if found is None or not low <= found <= high:
        raise _refused(name, value, "a whole number", low, high, none, example)
    return int(found)


def _converted(convert: Callable[[Any], float], value: Any) -> float | None:
    """Returns the value if it is a number; None for texts, True and False, and arrays."""
    boolean = isinstance(value, bool) or getattr(getattr(value, "dtype", None), "kind", "") == "b"
    if boolean or isinstance(value, (str, bytes)) or getattr(value, "ndim", 0):
        return None
    try:
        return convert(value)
    except (TypeError, ValueError, OverflowError):
        return None


def _refused(
    name: str, value: object, kind: str, low: float, high: float, none: object, example: object
) -> OptionError:
    limits = "" if (low, high) == _ANY else f", {low} or more" if high == math.inf else f" from {low} to {high}"
    return OptionError(
        f"{name}={shown(value)}: give {kind}{limits}{'' if none is None else ', or None'}, as in {name}={example}"
    )


def seconds(name: str, value: Any) -> float:
    """Returns a waiting time in seconds."""
    found = _converted(float, value)
    if found is None or not found >= 0:
        raise OptionError(f"{name}={shown(value)}: give seconds, 0 or more, or math.inf, as in {name}=60")
    return float(found)


def pair(name: str, value: Any, example: tuple[float, float]) -> tuple[float, float]:
    """Returns a pair of numbers."""
    first, second = two(name, value, example)
    return number(f"{name}[0]", first, example[0]), number(f"{name}[1]", second, example[1])


def two(name: str, value: Any, example: object) -> tuple[Any, Any]:
    """Returns the two elements of a tuple, list or array."""
    try:
        if not isinstance(value, (str, bytes)):
            first, second = value
            return first, second
    except (TypeError, ValueError):
        pass
    raise OptionError(f"{name}={shown(value)}: give two numbers, as in {name}={example}")


def switch(name: str, value: Any) -> bool:
    """Returns a truth value. Refuses everything but True and False."""
    if (
        isinstance(value, bool)
        or getattr(getattr(value, "dtype", None), "kind", "") == "b"
        and not getattr(value, "ndim", 0)
    ):
        return bool(value)
    raise OptionError(f"{name}={shown(value)}: give True or False")


def backend(name: str, value: Any) -> str:
    """Returns "auto", "cpu", "gpu" or "prefer-gpu". Accepts "cuda" for "gpu", and upper case."""
    named = _core.backend_named(value) if isinstance(value, str) else None
    if named is None:
        raise OptionError(f"{name}={shown(value)}: give 'auto', 'cpu', 'gpu' (also 'cuda') or 'prefer-gpu'")
    return named


def threads_of(threads: Any) -> int:
    """Returns the number of threads; 0 for None: GLINT_THREADS, or all threads that may be used."""
    return whole("threads", threads, 4, 1, 4096, none=0)


def program() -> str:
    """Returns the path of this package's program `glint`, or the path where it should be."""
    beside = pathlib.Path(_core.__file__).parents[2] / "bin"  # in the build folder
    folders = [
        beside,
        *(
            pathlib.Path(sysconfig.get_path("scripts", scheme))
            for scheme in (sysconfig.get_default_scheme(), sysconfig.get_preferred_scheme("user"))
        ),
    ]
    programs = [folder / "glint" for folder in folders]
    return str(next(filter(pathlib.Path.is_file, programs), programs[1]))


def worker_program(gpu_worker: Any) -> str:
    """Returns the program that is started as a warm worker. Empty: no warm worker is wanted."""
    if gpu_worker is not None and (not isinstance(gpu_worker, str) or gpu_worker not in ("auto", "off")):
        raise OptionError(
            f"gpu_worker={shown(gpu_worker)}: give 'auto' or 'off', or None, which is what GLINT_GPU_WORKER says"
        )
    if gpu_worker == "off" or gpu_worker is None and not _core.gpu_worker():
        return ""
    return program()


def callback(name: str, value: Any) -> Any:
    """Returns a function, or None."""
    if value is None or callable(value):
        return value
    raise OptionError(f"{name}={shown(value)}: give a function that is called, as in {name}=print, or None")


def path(name: str, value: Any) -> str:
    """Returns the name of a file."""
    if isinstance(value, (str, bytes, os.PathLike)):
        return os.fsdecode(value)
    raise OptionError(f"{name}={shown(value)}: give the name of a file, a str or a pathlib.Path")


def completed_by(example: str) -> Callable[[Class], Class]:
    """Decorator for dataclasses: a call without required values raises an OptionError that names them and shows
    `example`.
    """

    def decorate(cls: Class) -> Class:
        made, signature = cls.__init__, inspect.signature(cls)

        @functools.wraps(made)
        def initialize(self: object, *values: Any, **named: Any) -> None:
            try:
                given = signature.bind_partial(*values, **named).arguments
            except TypeError:  # too many arguments: Python raises its own error
                return made(self, *values, **named)
            required = [
                name for name, parameter in signature.parameters.items() if parameter.default is parameter.empty
            ]
            if missing := [name for name in required if name not in given]:
                raise OptionError(
                    f"{cls.__name__} needs {', '.join(missing)} too, which have no default. With what is "
                    f"true of yours: {example}"
                )
            return made(self, *values, **named)

        cls.__init__ = initialize
        return cls

    return decorate
