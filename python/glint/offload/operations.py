"""Operations on arrays, each on the CPU or the GPU.

Arrays: NumPy's, with any strides; DeviceArray; or arrays of other libraries with DLPack. float32 is computed as float32; float64 and
integers as float64. `out` receives the result; else `on` is its location, "host" or "device"; by default that of the inputs: the
GPU if one of them is there. Memory shared with other libraries is complete when a call returns. All raise OptionError, a
ValueError, for invalid arguments.
"""
# SPDX-License-Identifier: MIT
from __future__ import annotations

import math

import numpy as np

from .. import _core
from ..arrays_in import on_gpu, without_gaps
from ..errors import OptionError
from .device_arrays import DeviceArray, adopt, host_or_device, readable, usable
from .expressions import expression_of, input
from .sessions import Session, session_or_default

_COMPLEX = {np.dtype("float32"): np.dtype("complex64"), np.dtype("float64"): np.dtype("complex128")}
_REAL = {complex_: real for real, complex_ in _COMPLEX.items()}
most_dimensions = 4


def matmul(a, b, *, out=None, on: str | None = None, session: Session | None = None):
    """The matrix product of a (..., m, k) and b (..., k, n), or of stacks of these, as numpy.matmul.

    >>> glint.offload.matmul(np.eye(2), [[1.0, 2.0], [3.0, 4.0]])
    array([[1., 2.],
           [3., 4.]])
    """
    session = session_or_default(session)
    (a, b), dtype = _real(session, "matmul", a, b)
    if 1 in (a.ndim, b.ndim):
        return _product_of_vectors(a, b, out, on, session)
    shape = _product_shape(a.shape, b.shape)
    if len(shape) > most_dimensions:
        a, b = (_as_stack(x, shape[:-2]) for x in (a, b))
    with _Result(session, dtype, shape, out, on, a, b) as result:
        _core.matmul(session._core, dtype.name, _core_of(a), _core_of(b), result.core(a, b))
    return result.value


def fft(a, n: int | None = None, axis: int = -1, *, out=None, on=None, session: Session | None = None):
    """The discrete Fourier transform along `axis`, as numpy.fft.fft: complex64 of float32 and complex64."""
    return _complex_transform(a, (n,), (axis,), False, out, on, session)


def ifft(a, n: int | None = None, axis: int = -1, *, out=None, on=None, session: Session | None = None):
    """The inverse transform, divided by the number of elements."""
    return _complex_transform(a, (n,), (axis,), True, out, on, session)


def fft2(a, s=(None, None), axes=(-2, -1), *, out=None, on=None, session: Session | None = None):
    """The two-dimensional transform, as numpy.fft.fft2."""
    return _complex_transform(a, s or (None, None), axes, False, out, on, session)


def ifft2(a, s=(None, None), axes=(-2, -1), *, out=None, on=None, session: Session | None = None):
    """The inverse two-dimensional transform."""
    return _complex_transform(a, s or (None, None), axes, True, out, on, session)


def rfft(a, n: int | None = None, axis: int = -1, *, out=None, on=None, session: Session | None = None):
    """The transform of real values: n / 2 + 1 elements along `axis`, as numpy.fft.rfft."""
    return _rfft(a, (n,), (axis,), out, on, session)


def rfft2(a, s=(None, None), axes=(-2, -1), *, out=None, on=None, session: Session | None = None):
    """The two-dimensional transform of real values, as numpy.fft.rfft2."""
    return _rfft(a, s or (None, None), axes, out, on, session)


def irfft(a, n: int | None = None, axis: int = -1, *, out=None, on=None, session: Session | None = None):
    """The inverse of `rfft`, to `n` real values along `axis`, by default 2 (m - 1) for m elements, as numpy.fft.irfft."""
    return _irfft(a, (n,), (axis,), out, on, session)


def irfft2(a, s=(None, None), axes=(-2, -1), *, out=None, on=None, session: Session | None = None):
    """The inverse of `rfft2`, as numpy.fft.irfft2."""
    return _irfft(a, s or (None, None), axes, out, on, session)


def svd(a, compute_uv: bool = True, *, on: str | None = None, session: Session | None = None):
    """Singular values of a (m, n), descending, as s (k,) with k = min(m, n); with vectors (u (m, k), s, vt (k, n)), which
    is numpy.linalg.svd(a, full_matrices=False).

    Raises OptionError for a NaN or infinity.
    """
    session = session_or_default(session)
    (a,), dtype = _real(session, "svd", a)
    if a.ndim != 2:
        raise OptionError(f"svd: a has the shape {a.shape}: give a matrix (m, n)")
    m, n = a.shape
    shapes = [(m, min(m, n)), (min(m, n),), (min(m, n), n)] if compute_uv else [(min(m, n),)]
    results = [_Result(session, dtype, shape, None, on, a) for shape in shapes]
    u, s, vt = (r.core() for r in results) if compute_uv else (None, results[0].core(), None)
    _core.svd(session._core, dtype.name, _core_of(a), s, u, vt)
    return tuple(r.value for r in results) if compute_uv else results[0].value


def map(function, *arrays, out=None, on: str | None = None, session: Session | None = None):
    """Evaluates an expression of the arrays element by element, in one pass over memory; shapes are broadcast.

    function: an Expression of input(0), input(1), ..., or a function that returns one.

    >>> glint.offload.map(lambda x, y: np.exp(-(x * x + y * y) / 2), np.zeros((2, 2)), 0.0)
    array([[1., 1.],
           [1., 1.]])
    """
    session = session_or_default(session)
    expression = expression_of(function, len(arrays))
    arrays, dtype = _real(session, "map", *arrays)
    shape = _common_shape("map", arrays)
    arrays = [_spread(x, shape) for x in arrays]
    with _Result(session, dtype, shape, out, on, *arrays) as result:
        _core.map(session._core, dtype.name, expression._core, [_core_of(_flat(x, shape)) for x in arrays],
                  result.core(*arrays))
    return result.value


def reduce(kind: str, function, *arrays, session: Session | None = None) -> float:
    """The "sum" (in double precision), "mean", "minimum" or "maximum" of an expression over all elements; NaN if any is NaN.

    >>> glint.offload.reduce("sum", lambda x, y: (x - y) ** 2, [1.0, 2.0], [1.0, 4.0])
    4.0
    """
    session = session_or_default(session)
    expression = expression_of(function, len(arrays))
    arrays, dtype = _real(session, kind, *arrays)
    shape = _common_shape(kind, arrays)
    inputs = [_core_of(_flat(_spread(x, shape), shape)) for x in arrays]
    return _core.reduce(session._core, dtype.name, kind, expression._core, inputs)


def sum(a, *, session: Session | None = None) -> float:
    """The sum of all elements, in double precision.

    >>> glint.offload.sum(np.ones((3, 4), np.float32))
    12.0
    """
    return reduce("sum", input(0), a, session=session)


def mean(a, *, session: Session | None = None) -> float:
    """The mean of all elements; NaN for an empty array."""
    return reduce("mean", input(0), a, session=session)


def minimum(a, *, session: Session | None = None) -> float:
    """The minimum of all elements; NaN if any is NaN."""
    return reduce("minimum", input(0), a, session=session)


def maximum(a, *, session: Session | None = None) -> float:
    """The maximum of all elements; NaN if any is NaN."""
    return reduce("maximum", input(0), a, session=session)


# ---- Operands


def _core_of(array):
    return array._core if isinstance(array, DeviceArray) else readable(array)


def _real(session, what, *arrays):
    """The arrays without a copy where possible, converted to one type: float32 or float64."""
    arrays = [host_or_device(x, session) for x in arrays]
    for x in arrays:
        if x.dtype.kind not in "buif" or x.dtype.itemsize > 8:
            raise OptionError(f"{what}: arrays of {x.dtype} are not computed with here: give float32 or float64")
    deciding = [x for x in arrays if x.ndim or isinstance(x, DeviceArray)] or arrays  # not numbers beside arrays
    single = all(x.dtype.kind == "f" and x.dtype.itemsize <= 4 for x in deciding)
    dtype = np.dtype("float32" if single and arrays else "float64")
    return [_as_dtype(what, x, dtype) for x in arrays], dtype


def _native(array):
    """The array in this machine's byte order."""
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def _as_dtype(what, array, dtype):
    if array.dtype == dtype:
        return array
    if isinstance(array, DeviceArray):
        raise OptionError(f"{what}: a DeviceArray of {array.dtype} together with others that make it {dtype}: give all of one "
                          "type")
    return array.astype(dtype)


class _Result:
    """The destination of a result: C++ writes to `core()`; `value` is returned to the caller after `with`."""

    def __init__(self, session, dtype, shape, out, on, *inputs):
        if on not in (None, "host", "device"):
            raise OptionError(f"on={on!r}: give 'host' or 'device'")
        if out is not None and on is not None:
            raise OptionError("give out or on, not both")
        self.value, self._shape = out, tuple(shape)
        self._room = None  # temporary for an `out` that C++ cannot use
        if out is None:
            on_device = on == "device" or (on is None and any(isinstance(x, DeviceArray) for x in inputs))
            self.value = (DeviceArray(_core.device_empty(session._core, dtype.name, shape)) if on_device
                          else np.empty(shape, dtype))
        self._target = self._checked(session, dtype)

    def _checked(self, session, dtype):
        target = self.value
        if not isinstance(target, (np.ndarray, DeviceArray)):
            if not on_gpu(target) or without_gaps(target) is not target:
                raise OptionError(f"out is a {type(target).__name__}: give a NumPy array, a DeviceArray, or an array without "
                                  "gaps on a GPU")
            target = adopt(target, session)
        if target.shape != self._shape or target.dtype.newbyteorder("=") != dtype:
            raise OptionError(f"out is {target.dtype} {target.shape}, and the result {dtype} {self._shape}")
        if isinstance(target, np.ndarray) and not target.flags.writeable:
            raise OptionError("out is read-only")
        return target

    def core(self, *inputs):
        """The memory for C++, which must not overlap any of `inputs`."""
        target = self._target
        if isinstance(target, DeviceArray):
            if any(x is self.value for x in inputs):
                raise OptionError("out is one of the inputs: on a GPU give another array")
            return target._core
        overlaps = any(isinstance(x, np.ndarray) and np.may_share_memory(x, target) for x in inputs)
        if overlaps or not usable(target) or target.ndim > most_dimensions:
            self._room = np.empty(self._shape, target.dtype.newbyteorder("="))
            target = self._room
        return target.reshape(_folded(self._shape)) if target.ndim > most_dimensions else target

    def __enter__(self):
        return self

    def __exit__(self, failed, *_):
        if self._room is not None and not failed:
            np.copyto(self._target, self._room)


# ---- Shapes


def _folded(shape):
    """An array with at most four dimensions: the first ones are merged."""
    first = len(shape) - most_dimensions + 1
    return (math.prod(shape[:first]), *shape[first:])


def _product_shape(a, b):
    if len(a) < 2 or len(b) < 2 or a[-1] != b[-2]:
        raise OptionError(f"matmul: a has the shape {a} and b {b}: a's columns must be as many as b's rows")
    try:
        return (*np.broadcast_shapes(a[:-2], b[:-2]), a[-2], b[-1])
    except ValueError:
        raise OptionError(f"matmul: stacks of the shapes {a[:-2]} and {b[:-2]} do not go together") from None


def _product_of_vectors(a, b, out, on, session):
    """As numpy.matmul: a vector is a row on the left, a column on the right."""
    if isinstance(a, DeviceArray) or isinstance(b, DeviceArray):
        raise OptionError("matmul: on a GPU give matrices: a row has the shape (1, n), a column (n, 1)")
    if 0 in (a.ndim, b.ndim):
        raise OptionError("matmul: numbers are no matrices: use *")
    product = matmul(a[None] if a.ndim == 1 else a, b[:, None] if b.ndim == 1 else b, session=session)
    product = product[..., 0, :] if a.ndim == 1 else product
    product = product[..., 0] if b.ndim == 1 else product
    if out is not None:
        with _Result(session, product.dtype, product.shape, out, on) as result:
            np.copyto(result._target, product)
        return out
    return product


def _as_stack(array, batch):
    if isinstance(array, DeviceArray):
        raise OptionError(f"matmul: on a GPU at most {most_dimensions} dimensions")
    whole = np.broadcast_to(array, (*batch, *array.shape[-2:]))
    return whole.reshape(_folded(whole.shape))


def _common_shape(what, arrays):
    try:
        return np.broadcast_shapes(*(x.shape for x in arrays))
    except ValueError:
        raise OptionError(f"{what}: shapes {[x.shape for x in arrays]} do not go together") from None


def _spread(array, shape):
    """A view broadcast to the common shape; an array of one element is unchanged."""
    if array.shape == shape or array.size == 1:
        return array
    if isinstance(array, DeviceArray):
        raise OptionError(f"a DeviceArray of the shape {array.shape} with others of {shape}: on a GPU shapes must be alike")
    return np.broadcast_to(array, shape)


def _flat(array, shape):
    if isinstance(array, DeviceArray) or len(shape) <= most_dimensions:
        return array if array.size != 1 or isinstance(array, DeviceArray) else array.reshape(())
    return array.reshape(_folded(shape)) if array.size != 1 else array.reshape(())


# ---- Transforms


def _complex_transform(a, lengths, axes, inverse, out, on, session):
    session = session_or_default(session)
    a = _native(host_or_device(a, session))
    if a.dtype.kind != "c":
        (a,), dtype = _real(session, "fft", a)
        if isinstance(a, DeviceArray):
            raise OptionError("fft: on a GPU give complex values, or use rfft()")
        a = a.astype(_COMPLEX[dtype])
    if a.dtype not in _REAL:
        raise OptionError(f"fft: arrays of {a.dtype} are not computed with here: give complex64 or complex128")
    a = _to_the_end("fft", a, axes, lengths)
    return _transform(a, a.shape, a.dtype, axes, out, on, session,
                      lambda x, y: _core.fft(session._core, _REAL[a.dtype].name, x, y, len(axes), inverse))


def _rfft(a, lengths, axes, out, on, session):
    session = session_or_default(session)
    (a,), dtype = _real(session, "rfft", a)
    a = _to_the_end("rfft", a, axes, lengths)
    shape = (*a.shape[:-1], a.shape[-1] // 2 + 1)
    return _transform(a, shape, _COMPLEX[dtype], axes, out, on, session,
                      lambda x, y: _core.rfft(session._core, dtype.name, x, y, len(axes)))


def _irfft(a, lengths, axes, out, on, session):
    session = session_or_default(session)
    a = _native(host_or_device(a, session))
    if isinstance(a, np.ndarray) and a.dtype.kind in "buif":
        a = a.astype(_COMPLEX[_real(session, "irfft", a)[1]])
    if a.dtype not in _REAL:
        raise OptionError(f"irfft: arrays of {a.dtype} are not computed with here: give complex64 or complex128")
    given = a.shape[axes[-1]]
    last = lengths[-1] if lengths[-1] is not None else 2 * (given - 1)
    if last < 1:
        raise OptionError(f"irfft: {last} elements along what is transformed: give n of 1 or more")
    a = _to_the_end("irfft", a, axes, (*lengths[:-1], last // 2 + 1))
    shape = (*a.shape[:-1], last)
    dtype = _REAL[a.dtype]
    return _transform(a, shape, dtype, axes, out, on, session,
                      lambda x, y: _core.irfft(session._core, dtype.name, x, y, len(axes)))


def _to_the_end(what, array, axes, lengths):
    """A view with `axes` last, cut or filled with zeros to `lengths` there."""
    rank = len(axes)
    if array.ndim < rank:
        raise OptionError(f"{what}: an array of the shape {array.shape}: {rank} dimensions are needed")
    if isinstance(array, DeviceArray):
        wanted = [n is None or n == array.shape[axis] for axis, n in zip(axes, lengths)]
        if [axis % array.ndim for axis in axes] != list(range(array.ndim - rank, array.ndim)) or not all(wanted):
            raise OptionError(f"{what}: on a GPU whole arrays are transformed along their last dimensions")
        return array
    array = np.moveaxis(array, axes, range(-rank, 0))
    for k, n in enumerate(lengths):
        axis = array.ndim - rank + k
        if n is not None and n < 1:
            raise OptionError(f"{what}: {n} elements along what is transformed: give 1 or more")
        if n is not None and n <= array.shape[axis]:
            array = array[(*(slice(None),) * axis, slice(n))]
        elif n is not None:
            array = np.pad(array, [(0, n - array.shape[axis] if d == axis else 0) for d in range(array.ndim)])
    return array


def _transform(a, shape, dtype, axes, out, on, session, act):
    if isinstance(a, DeviceArray):
        with _Result(session, dtype, shape, out, on, a) as result:
            act(a._core, result.core(a))
        return result.value
    if isinstance(out, np.ndarray) and out.ndim == a.ndim:
        view, whole = np.moveaxis(out, axes, range(-len(axes), 0)), out
    else:
        view, whole = out, None
    with _Result(session, dtype, shape, view, on, a) as result:
        act(readable(a.reshape(_folded(a.shape)) if a.ndim > most_dimensions else a), result.core(a))
    if whole is not None:
        return whole
    value = result.value
    return np.moveaxis(value, range(-len(axes), 0), axes) if isinstance(value, np.ndarray) else value
