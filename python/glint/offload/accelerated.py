"""Functions that run on the faster side: NumPy's functions, and pairs of user functions for CPU and GPU."""
# SPDX-License-Identifier: MIT
from __future__ import annotations

import dataclasses
import functools
import traceback
from collections.abc import Callable

import numpy as np

from .. import _core
from ..errors import OptionError
from . import operations as ops
from .decisions import work_of
from .device_arrays import DeviceArray, to_host
from .expressions import STEPS, Expression, expression_of, input, step
from .out_of_memory import failure_of
from .sessions import Session, session_or_default


class _Unsupported(Exception):
    """The reason why NumPy itself is called."""


@dataclasses.dataclass(frozen=True)
class NumPyItself:
    """Stands for a Decision if NumPy itself is called."""

    reason: str
    choice: str = "numpy"

    def __str__(self):
        return self.reason


@dataclasses.dataclass(frozen=True)
class _Plan:
    """A call that glint supports: its work for the cost model, and how to run it."""

    work: Callable
    run: Callable


class Accelerated:
    """The result of `accelerate()`: call it like the original function.

    `explain(*arguments)` tells where that call would run and why; `decide(*arguments)` is the same, but faster and without
    the size at which the choice changes. Neither runs the function.
    """

    def __init__(self, function, plan, session):
        functools.update_wrapper(self, function, updated=())
        self._function, self._plan, self._session = function, plan, session

    def __call__(self, *arguments, **options):
        try:
            plan = self._plan(*arguments, **options)
        except _Unsupported:
            return self._function(*(_for_numpy(x) for x in arguments),
                                  **{key: _for_numpy(x) for key, x in options.items()})
        return plan.run(session_or_default(self._session))

    def decide(self, *arguments, **options):
        return self._decision(False, arguments, options)

    def explain(self, *arguments, **options):
        return self._decision(True, arguments, options)

    def _decision(self, in_full, arguments, options={}):
        try:
            plan = self._plan(*arguments, **options)
        except _Unsupported as reason:
            return NumPyItself(f"NumPy itself does this: {reason}")
        core = session_or_default(self._session)._core
        return core.explain(plan.work()) if in_full else core.decide(plan.work())

    def __repr__(self):
        return f"<accelerated {getattr(self._function, '__name__', 'function')}>"


def accelerate(function: Callable, on_gpu: Callable | None = None, *, operation: str | None = None,
               size_of: Callable | None = None, unit: str = "elements", flops_power: float = 1, bytes_power: float = 1,
               rule_size: float = 0, work: Callable | None = None, session: Session | None = None) -> Accelerated:
    """Returns a function that runs on the faster side. NumPy's own function is not replaced.

    With one function: NumPy's matmul, dot, fft.fft, ifft, fft2, ifft2, rfft, irfft, linalg.svd, sum, mean, min, max and arithmetic
    ufuncs; or an Expression, or a function that returns one. Signatures and results are NumPy's, also for DeviceArrays. Calls
    that glint does not support (other dtypes than float32 and float64, other axes, `where=`, ...) are passed to NumPy;
    `.explain(...)` says so. Transforms of float32 are complex64, as from NumPy 2 on; ufuncs give no warnings.

    With two functions: `function` for the CPU and `on_gpu`, which compute the same from the same arguments, on_gpu with CuPy,
    PyTorch or any other library. It runs while the session leases a GPU. If it runs out of memory, the CPU is used. Both may use
    the session, in threads of their own, too.
        operation: the name under which run times are stored; by default the function's.
        size_of: its size from the arguments, in `unit`; by default the number of elements of all arrays.
        flops_power, bytes_power: exponents of the size in the number of operations and bytes.
        rule_size: as long as nothing has been measured, larger sizes use the GPU; 0: decided by bytes.
        work: flops and bytes as a function of the arguments, e.g. {"flops": 1e9, "bytes": 1e6, "bytes_to_gpu": 1e6, "bytes_from_gpu": 8};
            by default from the array arguments.

    >>> matmul = glint.offload.accelerate(np.matmul)
    >>> matmul(np.eye(2), np.ones((2, 2)))
    array([[1., 1.],
           [1., 1.]])
    >>> print(matmul.explain(np.eye(2, dtype=int), np.eye(2)))
    NumPy itself does this: an array of int64: float32 and float64 are done here
    >>> blur = glint.offload.accelerate(lambda a: a / 2, lambda a: a / 2, operation="blur", size_of=np.size)
    >>> blur(np.ones(2))
    array([0.5, 0.5])
    """
    if on_gpu is None:
        return Accelerated(function, _plan_of(function), session)
    pair = _Pair(function, on_gpu, operation or getattr(function, "__name__", "function"), size_of, unit,
                 (flops_power, bytes_power, rule_size), work)
    return Accelerated(function, pair.plan, session)


def _for_numpy(x):
    return to_host(x) if isinstance(x, DeviceArray) else x


# ---- Pairs of user functions


class _Pair:
    def __init__(self, on_cpu, on_gpu, operation, size_of, unit, powers, work):
        self._on_cpu, self._on_gpu = on_cpu, on_gpu
        self._operation, self._size_of, self._unit, self._powers, self._work = operation, size_of, unit, powers, work

    def plan(self, *arguments, **options):
        return _Plan(lambda: self._work_of(arguments, options),
                     lambda session: self._run(session, arguments, options))

    def _work_of(self, arguments, options):
        arrays = [x for x in (*arguments, *options.values()) if hasattr(x, "nbytes") and hasattr(x, "shape")]
        here = sum(x.nbytes for x in arrays if isinstance(x, np.ndarray))
        there = sum(x.nbytes for x in arrays) - here
        size = float(self._size_of(*arguments, **options) if self._size_of
                     else sum(x.nbytes // max(1, x.dtype.itemsize) for x in arrays))
        largest = max((x.nbytes for x in arrays), default=0)
        work = {"flops": size ** self._powers[0], "bytes": here + there + largest, "bytes_to_gpu": here,
                "bytes_from_gpu": 0 if there else largest, "bytes_to_host": there,
                "bytes_to_return": largest if there else 0}
        given = self._work(*arguments, **options) if self._work else {}
        if given.keys() - work.keys():
            raise OptionError(f"work gave {', '.join(given.keys() - work.keys())}: it may give {', '.join(work)}")
        work |= given
        whole = {key: int(value) if key.startswith("bytes_") else float(value) for key, value in work.items()}
        return _core.own_work(self._operation, self._unit, *self._powers, size, **whole)

    def _run(self, session, arguments, options):
        done, failed = [], []

        def on_cpu():
            done.append(self._on_cpu(*arguments, **options))

        def on_gpu():
            try:
                done.append(self._on_gpu(*arguments, **options))
            except Exception as error:
                failure = failure_of(error)
                if failure is None:
                    raise
                traceback.clear_frames(error.__traceback__)
                failed.append(error)
                return failure

        try:
            if not _core.run_either(session._core, self._work_of(arguments, options), on_cpu, on_gpu):
                raise failed[0]
            return done[0]
        finally:
            failed.clear()  # the error's traceback has the frames that refer to it


# ---- NumPy's


def _plan_of(function):
    if function in _PLANS:
        return _PLANS[function]
    if isinstance(function, np.ufunc):
        if function.__name__ in _UFUNCS:
            return functools.partial(_ufunc, function.__name__)
        raise OptionError(f"numpy.{function.__name__} is not done here: {', '.join(sorted(_UFUNCS))} are")
    if isinstance(function, Expression) or (callable(function) and not type(function).__module__.startswith("numpy")
                                            and not getattr(function, "__module__", "").startswith("numpy")):
        return functools.partial(_mapped, function)
    raise OptionError(f"{getattr(function, '__name__', function)!r} is not done here: give numpy's matmul, dot, fft.fft, ifft, "
                      "fft2, ifft2, rfft, irfft, linalg.svd, sum, mean, min, max or an arithmetic ufunc, an Expression, or two "
                      "functions: accelerate(on_cpu, on_gpu)")


def _array(x, kinds="f"):
    if isinstance(x, DeviceArray):
        array = x
    elif type(x) is np.ndarray or isinstance(x, (list, tuple)):
        array = np.asarray(x)
    else:
        raise _Unsupported(f"a {type(x).__name__}: arrays of NumPy's own class are done here")
    names = {"f": ("float32", "float64"), "fc": ("float32", "float64", "complex64", "complex128")}[kinds]
    if array.dtype.name not in names:
        raise _Unsupported(f"an array of {array.dtype}: {' and '.join(names)} are done here")
    return array


def _nothing_more(options):
    if given := {key: value for key, value in options.items() if value is not None}:
        raise _Unsupported(f"{', '.join(given)}=")


def _of_one_type(arrays):
    if len({x.dtype.name for x in arrays}) > 1:
        raise _Unsupported(f"operands of {' and '.join(sorted({x.dtype.name for x in arrays}))}: those of one type are done here")


def _out(out, dtype):
    if isinstance(out, tuple):
        out = out[0]
    if out is not None and not isinstance(out, DeviceArray) and (type(out) is not np.ndarray or out.dtype != dtype):
        raise _Unsupported("such an out=")
    return out


def _matmul(a, b, /, out=None, **options):
    _nothing_more(options)
    a, b = _array(a), _array(b)
    _of_one_type([a, b])
    if min(a.ndim, b.ndim) < 1 or a.size == 0 or b.size == 0:
        raise _Unsupported("numbers, or no elements")
    out = _out(out, a.dtype)
    shapes = [(1, *x.shape) if x.ndim == 1 and k == 0 else (*x.shape, 1) if x.ndim == 1 else x.shape[-4:]
              for k, x in enumerate((a, b))]
    if a.shape[-1] != shapes[1][-2]:
        raise _Unsupported("shapes that do not fit, as NumPy will say")
    return _Plan(lambda: work_of("matmul", *shapes, dtype=a.dtype, resident=_resident(a, b)),
                 lambda session: ops.matmul(a, b, out=out, session=session))


def _dot(a, b, out=None):
    if np.ndim(a) != 2 or np.ndim(b) != 2:
        raise _Unsupported("matrices of two dimensions are done here")
    return _matmul(a, b, out=out)


def _fft(name, a, n=None, axis=-1, norm=None, out=None):
    return _transform(name, a, n, axis, norm, out)


def _fft2(name, a, s=None, axes=(-2, -1), norm=None, out=None):
    return _transform(name, a, s or (None, None), axes, norm, out)


def _transform(name, a, lengths, axes, norm, out):
    a = _array(a, "f" if name == "rfft" else "fc")
    if norm not in (None, "backward") or out is not None:
        raise _Unsupported("norm= or out=")
    many = isinstance(axes, tuple)
    if a.ndim < 2 if many else a.ndim < 1:
        raise _Unsupported("too few dimensions, as NumPy will say")
    if a.size == 0 or (many and (len(axes) != 2 or len(lengths) != 2 or axes[0] % a.ndim == axes[1] % a.ndim)):
        raise _Unsupported("such axes, or no elements")
    if any(n is not None and n < 1 for n in (lengths if many else (lengths,))):
        raise _Unsupported("such a length")
    function = getattr(ops, name)
    return _Plan(lambda: work_of(name, a.shape[-4:], dtype=a.dtype, resident=_resident(a)),
                 lambda session: function(a, lengths, axes, session=session))


def _svd(a, full_matrices=True, compute_uv=True, hermitian=False):
    a = _array(a)
    if a.ndim != 2 or a.size == 0 or hermitian:
        raise _Unsupported("one matrix with elements, and hermitian=False, are done here")
    if compute_uv and full_matrices and a.shape[0] != a.shape[1]:
        raise _Unsupported("full_matrices=True of a matrix that is not square: full_matrices=False is done here")

    def run(session):
        try:
            result = ops.svd(a, compute_uv, session=session)
        except OptionError:  # a NaN: NumPy's error is LinAlgError
            return np.linalg.svd(to_host(a), full_matrices, compute_uv)
        return type(np.linalg.svd(np.eye(1)))(*result) if compute_uv else result

    return _Plan(lambda: work_of("svd" if compute_uv else "svdvals", a.shape, dtype=a.dtype, resident=_resident(a)), run)


def _reduction(name, a, axis=None, **options):
    _nothing_more(options)
    a = _array(a)
    if axis is not None or a.size == 0:
        raise _Unsupported("axis=, or no elements: sums of all elements are done here")
    return _Plan(lambda: work_of(name, a.shape[-4:], dtype=a.dtype, resident=_resident(a), result_resident=False),
                 lambda session: a.dtype.type(ops.reduce(name, input(0), a, session=session)))


def _ufunc(name, *operands, out=None, **options):
    _nothing_more(options)
    arrays = [_array(x) for x in operands if not isinstance(x, (int, float)) or isinstance(x, bool)]
    if not arrays:
        raise _Unsupported("numbers")
    _of_one_type(arrays)
    numbers = iter(range(len(arrays)))
    parts = [float(x) if isinstance(x, (int, float)) else input(next(numbers)) for x in operands]
    try:
        expression = step(name, *parts)
    except OptionError as error:
        raise _Unsupported(str(error)) from None
    return _map_plan(expression, arrays, _out(out, arrays[0].dtype))


def _mapped(function, *operands, out=None):
    arrays = [_array(x) for x in operands]
    return _map_plan(expression_of(function, len(arrays)), arrays, _out(out, arrays[0].dtype if arrays else None))


def _map_plan(expression, arrays, out):
    shape = np.broadcast_shapes(*(x.shape for x in arrays))

    def run(session):
        result = ops.map(expression, *arrays, out=out, session=session)
        return result[()] if isinstance(result, np.ndarray) and result.ndim == 0 and out is None else result

    return _Plan(lambda: work_of(expression, [int(np.prod(shape))], dtype=arrays[0].dtype, resident=_resident(*arrays)),
                 run)


def _resident(*arrays):
    return any(isinstance(x, DeviceArray) for x in arrays)


_UFUNCS = STEPS & {u for u in dir(np) if isinstance(getattr(np, u), np.ufunc)} - {
    "less", "less_equal", "greater", "greater_equal", "equal", "not_equal", "isnan"}  # those are bool in NumPy
_PLANS = {np.matmul: _matmul, np.dot: _dot, np.linalg.svd: _svd, np.sum: functools.partial(_reduction, "sum"),
          np.mean: functools.partial(_reduction, "mean"), np.min: functools.partial(_reduction, "minimum"),
          np.max: functools.partial(_reduction, "maximum")}
_PLANS |= {getattr(np.fft, name): functools.partial(_fft, name) for name in ("fft", "ifft", "rfft", "irfft")}
_PLANS |= {getattr(np.fft, name): functools.partial(_fft2, name) for name in ("fft2", "ifft2")}
