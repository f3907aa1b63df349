"""Computes element-wise functions on the GPU. Operands are converted there to the type of the computation, and
broadcast. One kernel evaluates an expression. The result is converted to its own type.

Computations use float32 (also for float16), float64, or int64 (for booleans and all integers, modulo 2^64). Complex
numbers are computed by expressions of their real and imaginary parts.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _core
from ..errors import OptionError
from ..offload.device_arrays import (
    DeviceArray,
    broadcast,
    contiguous,
    copy_to,
    empty_there,
    handle_for,
    unified_with,
    uploaded,
    view,
)
from ..offload.expressions import Expression, expression_of
from ._dtypes import broadcast_shapes

if TYPE_CHECKING:
    from .._types import DTypeLike

MOST_EXACT = 2**53  # integers up to this are exact as constants of an expression


def computed_in(dtype: DTypeLike) -> np.dtype:
    """Returns the real type in which an array of `dtype` is computed; for complex numbers, that of the parts."""
    dtype = np.dtype(dtype)
    if dtype.kind in "bui":
        return np.dtype(np.int64)
    return np.dtype(np.float64 if dtype.name in ("float64", "complex128") else np.float32)


def is_number(x: Any) -> bool:
    return not isinstance(x, DeviceArray) and np.ndim(x) == 0 and not isinstance(x, np.ndarray)


def resolve(ufunc: np.ufunc, operands: Any) -> Any:
    """Returns the types of the operands and of the result, promoted as by NumPy. Python's numbers adapt to arrays."""
    kinds = [
        type(x)
        if isinstance(x, (int, float, complex)) and not isinstance(x, (bool, np.generic))
        else np.asarray(x).dtype
        if not isinstance(x, DeviceArray)
        else x.dtype
        for x in operands
    ]
    try:
        *of_operands, result = ufunc.resolve_dtypes((*kinds, *[None] * ufunc.nout))[: len(kinds) + 1]
    except TypeError:
        raise OptionError(
            f"{ufunc.__name__} is not defined for {', '.join(getattr(k, 'name', None) or k.__name__ for k in kinds)}"
        ) from None
    for x, dtype in zip(operands, of_operands):
        if isinstance(x, int) and dtype.kind in "iu" and not np.iinfo(dtype).min <= x <= np.iinfo(dtype).max:
            raise OptionError(f"{ufunc.__name__}: {x} is out of bounds for {dtype}")
    return of_operands, result


def rounded(name: str, x: Any, dtype: np.dtype[Any]) -> Any:
    """Converts a Python number to the floating or complex type of the computation; returns other operands unchanged."""
    if type(x) not in (int, float, complex) or dtype.kind not in "fc":
        return x
    try:
        with np.errstate(all="ignore"):
            return dtype.type(x)
    except OverflowError:
        raise OptionError(f"{name}: an integer of {x.bit_length()} bits is out of bounds for {dtype}") from None


def handle_among(operands: Any) -> Any:
    """Returns the C++ session that computes with the operands."""
    return handle_for(*operands)


def there(x: Any, handle: Any) -> DeviceArray:
    """Returns the operand as an array that the GPU of the C++ session `handle` can read. Arrays on other GPUs are
    unchanged.
    """
    return x if isinstance(x, DeviceArray) else uploaded(np.asarray(x), handle)


def evaluate(function: Callable[..., Any], operands: Any, dtype: np.dtype[Any], result_dtype: DTypeLike) -> DeviceArray:
    """Evaluates an expression, or a function of inputs, on operands that are computed in `dtype`."""
    handle = handle_among(operands)
    constants = [is_number(x) and (dtype.kind == "f" or abs(int(x)) <= MOST_EXACT) for x in operands]
    arrays = [there(x, handle) for x, constant in zip(operands, constants) if not constant]
    shape = broadcast_shapes(*(x.shape for x in arrays))
    count = int(np.prod(shape, dtype=np.int64))
    inputs = iter(expression_of(lambda *x: x[k], len(arrays)) for k in range(len(arrays)))
    parts = [
        Expression(_core.expression_constant(float(x))) if constant else next(inputs)
        for x, constant in zip(operands, constants)
    ]
    out = empty_there(handle, shape, dtype, unified_with(*operands))
    _core.map(
        handle,
        dtype.name,
        expression_of(lambda: function(*parts), 0)._core,
        [_flat(x, shape, dtype)._core for x in arrays],
        view(out, (count,), (1,))._core,
    )
    return contiguous(out, np.dtype(result_dtype))


def _flat(x, shape, dtype):
    """Returns the array in one dimension, without gaps, in this type. One element becomes an array without
    dimensions."""
    if x.size == 1:
        return view(contiguous(x, dtype), (), ())
    x = contiguous(broadcast(x, shape), dtype)
    return view(x, (x.size,), (1,))


# ---- Complex numbers


def parts_of(x: Any) -> Any:
    """Returns views of the real and imaginary parts; the imaginary part of a real operand is 0."""
    if is_number(x):
        return complex(x).real, complex(x).imag
    if x.dtype.kind != "c":
        return x, 0
    real = np.float32 if x.dtype == np.complex64 else np.float64
    steps = [2 * step for step in x._core.strides]
    return tuple(view(x, x.shape, steps, 2 * x._core.first + k, np.dtype(real).name) for k in (0, 1))


def parts_there(x: Any, handle: Any) -> Any:
    """As parts_of(), for an operand that may be an array on the host."""
    return parts_of(x if is_number(x) else there(x, handle))


def evaluate_parts(
    real: Callable[..., Any], imaginary: Callable[..., Any], operands: Any, result_dtype: DTypeLike
) -> DeviceArray:
    """Evaluates two expressions of the parts of all operands: function(real of 1st, imaginary of 1st, real of 2nd,
    ...)."""
    handle, dtype = handle_among(operands), computed_in(result_dtype)
    parts = [part for x in operands for part in parts_there(x, handle)]
    re, im = (evaluate(function, parts, dtype, dtype) for function in (real, imaginary))
    out = empty_there(handle, re.shape, result_dtype, unified_with(re))
    for to, part in zip(parts_of(out), (re, im)):
        copy_to(to, part)
    return out
