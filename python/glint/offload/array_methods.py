"""Methods of DeviceArray with NumPy's arguments, so that NumPy's functions that call them take it, as np.sum(x, axis=0)."""
# SPDX-License-Identifier: MIT
from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import OptionError

if TYPE_CHECKING:
    from .._types import Axes, DTypeLike, Operand
    from .device_arrays import DeviceArray


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

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *operands: Any, out: Any = None, **options: Any) -> Any:
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

    def sum(self, axis: Axes = None, dtype: DTypeLike | None = None, out: Any = None, keepdims: bool = False) -> DeviceArray:
        """The sum of all elements, or sums along `axis`."""
        return _put(_functions().sum(self, axis=axis, dtype=dtype, keepdims=keepdims), out)

    def prod(self, axis: Axes = None, dtype: DTypeLike | None = None, out: Any = None, keepdims: bool = False) -> DeviceArray:
        """The product of all elements, or products along `axis`."""
        return _put(_functions().prod(self, axis=axis, dtype=dtype, keepdims=keepdims), out)

    def mean(self, axis: Axes = None, dtype: DTypeLike | None = None, out: Any = None, keepdims: bool = False) -> DeviceArray:
        """The mean of all elements, or means along `axis`."""
        x = self if dtype is None else self.astype(dtype)
        return _put(_functions().mean(x, axis=axis, keepdims=keepdims), out)

    def var(self, axis: Axes = None, dtype: DTypeLike | None = None, out: Any = None, ddof: float = 0, keepdims: bool = False) -> DeviceArray:
        """The variance: the sum of squared distances from the mean, divided by n - ddof."""
        x = self if dtype is None else self.astype(dtype)
        return _put(_functions().var(x, axis=axis, correction=ddof, keepdims=keepdims), out)

    def std(self, axis: Axes = None, dtype: DTypeLike | None = None, out: Any = None, ddof: float = 0, keepdims: bool = False) -> DeviceArray:
        """The standard deviation, the root of `var()`."""
        x = self if dtype is None else self.astype(dtype)
        return _put(_functions().std(x, axis=axis, correction=ddof, keepdims=keepdims), out)

    def min(self, axis: Axes = None, out: Any = None, keepdims: bool = False) -> DeviceArray:
        """The least element, or those along `axis`; NaN where one is."""
        return _put(_functions().min(self, axis=axis, keepdims=keepdims), out)

    def max(self, axis: Axes = None, out: Any = None, keepdims: bool = False) -> DeviceArray:
        """The greatest element, or those along `axis`; NaN where one is."""
        return _put(_functions().max(self, axis=axis, keepdims=keepdims), out)

    def argmin(self, axis: int | None = None, out: Any = None, keepdims: bool = False) -> DeviceArray:
        """The position of the first of the least elements, in the flattened array or along `axis`."""
        return _put(_functions().argmin(self, axis=axis, keepdims=keepdims), out)

    def argmax(self, axis: int | None = None, out: Any = None, keepdims: bool = False) -> DeviceArray:
        """The position of the first of the greatest elements, in the flattened array or along `axis`."""
        return _put(_functions().argmax(self, axis=axis, keepdims=keepdims), out)

    def any(self, axis: Axes = None, out: Any = None, keepdims: bool = False) -> DeviceArray:
        """Whether an element is not 0."""
        return _put(_functions().any(self, axis=axis, keepdims=keepdims), out)

    def all(self, axis: Axes = None, out: Any = None, keepdims: bool = False) -> DeviceArray:
        """Whether all elements are not 0."""
        return _put(_functions().all(self, axis=axis, keepdims=keepdims), out)

    def cumsum(self, axis: int | None = None, dtype: DTypeLike | None = None, out: Any = None) -> DeviceArray:
        """Sums up to each element, by NumPy on the host."""
        x, axis = (self.reshape(-1), 0) if axis is None else (self, axis)
        return _put(_functions().cumulative_sum(x, axis=axis, dtype=dtype), out)

    def cumprod(self, axis: int | None = None, dtype: DTypeLike | None = None, out: Any = None) -> DeviceArray:
        """Products up to each element, by NumPy on the host."""
        x, axis = (self.reshape(-1), 0) if axis is None else (self, axis)
        return _put(_functions().cumulative_prod(x, axis=axis, dtype=dtype), out)

    # ---- Element by element

    def clip(self, min: Operand | None = None, max: Operand | None = None, out: Any = None) -> DeviceArray:
        """Elements within `min` and `max`."""
        return _put(_functions().clip(self, min, max), out)

    def round(self, decimals: int = 0, out: Any = None) -> DeviceArray:
        """To the nearest multiple of 10 ** -decimals, halves to even; with decimals by NumPy on the host."""
        if decimals == 0:
            return _put(_functions().round(self), out)
        from ..arrays._host import through_host
        return _put(through_host(np.round, self, decimals), out)

    def conj(self) -> DeviceArray:
        """The complex conjugate."""
        return _functions().conj(self)

    conjugate = conj

    def astype(self, dtype: DTypeLike, *, copy: bool = True) -> DeviceArray:
        """The elements as another type, converted on the GPU."""
        return _functions().astype(self, dtype, copy=copy)

    def fill(self, value: Any) -> None:
        """Writes one value to all elements."""
        self[...] = value

    # ---- Shapes

    @property
    def T(self) -> DeviceArray:
        """A view with reversed dimensions."""
        return _functions().permute_dims(self, tuple(range(self.ndim))[::-1])

    @property
    def mT(self) -> DeviceArray:
        """A view with the last two dimensions exchanged."""
        return _functions().matrix_transpose(self)

    @property
    def real(self) -> Any:
        """A view of the real parts."""
        return _functions().real(self)

    @property
    def imag(self) -> DeviceArray:
        """A view of the imaginary parts; zeros for a real array."""
        return _functions().imag(self)

    def reshape(self, *shape: Any, order: str = "C", copy: bool | None = None) -> DeviceArray:
        """As numpy.reshape, in C order: a view of an array in C order, else a copy."""
        if order != "C":
            raise OptionError(f"reshape: order={order!r}: give 'C'")
        return _functions().reshape(self, shape[0] if len(shape) == 1 else shape, copy=copy)

    def transpose(self, *axes: Any) -> DeviceArray:
        """A view with permuted dimensions, as numpy.transpose."""
        axes = axes[0] if len(axes) == 1 and axes[0] is not None and not hasattr(axes[0], "__index__") else axes
        return self.T if not axes or axes == (None,) else _functions().permute_dims(self, tuple(axes))

    def swapaxes(self, axis1: int, axis2: int) -> DeviceArray:
        """A view with two dimensions exchanged."""
        order = list(range(self.ndim))
        order[axis1], order[axis2] = order[axis2], order[axis1]
        return _functions().permute_dims(self, order)

    def squeeze(self, axis: Axes = None) -> DeviceArray:
        """A view without dimensions of one element."""
        return _functions().squeeze(self, axis)

    def ravel(self, order: str = "C") -> DeviceArray:
        """One dimension: a view of an array in C order, else a copy."""
        return self.reshape(-1, order=order)

    def flatten(self, order: str = "C") -> DeviceArray:
        """A copy of one dimension."""
        return self.reshape(-1, order=order, copy=True)

    def repeat(self, repeats: Any, axis: int | None = None) -> DeviceArray:
        """As numpy.repeat."""
        return _functions().repeat(self, repeats, axis=axis)

    def copy(self) -> DeviceArray:
        """A new array in C order, within `on_device()` on that GPU: directly if the GPUs reach each other, otherwise through the
        host."""
        from .device_arrays import copy, empty_there, handle_for, unified_with
        return copy(empty_there(handle_for(self), self.shape, self.dtype, unified_with(self)), self)

    # ---- Searching and products

    def take(self, indices: Operand, axis: int | None = None, out: Any = None) -> DeviceArray:
        """Elements at `indices`, in the flattened array or along `axis`."""
        x, axis = (self.reshape(-1), 0) if axis is None else (self, axis)
        return _put(_functions().take(x, indices, axis=axis), out)

    def nonzero(self) -> tuple[DeviceArray, ...]:
        """Indices of elements that are not 0, by NumPy on the host."""
        return _functions().nonzero(self)

    def argsort(self, axis: int = -1, kind: str | None = None, order: Any = None, *, stable: bool | None = None) -> DeviceArray:
        """Indices that sort along `axis`, stably, by NumPy on the host."""
        return _functions().argsort(self, axis=axis)

    def dot(self, other: Operand) -> DeviceArray:
        """The matrix product."""
        return self @ other

    def diagonal(self, offset: int = 0) -> DeviceArray:
        """A view of the diagonals of the last two dimensions."""
        return _functions().linalg.diagonal(self, offset=offset)

    def trace(self, offset: int = 0) -> DeviceArray:
        """The sum of the diagonal of the last two dimensions."""
        return _functions().linalg.trace(self, offset=offset)
