"""The NumPy functions that glint supports: their work for the cost model, and how to run them."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import OptionError
from . import array_statistics, decompositions, operations as ops, transforms
from .decisions import work_of
from .device_arrays import DeviceArray, to_host
from .expressions import STEPS, Expression, expression_of, input, step


class Unsupported(Exception):
    """The reason why NumPy itself is called."""


@dataclasses.dataclass(frozen=True)
class Plan:
    """A call that glint supports: its work for the cost model, and how to run it."""

    work: Callable
    run: Callable
    why_cpu: str = ""  # not empty: there is no GPU version


def for_numpy(x: Any) -> Any:
    return to_host(x) if isinstance(x, DeviceArray) else x


def plan_of(function: Any, on_cpu: Callable) -> Any:
    """Returns the function that plans a call of `function`. `on_cpu`: plans calls of functions without a GPU
    version."""
    try:
        if function in _PLANS:
            return _PLANS[function]
    except TypeError:
        pass  # a callable that has no hash
    if isinstance(function, np.ufunc):
        return functools.partial(_ufunc, function.__name__) if function.__name__ in _UFUNCS else on_cpu
    if isinstance(function, Expression):
        return functools.partial(_mapped, function)
    if not callable(function):
        raise OptionError(f"{function!r} is no function: give one, or an Expression")
    if type(function).__module__.startswith("numpy") or (getattr(function, "__module__", None) or "").startswith(
        "numpy"
    ):
        return on_cpu
    return functools.partial(_traced, function, set(), on_cpu)


def _traced(function, others, on_cpu, *operands, **options):
    """Plans a call of a function that returns an Expression of its inputs. It is traced in each call, because objects
    that it refers to may change. Functions that cannot be traced run on the CPU. `others`: the numbers of operands for
    which tracing failed."""
    n = len(operands)
    if options.keys() - {"out"} or n in others or n == 0:
        return on_cpu(*operands, **options)
    try:
        expression = expression_of(function, n)
    except Exception:  # the function may work with arrays, but not with the inputs of an Expression
        others.add(n)
        return on_cpu(*operands, **options)
    return _mapped(expression, *operands, **options)


def _array(x, kinds="f"):
    if isinstance(x, DeviceArray):
        array = x
    elif type(x) is np.ndarray or isinstance(x, (list, tuple)):
        array = np.asarray(x)
    else:
        raise Unsupported(f"a {type(x).__name__}: arrays of NumPy's own class are done here")
    names = {"f": ("float32", "float64"), "fc": ("float32", "float64", "complex64", "complex128")}[kinds]
    if array.dtype.name not in names:
        raise Unsupported(f"an array of {array.dtype}: {' and '.join(names)} are done here")
    return array


def _nothing_more(options):
    if given := {key: value for key, value in options.items() if value is not None}:
        raise Unsupported(f"{', '.join(given)}=")


def _of_one_type(arrays):
    if len({x.dtype.name for x in arrays}) > 1:
        raise Unsupported(
            f"operands of {' and '.join(sorted({x.dtype.name for x in arrays}))}: those of one type are done here"
        )


def _out(out, dtype):
    if isinstance(out, tuple):
        out = out[0]
    if out is not None and not isinstance(out, DeviceArray) and (type(out) is not np.ndarray or out.dtype != dtype):
        raise Unsupported("such an out=")
    return out


def _matmul(a, b, /, out=None, **options):
    _nothing_more(options)
    a, b = _array(a), _array(b)
    _of_one_type([a, b])
    if min(a.ndim, b.ndim) < 1 or a.size == 0 or b.size == 0:
        raise Unsupported("numbers, or no elements")
    out = _out(out, a.dtype)
    shapes = [
        (1, *x.shape) if x.ndim == 1 and k == 0 else (*x.shape, 1) if x.ndim == 1 else x.shape[-4:]
        for k, x in enumerate((a, b))
    ]
    if a.shape[-1] != shapes[1][-2]:
        raise Unsupported("shapes that do not fit, as NumPy will say")
    return Plan(
        lambda: work_of("matmul", *shapes, dtype=a.dtype, resident=_resident(a, b)),
        lambda session: ops.matmul(a, b, out=out, session=session),
    )


def _dot(a, b, out=None):
    if np.ndim(a) != 2 or np.ndim(b) != 2:
        raise Unsupported("matrices of two dimensions are done here")
    return _matmul(a, b, out=out)


def _fft(name, a, n=None, axis=-1, norm=None, out=None):
    return _transform(name, a, n, axis, norm, out)


def _fft2(name, a, s=None, axes=(-2, -1), norm=None, out=None):
    return _transform(name, a, s or (None, None), axes, norm, out)


def _transform(name, a, lengths, axes, norm, out):
    a = _array(a, "f" if name == "rfft" else "fc")
    if norm not in (None, "backward") or out is not None:
        raise Unsupported("norm= or out=")
    many = isinstance(axes, tuple)
    if a.ndim < 2 if many else a.ndim < 1:
        raise Unsupported("too few dimensions, as NumPy will say")
    if a.size == 0 or (many and (len(axes) != 2 or len(lengths) != 2 or axes[0] % a.ndim == axes[1] % a.ndim)):
        raise Unsupported("such axes, or no elements")
    if any(n is not None and n < 1 for n in (lengths if many else (lengths,))):
        raise Unsupported("such a length")
    function = getattr(transforms, name)
    return Plan(
        lambda: work_of(name, a.shape[-4:], dtype=a.dtype, resident=_resident(a)),
        lambda session: function(a, lengths, axes, session=session),
    )


def _svd(a, full_matrices=True, compute_uv=True, hermitian=False):
    a = _array(a)
    if a.ndim != 2 or a.size == 0 or hermitian:
        raise Unsupported("one matrix with elements, and hermitian=False, are done here")

    def run(session):
        result = _or_numpy(
            lambda x: np.linalg.svd(x, full_matrices, compute_uv),
            (a,),
            lambda: decompositions.svd(a, compute_uv, full_matrices=full_matrices, session=session),
        )
        return type(np.linalg.svd(np.eye(1)))(*result) if compute_uv else result

    return Plan(lambda: work_of("svd" if compute_uv else "svdvals", a.shape, dtype=a.dtype, resident=_resident(a)), run)


def _solve(a, b):
    a, b = _array(a), _array(b)
    _of_one_type([a, b])
    if (
        a.ndim != 2
        or b.ndim not in (1, 2)
        or a.shape[0] != a.shape[1]
        or b.shape[0] != a.shape[0]
        or a.size == 0
        or b.size == 0
    ):
        raise Unsupported("one square matrix, and a b of as many rows, are done here")
    columns = 1 if b.ndim == 1 else b.shape[1]
    return Plan(
        lambda: work_of("solve", a.shape, (a.shape[0], columns), dtype=a.dtype, resident=_resident(a, b)),
        lambda session: _or_numpy(np.linalg.solve, (a, b), lambda: decompositions.solve(a, b, session=session)),
    )


def _eigh(vectors, a, UPLO="L"):
    a = _array(a)
    if a.ndim != 2 or a.shape[0] != a.shape[1] or a.size == 0 or UPLO not in ("L", "l"):
        raise Unsupported("one square matrix, of which the lower triangle is read, is done here")
    function = np.linalg.eigh if vectors else np.linalg.eigvalsh

    def run(session):
        result = _or_numpy(function, (a,), lambda: decompositions.eigh(a, vectors, session=session))
        return type(np.linalg.eigh(np.eye(1)))(*result) if vectors else result

    return Plan(lambda: work_of("eigh" if vectors else "eigvalsh", a.shape, dtype=a.dtype, resident=_resident(a)), run)


def _qr(a, mode="reduced"):
    a = _array(a)
    if a.ndim != 2 or a.size == 0 or mode != "reduced":
        raise Unsupported("one matrix with elements, and mode='reduced', are done here")
    return Plan(
        lambda: work_of("qr", a.shape, dtype=a.dtype, resident=_resident(a)),
        lambda session: type(np.linalg.qr(np.eye(1)))(*decompositions.qr(a, session=session)),
    )


def _or_numpy(function, arguments, run):
    """Lets NumPy raise its own error for input that glint refuses: a NaN or a singular matrix."""
    try:
        return run()
    except OptionError:
        return function(*(for_numpy(x) for x in arguments))


def _reduction(name, a, axis=None, keepdims=False, **options):
    _nothing_more(options)
    a = _array(a)
    if a.size == 0 or keepdims not in (True, False) or not _has_axes(a, axis):
        raise Unsupported("such an axis, or no elements")
    function = getattr(array_statistics, name)

    def run(session):
        result = function(a, axis, keepdims=keepdims, session=session)
        return (
            (np.int64 if name.startswith("arg") else a.dtype.type)(result)
            if isinstance(result, (float, int))
            else result
        )

    return Plan(
        lambda: work_of(
            _WORKS.get(name, name),
            a.shape[-4:],
            dtype=a.dtype,
            resident=_resident(a),
            result_resident=axis is not None and _resident(a),
        ),
        run,
    )


def _has_axes(a, axis):
    axes = () if axis is None else axis if isinstance(axis, tuple) else (axis,)
    return all(hasattr(k, "__index__") and -a.ndim <= k < a.ndim for k in axes) and len(
        {k % a.ndim for k in axes}
    ) == len(axes)


def _ufunc(name, *operands, out=None, **options):
    _nothing_more(options)
    arrays = [_array(x) for x in operands if not isinstance(x, (int, float)) or isinstance(x, bool)]
    if not arrays:
        raise Unsupported("numbers")
    _of_one_type(arrays)
    numbers = iter(range(len(arrays)))
    parts = [float(x) if isinstance(x, (int, float)) else input(next(numbers)) for x in operands]
    try:
        expression = step(name, *parts)
    except OptionError as error:
        raise Unsupported(str(error)) from None
    return _map_plan(expression, arrays, _out(out, arrays[0].dtype))


def _mapped(function, *operands, out=None):
    arrays = [_array(x) for x in operands]
    return _map_plan(expression_of(function, len(arrays)), arrays, _out(out, arrays[0].dtype if arrays else None))


def _map_plan(expression, arrays, out):
    shape = np.broadcast_shapes(*(x.shape for x in arrays))

    def run(session):
        result = ops.map(expression, *arrays, out=out, session=session)
        return result[()] if isinstance(result, np.ndarray) and result.ndim == 0 and out is None else result

    return Plan(
        lambda: work_of(expression, [int(np.prod(shape))], dtype=arrays[0].dtype, resident=_resident(*arrays)), run
    )


def _resident(*arrays):
    return any(isinstance(x, DeviceArray) for x in arrays)


_UFUNCS = {u for u in STEPS if isinstance(getattr(np, u, None), np.ufunc)} - {
    "less",
    "less_equal",
    "greater",
    "greater_equal",
    "equal",
    "not_equal",
    "isnan",
}  # the results of these are bool in NumPy
_WORKS = dict.fromkeys(("prod", "argmin", "argmax", "std", "var"), "sum")  # functions with the same work
_REDUCTIONS = {
    np.sum: "sum",
    np.mean: "mean",
    np.min: "minimum",
    np.max: "maximum",
    np.prod: "prod",
    np.argmin: "argmin",
    np.argmax: "argmax",
    np.std: "std",
    np.var: "var",
}
_PLANS = {
    np.matmul: _matmul,
    np.dot: _dot,
    np.linalg.svd: _svd,
    np.linalg.solve: _solve,
    np.linalg.qr: _qr,
    np.linalg.eigh: functools.partial(_eigh, True),
    np.linalg.eigvalsh: functools.partial(_eigh, False),
}
_PLANS |= {function: functools.partial(_reduction, name) for function, name in _REDUCTIONS.items()}
_PLANS |= {getattr(np.fft, name): functools.partial(_fft, name) for name in ("fft", "ifft", "rfft", "irfft")}
_PLANS |= {getattr(np.fft, name): functools.partial(_fft2, name) for name in ("fft2", "ifft2")}
