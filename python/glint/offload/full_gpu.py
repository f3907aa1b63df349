"""Fallback to the host if a GPU has no room for the memory that an operation needs besides its operands."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import functools
import traceback
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from ..arrays_in import on_gpu
from ..errors import OutOfMemory
from .device_arrays import DeviceArray, adopt, to_host, uploaded, write
from .sessions import session_or_default

Function = TypeVar("Function", bound=Callable[..., Any])


def _failure_of(error):
    from .out_of_memory import failure_of

    return failure_of(error)


def recovered(handle: Any, name: str, error: OutOfMemory) -> bool:
    """Frees unused GPU memory. Returns whether the host may run the operation instead; False while `oom_safe` is
    off."""
    if not handle.recover(name, _failure_of(error), False):
        return False
    traceback.clear_frames(error.__traceback__)  # local variables of its frames would keep memory allocated
    return True


def or_on_host(name: str, handle: Any, on_gpu: Callable[[], Any], on_host: Callable[[], Any]) -> Any:
    """Calls on_gpu(). If the GPU has no room, calls on_host(), and records a fallback of the C++ session `handle`."""
    try:
        return on_gpu()
    except OutOfMemory as error:
        if handle is None or not recovered(handle, name, error):
            raise
        failure = _failure_of(error)
    result = on_host()
    handle.fall_back(name, failure)
    return result


def operation(function: Function) -> Function:
    """Declares an operation of glint.offload. If the GPU has no room beside the operands, the operation runs again with
    copies of the operands on the host, and the result is copied to its destination."""
    name = function.__name__

    @functools.wraps(function)
    def run(*arguments: Any, **options: Any) -> Any:
        try:
            return function(*arguments, **options)
        except OutOfMemory as error:
            if getattr(error, "of_result", False):  # no room for the result itself: the host cannot help
                error.of_result = False
                raise
            session, out, on = session_or_default(options.get("session")), options.get("out"), options.get("on")
            operands = [*arguments, *(x for key, x in options.items() if key not in ("session", "out"))]
            on_device = any(isinstance(x, DeviceArray) or on_gpu(x) for x in operands)
            if not (on_device or isinstance(out, DeviceArray) or on_gpu(out)) or not recovered(
                session._core, name, error
            ):
                raise
        to_gpu = out is None and (on == "device" or (on is None and any(isinstance(x, DeviceArray) for x in operands)))
        to_out = out is not None and not isinstance(out, np.ndarray)
        options = {key: x if key in ("session", "out") else _down(x) for key, x in options.items()}
        options |= {"on": None} if "on" in options else {}
        result = function(*(_down(x) for x in arguments), **(options | ({"out": None} if to_out else {})))
        if to_out:
            write(out if isinstance(out, DeviceArray) else adopt(out, session), result)
            return out
        return _up(result, session) if to_gpu else result

    return run  # type: ignore[return-value]


def _down(x):
    return to_host(x) if isinstance(x, DeviceArray) or on_gpu(x) else x


def _up(x, session):
    if isinstance(x, tuple):
        return tuple(_up(part, session) for part in x)
    return uploaded(x, session._core) if isinstance(x, np.ndarray) else x
