"""Fourier transforms on the GPU, along any axes, as numpy.fft."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _core
from ..errors import OptionError
from ..offload.device_arrays import (
    contiguous,
    copy_to,
    empty_there,
    handle_for as handle_for_arrays,
    reshaped,
    unified_with,
    uploaded,
    zeros_there,
)
from ._creation import handle_for
from ._dtypes import astype
from ._elementwise import conj
from ._host import array_of, else_on_host
from ._manipulation import axes_of, axis_of, moveaxis, roll

if TYPE_CHECKING:
    from .._types import Axes, DTypeLike
    from ..offload.device_arrays import DeviceArray

_NORMS = {"backward": "forward", "ortho": "ortho", "forward": "backward"}  # and that of the transform back


def _by_numpy(function):
    """Declares a function of numpy.fft whose result has the precision of the array."""

    def transform(x, *, n=None, axis=-1, norm="backward"):
        found = function(x, n, axis, norm)
        single = x.dtype in (np.float16, np.float32, np.complex64)
        return found.astype(
            (np.complex64 if single else np.complex128)
            if found.dtype.kind == "c"
            else np.float32
            if single
            else np.float64,
            copy=False,
        )

    return transform


def _complex_of(name, x):
    x = array_of(name, x)
    return (
        x if x.dtype.kind == "c" else astype(x, np.complex64 if x.dtype in (np.float16, np.float32) else np.complex128)
    )


def _real_of(name, x):
    if array_of(name, x).dtype.kind == "c":
        raise OptionError(f"{name}: an array of {x.dtype}: give real values")
    return astype(x, np.float32 if x.dtype in (np.float16, np.float32) else np.float64, copy=False)


def _resized(x, n):
    """Cuts the last axis to `n` elements, or fills it with zeros."""
    if n == x.shape[-1]:
        return contiguous(x)
    if n < x.shape[-1]:
        return contiguous(x[..., :n])
    whole = zeros_there(handle_for_arrays(x), (*x.shape[:-1], n), x.dtype, unified_with(x))
    copy_to(whole[..., : x.shape[-1]], x)
    return whole


def _along(name, x, n, axis, n_in, n_out, dtype, norm, back, call):
    """Transforms `n` elements along an axis, from `n_in` to `n_out`. `call` divides backward transforms by n."""
    if norm not in _NORMS:
        raise OptionError(f"{name}: norm={norm!r}: give 'backward', 'ortho' or 'forward'")
    if n < 1:
        raise OptionError(f"{name}: {n} elements along axis {axis}: give n of 1 or more")
    x = _resized(moveaxis(x, axis, -1), n_in)
    out = empty_there(handle_for_arrays(x), (*x.shape[:-1], n_out), dtype, unified_with(x))
    if out.size:
        call(out._core.session, reshaped(x, (-1, n_in))._core, reshaped(out, (-1, n_out))._core)
    factor = {"backward": 1.0, "ortho": math.sqrt(n) if back else 1 / math.sqrt(n), "forward": n if back else 1 / n}[
        norm
    ]
    return moveaxis(out if factor == 1 else out * float(factor), -1, axis)


def _fft(name, x, n, axis, norm, back):
    x = _complex_of(name, x)
    axis = axis_of(name, axis, x.ndim)
    n = x.shape[axis] if n is None else n
    real = "float32" if x.dtype == np.complex64 else "float64"
    return _along(
        name, x, n, axis, n, n, x.dtype, norm, back, lambda handle, a, b: _core.fft(handle, real, a, b, 1, back)
    )


@else_on_host(_by_numpy(np.fft.fft))
def fft(x: DeviceArray, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> DeviceArray:
    """The transform along one axis; real arrays are converted to complex."""
    return _fft("fft", x, n, axis, norm, False)


@else_on_host(_by_numpy(np.fft.ifft))
def ifft(x: DeviceArray, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> DeviceArray:
    """The inverse of fft()."""
    return _fft("ifft", x, n, axis, norm, True)


@else_on_host(_by_numpy(np.fft.rfft))
def rfft(x: DeviceArray, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> DeviceArray:
    """The transform of real values: n / 2 + 1 elements along `axis`."""
    x = _real_of("rfft", x)
    axis = axis_of("rfft", axis, x.ndim)
    n = x.shape[axis] if n is None else n
    dtype = np.complex64 if x.dtype == np.float32 else np.complex128
    return _along(
        "rfft",
        x,
        n,
        axis,
        n,
        n // 2 + 1,
        dtype,
        norm,
        False,
        lambda handle, a, b: _core.rfft(handle, x.dtype.name, a, b, 1),
    )


@else_on_host(_by_numpy(np.fft.irfft))
def irfft(x: DeviceArray, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> DeviceArray:
    """The inverse of rfft(): `n` real values along `axis`, by default 2 (m - 1) for m elements."""
    x = _complex_of("irfft", x)
    axis = axis_of("irfft", axis, x.ndim)
    n = 2 * (x.shape[axis] - 1) if n is None else n
    real = np.dtype(np.float32 if x.dtype == np.complex64 else np.float64)
    return _along(
        "irfft",
        x,
        n,
        axis,
        n // 2 + 1,
        n,
        real,
        norm,
        True,
        lambda handle, a, b: _core.irfft(handle, real.name, a, b, 1),
    )


def _lengths(name, x, s, axes):
    """Returns pairs of length and axis; lengths may be None."""
    if axes is None:
        axes = tuple(range(x.ndim)) if s is None else tuple(range(x.ndim - len(s), x.ndim))
    axes = axes_of(name, tuple(axes), x.ndim)
    if s is not None and len(s) != len(axes):
        raise OptionError(f"{name}: s={tuple(s)} for {len(axes)} axes")
    return list(zip(s or [None] * len(axes), axes))


def fftn(
    x: DeviceArray, /, *, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: str = "backward"
) -> DeviceArray:
    """The transform along several axes, one after the other; by default along all axes, or the last len(s)."""
    for n, axis in _lengths("fftn", x, s, axes):
        x = fft(x, n=n, axis=axis, norm=norm)
    return x


def ifftn(
    x: DeviceArray, /, *, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: str = "backward"
) -> DeviceArray:
    """The inverse of fftn()."""
    for n, axis in _lengths("ifftn", x, s, axes):
        x = ifft(x, n=n, axis=axis, norm=norm)
    return x


def rfftn(
    x: DeviceArray, /, *, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: str = "backward"
) -> DeviceArray:
    """The transform of real values along several axes; the last of them has n / 2 + 1 elements."""
    *others, (n, axis) = _lengths("rfftn", x, s, axes)
    x = rfft(x, n=n, axis=axis, norm=norm)
    for n, axis in others:
        x = fft(x, n=n, axis=axis, norm=norm)
    return x


def irfftn(
    x: DeviceArray, /, *, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: str = "backward"
) -> DeviceArray:
    """The inverse of rfftn()."""
    *others, (last, axis_of_last) = _lengths("irfftn", x, s, axes)
    for n, axis in others:
        x = ifft(x, n=n, axis=axis, norm=norm)
    return irfft(x, n=last, axis=axis_of_last, norm=norm)


def fft2(
    x: DeviceArray, /, *, s: Sequence[int] | None = None, axes: Sequence[int] = (-2, -1), norm: str = "backward"
) -> DeviceArray:
    """fftn() along two axes."""
    return fftn(x, s=s, axes=axes, norm=norm)


def ifft2(
    x: DeviceArray, /, *, s: Sequence[int] | None = None, axes: Sequence[int] = (-2, -1), norm: str = "backward"
) -> DeviceArray:
    """ifftn() along two axes."""
    return ifftn(x, s=s, axes=axes, norm=norm)


def hfft(x: DeviceArray, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> DeviceArray:
    """The transform of a Hermitian-symmetric signal, given by its first half. The result is real."""
    if norm not in _NORMS:
        raise OptionError(f"hfft: norm={norm!r}: give 'backward', 'ortho' or 'forward'")
    return irfft(conj(_complex_of("hfft", x)), n=n, axis=axis, norm=_NORMS[norm])


def ihfft(x: DeviceArray, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> DeviceArray:
    """The inverse of hfft()."""
    if norm not in _NORMS:
        raise OptionError(f"ihfft: norm={norm!r}: give 'backward', 'ortho' or 'forward'")
    return conj(rfft(x, n=n, axis=axis, norm=_NORMS[norm]))


def fftfreq(n: int, /, *, d: float = 1.0, dtype: DTypeLike | None = None, device: Any = None) -> DeviceArray:
    """As numpy.fft.fftfreq."""
    return uploaded(np.fft.fftfreq(n, d).astype(dtype or np.float64), handle_for(device))


def rfftfreq(n: int, /, *, d: float = 1.0, dtype: DTypeLike | None = None, device: Any = None) -> DeviceArray:
    """As numpy.fft.rfftfreq."""
    return uploaded(np.fft.rfftfreq(n, d).astype(dtype or np.float64), handle_for(device))


def fftshift(x: DeviceArray, /, *, axes: Axes = None) -> DeviceArray:
    """Moves the frequency 0 to the middle."""
    axes = axes_of("fftshift", axes, x.ndim)
    return roll(x, tuple(x.shape[k] // 2 for k in axes), axis=axes)


def ifftshift(x: DeviceArray, /, *, axes: Axes = None) -> DeviceArray:
    """The inverse of fftshift()."""
    axes = axes_of("ifftshift", axes, x.ndim)
    return roll(x, tuple(-(x.shape[k] // 2) for k in axes), axis=axes)
