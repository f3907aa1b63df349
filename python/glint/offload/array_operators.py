"""NumPy's operators and indices for DeviceArray. They call functions of glint/arrays/."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import math
import numbers
import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import OptionError
from .array_methods import ArrayMethods
from .scalar_access import require_scalar_access

if TYPE_CHECKING:
    from ._operator_types import OperatorTypes
else:
    OperatorTypes = ArrayMethods


def _functions():
    from .. import arrays

    return arrays


def _binary(name, of_numpy):
    def forwards(self, other):
        return getattr(_functions(), name)(self, other) if _goes_with(self, other) else NotImplemented

    def backwards(self, other):
        return getattr(_functions(), name)(other, self) if _goes_with(self, other) else NotImplemented

    def in_place(self, other):
        if not _goes_with(self, other):
            return NotImplemented
        from .device_arrays import handle_for, write
        from .full_gpu import or_on_host

        def checked(result):
            if not np.can_cast(result.dtype, self.dtype, "same_kind"):
                raise OptionError(
                    f"{name}: the result of {result.dtype} is not written into an array of {self.dtype}: "
                    f"make a new array, "
                    f"as A = A * b, or convert A first, as A.astype({str(result.dtype)!r})"
                )
            return result

        def on_gpu():
            self[...] = checked(getattr(_functions(), name)(self, other))

        def on_host():
            with np.errstate(all="ignore"):
                write(self, checked(of_numpy(self.to_numpy(), _on_host(other))))

        or_on_host(name, handle_for(self, other), on_gpu, on_host)
        return self

    return forwards, backwards, in_place


def _compared(name):
    def compare(self, other):
        return getattr(_functions(), name)(self, other) if _goes_with(self, other) else NotImplemented

    return compare


def _goes_with(array, other):
    """Whether `other` may be an operand beside the array.

    Raises OptionError for single elements while scalar access is disallowed.
    """
    if not isinstance(other, (ArrayOperators, np.ndarray, np.generic, numbers.Number)):
        return False
    if (array._element or getattr(other, "_element", False)) and array.ndim == getattr(other, "ndim", 0) == 0:
        require_scalar_access()
    return True


def _one(name):
    def function(self):
        if self._element:
            require_scalar_access()
        return getattr(_functions(), name)(self)

    return function


class ArrayOperators(OperatorTypes):
    """Operators and indices of DeviceArray.

    The other operand may be a number or a NumPy array, which is copied to the GPU.
    """

    if not TYPE_CHECKING:
        __hash__ = None

        __add__, __radd__, __iadd__ = _binary("add", operator.add)
        __sub__, __rsub__, __isub__ = _binary("subtract", operator.sub)
        __mul__, __rmul__, __imul__ = _binary("multiply", operator.mul)
        __truediv__, __rtruediv__, __itruediv__ = _binary("divide", operator.truediv)
        __floordiv__, __rfloordiv__, __ifloordiv__ = _binary("floor_divide", operator.floordiv)
        __mod__, __rmod__, __imod__ = _binary("remainder", operator.mod)
        __pow__, __rpow__, __ipow__ = _binary("pow", operator.pow)
        __matmul__, __rmatmul__, __imatmul__ = _binary("matmul", operator.matmul)
        __and__, __rand__, __iand__ = _binary("bitwise_and", operator.and_)
        __or__, __ror__, __ior__ = _binary("bitwise_or", operator.or_)
        __xor__, __rxor__, __ixor__ = _binary("bitwise_xor", operator.xor)
        __lshift__, __rlshift__, __ilshift__ = _binary("bitwise_left_shift", operator.lshift)
        __rshift__, __rrshift__, __irshift__ = _binary("bitwise_right_shift", operator.rshift)
        __lt__, __le__, __gt__ = _compared("less"), _compared("less_equal"), _compared("greater")
        __ge__, __eq__, __ne__ = _compared("greater_equal"), _compared("equal"), _compared("not_equal")
        __divmod__, __rdivmod__ = (
            (lambda self, other: (self // other, self % other)),
            (lambda self, other: (other // self, other % self)),
        )
        __neg__, __pos__, __abs__, __invert__ = _one("negative"), _one("positive"), _one("abs"), _one("bitwise_invert")

    # ---- Numbers

    def _number(self, kinds, convert):
        if self._element:
            require_scalar_access()
        if self.size != 1 or self.ndim > 0:
            raise TypeError(f"an array of the shape {self.shape} is no number; item() and to_numpy() give its elements")
        if self.dtype.kind not in kinds:
            raise TypeError(f"an array of {self.dtype} is no number of this kind: convert it by astype()")
        return convert(self.to_numpy()[()])

    def __bool__(self) -> bool:
        return self._number("buifc", bool)

    def __int__(self) -> int:
        return self._number("buif", int)

    def __float__(self) -> float:
        return self._number("buif", float)

    def __complex__(self) -> complex:
        return self._number("buifc", complex)

    def __round__(self, ndigits: int | None = None) -> Any:
        """Returns a Python number for an array without dimensions, like NumPy's scalars; else the result of
        `round()`.
        """
        return self.round(ndigits or 0) if self.ndim else round(self._number("buif", self.dtype.type), ndigits)

    def __index__(self) -> int:
        return self._number("ui", operator.index)

    # ---- Indices

    def __getitem__(self, key: Any) -> Any:
        """Integers, slices, None and ... give a view. A mask, or one array of integers along an axis, gives a copy.
        NumPy handles other keys on the host. In unified memory, integers for all dimensions give a NumPy scalar."""
        host = self._elements
        if host is not None and (
            type(key) is int
            and host.ndim == 1
            or type(key) is tuple
            and len(key) == host.ndim
            and type(key[0]) is type(key[-1]) is int
        ):
            self._core.wait_on_host()
            found = host[key]
            if isinstance(found, np.generic):
                return found
        from .device_arrays import handle_for, unified_with, uploaded, view

        basic = _basic(key, self.shape, self._core.strides, self._core.first)
        if basic is not None:
            if basic[0] or not self.ndim or Ellipsis in (key if isinstance(key, tuple) else (key,)):
                return view(self, *basic)
            if self.unified:
                self._elements = self.host_view()
                return self._elements[key]
            found = view(self, *basic)
            found._element = self.size > 1
            return found
        if (chosen := self._taken(key)) is not None:
            return chosen
        return uploaded(np.asarray(self.to_numpy()[_on_host(key)]), handle_for(self), unified_with(self))

    def _taken(self, key):
        """Returns the elements for a mask of the first dimensions, or one array of integers along an axis; else
        None."""
        *before, at = key if isinstance(key, tuple) else (key,)
        if (
            not all(isinstance(part, slice) and part == slice(None) for part in before)
            or len(before) >= self.ndim
            or isinstance(at, (slice, type(None)))
        ):
            return None
        at = at if isinstance(at, ArrayOperators) else np.asarray(at)
        if at.dtype == bool:
            if before or at.ndim == 0 or at.shape != self.shape[: at.ndim]:
                return None
            found = np.flatnonzero(at.to_numpy() if isinstance(at, ArrayOperators) else at)
            return _functions().take(self.reshape((math.prod(at.shape), *self.shape[at.ndim :])), found, axis=0)
        if self.shape[len(before)] == 0 and at.size:
            return None  # NumPy raises the error
        return _functions().take(self, at, axis=len(before)) if at.dtype.kind in "iu" else None

    def __setitem__(self, key: Any, value: Any) -> None:
        """Writes values, converted to the array's type. The change is visible in all views of the memory."""
        from .device_arrays import handle_for
        from .full_gpu import or_on_host

        or_on_host("assignment", handle_for(self), lambda: self._set(key, value), lambda: self._set_on_host(key, value))

    def _set_on_host(self, key, value):
        from .device_arrays import view, write

        value, basic = np.asarray(_on_host(value)), _basic(key, self.shape, self._core.strides, self._core.first)
        if basic is not None:
            write(view(self, *basic), value)
        else:
            here = self.to_numpy()
            here[_on_host(key)] = value
            write(self, here)

    def _set(self, key, value):
        from .device_arrays import copy_to, element, handle_for, uploaded, view, write

        xp = _functions()
        if not isinstance(value, ArrayOperators):
            given, value = value, np.asarray(value)
            if not np.can_cast(value.dtype, self.dtype, "same_kind") and value.ndim > 0:
                raise OptionError(
                    f"elements of {value.dtype} are not written into an array of {self.dtype}: convert them first"
                )
            value = uploaded(value.astype(self.dtype) if value.ndim else element(given, self.dtype), handle_for(self))
        elif value.dtype.kind == "c" and self.dtype.kind in "iuf":
            raise OptionError(
                f"elements of {value.dtype} are not written into an array of {self.dtype}: take their real parts"
            )
        basic = _basic(key, self.shape, self._core.strides, self._core.first)
        if basic is not None:
            copy_to(view(self, *basic), value)
        elif isinstance(key, ArrayOperators) and key.dtype == bool and key.shape == self.shape and value.ndim == 0:
            copy_to(self, xp.where(key, value, self))
        else:
            here = self.to_numpy()
            here[_on_host(key)] = value.to_numpy()
            write(self, here)


def _on_host(key):
    """Returns the key with NumPy arrays instead of arrays on a GPU."""
    if isinstance(key, tuple):
        return tuple(_on_host(part) for part in key)
    return key.to_numpy() if isinstance(key, ArrayOperators) else key


def _basic(key, shape, steps, first):
    """Returns shape, strides and first element of the view for integers, slices, None and ...; None for other keys."""
    parts = list(key) if isinstance(key, tuple) else [key]
    is_integer = [
        not isinstance(p, (bool, np.bool_))
        and hasattr(p, "__index__")
        and getattr(p, "ndim", 0) == 0
        and getattr(p, "dtype", np.dtype(int)).kind in "iu"
        for p in parts
    ]
    if not all(whole or p is None or p is Ellipsis or isinstance(p, slice) for p, whole in zip(parts, is_integer)):
        return None
    parts = [operator.index(p) if whole else p for p, whole in zip(parts, is_integer)]
    used = sum(p is not None and p is not Ellipsis for p in parts)
    if parts.count(Ellipsis) > 1 or used > len(shape):
        raise IndexError(f"{key!r} has more indices than the dimensions of an array of the shape {shape}")
    if Ellipsis not in parts:
        parts.append(Ellipsis)
    at = parts.index(Ellipsis)
    parts[at : at + 1] = [slice(None)] * (len(shape) - used)
    new_shape, new_steps, axis = [], [], 0
    for part in parts:
        if part is None:
            new_shape.append(1), new_steps.append(0)
            continue
        n, step = shape[axis], steps[axis]
        if isinstance(part, slice):
            chosen = range(*part.indices(n))
            new_shape.append(len(chosen)), new_steps.append(step * chosen.step if len(chosen) > 1 else step)
            first += step * chosen.start if len(chosen) else 0
        else:
            if not -n <= part < n:
                raise IndexError(f"index {part} along a dimension of {n} elements")
            first += step * (part % n)
        axis += 1
    return new_shape, new_steps, first
