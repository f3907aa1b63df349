"""The exceptions and warnings of glint. Messages state what was requested, what was found and what to do."""

# SPDX-License-Identifier: MIT
import os
import sys
import warnings

_package = os.path.dirname(__file__) + os.sep


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Issues a Python warning that points to the line outside this package from which the call came."""
    level, frame = 1, sys._getframe()
    while frame is not None and frame.f_code.co_filename.startswith(_package):
        level, frame = level + 1, frame.f_back
    try:
        warnings.warn(message, category, level)
    except (OSError, ValueError):
        pass  # sys.stderr is closed: the warning is lost, and the run continues


class Error(Exception):
    """Base class of all exceptions of glint."""


class OptionError(Error, ValueError):
    """An argument is wrong: a ROI of 2 pixels, a gain of 0, a missing pixel size."""


class InputError(Error, OSError):
    """An input file cannot be used: missing, not a TIFF, truncated before the first frame, of a wrong shape."""


class OutputError(Error, OSError):
    """A result could not be written: disk full, no permission, too many open files.

    No incomplete file remains under the final name.
    """


class GpuError(Error, RuntimeError):
    """An operation on a GPU failed. `code` is CUDA's error number (0: none)."""

    code: int = 0


class NoGpu(GpuError):
    """No GPU can be used; the message states the reason and the remedy."""


class DeviceLost(GpuError):
    """An error after which this process cannot use the GPU again."""


class OutOfMemory(GpuError, MemoryError):
    """The GPU, or the limit set for it, has no room for `asked_bytes`. `free_bytes`: bytes that were free; 0:
    unknown."""

    asked_bytes: int = 0
    free_bytes: int = 0
    beyond_limit: bool = False


class LeaseTimeout(GpuError, TimeoutError):
    """No GPU had room in time. `required_bytes` includes the context; `available_bytes` is the largest amount on any
    GPU.
    """

    required_bytes: int = 0
    available_bytes: int = 0


class LibraryMissing(GpuError):
    """A library that an array operation needs (cuBLAS, cuFFT, cuSOLVER) is missing."""
