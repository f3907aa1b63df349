"""Arrays on a session's GPU: their memory, views of it, and exchange with NumPy, PyTorch, CuPy and other libraries."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import dataclasses
import math
import operator
import weakref
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _core
from ..arrays_in import CUDA, capsule_of, dtype_name, on_gpu, on_host, without_gaps
from ..errors import GpuError, OptionError, OutOfMemory
from .array_operators import ArrayOperators
from .scalar_access import require_scalar_access
from .sessions import Session, active_session, session_or_default

if TYPE_CHECKING:
    from .._types import DTypeLike

DTYPES = (
    "bool",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float16",
    "float32",
    "float64",
    "complex64",
    "complex128",
)


class ArrayDevice(int):
    """The CUDA ordinal of an array's GPU in this process. As `device=`, it also selects the array's session."""

    def __new__(cls, core: Any) -> ArrayDevice:
        device = super().__new__(cls, core.ordinal)
        device.handle = core.session
        return device


@dataclasses.dataclass(frozen=True)
class IpcHandle:
    """Names an array on a GPU in other processes of this machine. Send it to them by pickle, MPI or a queue."""

    handle: bytes  #: handle of CUDA
    shape: tuple[int, ...]
    dtype: str


class DeviceArray(ArrayOperators):
    """An array on a GPU, of booleans, integers, floats or complex numbers.

    Created by `to_device()`, by operations, and by the functions of its array namespace, `glint.arrays`. Operators,
    slices and methods are NumPy's. Slices, `T`, `permute_dims()` and, where possible, `reshape()` are views of the same
    memory; the results of all other operations are new arrays. `to_numpy()` copies the array to the host.

    `torch.from_dlpack(array)`, `cupy.from_dlpack(array)` and users of `__cuda_array_interface__` share the array's
    memory, which stays valid until they release it. Earlier work of the session is complete when they receive it. If
    they write to it, synchronize before glint uses it again. After `Session.close()` the array is invalid: using it
    raises a GpuError.
    """

    _ipc_handle: IpcHandle | None = None
    _element = False  # whether it is one element of a larger array of device memory, chosen by integers
    _elements: np.ndarray | None = None  # for unified memory: host_view(), created at the first access to an element

    def __init__(self, core: Any) -> None:
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
    def itemsize(self) -> int:
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize

    @property
    def strides(self) -> tuple[int, ...]:
        """Bytes between neighbours along each dimension."""
        return tuple(step * self.itemsize for step in self._core.strides)

    @property
    def device(self) -> ArrayDevice:
        """CUDA ordinal of its GPU in this process; functions of `glint.arrays` accept it as `device=`."""
        return ArrayDevice(self._core)

    @property
    def unified(self) -> bool:
        """Whether the array is in unified memory, which the host can access by `host_view()`."""
        return self._core.unified

    def host_view(self) -> np.ndarray:
        """Returns the elements themselves as a NumPy array, to read and write, after waiting for all work on them.
        Operations on unified memory return when they are complete, so the view stays correct. Do not use the view while
        an operation runs in another thread. The view keeps the memory, also after `Session.close()`. Raises OptionError
        for device memory."""
        return self._core.host_view()

    @property
    def adopted(self) -> bool:
        """Whether the memory belongs to another library."""
        return self._core.adopted

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of a DeviceArray without dimensions")
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        """Iterates over views of the parts along the first dimension. With one dimension, iterates over the elements:
        NumPy scalars for unified memory; for device memory, raises OptionError unless `gpu.set_scalar_access()` allows
        it."""
        if self.ndim == 1:
            if self.unified:
                return iter(self.host_view())
            require_scalar_access()
        return (self[k] for k in range(len(self)))

    def __repr__(self) -> str:
        return f"<DeviceArray {self.shape}, {self.dtype}, on GPU {self.device}>"

    def to_numpy(self, out: np.ndarray | None = None) -> np.ndarray:
        """Copies the array to the host, or into `out`, which must have the same shape and type and may have any
        strides."""
        if out is None:
            out = np.empty(self.shape, self.dtype)
        elif out.dtype.newbyteorder("=") != self.dtype or out.shape != self.shape or not out.flags.writeable:
            raise OptionError(f"out of {out.dtype} {out.shape} cannot take {self.dtype} {self.shape}, or is read-only")
        if not (usable(out) and out.flags.c_contiguous):
            np.copyto(out, self.to_numpy())
        elif self._core.contiguous:
            self._core.to_host(out.reshape(-1).view(np.uint8))
        else:
            try:
                packed = copied(self, handle=self._core.session)
            except OutOfMemory:
                np.copyto(out, _Span(self).elements())
            else:
                packed._core.to_host(out.reshape(-1).view(np.uint8))
        return out

    def item(self, *index: Any) -> Any:
        """Returns an element as a Python number, as numpy.ndarray.item: by index, or by position in the flattened
        array. Without arguments, returns the element of an array of one element."""
        at = index[0] if len(index) == 1 and isinstance(index[0], tuple) else index
        if not at and self.size != 1:
            raise OptionError(f"item() of an array of the shape {self.shape}: give the index of an element")
        if len(at) == 1 and self.ndim != 1:
            k = operator.index(at[0])
            if not -self.size <= k < self.size:
                raise IndexError(f"item({k}) of an array of {self.size} elements")
            at = np.unravel_index(k % self.size, self.shape)
        elif at and len(at) != self.ndim:
            raise OptionError(f"item{at} of an array of the shape {self.shape}: give one index, or {self.ndim}")
        chosen = self.host_view() if self.unified else self
        if at:
            chosen = chosen[tuple(map(operator.index, at))]
        return chosen.to_numpy().item() if isinstance(chosen, DeviceArray) else chosen.item()

    def tolist(self) -> Any:
        return self.to_numpy().tolist()

    # ---- Other libraries and processes

    @property
    def ipc_handle(self) -> IpcHandle:
        """The handle by which other processes open an array of `export_array()`. Raises OptionError for other
        arrays."""
        if self._ipc_handle is None:
            raise OptionError(
                "this array is in memory that other processes cannot open: glint.gpu.export_array() "
                "copies it to such memory"
            )
        return self._ipc_handle

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError(
            "a DeviceArray is not pickled, since it names memory of this process: send its to_numpy(), "
            "the ipc_handle of "
            "glint.gpu.export_array(), or with mpi4py the memory itself, by comm.Send()"
        )

    def __copy__(self) -> DeviceArray:
        return self.copy()

    def __deepcopy__(self, memo: Any) -> DeviceArray:
        return self.copy()

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> np.ndarray:
        """Returns the elements of unified memory without a copy.

        Raises TypeError for device memory; copy it by to_numpy().
        """
        if not self.unified:
            raise TypeError("a DeviceArray is not brought to the host unasked: call to_numpy()")
        host = self.host_view()
        if dtype is not None and np.dtype(dtype) != host.dtype:
            if copy is False:
                raise ValueError(f"copy=False: an array of {host.dtype} must be copied to become {np.dtype(dtype)}")
            return host.astype(dtype)
        return host.copy() if copy else host

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        """`glint.arrays`, which follows the array API standard 2023.12."""
        from .. import arrays

        if api_version not in (None, "2021.12", "2022.12", "2023.12"):
            raise OptionError(f"api_version={api_version!r}: glint.arrays follows {arrays.__array_api_version__}")
        return arrays

    def __dlpack_device__(self) -> tuple[int, int]:
        return CUDA, self.device

    def __dlpack__(
        self, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: bool | None = None
    ) -> Any:
        """Waits until the elements are complete, so that any `stream` may read them."""
        if dl_device is not None and tuple(dl_device) == (1, 0):
            if copy is False:
                raise BufferError("a DeviceArray is not on the host: it goes there by a copy")
            return self.to_numpy().__dlpack__()
        if dl_device is not None and tuple(dl_device) != self.__dlpack_device__():
            raise BufferError(f"a DeviceArray on GPU {self.device} is not exported to the device {dl_device}")
        if copy:
            raise BufferError("a DeviceArray is not copied on export: copy what takes it")
        return self._core.dlpack_view().__dlpack__(max_version=max_version)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """Version 3 of the interface. Accessing it waits until the elements are complete."""
        return {
            "version": 3,
            "shape": self.shape,
            "typestr": self.dtype.str,
            "data": (self._core.address(), False),
            "strides": None if self._core.contiguous else self.strides,
            "stream": None,
        }

    def to_device(self, device: Any, /, *, stream: Any = None) -> Any:
        """Returns the array itself for its own GPU, a NumPy array for "cpu", a copy for the device of another
        session.
        """
        if device == "cpu":
            return self.to_numpy()
        if isinstance(device, ArrayDevice) and stream is None:
            return of_session(self, device.handle)
        if device != self.device or stream is not None:
            raise OptionError(
                f"device={device!r}, stream={stream!r}: this array is on GPU {self.device}; give that, or 'cpu'"
            )
        return self


# ---- Creation


def to_device(array: Any, *, session: Session | None = None, unified: bool | None = None) -> DeviceArray:
    """Copies `array` to the session's GPU, which is opened if necessary. The type is kept; longdouble becomes float64.
    A DeviceArray is returned itself, unless `session` is another session than its own. It is then copied from GPU to
    GPU: directly if the GPUs have peer access, else through the host.

    unified: create the copy in unified memory, which the host reads in place; None: as `session.unified`.

    An array that is on that GPU already (of PyTorch, CuPy or another library with DLPack) is used without a copy. The
    DeviceArray keeps it alive. Raises NoGpu, LeaseTimeout or OutOfMemory.
    """
    if isinstance(array, DeviceArray):
        elsewhere = session is not None and array._core.session is not session._core
        if not elsewhere and (unified is None or unified == array.unified):
            return array
        handle = session._core if elsewhere else array._core.session
        return copy(empty_there(handle, array.shape, array.dtype, unified), array)
    session = session_or_default(session)
    array = host_or_device(array, session, open_gpu=True)
    return array if isinstance(array, DeviceArray) else uploaded(array, session._core, unified)


def uploaded(array: np.ndarray, handle: Any, unified: bool | None = None) -> DeviceArray:
    """Copies the array to the GPU of the C++ session `handle`."""
    if array.dtype.kind == "f" and array.itemsize > 8:
        array = array.astype(np.float64)
    if array.dtype.name not in DTYPES:
        raise OptionError(f"arrays of {array.dtype} cannot go to a GPU here: give {', '.join(DTYPES)}")
    packed = np.ascontiguousarray(array, array.dtype.newbyteorder("="))
    return _made(
        lambda: _core.to_device(handle, array.dtype.name, array.shape, packed.reshape(-1).view(np.uint8), unified),
        handle,
        array.shape,
        array.dtype,
    )


def element(number: Any, dtype: DTypeLike) -> np.ndarray:
    """Returns a number as an array of this type without dimensions.

    Raises OptionError for a number outside the range of the type, as NumPy does.
    """
    made = np.empty((), dtype)
    try:
        if np.iscomplexobj(number) and made.dtype.kind in "iuf":
            raise TypeError("it is complex")
        with np.errstate(all="ignore"):
            made[()] = number
    except (OverflowError, TypeError, ValueError) as error:
        raise OptionError(f"{number!r} is not written into an array of {made.dtype}: {error}") from None
    return made


def empty_there(handle: Any, shape: Any, dtype: DTypeLike, unified: bool | None = None) -> DeviceArray:
    """Returns an uninitialised array on the GPU of the C++ session `handle`."""
    return _made(lambda: _core.device_empty(handle, np.dtype(dtype).name, shape, unified), handle, shape, dtype)


def _made(make, handle, shape, dtype):
    """Returns a new array. If there is no room, first cleans up the session. Raises OutOfMemory with the remedy."""
    try:
        return DeviceArray(make())
    except OutOfMemory:
        handle.clean_up()
    try:
        return DeviceArray(make())
    except OutOfMemory as error:
        full = OutOfMemory(
            f"{error}. An array of {np.dtype(dtype)} {tuple(shape)} was to be made there: delete "
            f"DeviceArrays that are not needed any "
            "more, give the session more memory (gpu_memory=), or have the result on the host: by "
            'on="host" or out= of a NumPy '
            "array, or from operands that to_numpy() has copied"
        )
        full.code, full.asked_bytes, full.beyond_limit, full.free_bytes = (
            error.code,
            error.asked_bytes,
            error.beyond_limit,
            error.free_bytes,
        )
        raise full from None


def unified_with(*operands: Any) -> bool | None:
    """Returns `unified` for a result of these operands: True if an operand, or an array in a list of operands, is in
    unified memory, so that the host keeps its access to elements. None: as the session's setting."""
    for x in operands:
        if x.unified if isinstance(x, DeviceArray) else isinstance(x, (list, tuple)) and unified_with(*x):
            return True
    return None


def zeros_there(handle: Any, shape: Any, dtype: DTypeLike, unified: bool | None = None) -> DeviceArray:
    array = empty_there(handle, shape, dtype, unified)
    copy_to(array, uploaded(np.zeros((), dtype), handle))
    return array


def to_host(array: Any) -> np.ndarray:
    """Returns a NumPy array: a copy for an array on a GPU, else over the same memory."""
    return array.to_numpy() if isinstance(array, DeviceArray) else on_host(array)


def host_or_device(array: Any, session: Session, *, open_gpu: bool = False) -> Any:
    """Returns `array` as a NumPy array or a DeviceArray. An array on a GPU is used there if the session has that GPU or
    may open it; else it is copied to the host."""
    if isinstance(array, (np.ndarray, DeviceArray)):
        return array
    if not on_gpu(array):
        return on_host(array)
    if session.backend == "cpu" and not open_gpu:
        return on_host(array)
    try:
        return adopt(array, session)
    except OptionError:  # on another GPU
        return on_host(array)
    except GpuError:
        if open_gpu or session.backend == "gpu":
            raise
        return on_host(array)


def adopt(array: Any, session: Session) -> DeviceArray:
    """Returns a DeviceArray over the memory of another library's array, which it keeps alive."""
    return adopted_by(array, session._core)


def adopted_by(array: Any, core: Any) -> DeviceArray:
    """As adopt(), for the compiled session."""
    dtype = dtype_name(array)
    if dtype not in DTYPES:
        raise OptionError(f"arrays of {dtype} cannot be used on a GPU here: give {', '.join(DTYPES)}")
    array = without_gaps(array)
    return DeviceArray(_core.adopt(core, dtype, capsule_of(array), array))


def usable(array: np.ndarray) -> bool:
    """Whether C++ can use the array without a copy: native byte order, aligned, strides of whole elements."""
    return array.dtype.isnative and array.flags.aligned and all(step % array.itemsize == 0 for step in array.strides)


def readable(array: np.ndarray) -> np.ndarray:
    """Returns the array, or a copy that C++ can use."""
    return array if usable(array) else np.ascontiguousarray(array, array.dtype.newbyteorder("="))


# ---- Arrays of several processes


def export_array(array: Any, *, session: Session | None = None) -> DeviceArray:
    """Copies `array` to memory of the session's GPU that other processes of this machine may open by the copy's
    `ipc_handle`, as long as the copy lives.

    The processes must order their uses: after writing, call `session.synchronize()` before another process uses it.
    Raises NoGpu, LeaseTimeout, OutOfMemory; GpuError if the driver cannot export memory.
    """
    array = array if isinstance(array, DeviceArray) else on_host(array)
    session, dtype = session_or_default(session), array.dtype.newbyteorder("=").name
    core, handle = _core.export_array(session._core, dtype, array.shape)
    exported = copy(DeviceArray(core), array)
    session.synchronize()
    exported._ipc_handle = IpcHandle(handle, exported.shape, dtype)
    _exported[handle] = exported
    return exported


_exported: weakref.WeakValueDictionary[bytes, DeviceArray] = weakref.WeakValueDictionary()  # by CUDA's handle


def import_array(handle: IpcHandle, *, session: Session | None = None) -> DeviceArray:
    """Opens an array that another process has exported, without a copy. Delete it before that process deletes the
    original.

    Raises OptionError in the process that exported it; GpuError if the driver refuses, because the session's GPU has no
    access to the memory or the other process is in another container.
    """
    if not isinstance(handle, IpcHandle):
        raise OptionError(f"import_array: a {type(handle).__name__}: give the ipc_handle of an array of export_array()")
    if handle.handle in _exported:
        raise OptionError(
            "import_array: this process has exported this array itself, and CUDA opens it only in others: "
            "use the array of "
            "glint.gpu.export_array(), or share memory within a process by views"
        )
    return DeviceArray(_core.import_array(session_or_default(session)._core, handle.dtype, handle.shape, handle.handle))


# ---- Views and copies


def view(
    array: DeviceArray, shape: Any, strides: Sequence[int], first: int | None = None, dtype: Any = None
) -> DeviceArray:
    """Returns another array over the same memory; `strides` and `first` are in elements of `dtype`."""
    core = array._core
    first = 0 if 0 in shape else core.first if first is None else first
    return DeviceArray(core.view(dtype or core.dtype, shape, strides, first))


def handle_for(*operands: Any) -> Any:
    """Returns the C++ session whose GPU computes with these operands and receives the result.

    Within `on_device()` it is the session of that GPU, otherwise that of the first DeviceArray. Operands of other
    sessions are not moved.
    """
    arrays = [x for x in operands if isinstance(x, DeviceArray)]
    active = active_session()
    if active is None or active.device is None:
        return arrays[0]._core.session
    return next((x._core.session for x in arrays if x._core.ordinal == active.device), active._core)


def of_session(array: DeviceArray, handle: Any) -> DeviceArray:
    """Returns the array, or a copy if it belongs to another session than the C++ session `handle`."""
    return array if array._core.session is handle else copy(empty_there(handle, array.shape, array.dtype), array)


def copy_to(target: DeviceArray, source: DeviceArray, handle: Any = None) -> None:
    """Writes `source`, broadcast and converted, into `target`, on the GPU of `handle`, by default that of handle_for().
    Elements may overlap."""
    handle = handle or handle_for(target, source)
    source = broadcast(source, target.shape)
    if source._core.shares_memory(target._core):
        try:
            source = copied(source, handle=handle)
        except OutOfMemory:
            return write(target, source.to_numpy())
    _core.device_copy(handle, source._core, target._core)


def write(target: DeviceArray, values: np.ndarray) -> None:
    """Writes values of the host, broadcast and converted, into `target`. Needs no memory on the GPU if that is full."""
    if values.dtype.kind == "c" and target.dtype.kind in "iuf":
        values = values.real
    with np.errstate(all="ignore"):
        values = np.broadcast_to(values, target.shape).astype(target.dtype, order="C")
    if target._core.contiguous:
        target._core.from_host(values.reshape(-1).view(np.uint8))
        return
    try:
        there = uploaded(values, target._core.session)
    except OutOfMemory:
        span = _Span(target)
        span.elements()[...] = values
        span.write_back()
    else:
        _core.device_copy(target._core.session, there._core, target._core)


def span_of(array: DeviceArray) -> DeviceArray:
    """Returns a view of the memory from the array's first element to its last, including everything in between."""
    core = array._core
    ends = [(n - 1) * step if array.size else 0 for n, step in zip(core.shape, core.strides)]
    low, high = (core.first + sum(beyond(0, end) for end in ends) for beyond in (min, max))
    return view(array, (high - low + 1,) if array.size else (0,), (1,), low)


class _Span:
    """Returns a copy of an array's span_of() on the host."""

    def __init__(self, array: DeviceArray) -> None:
        self._array, self._memory = array, span_of(array)
        self._host, self._first = self._memory.to_numpy(), array._core.first - self._memory._core.first

    def elements(self) -> np.ndarray:
        """Returns the array as a view of the copy."""
        return np.lib.stride_tricks.as_strided(self._host[self._first :], self._array.shape, self._array.strides)

    def write_back(self) -> None:
        self._memory._core.from_host(self._host.view(np.uint8))


def copy(to: DeviceArray, array: Any) -> DeviceArray:
    """Copies all elements of `array` into `to`, which has the same shape and type, and returns `to`. The source is on
    the host or on any GPU. Copies between GPUs are direct with peer access, else through the host."""
    if not isinstance(to, DeviceArray):
        raise OptionError(f"copy: to is a {type(to).__name__}: give a DeviceArray, as gpu.copy(to, array)")
    array = array if isinstance(array, DeviceArray) else on_host(array)
    if array.dtype.newbyteorder("=") != to.dtype or tuple(array.shape) != to.shape:
        raise OptionError(
            f"a copy of {array.dtype} {tuple(array.shape)} to {to.dtype} {to.shape}: give the same type and shape"
        )
    if isinstance(array, np.ndarray):
        write(to, array)
        return to
    if array._core.session is to._core.session:
        copy_to(to, array, to._core.session)
    else:
        there = to if to._core.contiguous else empty_there(to._core.session, to.shape, to.dtype)
        there._core.copy_from(contiguous(array, handle=array._core.session)._core)
        if there is not to:
            copy_to(to, there, to._core.session)
    return to


def copied(array: DeviceArray, dtype: DTypeLike | None = None, handle: Any = None) -> DeviceArray:
    """Returns a new array in C order, of `dtype`, on the GPU of `handle`; by default on that of handle_for()."""
    handle = handle or handle_for(array)
    new = empty_there(handle, array.shape, dtype or array.dtype, unified_with(array))
    _core.device_copy(handle, array._core, new._core)
    return new


def contiguous(array: DeviceArray, dtype: DTypeLike | None = None, handle: Any = None) -> DeviceArray:
    """Returns the array in C order and of `dtype`: the array itself, or a copy by copied()."""
    same = dtype is None or array.dtype == dtype  # not `in`: NumPy treats None as float64
    return array if same and array._core.contiguous else copied(array, dtype, handle)


def broadcast(array: DeviceArray, shape: Any) -> DeviceArray:
    """Returns a view of another shape, as numpy.broadcast_to."""
    shape, missing = tuple(shape), len(shape) - array.ndim
    if array.shape == shape:
        return array
    if missing < 0 or any(n not in (1, m) for n, m in zip(array.shape, shape[missing:])):
        raise OptionError(f"an array of the shape {array.shape} cannot be broadcast to {shape}")
    steps = [0 if n == 1 else step for n, step in zip(array.shape, array._core.strides)]
    return view(array, shape, [0] * missing + steps)


def reshaped(array: DeviceArray, shape: Any, copy: bool | None = None) -> DeviceArray:
    """As numpy.reshape, in C order: a view of an array in C order, else a copy. One extent may be -1."""
    shape = (operator.index(shape),) if hasattr(shape, "__index__") else tuple(map(operator.index, shape))
    if shape.count(-1) == 1:
        rest = -math.prod(shape)
        shape = tuple((array.size // rest if rest else 0) if n == -1 else n for n in shape)
    if math.prod(shape) != array.size or any(n < 0 for n in shape):
        raise OptionError(
            f"an array of the shape {array.shape} has {array.size} elements, which do not make the shape {shape}"
        )
    if copy is False and not array._core.contiguous:
        raise OptionError(
            f"copy=False: an array with the strides {array.strides} must be copied to get the shape {shape}"
        )
    array = copied(array) if copy else contiguous(array)
    steps = [math.prod(shape[k + 1 :]) for k in range(len(shape))]
    return view(array, shape, steps)
