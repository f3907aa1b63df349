"""Functions that run on the faster side: NumPy's functions, and pairs of user functions for CPU and GPU."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import dataclasses
import functools
import traceback
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import _core
from ..errors import OptionError, warn
from .device_arrays import DeviceArray
from .nested import converted, leaves
from .numpy_plans import Plan, Unsupported, for_numpy, plan_of
from .out_of_memory import failure_of
from .repeated_calls import Checksums, HostCopies
from .sessions import Session, session_or_default


@dataclasses.dataclass(frozen=True)
class NumPyItself:
    """Replaces a Decision if there is nothing to decide: NumPy itself is called ("numpy"), or the function has no GPU
    version ("cpu").
    """

    reason: str
    choice: str = "numpy"

    def __str__(self) -> str:
        return self.reason


class Accelerated:
    """The result of `accelerate()`: call it like the original function.

    `explain(*arguments)` returns where a call would run, and why. `decide(*arguments)` is faster, but omits the size at
    which the choice changes. Neither runs the function.
    """

    def __init__(self, function: Any, pair: _Pair, session: Any) -> None:
        functools.update_wrapper(self, function, updated=())
        self._function, self._pair, self._session = function, pair, session
        self._plan = plan_of(function, pair.plan_on_cpu) if pair.on_gpu is None else pair.plan

    def __get__(self, instance: Any, owner: Any = None) -> Accelerated:
        """Binds the function to an instance, as Python's own functions do, so that it can be a method."""
        get = getattr(type(self._function), "__get__", None)
        bound = self._function if get is None else get(self._function, instance, owner)
        return self if bound is self._function else Accelerated(bound, self._pair.bound_to(bound), self._session)

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        try:
            plan = self._plan(*arguments, **options)
        except Unsupported:
            arguments, options = converted((arguments, options), for_numpy)
            return self._function(*arguments, **options)
        return plan.run(session_or_default(self._session))

    def decide(self, *arguments: Any, **options: Any) -> Any:
        return self._decision(False, arguments, options)

    def explain(self, *arguments: Any, **options: Any) -> Any:
        return self._decision(True, arguments, options)

    def _decision(self, in_full, arguments, options={}):
        try:
            plan = self._plan(*arguments, **options)
        except Unsupported as reason:
            return NumPyItself(f"NumPy itself does this: {reason}")
        if plan.why_cpu:
            return NumPyItself(plan.why_cpu, "cpu")
        core = session_or_default(self._session)._core
        return core.explain(plan.work()) if in_full else core.decide(plan.work())

    def __repr__(self) -> str:
        return f"<accelerated {getattr(self._function, '__name__', 'function')}>"


def accelerate(
    function: Callable,
    on_gpu: Callable | None = None,
    *,
    operation: str | None = None,
    size_of: Callable | None = None,
    unit: str = "elements",
    flops_power: float = 1,
    bytes_power: float = 1,
    rule_size: float = 0,
    work: Callable | None = None,
    session: Session | None = None,
) -> Accelerated:
    """Returns a function that runs on the faster side. NumPy's own function is not replaced.

    With one function: NumPy's matmul, dot, fft.fft, ifft, fft2, ifft2, rfft, irfft, linalg.svd, solve, eigh, eigvalsh,
    qr, sum, prod, mean, std, var, min, max, argmin, argmax (with axes) and arithmetic ufuncs; or an Expression, or a
    function that returns one. Signatures and results are NumPy's, also for DeviceArrays. Calls that glint does not
    support (dtypes other than float32 and float64, `where=`, ...) are passed to NumPy, which `.explain(...)` reports.
    Any other function, such as np.linalg.inv or np.sort, runs on the CPU and is measured there; arrays on a GPU are
    copied to the host. Give `on_gpu` to have a choice. Transforms of float32 are complex64, as in NumPy 2; ufuncs give
    no warnings.

    With two functions: `function` for the CPU and `on_gpu`, which must compute the same from the same arguments.
    `on_gpu` may use CuPy, PyTorch or any other library. It runs while the session leases a GPU. If it runs out of
    memory, the CPU is used. Both functions may use the session, also in threads that they start.
        operation: the name under which run times are stored; by default the function's.
        size_of: returns the size of a call, in `unit`, from its arguments; by default the number of elements of all
            arrays.
        flops_power, bytes_power: operations and bytes grow as the size to these powers.
        rule_size: until something is measured, larger sizes use the GPU; 0: the number of bytes decides.
        work: a function that returns flops and bytes from the arguments, e.g. {"flops": 1e9, "bytes": 1e6,
            "bytes_to_gpu": 1e6, "bytes_from_gpu": 8}; by default from the array arguments.

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
    pair = _Pair(
        function,
        on_gpu,
        operation or getattr(function, "__name__", "function"),
        size_of,
        unit,
        (flops_power, bytes_power, rule_size),
        work,
    )
    return Accelerated(function, pair, session)


# ---- Pairs of user functions


class _Pair:
    def __init__(
        self, on_cpu: Any, on_gpu: Any, operation: Any, size_of: Any, unit: Any, powers: Any, work: Any
    ) -> None:
        self._on_cpu, self.on_gpu = on_cpu, on_gpu
        self._operation, self._size_of, self._unit, self._powers, self._work = operation, size_of, unit, powers, work

    def bound_to(self, method: Any) -> _Pair:
        """Returns the pair bound to the instance of `method`, which its functions get as their first argument."""
        instance = getattr(method, "__self__", None)
        bind = lambda f: f if f is None or instance is None else functools.partial(f, instance)
        return _Pair(
            method, bind(self.on_gpu), self._operation, bind(self._size_of), self._unit, self._powers, bind(self._work)
        )

    def plan(self, *arguments: Any, **options: Any) -> Any:
        return Plan(lambda: self._work_of(arguments, options), lambda session: self._run(session, arguments, options))

    def plan_on_cpu(self, *arguments: Any, **options: Any) -> Any:
        """The plan of a function without a GPU version."""
        return Plan(
            lambda: self._work_of(arguments, options),
            lambda session: self._run_on_cpu(session, arguments, options),
            (
                f"the CPU does this: glint has no version of {self._operation} for the GPU; give yours, as "
                f"accelerate(on_cpu, on_gpu)"
            ),
        )

    def _run_on_cpu(self, session, arguments, options):
        done, copies = [], HostCopies()
        on_host = lambda x: copies.of(x) if isinstance(x, DeviceArray) else for_numpy(x)
        arguments, options = converted((arguments, options), on_host)
        _core.run_on_cpu(
            session._core, self._work_of(arguments, options), lambda: done.append(self._on_cpu(*arguments, **options))
        )
        copies.write_back()
        return done[0]

    def _work_of(self, arguments, options):
        arrays = [x for x in leaves((arguments, options)) if hasattr(x, "nbytes") and hasattr(x, "shape")]
        here = sum(x.nbytes for x in arrays if isinstance(x, np.ndarray))
        there = sum(x.nbytes for x in arrays) - here
        size = float(
            self._size_of(*arguments, **options)
            if self._size_of
            else sum(x.nbytes // max(1, x.dtype.itemsize) for x in arrays)
        )
        largest = max((x.nbytes for x in arrays), default=0)
        size = max(size, 1.0)
        work = {
            "flops": size ** self._powers[0],
            "bytes": here + there + largest,
            "bytes_to_gpu": here,
            "bytes_from_gpu": 0 if there else largest,
            "bytes_to_host": there,
            "bytes_to_return": largest if there else 0,
        }
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
            before = Checksums((arguments, options))
            try:
                done.append(self.on_gpu(*arguments, **options))
            except Exception as error:
                failure = failure_of(error)
                if failure is None:
                    raise
                if before.changed():
                    warn(
                        f"{self._operation} changed an argument before it failed on the GPU, so the CPU "
                        f"does not do it: let it write to arrays of "
                        "its own",
                        RuntimeWarning,
                    )
                    raise
                traceback.clear_frames(error.__traceback__)
                failed.append(error)
                return failure

        try:
            if not _core.run_either(session._core, self._work_of(arguments, options), on_cpu, on_gpu):
                raise failed[0]
            return done[0]
        finally:
            failed.clear()  # the error's traceback refers to the frames, which refer to it
