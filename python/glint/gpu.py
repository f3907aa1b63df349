"""GPUs that others use too: what there is, what is wrong, who has what, and a share of it for oneself.

    >>> glint.gpu.is_available() == any(device.usable for device in glint.gpu.devices())
    True
    >>> with glint.gpu.lease_or_none(bytes="2GiB", timeout=0) as lease:
    ...     device = "cpu" if lease is None else f"cuda:{lease.devices[0].ordinal}"

Nothing here puts anything on a GPU but `lease()` with what is then done on it, `to_device()`, and `diagnose(test=True)`.
"""
# SPDX-License-Identifier: MIT
from __future__ import annotations

import contextlib
import dataclasses
import json
import math
from collections.abc import Callable, Iterator

from . import _core, errors
from .errors import DeviceLost, GpuError, LeaseTimeout, LibraryMissing, NoGpu, OptionError, OutOfMemory
from .offload import out_of_memory, sessions
from .offload.device_arrays import DeviceArray, to_device, to_host

__all__ = ["ContextMemory", "Device", "DeviceArray", "DeviceLost", "Diagnosis", "Explanation", "Finding", "GpuError", "Lease",
           "LeaseTimeout", "Leases", "LibraryMissing", "NoGpu", "OutOfMemory", "clean_up", "devices", "diagnose",
           "explain_error", "installation_guide", "is_available", "lease", "lease_or_none", "leases", "memory", "stats",
           "to_device", "to_host", "why_none"]


def _copied(cls, core, **more):
    """A dataclass with the values of a C++ struct."""
    return cls(**{f.name: getattr(core, f.name) for f in dataclasses.fields(cls) if f.name not in more}, **more)


# ---- What there is


@dataclasses.dataclass(frozen=True)
class Device:
    """One GPU, or one MIG instance."""

    ordinal: int  #: CUDA's number in this process, PyTorch's and CuPy's too; -1: not visible to it
    name: str
    uuid: str  #: "GPU-..." or "MIG-..."
    pci_bus: str
    mig: bool
    total_bytes: int
    free_bytes: int  #: 0 without NVML, which alone knows it
    utilization_percent: int  #: -1: not known
    compute_capability: str  #: "9.0"
    pcie_generation: int  #: of the link now; 0: not known
    pcie_width: int
    compute_mode: str  #: "default", "exclusive-process", "prohibited"
    processes: tuple[tuple[int, int], ...]  #: (pid, bytes) of those that NVML shows
    why_not: str  #: empty: it can be used

    @property
    def usable(self) -> bool:
        return not self.why_not


def _device(core):
    return _copied(Device, core, compute_capability=f"{core.capability_major}.{core.capability_minor}",
                   processes=tuple((p.pid, p.used_bytes) for p in core.processes))


def devices() -> list[Device]:
    """All GPUs that can be seen, also those that cannot be used. Looks anew at every call; never raises for lack of one."""
    return [_device(device) for device in _core.inventory().devices]


def is_available() -> bool:
    """Whether this process can use a GPU; `why_none()` says why not."""
    return not _core.inventory().why_none


def why_none() -> str:
    """Why no GPU can be used, with the remedy; empty when one can."""
    return _core.inventory().why_none


# ---- What is wrong


@dataclasses.dataclass(frozen=True)
class Finding:
    """What one check found."""

    health: str  #: "ok", "warning", "problem"
    check: str  #: "driver", "ecc"
    gpu: str  #: the UUID; empty: of the whole machine
    found: str
    remedy: str  #: empty where there is nothing to do


class Diagnosis:
    """What `diagnose()` found; `print()` shows it, `ok` sums it up.

    health: the worst of all, "ok", "warning" or "problem". overall: "ok, 1 warning". findings: in the order of the checks.
    """

    def __init__(self, core):
        self._core = core
        self.findings = [_copied(Finding, finding) for finding in core]
        self.health: str = _core.worst(core)
        self.overall: str = _core.overall(core)

    @property
    def ok(self) -> bool:
        """Nothing worse than warnings."""
        return self.health != "problem"

    def text(self, verbose: bool = False) -> str:
        """A line or two for each finding; `verbose`: also for each GPU with which all is well."""
        return f"{_core.report_text(self._core, verbose)}overall: {self.overall}"

    __str__ = text

    def to_json(self) -> str:
        return json.dumps({"health": self.health, "overall": self.overall,
                           "findings": [dataclasses.asdict(finding) for finding in self.findings]}, indent=2)

    def __repr__(self):
        return f"<Diagnosis: {self.overall}>"


def diagnose(*, test: bool = False, calibrate: bool = False) -> Diagnosis:
    """Looks for what is wrong with this machine's GPUs and their sharing, with a remedy each, as `glint doctor`.

    test: also use each GPU for a moment, and compute on every backend and compare. calibrate: also measure CPU, GPU and the
    link between, for decisions to come. Both take seconds.

    >>> report = glint.gpu.diagnose()
    >>> report.findings[0].check
    'driver'
    """
    return Diagnosis(_core.examine(test, calibrate))


def installation_guide() -> str:
    """What is missing on this machine for glint to use all of it, and the commands that install it."""
    return _core.installation_guide()


@dataclasses.dataclass(frozen=True)
class Explanation:
    """An error in words; unpacks as (message, suggestion)."""

    message: str  #: what happened
    suggestion: str  #: what to do; never empty

    def __iter__(self):
        return iter((self.message, self.suggestion))


def explain_error(error: BaseException | int) -> Explanation:
    """What an exception means, and what to do: of glint, PyTorch, CuPy or any other; or a result of CUDA's.

    >>> message, suggestion = glint.gpu.explain_error(MemoryError())
    >>> message
    'memory ran out'
    >>> glint.gpu.explain_error(700).message     # doctest: +ELLIPSIS
    '...700)'
    """
    if isinstance(error, int):
        return Explanation(*_core.explain_cuda_code(error))
    code = next((value for name in ("status", "error_code") if isinstance(value := getattr(error, name, None), int)), 0)
    if code and not isinstance(error, errors.Error) and not out_of_memory.is_out_of_memory(error):
        return Explanation(f"{error}", _core.explain_cuda_code(code)[1])
    asked = getattr(error, "asked_bytes", 0) or getattr(error, "required_bytes", 0) or getattr(error, "_size", 0)
    free = getattr(error, "free_bytes", 0) or getattr(error, "available_bytes", 0)
    return Explanation(*_core.explain_error(_kind_of(error), str(error), getattr(error, "code", 0), asked, free,
                                            getattr(error, "beyond_limit", False)))


def _kind_of(error):
    if not isinstance(error, errors.Error) and out_of_memory.is_out_of_memory(error):
        return "OutOfMemory"
    return type(error).__name__


# ---- Leases


class Lease:
    """The right to use `bytes` and one context on each of `devices`; others that ask through glint keep off it.

    Use it in a `with` statement, or call `give_back()`. Nothing enforces the amount. What lives on the GPUs should be gone
    before the lease is: `del` the tensors, empty the caches. PyTorch and CuPy keep their context, some 0.5 GiB, until the
    process ends.
    """

    def __init__(self, core):
        self._core = core

    def __enter__(self) -> Lease:
        return self

    def __exit__(self, *_):
        self.give_back()

    def __repr__(self):
        if not self.held:
            return "<Lease: given back>"
        names = ", ".join(f"{d.name} ({d.uuid})" for d in self.devices)
        return f"<Lease: {self.bytes / 2**30:.3g} GiB on {names}>"

    @property
    def held(self) -> bool:
        return self._core.held

    @property
    def devices(self) -> list:
        """Of each GPU: `ordinal` (as in torch.device(f"cuda:{ordinal}")), `uuid`, `name`, `context_bytes`."""
        return self._core.devices

    @property
    def bytes(self) -> int:
        """On each GPU, beyond the context."""
        return self._core.bytes

    @property
    def waited_s(self) -> float:
        return self._core.waited_s

    @property
    def visible(self) -> bool:
        """Whether others see it; False without a directory for leases."""
        return self._core.visible

    @property
    def others_wait(self) -> bool:
        """Whether somebody waits who could use one of these GPUs: a good time to empty caches, and to `shrink()`."""
        return self._core.others_wait

    @contextlib.contextmanager
    def turn_to_create(self, device: int = 0) -> Iterator[None]:
        """Keeps others from creating a context on the GPU meanwhile: for the first call of PyTorch or CuPy there, of which it
        then tells others."""
        turn = self._core.turn_to_create(device)
        try:
            yield
            self.publish_held(0, device)
        finally:
            turn.end()

    def publish_held(self, bytes: int, device: int = 0):
        """Tells others how much of the lease is already taken beyond the context, which must be there: they then do not count
        it twice. After allocating and before freeing, as in lease.publish_held(torch.cuda.memory_reserved())."""
        self._core.publish_held(bytes, device)

    def shrink(self, bytes: int | str):
        """Makes it smaller, for good: `bytes` beyond the context on each GPU."""
        self._core.shrink(sessions.bytes_of("bytes", bytes))

    def give_back(self):
        self._core.give_back()


def lease(bytes: int | str = 1 << 30, *, gpus: int = 1, timeout: float = math.inf, avoid: tuple[str, ...] = (),
          on_wait: Callable[[float, int, int], object] | None = None,
          log: Callable[[str], object] | None = None) -> Lease:
    """Waits in the queue of all who share the machine's GPUs, and takes those with the most room.

    bytes: on each GPU, beyond the context: 2**32, "4GiB".
    gpus: different ones, all at once.
    timeout: seconds; 0: now or not at all.
    avoid: UUIDs of GPUs that will not do.
    on_wait: called about twice a second, as on_wait(elapsed_s, available_bytes, required_bytes); log: with a sentence on why it
        waits. Both from the calling thread; what they raise ends the wait, as Ctrl-C does.

    Raises NoGpu; OutOfMemory for more than a GPU has; LeaseTimeout, which is a TimeoutError; OptionError. Under `glint lease` it
    is part of that one.

    >>> def train():
    ...     with glint.gpu.lease("8GiB", timeout=60) as lease:
    ...         device = torch.device(f"cuda:{lease.devices[0].ordinal}")
    """
    if not timeout >= 0:
        raise OptionError(f"timeout={timeout}: give seconds, 0 or more, or math.inf")
    if not 1 <= gpus:
        raise OptionError(f"gpus={gpus}: give 1 or more")
    return Lease(_core.acquire(sessions.bytes_of("bytes", bytes), gpus, timeout, list(avoid), on_wait, log))


@contextlib.contextmanager
def lease_or_none(bytes: int | str = 1 << 30, **options) -> Iterator[Lease | None]:
    """As `lease()`, for a `with` statement; None where there is no GPU, or none in time."""
    try:
        held = lease(bytes, **options)
    except (NoGpu, LeaseTimeout):
        yield None
        return
    with held:
        yield held


@dataclasses.dataclass(frozen=True)
class LeaseHolder:
    uid: int
    pid: int  #: as the holder knows it: in a container it is another
    reserved_bytes: int
    held_bytes: int
    contexts: int  #: processes with a context; 0: it has not begun
    since_s: float
    stopped: bool


@dataclasses.dataclass(frozen=True)
class LeaseGpu:
    uuid: str
    name: str
    total_bytes: int
    free_bytes: int
    available_bytes: int  #: free once all holders have what they reserved
    utilization_percent: int
    processes: int
    strangers: int  #: processes beyond those of holders
    stranger_processes: tuple[tuple[int, int], ...]  #: (pid, bytes)
    holders: tuple[LeaseHolder, ...]


@dataclasses.dataclass(frozen=True)
class LeaseWaiter:
    uid: int
    pid: int
    bytes: int
    gpus: int
    candidates: tuple[str, ...]  #: UUIDs of GPUs that it can use
    since_s: float
    passes: int  #: who came later and began earlier
    awake: bool  #: False: no sign of life, it is passed over


@dataclasses.dataclass(frozen=True)
class Leases:
    """Who has and wants what on this machine."""

    directory: str
    why_no_directory: str
    why_no_gpu: str
    gpus: tuple[LeaseGpu, ...]
    waiters: tuple[LeaseWaiter, ...]  #: in order


def leases() -> Leases:
    """Who holds and who waits now, as `glint top`. Takes part in nothing."""
    seen = _core.snapshot_leases()
    gpus = tuple(_copied(LeaseGpu, gpu, stranger_processes=tuple((p.pid, p.used_bytes) for p in gpu.stranger_processes),
                         holders=tuple(_copied(LeaseHolder, holder) for holder in gpu.holders)) for gpu in seen.gpus)
    waiters = tuple(_copied(LeaseWaiter, waiter, candidates=tuple(waiter.candidates)) for waiter in seen.waiters)
    return _copied(Leases, seen, gpus=gpus, waiters=waiters)


# ---- What this process has


@dataclasses.dataclass(frozen=True)
class ContextMemory:
    """Memory of one context of glint's in this process; bytes are those of the GPU unless they say otherwise."""

    ordinal: int
    name: str
    live_bytes: int  #: in arrays and work areas
    peak_bytes: int
    reserved_bytes: int  #: taken from the GPU by the pool
    limit_bytes: int  #: hard limit of the pool
    pinned_bytes: int  #: of host memory
    allocations: int
    event_waits: int  #: uses that had to be ordered behind another stream
    host_blocks: int  #: times the host waited for the GPU
    early_reclaims: int  #: by pressure
    retries: int  #: of failed allocations
    trims: int  #: of the pool


def memory() -> list[ContextMemory]:
    """Of each context that glint has open in this process: of sessions, and of fits while they run. PyTorch's and CuPy's are
    theirs to tell."""
    return [ContextMemory(**of) for of in _core.memory()]


def stats() -> dict:
    """All in numbers: memory of this process's contexts, and what ran where in the default session. For JSON."""
    return {"memory": [dataclasses.asdict(of) for of in memory()], "operations": sessions.statistics()}


def clean_up():
    """Gives back what glint's contexts hold unused, and what the default session's GPU does."""
    sessions.clean_up()
    _core.trim_all()
