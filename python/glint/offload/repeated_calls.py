"""Arguments of functions that run once more, or on the other side: none may have changed, and what is written must not be lost."""
# SPDX-License-Identifier: MIT
from __future__ import annotations

from typing import Any

import numpy as np

from .device_arrays import DeviceArray, copy


class HostCopies:
    """Host copies of DeviceArrays, for a function that runs on the CPU."""

    def __init__(self) -> None:
        self._copies = []

    def of(self, x: DeviceArray) -> np.ndarray:
        host = x.to_numpy()
        self._copies.append((x, host, host.copy()))
        return host

    def write_back(self) -> None:
        """Copies what the function has written to the GPU."""
        for x, host, before in self._copies:
            if host.tobytes() != before.tobytes():
                copy(x, host)


_MAX_SAMPLES = 1024


class Samples:
    """Some elements of the arrays among a function's arguments, which tell whether it changes whole arrays."""

    def __init__(self, values: Any) -> None:
        self._arrays = [x for x in values if isinstance(x, (np.ndarray, DeviceArray)) and x.size > 0]
        self._before = [_some(x) for x in self._arrays]

    def changed(self) -> bool:
        return any(_some(x) != before for x, before in zip(self._arrays, self._before))


def _some(x):
    """Up to 1,024 elements along the longest dimension, as bytes; of objects, which cannot be compared so, none."""
    if x.dtype == object:
        return b""
    if x.ndim == 0:
        return np.asarray(x.to_numpy() if isinstance(x, DeviceArray) else x).tobytes()
    axis = max(range(x.ndim), key=lambda k: x.shape[k])
    step = -(-x.shape[axis] // _MAX_SAMPLES)
    some = x[tuple(slice(None, None, step) if k == axis else x.shape[k] // 2 for k in range(x.ndim))]
    return (some.to_numpy() if isinstance(some, DeviceArray) else np.asarray(some)).tobytes()
