"""Sessions: a program's use of CPU and GPU for operations that can run on either."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import atexit
import contextlib
import contextvars
import json
import math
import numbers
import operator
import os
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any

from .. import _core
from ..arguments import backend as backend_of, callback, seconds, shown, switch, threads_of, whole
from ..errors import GpuError, NoGpu, OptionError, warn
from ..old_names import renamed


_all: weakref.WeakSet[Session] = weakref.WeakSet()
_process = os.getpid()


@atexit.register
def _close_all():
    """Closes all contexts before the end of the process, when the order of destruction is undefined."""
    for session in list(_all) if os.getpid() == _process else []:  # not in a forked child
        if hasattr(session, "_core"):
            session._core.close_gpu()


@renamed
class Session:
    """Chooses CPU or GPU for each operation, runs the operation and measures it.

    The session leases a GPU at its first use and keeps it until `close()`. It releases the GPU earlier if another
    program waits for it while no operation runs and no array is on it.

    backend:
        - "auto": the value of the variable GLINT_BACKEND, else the backend expected to finish first
        - "cpu"
        - "gpu", also called "cuda": a GPU; raises NoGpu if none can be used
        - "prefer-gpu": a GPU if one can be used, else the CPU
    gpu_memory: bytes to lease beyond the context: 2**30, "4GiB"; None: four times the need of the first operation, at
        least 1 GiB.
    gpu_timeout: maximum wait for a lease in seconds; default: no limit. "auto" waits only while the wait saves time;
        "prefer-gpu" waits at most 300 s. Ctrl-C ends the wait.
    min_bytes: operations whose operands have fewer bytes in total run on the CPU: 2**20, "1MB". Operations without
        operands count by their result. Ignored if an operand is on the GPU or backend is "gpu". 0: measured speeds
        decide.
    device: CUDA number of the GPU to use; None: the GPU with the fewest leases.
    unified: create arrays and results on the GPU in unified memory, which the host reads and writes without a copy
        (`DeviceArray.host_view()`). Slower on the GPU. Can be changed later, for new arrays. None: the setting of
        `gpu.set_unified()` or GLINT_GPU_UNIFIED.
    oom_safe: use the CPU if the GPU runs out of memory. A RuntimeWarning reports each reason for such a fallback once.
        "auto" and "prefer-gpu" also fall back after any other GPU failure, and after gpu_timeout.
    threads: number of CPU threads; None: GLINT_THREADS, or all available threads.
    log: called with a sentence for each failure and fallback.
    on_wait: called about twice a second while the session waits for a GPU, in the waiting thread, as
        on_wait(elapsed_s, available_bytes, required_bytes). An exception in it ends the wait.

    Several threads may share a session. Their operations run one after another; user-defined functions run
    concurrently. Use the session in a `with` statement, or call `close()`.

    >>> with glint.offload.Session(backend="cpu") as session:
    ...     glint.offload.sum([1.0, 2.0], session=session)
    3.0
    """

    def __init__(
        self,
        backend: str = "auto",
        *,
        gpu_memory: int | str | None = None,
        gpu_timeout: float = math.inf,
        min_bytes: int | str = 0,
        oom_safe: bool = True,
        threads: int | None = None,
        device: int | None = None,
        unified: bool | None = None,
        log: Callable[[str], object] | None = None,
        on_wait: Callable[[float, int, int], object] | None = None,
    ) -> None:
        backend, gpu_timeout = backend_of("backend", backend), seconds("gpu_timeout", gpu_timeout)
        threads, oom_safe, unified = (
            threads_of(threads),
            switch("oom_safe", oom_safe),
            None if unified is None else switch("unified", unified),
        )
        if device is not None and not (
            hasattr(device, "__index__") and not isinstance(device, bool) and 0 <= operator.index(device) < 2**31
        ):
            raise OptionError(f"device={device!r}: give the number of a GPU, 0 or more, or None for any")
        min_operand_bytes = bytes_of("min_bytes", None if min_bytes == 0 else min_bytes)
        _all.add(self)
        self._core = _core.Session(
            backend,
            bytes_of("gpu_memory", gpu_memory),
            gpu_timeout,
            min_operand_bytes,
            oom_safe,
            threads,
            -1 if device is None else device,
            unified,
            None if callback("log", log) is None else _call_of(self, "_log"),
            None if callback("on_wait", on_wait) is None else _call_of(self, "_on_wait"),
        )
        self._log, self._on_wait = log, on_wait

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return (
            f"<Session: backend {self.backend!r}, GPU {'open' if self.gpu_open else 'not open'}, "
            f"{self.threads} threads>"
        )

    @property
    def backend(self) -> str:
        """The backend: "auto", "cpu", "gpu" or "prefer-gpu". Can be set; takes effect with the next operation."""
        return self._core.choice

    @backend.setter
    def backend(self, backend: str) -> None:
        self._core.choice = backend_of("backend", backend)

    @property
    def gpu_open(self) -> bool:
        """Whether the session has a GPU open."""
        return self._core.gpu_open

    @property
    def threads(self) -> int:
        """The number of CPU threads."""
        return self._core.threads

    @property
    def oom_safe(self) -> bool:
        """Whether the CPU is used when the GPU runs out of memory; can be set."""
        return self._core.oom_safe

    @oom_safe.setter
    def oom_safe(self, on: bool) -> None:
        self._core.oom_safe = switch("oom_safe", on)

    @property
    def device(self) -> int | None:
        """The number of the GPU to use; None: any."""
        return None if (device := self._core.device) < 0 else device

    @property
    def unified(self) -> bool:
        """Whether arrays are created in unified memory; can be set."""
        return self._core.unified

    @unified.setter
    def unified(self, on: bool) -> None:
        self._core.unified = switch("unified", on)

    @property
    def xp(self) -> Any:
        """The array namespace of the session, with `linalg`, `fft` and `random`: the functions of `glint.arrays`, which
        create arrays on the session's GPU. Opens the GPU. With the backend "cpu", or with "auto" if no GPU can be
        opened, the functions are NumPy's.

        >>> with glint.offload.Session("cpu") as session:
        ...     xp = session.xp
        ...     float(xp.sum(xp.ones(3)))
        3.0
        """
        from ..arrays._session_namespace import NumPyNamespace, SessionNamespace

        if self.backend == "cpu":
            return NumPyNamespace(self)
        try:
            self.open()
        except GpuError as error:
            if self.backend == "gpu":
                raise
            if not isinstance(error, NoGpu):
                warn(f"the session's arrays are NumPy's: {error}", RuntimeWarning)
            return NumPyNamespace(self)
        return SessionNamespace(self)

    def open(self) -> int:
        """Opens the GPU now; returns its number in this process. Raises NoGpu, LeaseTimeout or another GpuError."""
        return self._core.open_gpu()

    def close(self) -> None:
        """Releases the GPU and saves measured speeds. Its DeviceArrays become invalid, except those that other
        libraries still use: their memory remains, outside the lease, until these release it."""
        self._core.close_gpu()

    def synchronize(self) -> None:
        """Waits until all work on the GPU is complete."""
        self._core.synchronize()

    def clean_up(self) -> None:
        """Releases unused memory on the GPU: plans, work areas, the pool's spare memory."""
        self._core.clean_up()

    def save(self) -> bool:
        """Saves measured speeds for later programs, as close() does; False if they could not be written."""
        return self._core.save()

    def statistics(self) -> dict[str, Any]:
        """Returns statistics as a dictionary. "operations": calls per backend with times, bytes over the link, and
        quality of the decisions. "failures": failed attempts on the GPU. "fallbacks": operations that ran on the CPU
        because they failed on the GPU; the last ones are in "last_fallbacks". "total": sums over all operations, with
        copies of arrays to and from the GPU."""
        return json.loads(self._core.statistics_json())

    def reset_statistics(self) -> None:
        self._core.reset_statistics()


def _call_of(session, name):
    """Returns a callback for C++ that calls a method of the session. It holds only a weak reference to the session:
    Python's garbage collector cannot see references held by C++."""
    of = weakref.ref(session)

    def call(*arguments):
        if (alive := of()) is not None:
            getattr(alive, name)(*arguments)

    return call


class Restore:
    """Restores a setting at the end of a `with` statement."""

    def __init__(self, restore: Callable[[], object]) -> None:
        self._restore = restore

    def __enter__(self) -> Restore:
        return self

    def __exit__(self, *_: object) -> None:
        self._restore()


def bytes_of(name: str, value: int | str | None) -> int:
    """Returns the number of bytes of 2**30 or "1GiB"; 0 for None."""
    if value is None:
        return 0
    if isinstance(value, str):
        if "%" in value:
            raise OptionError(f"{name}={value!r}: which GPU it will be is not known yet; give bytes, as in '8GiB'")
        return _core.parse_bytes(value, 0, name)
    if isinstance(value, bool) or not isinstance(value, numbers.Real) or not 0 < value < 2**64:
        raise OptionError(f"{name}={shown(value)}: give bytes, more than 0, as in 2**30 or '1GiB'")
    return int(value)


_lock = threading.Lock()
_default: Session | None = None
_of_device: dict[int, Session] = {}
_of_task: contextvars.ContextVar[tuple[Session, ...]] = contextvars.ContextVar(
    "glint_sessions", default=()
)  #: sessions of the enclosing `with` blocks, the innermost last


class on_device(contextlib.ContextDecorator):
    """Runs operations without `session=` on this GPU, or on the CPU if that is faster, within a `with` block.

    Applies to this thread and this task of asyncio. Each GPU has one such session in the process, so arrays from an
    earlier block remain valid. The same object may be used for several blocks, also nested, and as a decorator of
    functions.

    device: CUDA number of the GPU. Raises OptionError if it is negative.

    >>> with glint.offload.on_device(0) as session:
    ...     session is glint.offload.default_session(), session.device
    (True, 0)
    """

    def __init__(self, device: int) -> None:
        self.device = whole("device", device, 0)

    def __enter__(self) -> Session:
        with _lock:
            if self.device not in _of_device:
                _of_device[self.device] = Session(device=self.device)
            session = _of_device[self.device]
        _of_task.set((*_of_task.get(), session))
        return session

    def __exit__(self, *_: object) -> None:
        _of_task.set(_of_task.get()[:-1])

    def __repr__(self) -> str:
        return f"on_device({self.device})"


def default_session() -> Session:
    """Returns the session of operations without `session=`: within `on_device()`, the session of that GPU; else one
    that the whole process shares, created at the first call."""
    global _default
    if of_task := _of_task.get():
        return of_task[-1]
    with _lock:
        if _default is None:
            _default = Session()
        return _default


_on_cpu: Session | None = None


@contextlib.contextmanager
def operations_on_cpu() -> Iterator[None]:
    """Runs operations without `session=` on the CPU within the `with` block, in this thread or task."""
    global _on_cpu
    with _lock:
        _on_cpu = _on_cpu or Session("cpu")
    _of_task.set((*_of_task.get(), _on_cpu))
    try:
        yield
    finally:
        _of_task.set(_of_task.get()[:-1])


def active_session() -> Session | None:
    """Returns the session of the innermost `on_device()` of this thread or task; None outside such a block."""
    of_task = _of_task.get()
    return of_task[-1] if of_task else None


def session_or_default(session: Session | None) -> Session:
    return default_session() if session is None else session


def close() -> None:
    """Releases the GPUs of the default session and of `on_device()`; the next operation may lease a GPU again."""
    for session in _without_owner():
        session.close()


def _without_owner():
    with _lock:
        return [*([] if _default is None else [_default]), *_of_device.values()]


def clean_up() -> None:
    """Releases unused memory of the GPUs of the default session and of `on_device()`."""
    for session in _without_owner():
        session.clean_up()


def statistics(session: Session | None = None) -> dict[str, Any]:
    """`Session.statistics()` of the default session.

    >>> sorted(glint.offload.statistics())
    ['failures', 'fallbacks', 'last_fallbacks', 'operations', 'total']
    """
    return session_or_default(session).statistics()


def reset_statistics(session: Session | None = None) -> None:
    """Resets the counts; measured speeds are kept."""
    session_or_default(session).reset_statistics()
