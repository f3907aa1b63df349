"""Runs a function that uses CuPy on the CPU, by replacing CuPy with NumPy, which has the same names."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import builtins
import functools
import inspect
import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np


class _NumPyForCuPy(types.ModuleType):
    """NumPy with additional functions: those of CuPy that move arrays."""

    def __init__(self) -> None:
        super().__init__("cupy")

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)

    @staticmethod
    def asnumpy(a: Any, *_: Any, **__: Any) -> np.ndarray:
        return np.asarray(a)

    @staticmethod
    def asarray(a: Any, dtype: Any = None, order: Any = None, **_: Any) -> np.ndarray:
        """Returns a copy, as CuPy does for a host array: the caller's array is not changed."""
        return np.array(a, dtype=dtype, order=order or "K")

    @staticmethod
    def get_array_module(*_: Any) -> Any:
        return np


_numpy = _NumPyForCuPy()


_MODULES = ("cupy", "cupy.linalg", "cupy.fft", "cupy.random", "cupy.testing")
_found: dict[int, tuple[Any, Any]] = {}  # by id(): a function or class of CuPy, and that of NumPy with the same name
_searched: Any = None  # the module of CuPy in which they were found


def _replaced(value):
    """Returns NumPy's module, function or class for one of CuPy; other values unchanged."""
    cupy = sys.modules.get("cupy")
    if cupy is None or value is None:
        return value
    if value is cupy:
        return _numpy
    if isinstance(value, types.ModuleType):
        return _module(value.__name__, value) if value.__name__.startswith("cupy.") else value
    if not callable(value):
        return value
    _search(cupy)
    known, ours = _found.get(id(value), (None, None))
    return ours if known is value else value


def _search(cupy):
    """Finds the functions and classes of CuPy that also exist in NumPy."""
    global _searched
    if _searched is cupy:
        return
    _found.clear()
    for name in _MODULES:
        if (module := sys.modules.get(name)) is None:
            continue
        of_numpy = _module(name)
        for key, value in list(vars(module).items()):
            ours = getattr(of_numpy, key, None)
            if callable(value) and not key.startswith("_") and ours is not None and ours is not value:
                _found.setdefault(id(value), (value, ours))
    _searched = cupy


def _module(name, *default):
    """NumPy's module that replaces a module of CuPy."""
    found = _numpy
    for part in name.split(".")[1:]:
        found = getattr(found, part, *default)
    return found


def _import(name, globals=None, locals=None, fromlist=(), level=0):
    if level == 0 and (name == "cupy" or name.startswith("cupy.")):
        return _module(name) if fromlist else _numpy
    return builtins.__import__(name, globals, locals, fromlist, level)


_READ_BY_PYTHON = ("__name__", "__package__", "__spec__", "__loader__")  # not by __missing__()


def _reads_names_otherwise(code):
    """Whether names are read without __missing__(): in the body of a class, or by globals(), eval() or exec()."""
    inner = [constant for constant in code.co_consts if isinstance(constant, types.CodeType)]
    by_function = not {"globals", "eval", "exec"}.isdisjoint(code.co_names)
    return by_function or any(not one.co_flags & inspect.CO_OPTIMIZED or _reads_names_otherwise(one) for one in inner)


class _Names(dict):
    """The names of a function's module, with NumPy for CuPy, looked up when the function reads them.

    Names that the function writes are kept here until it ends.
    """

    def __init__(self, module: dict[str, Any], code: types.CodeType) -> None:
        super().__init__({name: module[name] for name in _READ_BY_PYTHON if name in module})
        if _reads_names_otherwise(code):
            self.update({name: _replaced(value) for name, value in module.items()})
        self["__builtins__"] = {**vars(builtins), "__import__": _import}
        self._module, self._given = module, dict(self)

    def __missing__(self, name: str) -> Any:
        return _replaced(self._module[name])

    def write_back(self) -> None:
        self._module.update({name: value for name, value in self.items() if value is not self._given.get(name, self)})


def call_with_numpy(function: Callable, arguments: Any, options: Any) -> Any:
    """Calls `function` with NumPy instead of CuPy's module, functions and classes. Replaces them among the names of its
    module, in its closure and default values, and in imports of its body. Functions that it calls are not changed."""
    if isinstance(function, functools.partial):
        return call_with_numpy(
            function.func, [*map(_replaced, function.args), *arguments], {**function.keywords, **options}
        )
    if isinstance(function, types.MethodType):
        return call_with_numpy(function.__func__, [function.__self__, *arguments], options)
    if not isinstance(function, types.FunctionType):
        call = getattr(type(function), "__call__", None)
        if isinstance(call, types.FunctionType):  # an object with a method __call__
            return call_with_numpy(call, [function, *arguments], options)
        return _replaced(function)(*arguments, **options)
    names = _Names(function.__globals__, function.__code__)
    cells = tuple(
        types.CellType(_replaced(cell.cell_contents)) if _holds_cupy(cell) else cell
        for cell in function.__closure__ or ()
    )
    defaults = None if function.__defaults__ is None else tuple(map(_replaced, function.__defaults__))
    on_numpy = types.FunctionType(function.__code__, names, function.__name__, defaults, cells)
    on_numpy.__kwdefaults__ = (
        None if function.__kwdefaults__ is None else {k: _replaced(v) for k, v in function.__kwdefaults__.items()}
    )
    try:
        return on_numpy(*arguments, **options)
    finally:
        names.write_back()


def _holds_cupy(cell):
    try:
        return _replaced(cell.cell_contents) is not cell.cell_contents
    except ValueError:  # an empty cell
        return False
