"""Fourier transforms, each on the CPU or the GPU. Operands and results are as in operations.py."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from typing import Any

import numpy as np

from .. import _core
from ..errors import OptionError
from .device_arrays import DeviceArray, handle_for, host_or_device, unified_with, zeros_there
from .full_gpu import operation
from .operands import Result, core_of, folded, max_dimensions, native, real
from .sessions import Session, session_or_default

_COMPLEX = {np.dtype("float32"): np.dtype("complex64"), np.dtype("float64"): np.dtype("complex128")}
_REAL = {complex_: real_ for real_, complex_ in _COMPLEX.items()}


@operation
def fft(
    a: Any,
    n: int | None = None,
    axis: int = -1,
    *,
    out: Any = None,
    on: str | None = None,
    session: Session | None = None,
) -> Any:
    """The discrete Fourier transform along `axis`, as numpy.fft.fft: complex64 of float32 and complex64."""
    return _complex_transform(a, (n,), (axis,), False, out, on, session)


@operation
def ifft(
    a: Any,
    n: int | None = None,
    axis: int = -1,
    *,
    out: Any = None,
    on: str | None = None,
    session: Session | None = None,
) -> Any:
    """The inverse transform, divided by the number of elements."""
    return _complex_transform(a, (n,), (axis,), True, out, on, session)


@operation
def fft2(
    a: Any,
    s: tuple[int | None, int | None] = (None, None),
    axes: tuple[int, int] = (-2, -1),
    *,
    out: Any = None,
    on: str | None = None,
    session: Session | None = None,
) -> Any:
    """The two-dimensional transform, as numpy.fft.fft2."""
    return _complex_transform(a, s or (None, None), axes, False, out, on, session)


@operation
def ifft2(
    a: Any,
    s: tuple[int | None, int | None] = (None, None),
    axes: tuple[int, int] = (-2, -1),
    *,
    out: Any = None,
    on: str | None = None,
    session: Session | None = None,
) -> Any:
    """The inverse two-dimensional transform."""
    return _complex_transform(a, s or (None, None), axes, True, out, on, session)


@operation
def rfft(
    a: Any,
    n: int | None = None,
    axis: int = -1,
    *,
    out: Any = None,
    on: str | None = None,
    session: Session | None = None,
) -> Any:
    """The transform of real values: n / 2 + 1 elements along `axis`, as numpy.fft.rfft."""
    return _rfft(a, (n,), (axis,), out, on, session)


@operation
def rfft2(
    a: Any,
    s: tuple[int | None, int | None] = (None, None),
    axes: tuple[int, int] = (-2, -1),
    *,
    out: Any = None,
    on: str | None = None,
    session: Session | None = None,
) -> Any:
    """The two-dimensional transform of real values, as numpy.fft.rfft2."""
    return _rfft(a, s or (None, None), axes, out, on, session)


@operation
def irfft(
    a: Any,
    n: int | None = None,
    axis: int = -1,
    *,
    out: Any = None,
    on: str | None = None,
    session: Session | None = None,
) -> Any:
    """The inverse of `rfft`: `n` real values along `axis`, default 2 (m - 1) for m elements, as numpy.fft.irfft."""
    return _irfft(a, (n,), (axis,), out, on, session)


@operation
def irfft2(
    a: Any,
    s: tuple[int | None, int | None] = (None, None),
    axes: tuple[int, int] = (-2, -1),
    *,
    out: Any = None,
    on: str | None = None,
    session: Session | None = None,
) -> Any:
    """The inverse of `rfft2`, as numpy.fft.irfft2."""
    return _irfft(a, s or (None, None), axes, out, on, session)


def _complex_transform(a, lengths, axes, inverse, out, on, session):
    session = session_or_default(session)
    a = native(host_or_device(a, session))
    if a.dtype.kind != "c":
        (a,), dtype = real(session, "fft", a)
        a = a.astype(_COMPLEX[dtype])
    if a.dtype not in _REAL:
        raise OptionError(f"fft: arrays of {a.dtype} are not computed with here: give complex64 or complex128")
    a = _to_the_end("fft", a, axes, lengths)
    return _transform(
        a,
        a.shape,
        a.dtype,
        axes,
        out,
        on,
        session,
        lambda x, y: _core.fft(session._core, _REAL[a.dtype].name, x, y, len(axes), inverse),
    )


def _rfft(a, lengths, axes, out, on, session):
    session = session_or_default(session)
    (a,), dtype = real(session, "rfft", a)
    a = _to_the_end("rfft", a, axes, lengths)
    shape = (*a.shape[:-1], a.shape[-1] // 2 + 1)
    return _transform(
        a,
        shape,
        _COMPLEX[dtype],
        axes,
        out,
        on,
        session,
        lambda x, y: _core.rfft(session._core, dtype.name, x, y, len(axes)),
    )


def _irfft(a, lengths, axes, out, on, session):
    session = session_or_default(session)
    a = native(host_or_device(a, session))
    if a.dtype.kind in "buif":
        a = a.astype(_COMPLEX[real(session, "irfft", a)[1]])
    if a.dtype not in _REAL:
        raise OptionError(f"irfft: arrays of {a.dtype} are not computed with here: give complex64 or complex128")
    given = a.shape[axes[-1]]
    last = lengths[-1] if lengths[-1] is not None else 2 * (given - 1)
    if last < 1:
        raise OptionError(f"irfft: {last} elements along what is transformed: give n of 1 or more")
    a = _to_the_end("irfft", a, axes, (*lengths[:-1], last // 2 + 1))
    shape = (*a.shape[:-1], last)
    dtype = _REAL[a.dtype]
    return _transform(
        a, shape, dtype, axes, out, on, session, lambda x, y: _core.irfft(session._core, dtype.name, x, y, len(axes))
    )


def _to_the_end(what, array, axes, lengths):
    """Returns the array with `axes` last, cut or filled with zeros to `lengths` along them."""
    rank = len(axes)
    if array.ndim < rank:
        raise OptionError(f"{what}: an array of the shape {array.shape}: {rank} dimensions are needed")
    array = _moveaxis(array, axes, range(-rank, 0))
    for k, n in enumerate(lengths):
        axis = array.ndim - rank + k
        if n is not None and n < 1:
            raise OptionError(f"{what}: {n} elements along what is transformed: give 1 or more")
        if n is not None and n <= array.shape[axis]:
            array = array[(*(slice(None),) * axis, slice(n))]
        elif n is not None:
            array = _filled_up(array, n, axis)
    return array


def _moveaxis(array, source, destination):
    if isinstance(array, DeviceArray):
        from .. import arrays

        return arrays.moveaxis(array, tuple(source), tuple(destination))
    return np.moveaxis(array, source, destination)


def _filled_up(array, n, axis):
    """Appends zeros along an axis, up to `n` elements."""
    if isinstance(array, DeviceArray):
        shape = (*array.shape[:axis], n, *array.shape[axis + 1 :])
        whole = zeros_there(handle_for(array), shape, array.dtype, unified_with(array))
        whole[(slice(None),) * axis + (slice(array.shape[axis]),)] = array
        return whole
    return np.pad(array, [(0, n - array.shape[axis] if d == axis else 0) for d in range(array.ndim)])


def _transform(a, shape, dtype, axes, out, on, session, act):
    whole = None
    if isinstance(out, (np.ndarray, DeviceArray)) and out.ndim == a.ndim:
        out, whole = _moveaxis(out, axes, range(-len(axes), 0)), out
    with Result(session, dtype, shape, out, on, a) as result:
        act(core_of(a.reshape(folded(a.shape)) if a.ndim > max_dimensions else a), result.core(a))
    if whole is not None:
        return whole
    return (
        _moveaxis(result.value, range(-len(axes), 0), axes)
        if isinstance(result.value, (np.ndarray, DeviceArray))
        else result.value
    )
