"""Array operations on the CPU or a GPU, whichever is expected to finish first on this machine at the moment.

    >>> import numpy as np
    >>> a = np.ones((4, 5), np.float32)
    >>> glint.offload.matmul(a, a.T).shape
    (4, 4)
    >>> glint.offload.decide("matmul", a.shape, a.T.shape).choice
    'cpu'

Operations accept NumPy arrays (also strided views), glint.gpu.DeviceArray, and arrays that support DLPack (PyTorch,
CuPy). A GPU is leased when the first operation runs on it, and released by `close()`, or at the end of the process.
Functions of other libraries are never replaced: `accelerate(np.matmul)` returns a new function.
"""

# SPDX-License-Identifier: MIT
from . import random
from .accelerated import Accelerated, accelerate
from .decompositions import eigh, qr, solve, svd
from .decisions import (
    Backend,
    Setting,
    backends,
    best_backend,
    calibrate,
    decide,
    environment,
    explain,
    self_test,
    should_offload,
)
from .device_arrays import DeviceArray
from .expressions import Expression, erf, fma, input, where
from .operations import map, matmul, reduce
from .out_of_memory import oom_safe, oom_safe_enabled, set_oom_safe
from .array_statistics import argmax, argmin, maximum, mean, minimum, prod, std, sum, var
from .transforms import fft, fft2, ifft, ifft2, irfft, irfft2, rfft, rfft2
from .sessions import Session, clean_up, close, default_session, on_device, reset_statistics, statistics

__all__ = [
    "Accelerated",
    "Backend",
    "DeviceArray",
    "Expression",
    "Session",
    "Setting",
    "accelerate",
    "argmax",
    "argmin",
    "backends",
    "best_backend",
    "calibrate",
    "clean_up",
    "close",
    "decide",
    "default_session",
    "eigh",
    "environment",
    "erf",
    "explain",
    "fft",
    "fft2",
    "fma",
    "ifft",
    "ifft2",
    "input",
    "irfft",
    "irfft2",
    "map",
    "matmul",
    "maximum",
    "mean",
    "minimum",
    "on_device",
    "oom_safe",
    "oom_safe_enabled",
    "random",
    "reduce",
    "prod",
    "qr",
    "reset_statistics",
    "rfft",
    "rfft2",
    "self_test",
    "set_oom_safe",
    "should_offload",
    "solve",
    "statistics",
    "std",
    "sum",
    "svd",
    "var",
    "where",
]


def __dir__() -> list[str]:
    return __all__
