"""Functions that fall back to the CPU when the GPU runs out of memory."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import functools
import gc
import inspect
import sys
import traceback
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import _core
from ..arguments import switch
from ..arrays_in import on_gpu
from ..errors import GpuError, OutOfMemory
from .device_arrays import DeviceArray, to_host
from .nested import converted, leaves
from .numpy_for_cupy import call_with_numpy
from .process_settings import Block, ProcessSetting
from .repeated_calls import Checksums, HostCopies
from .sessions import Restore, Session, operations_on_cpu, session_or_default


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error of glint, PyTorch or CuPy means that a GPU is out of memory."""
    if isinstance(error, OutOfMemory):
        return True
    for kind in type(error).__mro__:
        library = kind.__module__.partition(".")[0]
        if kind.__name__ == "OutOfMemoryError" and library in ("torch", "cupy"):
            return True
        if kind.__name__ in ("CUDARuntimeError", "CUDADriverError") and getattr(error, "status", 0) == 2:
            return True
    return False


def oom_safe(
    function: Callable | None = None,
    *,
    on_cpu: Callable | None = None,
    operation: str | None = None,
    session: Session | None = None,
) -> Any:
    """A decorator: if `function` runs out of GPU memory, it is called once more after a clean-up, then `on_cpu` is
    called instead, with the same arguments.

    Without `on_cpu`, the function itself runs on the CPU: with host copies of its arguments on a GPU, also within
    lists, tuples and dicts, with NumPy instead of CuPy in its body, and with operations of `glint.offload` on the CPU.
    Changes to these copies are copied back. The GPU's error is raised if the function has no array argument, has
    changed an array before it ran out of memory, or fails on the CPU too. Changes are found by checksums of all
    elements, before each call and after an error; CuPy arrays are not checked. Errors of glint, PyTorch and CuPy are
    recognised. The clean-up covers the session, and the caches of PyTorch and CuPy. `statistics()` counts the
    fallbacks. While fallbacks are off (`set_oom_safe(False)`), errors are raised immediately.

    Raises TypeError for generators and async functions: they run after the call has returned.

    >>> @glint.offload.oom_safe(on_cpu=lambda x: x + 1)
    ... def more(x):
    ...     raise glint.gpu.OutOfMemory("the GPU is full")
    >>> more(1)
    2
    """
    if function is None:
        return functools.partial(oom_safe, on_cpu=on_cpu, operation=operation, session=session)
    if isinstance(function, (classmethod, staticmethod)):
        return type(function)(oom_safe(function.__func__, on_cpu=on_cpu, operation=operation, session=session))
    for given in (function, on_cpu):
        _require_function(given)
    name = operation or getattr(function, "__name__", "function")

    @functools.wraps(function)
    def safe(*arguments, **options):
        if not oom_safe_enabled(session):
            return function(*arguments, **options)
        before = Checksums((arguments, options))
        for attempt in range(2):
            try:
                return function(*arguments, **options)
            except Exception as error:
                if not is_out_of_memory(error):
                    raise
                if before.changed():
                    warnings.warn(
                        f"{name} changed an argument before it ran out of GPU memory, so it is not called "
                        f"once more: let it write to "
                        "arrays of its own",
                        RuntimeWarning,
                        stacklevel=2,
                    )
                    raise
                last = attempt == 1
                can_fall_back = on_cpu is not None or any(
                    isinstance(x, np.ndarray) or on_gpu(x) for x in leaves((arguments, options))
                )
                if not _recovered(session_or_default(session), name, error, last and can_fall_back):
                    raise
                if last and not can_fall_back:
                    raise
                if last and on_cpu is None:
                    return _run_on_cpu(function, arguments, options, error)
        return on_cpu(*arguments, **options)

    return safe


def _require_function(function):
    """Raises TypeError for a function that returns before its body has run."""
    if function is None:
        return
    if not callable(function):
        raise TypeError(f"oom_safe: a {type(function).__name__} is no function")
    body = (
        function if inspect.isroutine(function) or isinstance(function, functools.partial) else type(function).__call__
    )
    for is_one, what in (
        (inspect.isgeneratorfunction, "a generator"),
        (inspect.isasyncgenfunction, "an async generator"),
        (inspect.iscoroutinefunction, "an async function"),
    ):
        if is_one(body):
            raise TypeError(
                f"oom_safe: {getattr(function, '__name__', 'this')} is {what}, whose body runs after the "
                f"call has returned: decorate "
                "the functions that it calls"
            )


def _run_on_cpu(function, arguments, options, error):
    """Returns the function's result, computed on the CPU. If that fails too, raises `error`, the error of the GPU."""
    try:
        copies = HostCopies()
        with operations_on_cpu():
            result = call_with_numpy(function, *converted((list(arguments), options), lambda x: _on_host(x, copies)))
        copies.write_back()
        return result
    except Exception as on_cpu:
        raise error from on_cpu


def _recovered(session, name, error, on_cpu_now):
    if not session._core.recover(name, failure_of(error), on_cpu_now):
        return False
    traceback.clear_frames(error.__traceback__)  # local variables of its frames would keep memory allocated
    gc.collect()  # so would arrays in reference cycles
    try:
        give_back_of_others()
    except Exception:
        pass  # the GPU may be lost; the next attempt reports it
    return True


def give_back_of_others() -> None:
    """Empties the caches of PyTorch and CuPy, if this process uses them."""
    torch, cupy = sys.modules.get("torch"), sys.modules.get("cupy")
    if torch is not None and torch.cuda.is_initialized():
        torch.cuda.empty_cache()
    if cupy is not None:
        cupy.get_default_memory_pool().free_all_blocks()


def _on_host(x, copies):
    if isinstance(x, DeviceArray):
        return copies.of(x)
    if not on_gpu(x):
        return x
    return x.cpu() if hasattr(x, "cpu") else to_host(x)


_process_oom_safe = ProcessSetting(_core.process_oom_safe, _core.set_process_oom_safe)


def set_oom_safe(on: bool, session: Session | None = None) -> Block | Restore:
    """Sets whether the CPU is used when the GPU runs out of memory; if not, OutOfMemory is raised. Applies permanently,
    or for a `with` block.

    session: apply to this session only. None: apply to the whole process, that is to operations of all sessions and
        threads, and to fits and movies with backend="auto" (with "gpu" they never use the CPU). The CPU is used only if
        both the session and the process allow it. Smaller batches and pieces are tried in any case.

    >>> with glint.offload.set_oom_safe(False):
    ...     glint.offload.oom_safe_enabled()
    False
    >>> glint.offload.oom_safe_enabled()
    True
    """
    on = switch("set_oom_safe", on)
    if session is None:
        return _process_oom_safe.set(on)
    before, session.oom_safe = session.oom_safe, on
    return Restore(lambda: setattr(session, "oom_safe", before))


def oom_safe_enabled(session: Session | None = None) -> bool:
    """Whether the CPU is used when the GPU runs out of memory: in this process, or also in this session."""
    return _core.process_oom_safe() and (session is None or session.oom_safe)


def failure_of(error: BaseException) -> Any:
    """Describes an exception of a function on the GPU for C++: (out of memory, message, asked, free, beyond the limit).
    None if it is not an error of the GPU."""
    if is_out_of_memory(error):
        asked = getattr(error, "asked_bytes", 0) or getattr(error, "_size", 0)
        return (
            True,
            str(error),
            int(asked),
            int(getattr(error, "free_bytes", 0)),
            bool(getattr(error, "beyond_limit", False)),
        )
    return (False, str(error), 0, 0, False) if isinstance(error, GpuError) else None
