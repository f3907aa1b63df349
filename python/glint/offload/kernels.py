"""User-defined kernels in CUDA C++."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import operator
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import _core
from ..arrays_in import on_gpu
from ..errors import OptionError
from .device_arrays import DeviceArray, adopted_by, handle_for
from .sessions import Session, session_or_default


class Kernel:
    """A kernel in CUDA C++, compiled by NVIDIA's NVRTC when it is first launched on a GPU.

    source: contains `extern "C" __global__ void NAME(...)`.
    name: the NAME.
    options: options of NVRTC, such as "--use_fast_math".

    >>> axpy = glint.gpu.Kernel('''extern "C" __global__ void axpy(float* y, const float* x, float a, unsigned n) {
    ...     const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    ...     if (i < n) y[i] += a * x[i];
    ... }''', "axpy")
    >>> def add(y, x, a):
    ...     axpy((y.size + 255) // 256, 256, y, x, a, y.size)
    """

    def __init__(self, source: str, name: str, options: Sequence[str] = ()) -> None:
        if not (isinstance(source, str) and isinstance(name, str)):
            raise OptionError(
                f"Kernel({source!r:.60}, {name!r:.60}): give the source in CUDA C++ and the name of the "
                f"kernel, both as str"
            )
        self.name = name
        self._core = _core.KernelSource(source, name, list(options))

    def __call__(
        self, blocks: int, threads: int, *arguments: Any, shared_bytes: int = 0, session: Session | None = None
    ) -> Any:
        """Launches `blocks` blocks of `threads` threads on the session's GPU. Returns before the kernel has finished,
        like other operations on a DeviceArray. Later uses of the arrays wait for it.

        arguments: one per parameter of the kernel.
            - pointer: a DeviceArray, or an array of PyTorch or CuPy on that GPU
            - number: a NumPy number of exactly the parameter's type, as np.float32(2), or a Python int or float, which
              is converted to the parameter's size
        shared_bytes: dynamic shared memory of each block.
        session: by default, the session of the first DeviceArray, or within `on_device()` the session of that GPU.

        Raises OptionError, with the compiler's messages if the source does not compile; LibraryMissing without NVRTC;
        NoGpu. After an illegal access in a kernel, this process cannot use the GPU again: later calls raise DeviceLost.
        There is no fallback to the CPU. For a fallback, combine the kernel with a function for the CPU by
        `offload.accelerate(on_cpu, on_gpu)`, or use `offload.oom_safe`.
        """
        if session is None:
            any_array = any(isinstance(x, DeviceArray) for x in arguments)
            session = handle_for(*arguments) if any_array else session_or_default(None)._core
        else:
            session = session._core
        blocks, threads, shared_bytes = (operator.index(n) for n in (blocks, threads, shared_bytes))
        if not (1 <= blocks < 2**31 and 1 <= threads <= 1024 and 0 <= shared_bytes < 2**31):
            raise OptionError(
                f"{self.name}: {blocks} blocks of {threads} threads with {shared_bytes} shared bytes: give 1 or more "
                "blocks, 1 to 1024 threads, and 0 or more bytes"
            )
        sizes = _core.parameter_bytes(session, self._core)
        adopted = [adopted_by(x, session) if on_gpu(x) and not isinstance(x, DeviceArray) else x for x in arguments]
        _core.launch(
            session,
            self._core,
            blocks,
            threads,
            shared_bytes,
            [self._argument(k, x, sizes[k] if k < len(sizes) else 8 * bool(sizes)) for k, x in enumerate(adopted)],
        )

    def _argument(self, k, value, size):
        """Returns the argument for C++: an array, or the bytes of a number."""
        if isinstance(value, DeviceArray):
            return value._core
        if isinstance(value, np.generic):
            return value.tobytes()
        if isinstance(value, (bool, int, float)):
            kinds = {4: "f4", 8: "f8"}
            if size not in (kinds if isinstance(value, float) else (1, 2, 4, 8)):
                why = f"the parameter has {size} bytes" if size else "this driver does not report the parameter's type"
                raise OptionError(
                    f"{self.name}: argument {k} is {value!r}, and {why}: give a number of NumPy, as np.int32({value!r})"
                )
            if isinstance(value, float):
                return np.array(value, kinds[size]).tobytes()
            try:
                return value.to_bytes(size, sys.byteorder, signed=value < 0)
            except OverflowError:
                raise OptionError(f"{self.name}: argument {k} is {value}, which {size} bytes do not hold") from None
        raise OptionError(f"{self.name}: argument {k} is a {type(value).__name__}: give a DeviceArray or a number")

    def compile(self, capability: int | str) -> bytes:
        """Returns machine code for GPUs of this compute capability, 90 or "9.0". Needs no GPU."""
        number = str(capability).replace(".", "")
        if not number.isdecimal():
            raise OptionError(f"capability={capability!r}: give a compute capability, as 90 or '9.0'")
        return _core.compile(self._core, int(number))

    def __repr__(self) -> str:
        return f"<Kernel {self.name}>"
