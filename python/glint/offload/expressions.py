"""Element-wise expressions, which are built first and evaluated in one pass over memory."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import numbers
from typing import Any

import numpy as np

from .. import _core
from ..errors import OptionError

STEPS = frozenset(_core.expression_steps())  # by the names of NumPy's functions


class Expression(np.lib.mixins.NDArrayOperatorsMixin):
    """An element-wise computation. Operators and NumPy functions combine expressions; common subexpressions are
    computed once. At most 6 inputs and 48 steps.

    Comparisons and isnan() give 1.0 or 0.0; `where(condition, a, b)` selects a or b.

    >>> x, y = glint.offload.input(0), glint.offload.input(1)
    >>> glint.offload.map(np.sqrt(x * x + y * y), [3.0, 5.0], [4.0, 12.0])
    array([ 5., 13.])
    >>> glint.offload.map((x * x + 1).sqrt(), [0.0])
    array([1.])
    """

    __hash__ = None

    def __init__(self, core: Any) -> None:
        self._core = core

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *operands: Any, **options: Any) -> Any:
        if method != "__call__" or options or ufunc.__name__ not in STEPS | {"positive"}:
            return NotImplemented
        return operands[0] if ufunc.__name__ == "positive" else step(ufunc.__name__, *operands)

    def __array_function__(self, function: Any, types: Any, args: Any, options: Any) -> Any:
        if function is np.where and len(args) == 3:
            return where(*args)
        if function is np.clip and len(args) == 3 and not options:
            return minimum_of(maximum_of(args[0], args[1]), args[2])
        return NotImplemented

    def __getattr__(self, name: str) -> Any:
        if name in STEPS:
            return lambda *others: step(name, self, *others)
        raise AttributeError(f"an Expression has no {name!r}; it knows {', '.join(sorted(STEPS))}")

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *STEPS]

    def __bool__(self) -> bool:
        raise TypeError("an Expression is neither true nor false; glint.offload.where(condition, a, b) chooses")

    def __repr__(self) -> str:
        return f"<Expression of {_core.expression_inputs(self._core)} inputs>"


def input(k: int) -> Expression:
    """The k-th input array of `map()` or `reduce()`, k from 0 to 5."""
    return Expression(_core.expression_input(k))


def where(condition: Any, a: Any, b: Any) -> Expression:
    """`a` where `condition` is not 0, else `b`."""
    return step("where", condition, a, b)


def erf(x: Any) -> Expression:
    """The error function."""
    return step("erf", x)


def fma(a: Any, b: Any, c: Any) -> Expression:
    """a * b + c, rounded once on GPUs and on CPUs from AVX2 on."""
    return step("fma", a, b, c)


def minimum_of(a: Any, b: Any) -> Any:
    return a if b is None else step("minimum", a, b)


def maximum_of(a: Any, b: Any) -> Any:
    return a if b is None else step("maximum", a, b)


def step(name: str, *operands: Any) -> Expression:
    return Expression(_core.expression_step(name, [core_expression(x) for x in operands]))


def core_expression(value: Any) -> Any:
    if isinstance(value, Expression):
        return value._core
    if isinstance(value, (numbers.Real, np.bool_)) or (isinstance(value, np.ndarray) and value.ndim == 0):
        return _core.expression_constant(float(value))
    raise OptionError(
        f"{type(value).__name__} is no part of an expression: give numbers and glint.offload.input(k); arrays "
        "are what map() is given"
    )


def expression_of(function: Any, n: int) -> Expression:
    """Returns an Expression, or the result of calling a function with `n` inputs."""
    if isinstance(function, Expression):
        return function
    if not callable(function):
        raise OptionError(f"{function!r} is no Expression and no function that makes one of its inputs")
    result = function(*(input(k) for k in range(n)))
    return result if isinstance(result, Expression) else Expression(core_expression(result))
