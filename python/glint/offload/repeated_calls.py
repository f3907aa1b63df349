"""Arguments of functions that are called again, or on the other side: no argument may have changed, and written results
must not be lost.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import sys
from typing import Any

import numpy as np

from .. import _core
from .device_arrays import DeviceArray, copy, span_of, view
from .nested import leaves


class HostCopies:
    """Host copies of DeviceArrays, for a function that runs on the CPU. An array that is given twice is copied once."""

    def __init__(self) -> None:
        self._copies: dict[int, Any] = {}

    def of(self, x: DeviceArray) -> np.ndarray:
        if id(x) not in self._copies:
            host = x.to_numpy()
            self._copies[id(x)] = (x, host, checksum(host))
        return self._copies[id(x)][1]

    def write_back(self) -> None:
        """Copies the arrays that the function has changed back to the GPU."""
        for x, host, before in self._copies.values():
            if checksum(host) != before:
                copy(x, host)


class Checksums:
    """Checksums of the arrays among a function's arguments, also in lists, tuples and dicts.

    Arrays are NumPy's, DeviceArrays and tensors of PyTorch.
    """

    def __init__(self, values: Any) -> None:
        torch = sys.modules.get("torch")
        kinds = (np.ndarray, DeviceArray, *([torch.Tensor] if hasattr(torch, "Tensor") else []))
        self._arrays = [x for x in leaves(values) if isinstance(x, kinds)]
        self._before = [checksum(x) for x in self._arrays]

    def changed(self) -> bool:
        return any(checksum(x) != before for x, before in zip(self._arrays, self._before))


def checksum(x: Any) -> Any:
    """Returns a value that changes if any element changes, except with a probability of 2^-64. NumPy arrays take about
    0.1 s per GB. Arrays of objects have no checksum."""
    if isinstance(x, DeviceArray):
        return _on_gpu(x)
    if not isinstance(x, np.ndarray):
        try:
            return x._version  # PyTorch counts writes in place
        except RuntimeError:
            return 0  # but not in inference mode
    x = np.asarray(x)  # for subclasses, the elements
    if x.dtype.hasobject or x.nbytes == 0:
        return 0
    x = x.T if x.flags.f_contiguous else x
    if x.flags.c_contiguous:
        return _core.checksum(x.reshape(-1).view(np.uint8), 0)
    found = 0
    for part in np.nditer(x, ["external_loop", "buffered"], order="K", buffersize=1 << 16):
        found = _core.checksum(np.ascontiguousarray(part).view(np.uint8), found)
    return found


_WORDS = 1 << 10  # in a row


def _on_gpu(x):
    """Returns the sums of rows and columns of the memory as 64-bit words, and the remaining bytes."""
    if x.size == 0:
        return 0
    memory = x if x._core.contiguous else span_of(x)
    start, n = memory._core.first * memory.itemsize, memory.nbytes
    head = min(-start % 8, n)
    rows = (n - head) // (8 * _WORDS)
    words = view(memory, (1, rows, _WORDS), (rows * _WORDS, _WORDS, 1), (start + head) // 8, "int64") if rows else None
    rest = [(start, head), (start + head + 8 * _WORDS * rows, n - head - 8 * _WORDS * rows)]
    found = [view(memory, (count,), (1,), first, "uint8").to_numpy().tobytes() for first, count in rest]
    if words is not None:
        for shape in ((1, rows, _WORDS), (rows, _WORDS, 1)):  # along the middle
            sums = np.empty((shape[0], shape[2]), np.int64)  # on the host: a full GPU has no room for them
            _core.reduce_axis(memory._core.session, "int64", "sum", words.reshape(shape)._core, sums)
            found.append(checksum(sums))
    return found
