"""Arrays on a session's GPU, shared with PyTorch, CuPy and others without a copy."""
# SPDX-License-Identifier: MIT
from __future__ import annotations

import math

import numpy as np

from .. import _core
from ..arrays_in import CUDA, capsule_of, dtype_name, on_gpu, on_host, without_gaps
from ..errors import GpuError, OptionError
from .sessions import Session, session_or_default

_DTYPES = ("float32", "float64", "complex64", "complex128")


class DeviceArray:
    """A contiguous array on a GPU, in C order: float32, float64, complex64 or complex128.

    Created by `to_device()` and by operations; `to_numpy()` copies it to the host. `torch.from_dlpack(array)`,
    `cupy.from_dlpack(array)` and users of `__cuda_array_interface__` share its memory, which stays valid until they release
    it. Earlier work of the session is complete by then; after writing to it, synchronize before glint uses it again. After
    `Session.close()` it is invalid: using it raises a GpuError.
    """

    def __init__(self, core):
        self._core = core

    @property
    def shape(self) -> tuple[int, ...]:
        return self._core.shape

    @property
    def dtype(self) -> np.dtype:
        return np.dtype(self._core.dtype)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize

    @property
    def device(self) -> int:
        """CUDA ordinal of its GPU in this process."""
        return self._core.ordinal

    @property
    def adopted(self) -> bool:
        """Whether the memory belongs to another library."""
        return self._core.adopted

    def __len__(self):
        if not self.shape:
            raise TypeError("len() of a DeviceArray without dimensions")
        return self.shape[0]

    def __repr__(self):
        return f"<DeviceArray {self.shape}, {self.dtype}, on GPU {self.device}>"

    def to_numpy(self, out: np.ndarray | None = None) -> np.ndarray:
        """A copy on the host, or in `out`, of the same shape and type, with any strides."""
        if out is None:
            out = np.empty(self.shape, self.dtype)
        elif out.dtype.newbyteorder("=") != self.dtype or out.shape != self.shape or not out.flags.writeable:
            raise OptionError(f"out of {out.dtype} {out.shape} cannot take {self.dtype} {self.shape}, or is read-only")
        if usable(out):
            self._core.to_host(out)
        else:
            np.copyto(out, self.to_numpy())
        return out

    def __array__(self, *_, **__):
        raise TypeError("a DeviceArray is not brought to the host unasked: call to_numpy()")

    def __dlpack_device__(self) -> tuple[int, int]:
        return CUDA, self.device

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        """Waits until the elements are complete, so that any `stream` may read them."""
        if dl_device is not None and tuple(dl_device) == (1, 0):
            return self.to_numpy().__dlpack__()
        if dl_device is not None and tuple(dl_device) != self.__dlpack_device__():
            raise BufferError(f"a DeviceArray on GPU {self.device} is not exported to the device {dl_device}")
        if copy:
            raise BufferError("a DeviceArray is not copied on export: copy what takes it")
        return self._core.dlpack_view().__dlpack__(max_version=max_version)

    @property
    def __cuda_array_interface__(self) -> dict:
        """Version 3; accessing it waits until the elements are complete."""
        return {"version": 3, "shape": self.shape, "typestr": self.dtype.str, "data": (self._core.address(), False),
                "strides": None, "stream": None}


def to_device(array, *, session: Session | None = None) -> DeviceArray:
    """Copies `array` to the session's GPU, which is opened if necessary.

    float32, float64, complex64 and complex128 keep their type; other integers and floats become float64. An array that
    is on that GPU already (of PyTorch, CuPy or another library with DLPack) is used without a copy, and kept alive by
    the DeviceArray. Raises NoGpu, LeaseTimeout, OutOfMemory.
    """
    session = session_or_default(session)
    array = host_or_device(array, session, open_gpu=True)
    if isinstance(array, DeviceArray):
        return array
    if array.dtype.name not in _DTYPES:
        if array.dtype.kind not in "buif" or array.dtype == np.longdouble:
            raise OptionError(f"arrays of {array.dtype} cannot go to a GPU here: give {', '.join(_DTYPES)}")
        array = array.astype(np.float64)
    return DeviceArray(_core.to_device(session._core, array.dtype.name, readable(array)))


def to_host(array) -> np.ndarray:
    """A NumPy array: a copy of an array on a GPU, else over the same memory."""
    return array.to_numpy() if isinstance(array, DeviceArray) else on_host(array)


def host_or_device(array, session: Session, *, open_gpu: bool = False):
    """`array` as a NumPy array or a DeviceArray: an array on a GPU is used there if the session has that GPU, or may open it;
    else it is copied to the host."""
    if isinstance(array, (np.ndarray, DeviceArray)):
        return array
    if not on_gpu(array):
        return on_host(array)
    if session.choice == "cpu" and not open_gpu:
        return on_host(array)
    try:
        return adopt(array, session)
    except OptionError:  # on another GPU
        return on_host(array)
    except GpuError:
        if open_gpu or session.choice == "gpu":
            raise
        return on_host(array)


def adopt(array, session: Session) -> DeviceArray:
    """A DeviceArray over the memory of another library's array, which it keeps alive."""
    dtype = dtype_name(array)
    if dtype not in _DTYPES:
        raise OptionError(f"arrays of {dtype} cannot be used on a GPU here: give {', '.join(_DTYPES)}")
    array = without_gaps(array)
    return DeviceArray(_core.adopt(session._core, dtype, capsule_of(array), array))


def usable(array: np.ndarray) -> bool:
    """Whether C++ can use the array without a copy: native byte order, aligned, strides of whole elements."""
    return (array.dtype.isnative and array.flags.aligned
            and all(step % array.itemsize == 0 for step in array.strides))


def readable(array: np.ndarray) -> np.ndarray:
    """The array, or a copy that C++ can use."""
    return array if usable(array) else np.ascontiguousarray(array, array.dtype.newbyteorder("="))
