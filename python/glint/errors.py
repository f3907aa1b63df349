"""The exceptions that glint raises: few, and each says what was asked, what was found and what to do."""
# SPDX-License-Identifier: MIT


class Error(Exception):
    """Base of everything that glint raises on purpose."""


class OptionError(Error, ValueError):
    """An argument is wrong: a ROI of 2 pixels, a gain of 0, a missing pixel size."""


class InputError(Error, OSError):
    """A file that was given cannot be used: missing, no TIFF, truncated before the first frame, of a wrong shape."""


class OutputError(Error, OSError):
    """A result could not be written: disk full, no permission. Nothing half-written stands under the final name."""


class GpuError(Error, RuntimeError):
    """Something failed on a GPU. `code` is CUDA's error number (0: none)."""

    code: int = 0


class NoGpu(GpuError):
    """There is no GPU that can be used; the message says why and what to do."""


class DeviceLost(GpuError):
    """An error after which this process cannot use the GPU again."""


class OutOfMemory(GpuError, MemoryError):
    """The GPU, or the limit set for it, has no room for `asked_bytes`; `free_bytes` were left (0: not known)."""

    asked_bytes: int = 0
    free_bytes: int = 0
    beyond_limit: bool = False


class LeaseTimeout(GpuError, TimeoutError):
    """No GPU had room in time: `required_bytes` with the context, and `available_bytes` where the most were free."""

    required_bytes: int = 0
    available_bytes: int = 0


class LibraryMissing(GpuError):
    """A library that an operation on arrays needs (cuBLAS, cuFFT, cuSOLVER) is not there."""
