"""Decisions without running: which side is faster, and why; backends, environment, calibration and self-test."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _core
from ..arguments import number, switch
from ..errors import NoGpu, OptionError
from .expressions import Expression, input
from .device_arrays import to_device, to_host
from .sessions import Session, bytes_of, session_or_default

if TYPE_CHECKING:
    from .._types import DTypeLike

Decision = _core.Decision

_SAME = {
    "dot": "matmul",
    "ifft": "fft",
    "ifft2": "fft2",
    "irfft": "rfft",
    "irfft2": "rfft2",
    "sum": "reduce",
    "mean": "reduce",
    "minimum": "reduce",
    "maximum": "reduce",
}
_NAMES = (
    "matmul",
    "fft",
    "fft2",
    "rfft",
    "rfft2",
    "svd",
    "svdvals",
    "solve",
    "eigh",
    "eigvalsh",
    "qr",
    "map",
    "reduce",
)


def decide(
    operation: Any,
    *shapes: Any,
    bytes: int | str | None = None,
    dtype: DTypeLike = "float32",
    resident: bool = False,
    result_resident: bool | None = None,
    reuse: float = 1.0,
    session: Session | None = None,
) -> Decision:
    """Decides where an operation would run at present; takes microseconds, and does not run it.

    operation: "matmul", "fft", "ifft", "fft2", "ifft2", "rfft", "irfft", "svd", "svdvals", "solve", "eigh", "eigvalsh",
        "qr", "sum", "mean", "minimum", "maximum"; an Expression, for `map()`; or a result of `accelerate()`, with its
        own arguments instead of shapes.
    shapes: of the operands, or the operands; a number n is (n, n) for matrices, else (n,). One shape for "matmul" or
        "solve" is used for both. For transforms between real and complex it is that of the real array.
    bytes: instead of shapes, the total size of the operands (one or two square matrices, or a vector): 2**30, "1GiB".
    dtype: float32 or float64 (or the complex of these).
    resident: the operands are on the GPU. result_resident: the result stays on the GPU; by default as `resident`.
    reuse: number of operations that use the operands once they are uploaded, including this one.

    The Decision has `choice` ("cpu", "gpu"), `speedup`, `confidence` (0 to 1), `basis` ("measured", "estimated",
    "rules", "forced"), `reason`, and all terms in seconds: `cpu.total_s`, `gpu.upload_s`, .... `print(decision)` shows
    all terms.

    >>> decision = glint.offload.decide("matmul", 100)
    >>> decision.choice, decision.size, decision.unit
    ('cpu', 100.0, 'rows')
    """
    return _asked(False, operation, shapes, bytes, dtype, resident, result_resident, reuse, session)


def explain(
    operation: Any,
    *shapes: Any,
    bytes: int | str | None = None,
    dtype: DTypeLike = "float32",
    resident: bool = False,
    result_resident: bool | None = None,
    reuse: float = 1.0,
    session: Session | None = None,
) -> Decision:
    """As `decide()`, with `flips_at`: the size at which the choice changes; 0 if there is no such size.

    >>> print(glint.offload.explain("fft", 1000).reason)     # doctest: +ELLIPSIS
    fft complex64 of 1000 elements on the CPU: ...
    """
    return _asked(True, operation, shapes, bytes, dtype, resident, result_resident, reuse, session)


def should_offload(
    bytes: int | str,
    operation: Any,
    *,
    dtype: DTypeLike = "float32",
    resident: bool = False,
    reuse: float = 1.0,
    session: Session | None = None,
) -> bool:
    """Whether an operation on `bytes` of data would run on the GPU: `decide(operation, bytes=bytes).choice == "gpu"`.

    >>> glint.offload.should_offload("4KiB", "matmul")
    False
    """
    return decide(operation, bytes=bytes, dtype=dtype, resident=resident, reuse=reuse, session=session).choice == "gpu"


def _asked(in_full, operation, shapes, bytes, dtype, resident, result_resident, reuse, session):
    if hasattr(operation, "_decision"):
        if bytes is not None:
            raise OptionError(
                "an accelerated function is asked with its arguments: its operation has no shape of its own"
            )
        return operation._decision(in_full, shapes)
    size = 0
    if bytes is not None:
        if shapes:
            raise OptionError("give shapes or bytes, not both")
        size = bytes_of("bytes", bytes)
        shapes = (_shape_of_bytes(operation, size, dtype),)
    session = session_or_default(session)
    work = work_of(operation, *shapes, dtype=dtype, resident=resident, result_resident=result_resident, reuse=reuse)
    if size and not resident:
        work.bytes_to_gpu = size  # the rounded square matrix may have fewer bytes
    return session._core.explain(work) if in_full else session._core.decide(work)


def work_of(
    operation: Any,
    *shapes: Any,
    dtype: DTypeLike = "float32",
    resident: bool = False,
    result_resident: bool | None = None,
    reuse: float = 1.0,
) -> Any:
    """Returns the work of an operation for the cost model."""
    expression = operation if isinstance(operation, Expression) else input(0)
    name = "map" if isinstance(operation, Expression) else _SAME.get(operation, operation)
    if name not in _NAMES:
        raise OptionError(f"no operation is called {operation!r}: {', '.join(sorted({*_NAMES, *_SAME}))}")
    dtype = np.dtype(dtype)
    if dtype.name not in ("float32", "float64", "complex64", "complex128"):
        raise OptionError(f"dtype={dtype}: operations are of float32, float64, complex64 or complex128")
    if not shapes:
        raise OptionError(f"{name}: give the shape of its operand")
    square = name in ("matmul", "svd", "svdvals", "solve", "eigh", "eigvalsh", "qr")
    shapes = [_shape(shape, square) for shape in shapes]
    if name in ("matmul", "solve") and len(shapes) == 1:
        shapes *= 2
    for shape in shapes:
        if len(shape) < (2 if square or name.endswith("2") else 0):
            raise OptionError(f"{name}: the shape {shape} has too few dimensions")
    resident = switch("resident", resident)
    there = resident if result_resident is None else switch("result_resident", result_resident)
    return _core.array_work(
        name,
        shapes,
        dtype.name in ("float64", "complex128"),
        expression._core,
        resident,
        there,
        number("reuse", reuse, 10),
    )


def _shape_of_bytes(operation, bytes, dtype):
    """Returns the shape of operands with that many bytes: square matrices, or vectors."""
    name = "map" if isinstance(operation, Expression) else _SAME.get(operation, operation)
    dtype = np.dtype(dtype)
    item = dtype.itemsize
    if name in ("fft", "fft2") and dtype.kind == "f":
        item *= 2  # complex numbers with parts of this type
    inputs = (
        2
        if name in ("matmul", "solve")
        else _core.expression_inputs(operation._core)
        if isinstance(operation, Expression)
        else 1
    )
    elements = bytes // (max(inputs, 1) * item)
    if name in ("matmul", "svd", "svdvals", "solve", "eigh", "eigvalsh", "qr", "fft2", "rfft2"):
        return (math.isqrt(elements),) * 2
    return (elements,)


def _shape(shape, square):
    shape = getattr(shape, "shape", shape)
    if isinstance(shape, (int, np.integer)):
        return [int(shape)] * (2 if square else 1)
    if any(extent < 0 for extent in shape):
        raise OptionError(f"the shape {tuple(shape)} has a negative extent")
    return list(shape)


# ---- The machine


@dataclasses.dataclass(frozen=True)
class Backend:
    """A backend on which operations can run."""

    name: str  #: "cuda", "cpu"
    usable: bool
    why_not: str  #: why the backend cannot be used, with the remedy; empty: usable
    detail: str  #: "driver 580.65.06, CUDA 13.0"; "avx512 (also avx2, sse2), 16 threads"
    devices: tuple[str, ...]
    memory_bytes: tuple[int, ...]  #: memory of each device
    free_bytes: tuple[int, ...]  #: 0: unknown
    instruction_set: str  #: of the CPU
    threads: int  #: of the CPU

    def to_gpu(self, array: Any, *, session: Session | None = None) -> Any:
        """Returns `array` in the memory of this backend: a DeviceArray on the session's GPU, as
        `glint.gpu.to_device()`, or a NumPy array for the CPU. Raises NoGpu for an unusable backend."""
        if self.why_not:
            raise NoGpu(f"the backend {self.name} cannot be used: {self.why_not}")
        return to_host(array) if self.name == "cpu" else to_device(array, session=session)

    def to_cpu(self, array: Any) -> np.ndarray:
        """Returns `array` as a NumPy array, as `glint.gpu.to_host()`."""
        return to_host(array)


def _backend(info):
    return Backend(
        info.name,
        info.usable,
        info.why_not,
        info.detail,
        tuple(d.name for d in info.devices),
        tuple(d.total_bytes for d in info.devices),
        tuple(d.free_bytes for d in info.devices),
        info.instruction_set,
        info.threads,
    )


def backends() -> dict[str, Backend]:
    """Returns all backends, the best one first, including unusable ones. Queries them at every call.

    >>> list(glint.offload.backends())[-1]
    'cpu'
    """
    return {info.name: _backend(info) for info in _core.detect_backends()}


def best_backend() -> Backend:
    """The first usable backend that GLINT_BACKEND allows. Raises NoGpu if GLINT_BACKEND is "gpu" and there is no
    GPU."""
    return _backend(_core.best_backend())


@dataclasses.dataclass(frozen=True)
class Setting:
    """An environment variable."""

    value: str  #: the effective value; the given text if it is invalid
    origin: str  #: "environment", "default"
    problem: str  #: why the value is invalid; empty: valid


def environment() -> dict[str, Setting]:
    """Returns every variable GLINT_*, in the order of the documentation.

    >>> list(glint.offload.environment())[:2]
    ['GLINT_BACKEND', 'GLINT_THREADS']
    """
    return {s.name: Setting(s.value, "environment" if s.is_set else "default", s.problem) for s in _core.settings()}


@dataclasses.dataclass(frozen=True)
class Calibration:
    """Measured times of operations on this machine, in seconds; 0: not measured."""

    rows: tuple[Any, ...]  #: of `operation`, `size`, `unit`, `cpu_s`, `gpu_s` (operands on the host), `gpu_resident_s`
    why_no_gpu: str  #: empty: the GPU was measured

    def __str__(self) -> str:
        lines = [
            f"{r.operation} of {r.size:.4g} {r.unit}: CPU {r.cpu_s:.3g} s, GPU {r.gpu_s:.3g} s, "
            f"operands there {r.gpu_resident_s:.3g} s"
            for r in self.rows
        ]
        return "\n".join(lines + ([f"the CPU alone: {self.why_no_gpu}"] if self.why_no_gpu else []))


def calibrate(session: Session | None = None) -> Calibration:
    """Runs each operation at a few sizes on both sides, and stores the times for later decisions.

    Takes some seconds.
    """
    core = session_or_default(session)._core
    rows, why_no_gpu = core.calibrate()
    core.save()
    return Calibration(tuple(rows), why_no_gpu)


def self_test(session: Session | None = None) -> list[Any]:
    """Runs each operation on each backend, and compares the results with simple loops in double precision. Returns rows
    with `operation`, `backend`, `error` and `bound` (relative), `ok`, and `why_not` if the operation could not run."""
    return session_or_default(session)._core.self_test()
