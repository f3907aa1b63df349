"""Sessions: a program's use of CPU and GPU for operations that can run on either."""
# SPDX-License-Identifier: MIT
from __future__ import annotations

import atexit
import json
import os
import threading
import weakref
from collections.abc import Callable

from .. import _core
from ..errors import OptionError


_all = weakref.WeakSet()
_process = os.getpid()


@atexit.register
def _close_all():
    """No context is left to the end of the process, when its order is left to chance."""
    for session in list(_all) if os.getpid() == _process else []:  # a forked child has none
        if hasattr(session, "_core"):
            session._core.close_gpu()


class Session:
    """Decides, runs, measures, and holds a share of a GPU from its first use until `close()`.

    choice: "auto" does what the variable GLINT_BACKEND says, else what is done sooner; "cpu"; "gpu".
    gpu_memory: bytes to lease beyond the context: 2**30, "4GiB"; None: what the first operation needs four times, 1 GiB at
        least.
    gpu_timeout: seconds to wait for a lease; "auto" waits no longer than it pays.
    least_bytes: operations on less stay on the CPU; 0: what was measured says.
    oom_safe: what the GPU has no memory for is done on the CPU.
    threads: of the CPU; None: GLINT_THREADS, or all that may be used.
    log: called with a sentence on what did not go as it should.

    Threads may share one; their operations come one after the other. Use it in a `with` statement, or call `close()`.

    >>> with glint.offload.Session(choice="cpu") as session:
    ...     glint.offload.sum([1.0, 2.0], session=session)
    3.0
    """

    def __init__(self, choice: str = "auto", *, gpu_memory: int | str | None = None, gpu_timeout: float = 0.0,
                 least_bytes: int = 0, oom_safe: bool = True, threads: int | None = None,
                 log: Callable[[str], object] | None = None):
        if not gpu_timeout >= 0:
            raise OptionError(f"gpu_timeout={gpu_timeout}: give seconds, 0 or more, or math.inf")
        if threads is not None and threads < 1:
            raise OptionError(f"threads={threads}: give 1 or more, or None")
        _all.add(self)
        self._core = _core.Session(choice, bytes_of("gpu_memory", gpu_memory), gpu_timeout, least_bytes, oom_safe,
                                   threads or 0, log)

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_):
        self.close()

    def __repr__(self):
        return f"<Session: choice {self.choice!r}, GPU {'open' if self.gpu_open else 'not open'}, {self.threads} threads>"

    @property
    def choice(self) -> str:
        """"auto", "cpu" or "gpu"; can be set, from the next operation on."""
        return self._core.choice

    @choice.setter
    def choice(self, choice: str):
        self._core.choice = choice

    @property
    def gpu_open(self) -> bool:
        """Whether it holds a GPU now."""
        return self._core.gpu_open

    @property
    def threads(self) -> int:
        """Of the CPU."""
        return self._core.threads

    @property
    def oom_safe(self) -> bool:
        """Whether the CPU does what the GPU has no memory for; can be set."""
        return self._core.oom_safe

    @oom_safe.setter
    def oom_safe(self, on: bool):
        self._core.oom_safe = on

    def open(self) -> int:
        """Opens the GPU now; returns its number in this process. Raises NoGpu, LeaseTimeout or another GpuError."""
        return self._core.open_gpu()

    def close(self):
        """Gives the GPU back, and keeps what was learned. Its DeviceArrays are gone with it, but for those that other
        libraries still use: their memory stays, outside the lease, until these let go."""
        self._core.close_gpu()

    def synchronize(self):
        """Waits until all that the GPU was given is done."""
        self._core.synchronize()

    def clean_up(self):
        """Gives back what the GPU holds unused: plans, work areas, the pool's spare memory."""
        self._core.clean_up()

    def save(self) -> bool:
        """Keeps what was learned for programs to come, as close() does; False: it could not be written."""
        return self._core.save()

    def statistics(self) -> dict:
        """What ran where, for how long, what crossed the link, whether that was right, and what failed on the GPU."""
        return json.loads(self._core.statistics_json())

    def reset_statistics(self):
        self._core.reset_statistics()


def bytes_of(name, value):
    """Bytes of 2**30 or "1GiB"; 0 for None."""
    if value is None:
        return 0
    if isinstance(value, str):
        if "%" in value:
            raise OptionError(f"{name}={value!r}: which GPU it will be is not known yet; give bytes, as in '8GiB'")
        return _core.parse_bytes(value, 0, name)
    if not value > 0:
        raise OptionError(f"{name}={value}: give bytes, as in 2**30 or '1GiB'")
    return int(value)


_lock = threading.Lock()
_default: Session | None = None


def default_session() -> Session:
    """The session of operations that are given none; made at the first call."""
    global _default
    with _lock:
        if _default is None:
            _default = Session()
        return _default


def session_or_default(session: Session | None) -> Session:
    return default_session() if session is None else session


def close():
    """Gives the default session's GPU back; the next operation may lease one again."""
    if _default is not None:
        _default.close()


def clean_up():
    """Gives back what the default session's GPU holds unused."""
    if _default is not None:
        _default.clean_up()


def statistics(session: Session | None = None) -> dict:
    """What ran where: `Session.statistics()`, of the default session.

    >>> sorted(glint.offload.statistics())
    ['fallbacks', 'last_fallbacks', 'operations']
    """
    return session_or_default(session).statistics()


def reset_statistics(session: Session | None = None):
    """Begins the counts anew; what was learned stays."""
    session_or_default(session).reset_statistics()
