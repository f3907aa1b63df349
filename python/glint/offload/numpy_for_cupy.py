"""Runs a function that uses CuPy on the CPU, with NumPy, which has the same names."""
# SPDX-License-Identifier: MIT
from __future__ import annotations

import builtins
import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np


class _NumPyForCuPy(types.ModuleType):
    """NumPy with the functions of CuPy that move arrays."""

    def __init__(self) -> None:
        super().__init__("cupy")

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)

    @staticmethod
    def asnumpy(a: Any, *_: Any, **__: Any) -> np.ndarray:
        return np.asarray(a)

    @staticmethod
    def asarray(a: Any, dtype: Any = None, order: Any = None, **_: Any) -> np.ndarray:
        """A copy, as of a host array: the caller's stays as it is."""
        return np.array(a, dtype=dtype, order=order or "K")

    @staticmethod
    def get_array_module(*_: Any) -> Any:
        return np


_numpy = _NumPyForCuPy()


def _replaced(value):
    """NumPy's module for one of CuPy; other values as they are."""
    if value is not None and value is sys.modules.get("cupy"):
        return _numpy
    if isinstance(value, types.ModuleType) and value.__name__.startswith("cupy."):
        return _module(value.__name__)
    return value


def _module(name):
    found = _numpy
    for part in name.split(".")[1:]:
        found = getattr(found, part)
    return found


def _import(name, globals=None, locals=None, fromlist=(), level=0):
    if level == 0 and (name == "cupy" or name.startswith("cupy.")):
        return _module(name) if fromlist else _numpy
    return builtins.__import__(name, globals, locals, fromlist, level)


def call_with_numpy(function: Callable, arguments: Any, options: Any) -> Any:
    """The result of `function` where the names of its module, its closure and the imports in its body mean NumPy if they meant CuPy.
    Functions that it calls are not changed."""
    if not isinstance(function, types.FunctionType):
        return function(*arguments, **options)
    before = function.__globals__
    names = {key: _replaced(value) for key, value in before.items()}
    names["__builtins__"] = {**vars(builtins), "__import__": _import}
    cells = tuple(types.CellType(_replaced(cell.cell_contents)) if _holds_cupy(cell) else cell for cell in function.__closure__ or ())
    given = dict(names)
    on_numpy = types.FunctionType(function.__code__, names, function.__name__, function.__defaults__, cells)
    on_numpy.__kwdefaults__ = function.__kwdefaults__
    try:
        return on_numpy(*arguments, **options)
    finally:  # what it has written to the names of its module
        before.update({key: value for key, value in names.items() if key not in given or value is not given[key]})


def _holds_cupy(cell):
    try:
        return _replaced(cell.cell_contents) is not cell.cell_contents
    except ValueError:  # an empty cell
        return False
