"""Methods of DeviceArray with NumPy's arguments, so that NumPy's functions that call them take it, as np.sum(x, axis=0)."""
# SPDX-License-Identifier: MIT
from __future__ import annotations

import numpy as np

from ..errors import OptionError


def _functions():
    from .. import arrays
    return arrays


def _put(result, out):
    """The result, or `out` after it was written there, converted."""
    if out is None:
        return result
    if out.shape != result.shape:
        raise OptionError(f"out has the shape {out.shape}, and the result {result.shape}")
    out[...] = result
    return out


class ArrayMethods:
    """What is computed here, and where, is in docs/python_gpu.md."""

    def __array_ufunc__(self, ufunc, method, *operands, out=None, **options):
        """NumPy's element-wise functions of these arrays: those of `glint.arrays`."""
        if method != "__call__" or options or ufunc.nout != 1:
            raise TypeError(f"numpy.{ufunc.__name__}: {', '.join(options) or method} of a DeviceArray: call it with operands and "
                            "out= alone, or on to_numpy()")
        from ..arrays._elementwise import apply
        result = _functions().matmul(*operands) if ufunc is np.matmul else apply(ufunc, *operands)
        if out and not np.can_cast(result.dtype, out[0].dtype, "same_kind"):
            raise OptionError(f"numpy.{ufunc.__name__}: the result of {result.dtype} is not written into out of {out[0].dtype}")
        return _put(result, out[0] if out else None)

    # ---- Reductions: `axis` None, one or several

    def sum(self, axis=None, dtype=None, out=None, keepdims=False):
        """The sum of all elements, or sums along `axis`."""
        return _put(_functions().sum(self, axis=axis, dtype=dtype, keepdims=keepdims), out)

    def prod(self, axis=None, dtype=None, out=None, keepdims=False):
        """The product of all elements, or products along `axis`."""
        return _put(_functions().prod(self, axis=axis, dtype=dtype, keepdims=keepdims), out)

    def mean(self, axis=None, dtype=None, out=None, keepdims=False):
        """The mean of all elements, or means along `axis`."""
        x = self if dtype is None else self.astype(dtype)
        return _put(_functions().mean(x, axis=axis, keepdims=keepdims), out)

    def var(self, axis=None, dtype=None, out=None, ddof=0, keepdims=False):
        """The variance: the sum of squared distances from the mean, divided by n - ddof."""
        x = self if dtype is None else self.astype(dtype)
        return _put(_functions().var(x, axis=axis, correction=ddof, keepdims=keepdims), out)

    def std(self, axis=None, dtype=None, out=None, ddof=0, keepdims=False):
        """The standard deviation, the root of `var()`."""
        x = self if dtype is None else self.astype(dtype)
        return _put(_functions().std(x, axis=axis, correction=ddof, keepdims=keepdims), out)

    def min(self, axis=None, out=None, keepdims=False):
        """The least element, or those along `axis`; NaN where one is."""
        return _put(_functions().min(self, axis=axis, keepdims=keepdims), out)

    def max(self, axis=None, out=None, keepdims=False):
        """The greatest element, or those along `axis`; NaN where one is."""
        return _put(_functions().max(self, axis=axis, keepdims=keepdims), out)

    def argmin(self, axis=None, out=None, keepdims=False):
        """The position of the first of the least elements, in the flattened array or along `axis`."""
        return _put(_functions().argmin(self, axis=axis, keepdims=keepdims), out)

    def argmax(self, axis=None, out=None, keepdims=False):
        """The position of the first of the greatest elements, in the flattened array or along `axis`."""
        return _put(_functions().argmax(self, axis=axis, keepdims=keepdims), out)

    def any(self, axis=None, out=None, keepdims=False):
        """Whether an element is not 0."""
        return _put(_functions().any(self, axis=axis, keepdims=keepdims), out)

    def all(self, axis=None, out=None, keepdims=False):
        """Whether all elements are not 0."""
        return _put(_functions().all(self, axis=axis, keepdims=keepdims), out)

    def cumsum(self, axis=None, dtype=None, out=None):
        """Sums up to each element, by NumPy on the host."""
        x, axis = (self.reshape(-1), 0) if axis is None else (self, axis)
        return _put(_functions().cumulative_sum(x, axis=axis, dtype=dtype), out)

    def cumprod(self, axis=None, dtype=None, out=None):
        """Products up to each element, by NumPy on the host."""
        x, axis = (self.reshape(-1), 0) if axis is None else (self, axis)
        return _put(_functions().cumulative_prod(x, axis=axis, dtype=dtype), out)

    # ---- Element by element

    def clip(self, min=None, max=None, out=None):
        """Elements within `min` and `max`."""
        return _put(_functions().clip(self, min, max), out)

    def round(self, decimals=0, out=None):
        """To the nearest multiple of 10 ** -decimals, halves to even; with decimals by NumPy on the host."""
        if decimals == 0:
            return _put(_functions().round(self), out)
        from ..arrays._host import through_host
        return _put(through_host(np.round, self, decimals), out)

    def conj(self):
        """The complex conjugate."""
        return _functions().conj(self)

    conjugate = conj

    def astype(self, dtype, *, copy: bool = True):
        """The elements as another type, converted on the GPU."""
        return _functions().astype(self, dtype, copy=copy)

    def fill(self, value):
        """Writes one value to all elements."""
        self[...] = value

    # ---- Shapes

    @property
    def T(self):
        """A view with reversed dimensions."""
        return _functions().permute_dims(self, tuple(range(self.ndim))[::-1])

    @property
    def mT(self):
        """A view with the last two dimensions exchanged."""
        return _functions().matrix_transpose(self)

    @property
    def real(self):
        """A view of the real parts."""
        return _functions().real(self)

    @property
    def imag(self):
        """A view of the imaginary parts; zeros for a real array."""
        return _functions().imag(self)

    def reshape(self, *shape, order="C", copy=None):
        """As numpy.reshape, in C order: a view of an array in C order, else a copy."""
        if order != "C":
            raise OptionError(f"reshape: order={order!r}: give 'C'")
        return _functions().reshape(self, shape[0] if len(shape) == 1 else shape, copy=copy)

    def transpose(self, *axes):
        """A view with permuted dimensions, as numpy.transpose."""
        axes = axes[0] if len(axes) == 1 and axes[0] is not None and not hasattr(axes[0], "__index__") else axes
        return self.T if not axes or axes == (None,) else _functions().permute_dims(self, tuple(axes))

    def swapaxes(self, axis1, axis2):
        """A view with two dimensions exchanged."""
        order = list(range(self.ndim))
        order[axis1], order[axis2] = order[axis2], order[axis1]
        return _functions().permute_dims(self, order)

    def squeeze(self, axis=None):
        """A view without dimensions of one element."""
        return _functions().squeeze(self, axis)

    def ravel(self, order="C"):
        """One dimension: a view of an array in C order, else a copy."""
        return self.reshape(-1, order=order)

    def flatten(self, order="C"):
        """A copy of one dimension."""
        return self.reshape(-1, order=order, copy=True)

    def repeat(self, repeats, axis=None):
        """As numpy.repeat."""
        return _functions().repeat(self, repeats, axis=axis)

    def copy(self):
        """A new array in C order."""
        from .device_arrays import copied
        return copied(self)

    # ---- Searching and products

    def take(self, indices, axis=None, out=None):
        """Elements at `indices`, in the flattened array or along `axis`."""
        x, axis = (self.reshape(-1), 0) if axis is None else (self, axis)
        return _put(_functions().take(x, indices, axis=axis), out)

    def nonzero(self):
        """Indices of elements that are not 0, by NumPy on the host."""
        return _functions().nonzero(self)

    def argsort(self, axis=-1, kind=None, order=None, *, stable=None):
        """Indices that sort along `axis`, stably, by NumPy on the host."""
        return _functions().argsort(self, axis=axis)

    def dot(self, other):
        """The matrix product."""
        return self @ other

    def diagonal(self, offset=0):
        """A view of the diagonals of the last two dimensions."""
        return _functions().linalg.diagonal(self, offset=offset)

    def trace(self, offset=0):
        """The sum of the diagonal of the last two dimensions."""
        return _functions().linalg.trace(self, offset=offset)
