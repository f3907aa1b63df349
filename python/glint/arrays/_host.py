"""Functions that NumPy computes on the host, from copies of the arrays."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from ..errors import OptionError
from ..offload.device_arrays import DeviceArray, handle_for, to_host, unified_with, uploaded
from ..offload.full_gpu import or_on_host

Function = TypeVar("Function", bound=Callable[..., Any])

ON_HOST: set[str] = set()  #: names of functions that always go through the host


def handle_of(*arrays: DeviceArray) -> Any:
    """Returns the C++ session that computes with the first array on a GPU."""
    for array in arrays:
        if isinstance(array, DeviceArray):
            return handle_for(array)
        if isinstance(array, (list, tuple)) and (found := handle_of(*array)) is not None:
            return found
    return None


def array_of(name: str, x: Any) -> DeviceArray:
    """Returns `x`. Raises OptionError unless it is a DeviceArray."""
    if not isinstance(x, DeviceArray):
        raise OptionError(f"{name}: a {type(x).__name__} is no DeviceArray: glint.arrays.asarray() makes one of it")
    return x


def through_host(function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """Copies the result of a NumPy function to the GPU of the first array, including arrays in tuples and lists."""
    handle = handle_of(*arguments, *options.values())
    if handle is None:
        raise OptionError(
            f"{getattr(function, '__name__', 'this function')}: none of the arguments is a DeviceArray: "
            "glint.arrays.asarray() makes one"
        )
    unified = unified_with(*arguments, *options.values())
    result = function(*(_down(x) for x in arguments), **{key: _down(x) for key, x in options.items()})
    return _up(result, handle, unified)


def on_host(function: Function) -> Function:
    """Declares a function of this namespace whose body computes with NumPy arrays."""
    ON_HOST.add(function.__name__)

    @functools.wraps(function)
    def through(*arguments, **options):
        return through_host(function, *arguments, **options)

    return through  # type: ignore[return-value]


def else_on_host(numpy_function: Callable[..., Any]) -> Callable[[Function], Function]:
    """Declares a function with a fallback: if the GPU has no room for its work memory, NumPy computes on the host, from
    copies.

    numpy_function: takes the same arguments."""

    def declare(function):
        @functools.wraps(function)
        def either(*arguments, **options):
            handle = handle_of(*arguments, *options.values())
            return or_on_host(
                function.__name__,
                handle,
                lambda: function(*arguments, **options),
                lambda: through_host(_silent(numpy_function), *arguments, **options),
            )

        return either

    return declare


def _silent(function):
    def call(*arguments, **options):
        with np.errstate(all="ignore"):
            return function(*arguments, **options)

    return call


def _down(x):
    if isinstance(x, (list, tuple)):
        return type(x)(_down(part) for part in x)
    return to_host(x) if isinstance(x, DeviceArray) else x


def _up(x, handle, unified):
    if isinstance(x, (np.ndarray, np.generic)):
        return uploaded(np.asarray(x), handle, unified)
    if isinstance(x, tuple) and hasattr(x, "_fields"):
        return type(x)(*(_up(part, handle, unified) for part in x))
    return type(x)(_up(part, handle, unified) for part in x) if isinstance(x, (list, tuple)) else x
