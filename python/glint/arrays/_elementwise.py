"""Element-wise functions. Their types and special cases are those of NumPy's ufuncs."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import OptionError
from ..offload.device_arrays import DeviceArray, copied, copy_to, empty_there, unified_with, uploaded
from ..offload.expressions import fma, step, where as choose
from ..offload.full_gpu import or_on_host
from ._compute import computed_in, evaluate, evaluate_parts, handle_among, parts_of, parts_there, resolve, rounded
from ._host import ON_HOST, array_of, through_host

if TYPE_CHECKING:
    from .._types import Operand


def _steps(name):
    return lambda *x: step(name, *x)


def _finite(x):
    return x - x == 0


def _infinite(x):
    return np.absolute(x) == float("inf")


def _floor_quotient(a, b):
    of_infinity = choose(_finite(a), choose((a != 0) * ((a < 0) != (b < 0)), -1.0, 0.0), float("nan"))
    return choose(b == 0, a / b, choose(_infinite(b), of_infinity, np.rint((a - a % b) / b)))


# Expressions by kind of type: "f" for floats, "i" for integers and booleans (0 and 1).
_BOTH = {
    name: _steps(name)
    for name in (
        "add",
        "subtract",
        "multiply",
        "power",
        "minimum",
        "maximum",
        "remainder",
        "negative",
        "absolute",
        "square",
        "sign",
        "less",
        "less_equal",
        "greater",
        "greater_equal",
        "equal",
        "not_equal",
        "isnan",
        "floor",
        "ceil",
        "trunc",
        "rint",
    )
}
_BOTH |= {
    "positive": lambda x: x,
    "logical_and": lambda a, b: (a != 0) * (b != 0),
    "logical_or": lambda a, b: np.maximum(a != 0, b != 0),
    "logical_xor": lambda a, b: (a != 0) != (b != 0),
    "logical_not": lambda x: x == 0,
}
_FLOATS = _BOTH | {
    name: _steps(name)
    for name in (
        "divide",
        "sqrt",
        "reciprocal",
        "exp",
        "expm1",
        "log",
        "log2",
        "log10",
        "log1p",
        "sin",
        "cos",
        "tan",
        "arcsin",
        "arccos",
        "arctan",
        "sinh",
        "cosh",
        "tanh",
        "arctan2",
        "hypot",
    )
}
_FLOATS |= {"floor_divide": _floor_quotient, "isfinite": _finite, "isinf": _infinite}
_WHOLE = _BOTH | {"floor_divide": lambda a, b: (a - a % b) / b, "isfinite": lambda x: x == x, "isinf": lambda x: x != x}
_BOOLEANS = _WHOLE | {
    "bitwise_and": lambda a, b: a * b,
    "bitwise_or": np.maximum,
    "bitwise_xor": lambda a, b: a != b,
    "invert": lambda x: x == 0,
}
# Functions that are correct for a uint64 although it is computed as an int64.
_UNSIGNED = {
    name: _WHOLE[name]
    for name in (
        "add",
        "subtract",
        "multiply",
        "square",
        "negative",
        "equal",
        "not_equal",
        "positive",
        "logical_and",
        "logical_or",
        "logical_xor",
        "logical_not",
        "isfinite",
        "isinf",
        "isnan",
        "floor",
        "ceil",
        "trunc",
        "rint",
    )
}
# Real and imaginary part of the result, from the parts of the operands.
_COMPLEX = {
    "add": (lambda a, b, c, d: a + c, lambda a, b, c, d: b + d),
    "subtract": (lambda a, b, c, d: a - c, lambda a, b, c, d: b - d),
    "multiply": (lambda a, b, c, d: fma(a, c, -(b * d)), lambda a, b, c, d: fma(a, d, b * c)),  # as NumPy does
    "square": (lambda a, b: fma(a, a, -(b * b)), lambda a, b: fma(a, b, b * a)),
    "negative": (lambda a, b: -a, lambda a, b: -b),
    "positive": (lambda a, b: a, lambda a, b: b),
    "conjugate": (lambda a, b: a, lambda a, b: -b),
    "exp": (
        lambda a, b: choose(_finite(b), _scaled_exp(a, np.cos(b)), choose(_infinite(a), np.exp(a), float("nan"))),
        lambda a, b: choose(
            b == 0,
            b,
            choose(
                _finite(b),
                _scaled_exp(a, np.sin(b)),
                choose(a == -float("inf"), choose(b < 0, -0.0, 0.0), float("nan")),
            ),
        ),
    ),
}


def _scaled_exp(a, factor):
    """exp(a) times a factor of at most 1. Correct even if exp(a) alone overflows."""
    return choose(np.exp(a) < float("inf"), np.exp(a) * factor, np.exp(a / 2) * factor * np.exp(a / 2))


def _quotient(a, b, c, d, real):
    """Divides complex numbers by Smith's method, in NumPy's steps. Overflows only if the result does. A division by 0
    divides each part by the denominator's size.
    """
    wide = np.absolute(c) >= np.absolute(d)
    ratio = choose(wide, d / c, c / d)
    scale = 1 / choose(wide, c + d * ratio, c * ratio + d)
    above = choose(wide, a + b * ratio, a * ratio + b) if real else choose(wide, b - a * ratio, b * ratio - a)
    return choose((c == 0) * (d == 0), (a if real else b) / np.absolute(c), above * scale)


_COMPLEX["divide"] = (lambda a, b, c, d: _quotient(a, b, c, d, True), lambda a, b, c, d: _quotient(a, b, c, d, False))
_OF_COMPLEX = {  # with real or boolean results
    "absolute": lambda a, b: np.hypot(a, b),
    "equal": lambda a, b, c, d: (a == c) * (b == d),
    "not_equal": lambda a, b, c, d: np.maximum(a != c, b != d),
    "isnan": lambda a, b: np.maximum(np.isnan(a), np.isnan(b)),
    "isfinite": lambda a, b: _finite(a) * _finite(b),
    "logical_not": lambda a, b: (a == 0) * (b == 0),
    "isinf": lambda a, b: np.maximum(_infinite(a), _infinite(b)),
}


def _table_of(dtype):
    if dtype == bool:
        return _BOOLEANS
    return _UNSIGNED if dtype == np.uint64 else _WHOLE if dtype.kind in "ui" else _FLOATS


_COMPARISONS = ("less", "less_equal", "greater", "greater_equal", "equal", "not_equal")


def _beyond(ufunc, operands):
    """Compares an array of integers with a number outside the range of its type: the result is the same everywhere.
    None for other operands.
    """
    x = next((x for x in operands if type(x) is int), None)
    array = next(x for x in operands if isinstance(x, DeviceArray))
    if x is None or array.dtype.kind not in "iu" or np.iinfo(array.dtype).min <= x <= np.iinfo(array.dtype).max:
        return None
    handle = handle_among([array])
    out = empty_there(handle, array.shape, bool, unified_with(array))
    value = ufunc(*(0 if isinstance(o, DeviceArray) else 1 if x > 0 else -1 for o in operands))
    copy_to(out, uploaded(np.asarray(value), handle))
    return out


def apply(ufunc: np.ufunc, *operands: Any) -> DeviceArray:
    """Computes NumPy's function of arrays and numbers, at least one of which is on a GPU."""
    name = ufunc.__name__
    for x in operands:
        if not isinstance(x, (DeviceArray, np.ndarray, np.generic, int, float, complex)):
            raise OptionError(f"{name}: a {type(x).__name__} is no operand: give a DeviceArray or a number")
    if not any(isinstance(x, DeviceArray) for x in operands):
        raise OptionError(f"{name}: none of the operands is a DeviceArray: glint.arrays.asarray() makes one")
    if name in _COMPARISONS and (found := _beyond(ufunc, operands)) is not None:
        return found
    of_operands, result = resolve(ufunc, operands)
    operands = [rounded(name, x, dtype) for x, dtype in zip(operands, of_operands)]
    dtype = of_operands[0]
    if result == bool and dtype == bool:  # for mixed types, NumPy compares truth values
        operands = [copied(x, bool) if isinstance(x, DeviceArray) and x.dtype != bool else x for x in operands]

    def on_host():
        with np.errstate(all="ignore"):
            return through_host(ufunc, *operands)

    def complex_parts():
        parts = [part for x in operands for part in parts_there(x, handle_among(operands))]
        return evaluate(_OF_COMPLEX[name], parts, computed_in(dtype), result)

    on_gpu = None
    if "c" in (x.kind for x in of_operands):
        if name in _COMPLEX:
            on_gpu = lambda: evaluate_parts(*_COMPLEX[name], operands, result)
        elif name in _OF_COMPLEX:
            on_gpu = complex_parts
    elif name in (table := _table_of(dtype)) and all(x == dtype for x in of_operands):
        on_gpu = lambda: evaluate(table[name], operands, computed_in(dtype), result)
    return or_on_host(name, handle_among(operands), on_gpu, on_host) if on_gpu else on_host()


def _of_one(name, ufunc):
    def function(x, /):
        return apply(ufunc, array_of(name, x))

    return _named(function, name, ufunc)


def _of_two(name, ufunc):
    def function(x1, x2, /):
        return apply(ufunc, x1, x2)

    return _named(function, name, ufunc)


def _named(function, name, ufunc):
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"As numpy.{ufunc.__name__}."
    if ufunc.__name__ not in _FLOATS.keys() | _BOOLEANS.keys() | _COMPLEX.keys():
        ON_HOST.add(name)
    return function


_ONE = {
    "absolute": "abs",
    "arccos": "acos",
    "arccosh": "acosh",
    "arcsin": "asin",
    "arcsinh": "asinh",
    "arctan": "atan",
    "arctanh": "atanh",
    "invert": "bitwise_invert",
    "ceil": "ceil",
    "cos": "cos",
    "cosh": "cosh",
    "exp": "exp",
    "expm1": "expm1",
    "floor": "floor",
    "isfinite": "isfinite",
    "isinf": "isinf",
    "isnan": "isnan",
    "log": "log",
    "log10": "log10",
    "log1p": "log1p",
    "log2": "log2",
    "logical_not": "logical_not",
    "negative": "negative",
    "positive": "positive",
    "reciprocal": "reciprocal",
    "sign": "sign",
    "signbit": "signbit",
    "sin": "sin",
    "sinh": "sinh",
    "sqrt": "sqrt",
    "square": "square",
    "tan": "tan",
    "tanh": "tanh",
    "trunc": "trunc",
}
_TWO = {
    "add": "add",
    "arctan2": "atan2",
    "bitwise_and": "bitwise_and",
    "left_shift": "bitwise_left_shift",
    "bitwise_or": "bitwise_or",
    "right_shift": "bitwise_right_shift",
    "bitwise_xor": "bitwise_xor",
    "copysign": "copysign",
    "divide": "divide",
    "equal": "equal",
    "floor_divide": "floor_divide",
    "greater": "greater",
    "greater_equal": "greater_equal",
    "hypot": "hypot",
    "less": "less",
    "less_equal": "less_equal",
    "logaddexp": "logaddexp",
    "logical_and": "logical_and",
    "logical_or": "logical_or",
    "logical_xor": "logical_xor",
    "maximum": "maximum",
    "minimum": "minimum",
    "multiply": "multiply",
    "nextafter": "nextafter",
    "not_equal": "not_equal",
    "power": "pow",
    "remainder": "remainder",
    "subtract": "subtract",
}
globals().update({name: _of_one(name, getattr(np, ufunc)) for ufunc, name in _ONE.items()})
globals().update({name: _of_two(name, getattr(np, ufunc)) for ufunc, name in _TWO.items()})

__all__ = [
    *_ONE.values(),
    *_TWO.values(),
    "clip",
    "conj",
    "imag",
    "real",
    "round",
]  # _elementwise_names.py has the first two, too


def round(x: DeviceArray, /) -> DeviceArray:
    """Rounds to the nearest integers, halves to even. Booleans become float16."""
    if array_of("round", x).dtype.kind in "ui":
        return copied(x)
    if x.dtype == bool:
        return copied(x, np.float16)
    return through_host(np.round, x) if x.dtype.kind == "c" else apply(np.rint, x)


def conj(x: DeviceArray, /) -> DeviceArray:
    """The complex conjugate; for a real array, a copy. Booleans become int8."""
    return (
        apply(np.conjugate, x)
        if array_of("conj", x).dtype.kind == "c"
        else copied(x, np.int8 if x.dtype == bool else None)
    )


def real(x: DeviceArray, /) -> DeviceArray:
    """Returns a view of the real parts; the array itself if it is real."""
    return parts_of(array_of("real", x))[0]


def imag(x: DeviceArray, /) -> DeviceArray:
    """Returns a view of the imaginary parts; zeros for a real array."""
    if array_of("imag", x).dtype.kind == "c":
        return parts_of(x)[1]
    return uploaded(np.zeros(x.shape, x.dtype), handle_among([x]), unified_with(x))


def clip(x: DeviceArray, /, min: Operand | None = None, max: Operand | None = None) -> DeviceArray:
    """Elements below `min` become `min`, elements above `max` become `max`.

    The type is NumPy's. Shapes are broadcast.
    """
    result = array_of("clip", x)
    if min is not None:
        result = apply(np.maximum, result, min)
    if max is not None:
        result = apply(np.minimum, result, max)
    return copied(x) if result is x else result
