"""Methods of DeviceArray with NumPy's arguments. NumPy functions that call a method, such as np.sum(x, axis=0), thus
accept a DeviceArray.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import OptionError

if TYPE_CHECKING:
    from .._types import Axes, DTypeLike, Operand
    from .device_arrays import DeviceArray


_none = np._NoValue  # default of initial=, for which None is a valid value


def _functions():
    from .. import arrays

    return arrays


def _put(result, out):
    """Returns the result; with `out`, writes the converted result there and returns `out`."""
    if out is None:
        return result
    if out.shape != result.shape:
        raise OptionError(f"out has the shape {out.shape}, and the result {result.shape}")
    out[...] = result
    return out


def _numpys(function, operands, out, options):
    """Computes on the host with NumPy, and copies the result to the GPU or into `out`, whose old values `where=` may
    keep."""
    from ..arrays._host import through_host
    from .device_arrays import DeviceArray, to_host, write

    if function.__name__ == "at" and isinstance(operands[0], DeviceArray):  # in place
        here = operands[0].to_numpy()
        function(here, *(to_host(x) if isinstance(x, DeviceArray) else x for x in operands[1:]))
        return write(operands[0], here)
    if not out:
        return through_host(function, *operands, **options)
    here = [None if x is None else to_host(x) for x in out]
    down = [to_host(x) if isinstance(x, DeviceArray) else x for x in operands]
    results = function(
        *down, out=tuple(here), **{key: to_host(x) if isinstance(x, DeviceArray) else x for key, x in options.items()}
    )
    results = results if isinstance(results, tuple) else (results,)
    for to, result in zip(out, results):
        if isinstance(to, DeviceArray):
            write(to, result)
    made = tuple(result if to is None else to for to, result in zip(out, results))
    return made if len(made) > 1 else made[0]


class ArrayMethods:
    """Methods of DeviceArray; docs/how-to/python_gpu.md lists where each method computes."""

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *operands: Any, out: Any = None, **options: Any) -> Any:
        """Computes NumPy's element-wise functions by those of `glint.arrays`. Calls with options, and methods such as
        `np.add.reduce`, are computed by NumPy on the host."""
        if ufunc is np.divmod and method == "__call__" and not options and not out:
            return self.__array_ufunc__(np.floor_divide, method, *operands), self.__array_ufunc__(
                np.remainder, method, *operands
            )
        if method != "__call__" or options or ufunc.nout != 1:
            return _numpys(getattr(ufunc, method), operands, out, options)
        from ..arrays._elementwise import apply

        result = _functions().matmul(*operands) if ufunc is np.matmul else apply(ufunc, *operands)
        if out and not np.can_cast(result.dtype, out[0].dtype, "same_kind"):
            raise OptionError(
                f"numpy.{ufunc.__name__}: the result of {result.dtype} is not written into out of {out[0].dtype}"
            )
        return _put(result, out[0] if out else None)

    # ---- Reductions: `axis` None, one or several; with `where` and `initial` by NumPy on the host

    def _by_numpy(self, function, out, **options):
        from ..arrays._host import through_host

        return _put(through_host(function, self, **{key: x for key, x in options.items() if x is not _none}), out)

    def sum(
        self,
        axis: Axes = None,
        dtype: DTypeLike | None = None,
        out: Any = None,
        keepdims: bool = False,
        initial: Any = _none,
        where: Any = True,
    ) -> DeviceArray:
        """The sum of all elements, or sums along `axis`."""
        if where is not True or initial is not _none:
            return self._by_numpy(np.sum, out, where=where, axis=axis, keepdims=keepdims, dtype=dtype, initial=initial)
        return _put(_functions().sum(self, axis=axis, dtype=dtype, keepdims=keepdims), out)

    def prod(
        self,
        axis: Axes = None,
        dtype: DTypeLike | None = None,
        out: Any = None,
        keepdims: bool = False,
        initial: Any = _none,
        where: Any = True,
    ) -> DeviceArray:
        """The product of all elements, or products along `axis`."""
        if where is not True or initial is not _none:
            return self._by_numpy(np.prod, out, where=where, axis=axis, keepdims=keepdims, dtype=dtype, initial=initial)
        return _put(_functions().prod(self, axis=axis, dtype=dtype, keepdims=keepdims), out)

    def mean(
        self,
        axis: Axes = None,
        dtype: DTypeLike | None = None,
        out: Any = None,
        keepdims: bool = False,
        where: Any = True,
    ) -> DeviceArray:
        """The mean of all elements, or means along `axis`."""
        if where is not True:
            return self._by_numpy(np.mean, out, where=where, axis=axis, keepdims=keepdims, dtype=dtype)
        x = self if dtype is None else self.astype(dtype)
        return _put(_functions().mean(x, axis=axis, keepdims=keepdims), out)

    def var(
        self,
        axis: Axes = None,
        dtype: DTypeLike | None = None,
        out: Any = None,
        ddof: float = 0,
        keepdims: bool = False,
        where: Any = True,
    ) -> DeviceArray:
        """The variance: the sum of squared distances from the mean, divided by n - ddof."""
        if where is not True:
            return self._by_numpy(np.var, out, where=where, axis=axis, keepdims=keepdims, dtype=dtype, ddof=ddof)
        x = self if dtype is None else self.astype(dtype)
        return _put(_functions().var(x, axis=axis, correction=ddof, keepdims=keepdims), out)

    def std(
        self,
        axis: Axes = None,
        dtype: DTypeLike | None = None,
        out: Any = None,
        ddof: float = 0,
        keepdims: bool = False,
        where: Any = True,
    ) -> DeviceArray:
        """The standard deviation, the root of `var()`."""
        if where is not True:
            return self._by_numpy(np.std, out, where=where, axis=axis, keepdims=keepdims, dtype=dtype, ddof=ddof)
        x = self if dtype is None else self.astype(dtype)
        return _put(_functions().std(x, axis=axis, correction=ddof, keepdims=keepdims), out)

    def min(
        self, axis: Axes = None, out: Any = None, keepdims: bool = False, initial: Any = _none, where: Any = True
    ) -> DeviceArray:
        """The minimum of all elements, or minima along `axis`; NaN if any element is NaN."""
        if where is not True or initial is not _none:
            return self._by_numpy(np.min, out, where=where, axis=axis, keepdims=keepdims, initial=initial)
        return _put(_functions().min(self, axis=axis, keepdims=keepdims), out)

    def max(
        self, axis: Axes = None, out: Any = None, keepdims: bool = False, initial: Any = _none, where: Any = True
    ) -> DeviceArray:
        """The maximum of all elements, or maxima along `axis`; NaN if any element is NaN."""
        if where is not True or initial is not _none:
            return self._by_numpy(np.max, out, where=where, axis=axis, keepdims=keepdims, initial=initial)
        return _put(_functions().max(self, axis=axis, keepdims=keepdims), out)

    def argmin(self, axis: int | None = None, out: Any = None, keepdims: bool = False) -> DeviceArray:
        """The position of the first minimum, in the flattened array or along `axis`."""
        return _put(_functions().argmin(self, axis=axis, keepdims=keepdims), out)

    def argmax(self, axis: int | None = None, out: Any = None, keepdims: bool = False) -> DeviceArray:
        """The position of the first maximum, in the flattened array or along `axis`."""
        return _put(_functions().argmax(self, axis=axis, keepdims=keepdims), out)

    def any(self, axis: Axes = None, out: Any = None, keepdims: bool = False, where: Any = True) -> DeviceArray:
        """Whether any element is not 0."""
        if where is not True:
            return self._by_numpy(np.any, out, where=where, axis=axis, keepdims=keepdims)
        return _put(_functions().any(self, axis=axis, keepdims=keepdims), out)

    def all(self, axis: Axes = None, out: Any = None, keepdims: bool = False, where: Any = True) -> DeviceArray:
        """Whether all elements are not 0."""
        if where is not True:
            return self._by_numpy(np.all, out, where=where, axis=axis, keepdims=keepdims)
        return _put(_functions().all(self, axis=axis, keepdims=keepdims), out)

    def cumsum(self, axis: int | None = None, dtype: DTypeLike | None = None, out: Any = None) -> DeviceArray:
        """Cumulative sums, by NumPy on the host."""
        x, axis = (self.reshape(-1), 0) if axis is None else (self, axis)
        return _put(_functions().cumulative_sum(x, axis=axis, dtype=dtype), out)

    def cumprod(self, axis: int | None = None, dtype: DTypeLike | None = None, out: Any = None) -> DeviceArray:
        """Cumulative products, by NumPy on the host."""
        x, axis = (self.reshape(-1), 0) if axis is None else (self, axis)
        return _put(_functions().cumulative_prod(x, axis=axis, dtype=dtype), out)

    # ---- Element by element

    def clip(self, min: Operand | None = None, max: Operand | None = None, out: Any = None) -> DeviceArray:
        """Limits elements to the range from `min` to `max`."""
        return _put(_functions().clip(self, min, max), out)

    def round(self, decimals: int = 0, out: Any = None) -> DeviceArray:
        """Rounds to the nearest multiple of 10 ** -decimals, halves to even. With decimals, by NumPy on the host."""
        if decimals == 0:
            return _put(_functions().round(self), out)
        from ..arrays._host import through_host

        return _put(through_host(np.round, self, decimals), out)

    def conj(self) -> DeviceArray:
        """The complex conjugate."""
        return _functions().conj(self)

    conjugate = conj

    def astype(self, dtype: DTypeLike, *, copy: bool = True) -> DeviceArray:
        """Converts the elements to another type, on the GPU."""
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
        """Flattens to one dimension: a view of an array in C order, else a copy."""
        return self.reshape(-1, order=order)

    def flatten(self, order: str = "C") -> DeviceArray:
        """A flattened copy."""
        return self.reshape(-1, order=order, copy=True)

    def repeat(self, repeats: Any, axis: int | None = None) -> DeviceArray:
        """As numpy.repeat."""
        return _functions().repeat(self, repeats, axis=axis)

    def copy(self) -> DeviceArray:
        """A new array in C order. Within `on_device()`, a copy on that GPU: directly if the GPUs have peer access,
        otherwise through the host."""
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

    def argsort(
        self, axis: int = -1, kind: str | None = None, order: Any = None, *, stable: bool | None = None
    ) -> DeviceArray:
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
