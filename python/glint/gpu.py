"""Shared GPUs: inventory, diagnosis, leases, and memory of this process.

    >>> glint.gpu.is_available() == any(device.usable for device in glint.gpu.devices())
    True
    >>> with glint.gpu.lease_or_none(bytes="2GiB", timeout=0) as lease:
    ...     device = "cpu" if lease is None else f"cuda:{lease.devices[0].ordinal}"

Only `to_device()`, `diagnose(test=True)` and work under a `lease()` allocate memory on a GPU.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import contextlib
import dataclasses
import gc
import json
import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from . import _core, errors, foreign_errors
from .arguments import callback, seconds, shown, switch, whole
from .errors import DeviceLost, GpuError, LeaseTimeout, LibraryMissing, NoGpu, OptionError, OutOfMemory
from .offload import out_of_memory, sessions
from .offload.device_arrays import DeviceArray, IpcHandle, copy, export_array, import_array, to_device, to_host
from .offload.kernels import Kernel
from .offload.process_settings import Block, ProcessSetting
from .old_names import renamed
from .offload.scalar_access import scalar_access_enabled, set_scalar_access

__all__ = [
    "ContextMemory",
    "Device",
    "DeviceArray",
    "DeviceLost",
    "Diagnosis",
    "Explanation",
    "Finding",
    "GpuError",
    "IpcHandle",
    "Kernel",
    "Lease",
    "LeaseTimeout",
    "Leases",
    "LibraryMissing",
    "NoGpu",
    "OutOfMemory",
    "clean_up",
    "copy",
    "devices",
    "diagnose",
    "early_reclaim_enabled",
    "explain_error",
    "export_array",
    "import_array",
    "installation_guide",
    "is_available",
    "lease",
    "lease_or_none",
    "leases",
    "memory",
    "scalar_access_enabled",
    "set_early_reclaim",
    "set_scalar_access",
    "set_unified",
    "stats",
    "to_device",
    "to_host",
    "unified_enabled",
    "why_none",
]


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    from . import offload

    where = f": it is glint.offload.{name}" if name in offload.__all__ else f"; it has {', '.join(__all__)}"
    raise AttributeError(f"glint.gpu has no {name}{where}")


def _copied(cls, core, **more):
    """A dataclass with the values of a C++ struct."""
    return cls(**{f.name: getattr(core, f.name) for f in dataclasses.fields(cls) if f.name not in more}, **more)


# ---- Inventory


@dataclasses.dataclass(frozen=True)
class Device:
    """One GPU, or one MIG instance."""

    ordinal: int  #: CUDA's number in this process, also used by PyTorch and CuPy; -1: not visible to it
    name: str
    uuid: str  #: "GPU-..." or "MIG-..."
    pci_bus: str
    mig: bool
    total_bytes: int
    free_bytes: int  #: measured by NVML; 0 without NVML
    utilization_percent: int  #: -1: unknown
    compute_capability: str  #: "9.0"
    pcie_generation: int  #: current state of the link; 0: unknown
    pcie_width: int
    compute_mode: str  #: "default", "exclusive-process", "prohibited"
    processes: tuple[tuple[int, int], ...]  #: (pid, bytes) of the processes that NVML shows
    why_not: str  #: why the GPU cannot be used; empty: usable

    @property
    def usable(self) -> bool:
        return not self.why_not

    @property
    def device_name(self) -> str:
        """`name`, as epochly.gpu calls it."""
        return self.name

    @property
    def memory_total(self) -> int:
        """`total_bytes`, as epochly.gpu calls it."""
        return self.total_bytes


def _device(core):
    return _copied(
        Device,
        core,
        compute_capability=f"{core.capability_major}.{core.capability_minor}",
        processes=tuple((p.pid, p.used_bytes) for p in core.processes),
    )


def devices() -> list[Device]:
    """Returns all visible GPUs, including unusable ones; an empty list if there is none. Queries the GPUs at every
    call."""
    return [_device(device) for device in _core.inventory().devices]


def is_available() -> bool:
    """Whether this process can use a GPU; `why_none()` returns the reason if not."""
    return not _core.inventory().why_none


def why_none() -> str:
    """Why no GPU can be used, with the remedy; empty if one can."""
    return _core.inventory().why_none


# ---- Diagnosis


@dataclasses.dataclass(frozen=True)
class Finding:
    """The result of one check."""

    health: str  #: "ok", "warning", "problem"
    check: str  #: "driver", "ecc"
    gpu: str  #: the UUID; empty: the whole machine
    found: str
    remedy: str  #: empty if none is needed


class Diagnosis:
    """The result of `diagnose()`; printable. `ok` is the summary.

    health: the worst finding, "ok", "warning" or "problem". overall: "ok, 1 warning". findings: in the order of the
    checks.
    """

    def __init__(self, core: Any) -> None:
        self._core = core
        self.findings: list[Finding] = [_copied(Finding, finding) for finding in core.findings]
        self.health: str = core.health
        self.overall: str = core.overall

    @property
    def ok(self) -> bool:
        """True if there are no problems; there may be warnings."""
        return self.health != "problem"

    def text(self, verbose: bool = False) -> str:
        """Returns one or two lines per finding; with `verbose`, also for each GPU without findings."""
        return self._core.text(verbose)

    def __str__(self) -> str:
        return self.text()

    def to_json(self) -> str:
        report = json.loads(self._core.to_json())
        for finding in report["findings"]:
            finding.update({key: _core.spelled(value) for key, value in finding.items() if isinstance(value, str)})
        return json.dumps(report, indent=2, ensure_ascii=False)

    def __repr__(self) -> str:
        return f"<Diagnosis: {self.overall}>"


def diagnose(*, test: bool = False, calibrate: bool = False) -> Diagnosis:
    """Diagnoses this machine's GPUs and their sharing, with a remedy for each problem, as `glint doctor`.

    test: also use each GPU briefly, and compare results of all backends. calibrate: also measure the speed of CPU, GPU
    and link, for later decisions. Both take seconds.

    >>> report = glint.gpu.diagnose()
    >>> report.findings[0].check
    'driver'
    """
    return Diagnosis(_core.examine(switch("test", test), switch("calibrate", calibrate)))


def installation_guide() -> str:
    """Returns which software is missing on this machine, and the commands that install it."""
    return _core.installation_guide()


@dataclasses.dataclass(frozen=True)
class Explanation:
    """The explanation of an error; unpacks as (message, suggestion)."""

    message: str  #: what happened
    suggestion: str  #: what to do; never empty

    def __iter__(self) -> Iterator[str]:
        return iter((self.message, self.suggestion))


def explain_error(error: BaseException | int | str) -> Explanation:
    """Explains an exception, its message, or a CUDA error code, and suggests a remedy. Recognises errors of CUDA,
    PyTorch, CuPy, JAX, Numba, TensorFlow, NVML and NVIDIA's containers: missing packages, drivers and libraries, lack
    of memory, CUDA's error codes and texts, and common mistakes with devices. For other exceptions, returns their
    message.

    >>> message, suggestion = glint.gpu.explain_error(MemoryError())
    >>> message
    'memory ran out'
    >>> glint.gpu.explain_error(ModuleNotFoundError("No module named 'cupy'")).suggestion     # doctest: +ELLIPSIS
    'pip install cupy-cuda13x...'
    >>> glint.gpu.explain_error(700).message     # doctest: +ELLIPSIS
    '...700)'
    """
    if isinstance(error, int):
        return Explanation(*_core.explain_cuda_code(error))
    if isinstance(error, str):
        return _of_message(error) or Explanation(*_core.explain_error("str", error, 0, 0, 0, False))
    if type(error).__module__.partition(".")[0] == "pynvml" and isinstance(value := getattr(error, "value", None), int):
        return _of_message(f"{error}") or Explanation(f"{error}", _core.explain_nvml_code(value)[1])
    code = next((value for name in ("status", "error_code") if isinstance(value := getattr(error, name, None), int)), 0)
    if code and not isinstance(error, errors.Error) and not out_of_memory.is_out_of_memory(error):
        return Explanation(f"{error}", _core.explain_cuda_code(code)[1])
    if not isinstance(error, errors.Error):
        of_a_file = isinstance(error, OSError) and error.errno  # its name is the user's
        if not of_a_file and not out_of_memory.is_out_of_memory(error) and (explanation := _of_message(str(error))):
            return explanation
    asked = getattr(error, "asked_bytes", 0) or getattr(error, "required_bytes", 0) or getattr(error, "_size", 0)
    free = getattr(error, "free_bytes", 0) or getattr(error, "available_bytes", 0)
    return Explanation(
        *_core.explain_error(
            _kind_of(error), str(error), getattr(error, "code", 0), asked, free, getattr(error, "beyond_limit", False)
        )
    )


def _of_message(text: str) -> Explanation | None:
    """Returns the explanation of a message from PyTorch, CuPy or an NVIDIA library; None: unknown."""
    # PyTorch adds advice for its own developers; CuPy begins with a line of dashes.
    first = next((line.strip() for line in text.splitlines() if line.strip(" =-")), text)
    if advice := foreign_errors.remedy(text):
        return Explanation(first, advice)
    code = foreign_errors.cuda_code(text)
    return Explanation(first, _core.explain_cuda_code(code)[1]) if code else None


def _kind_of(error):
    if not isinstance(error, errors.Error) and out_of_memory.is_out_of_memory(error):
        return "OutOfMemory"
    return type(error).__name__


# ---- Leases


class Lease:
    """The right to use `bytes` and one context on each of `devices`. Other processes that use glint leave this memory
    free.

    Use the lease in a `with` statement, or call `give_back()`. The amount is not enforced. Free all memory on the GPUs
    before the lease ends: `del` the tensors, empty the caches. PyTorch and CuPy keep their context, about 0.5 GiB,
    until the process ends.
    """

    def __init__(self, core: Any) -> None:
        self._core = core

    def __enter__(self) -> Lease:
        return self

    def __exit__(self, *_: object) -> None:
        self.give_back()

    def __repr__(self) -> str:
        if not self.held:
            return "<Lease: given back>"
        names = ", ".join(f"{d.name} ({d.uuid})" for d in self.devices)
        return f"<Lease: {self.bytes / 2**30:.3g} GiB on {names}>"

    @property
    def held(self) -> bool:
        return self._core.held

    @property
    def devices(self) -> list[Any]:
        """The GPUs, each with `ordinal` (as in torch.device(f"cuda:{ordinal}")), `uuid`, `name`, `context_bytes`."""
        return self._core.devices

    @property
    def bytes(self) -> int:
        """Bytes on each GPU, beyond the context."""
        return self._core.bytes

    @property
    def waited_s(self) -> float:
        return self._core.waited_s

    @property
    def visible(self) -> bool:
        """Whether other processes see the lease; False without a lease directory."""
        return self._core.visible

    @property
    def others_wait(self) -> bool:
        """Whether another process waits for one of these GPUs: a good time to empty caches and to `shrink()`."""
        return self._core.others_wait

    @contextlib.contextmanager
    def turn_to_create(
        self,
        device: int = 0,
        *,
        timeout: float = math.inf,
        on_wait: Callable[[float, int, int], object] | None = None,
        log: Callable[[str], object] | None = None,
    ) -> Iterator[None]:
        """Keeps other processes from creating a context on the GPU at the same time. Use it around the first call of
        PyTorch or CuPy on that GPU. Publishes the new context at the end.

        timeout: seconds to wait for the lock, then LeaseTimeout. If another process does not release the lock, the wait
            ends after 5 to 30 s and the call continues without it. on_wait, log: as in lease().
        """
        turn = self._core.turn_to_create(
            whole("device", device, 0), seconds("timeout", timeout), callback("on_wait", on_wait), callback("log", log)
        )
        try:
            yield
            self.publish_held(0, device)
        finally:
            turn.end()

    def publish_held(self, bytes: int, device: int = 0) -> None:
        """Publishes how many bytes of the lease are allocated beyond the context, so that other processes do not count
        them twice. The context must exist. Call it after allocating and before freeing, e.g.
        lease.publish_held(torch.cuda.memory_reserved())."""
        self._core.publish_held(whole("bytes", bytes, "2**30", 0, 2**64 - 1), whole("device", device, 0))

    def shrink(self, bytes: int | str) -> None:
        """Reduces the lease permanently to `bytes` beyond the context on each GPU."""
        self._core.shrink(sessions.bytes_of("bytes", bytes))

    def give_back(self) -> None:
        """Ends the lease. If another thread is in a call, the lease ends when that call returns."""
        self._core.give_back()


def lease(
    bytes: int | str = 1 << 30,
    *,
    gpus: int = 1,
    timeout: float = math.inf,
    avoid: tuple[str, ...] = (),
    on_wait: Callable[[float, int, int], object] | None = None,
    log: Callable[[str], object] | None = None,
) -> Lease:
    """Waits in the queue for the machine's GPUs, and leases the GPUs with the fewest leases.

    bytes: on each GPU, beyond the context: 2**32, "4GiB".
    gpus: number of different GPUs, leased together.
    timeout: seconds; 0: do not wait.
    avoid: UUIDs of GPUs to exclude.
    on_wait: called about twice a second, as on_wait(elapsed_s, available_bytes, required_bytes). log: called with a
        sentence that explains the wait. Both run in the calling thread. An exception in one of them ends the wait, as
        Ctrl-C does.

    Raises NoGpu, OptionError, LeaseTimeout (a TimeoutError), or OutOfMemory if `bytes` exceeds the memory of a GPU. In
    a program under `glint lease`, returns a part of that lease.

    >>> def train():
    ...     with glint.gpu.lease("8GiB", timeout=60) as lease:
    ...         device = torch.device(f"cuda:{lease.devices[0].ordinal}")
    """
    if isinstance(avoid, str) or not isinstance(avoid, Iterable) or not all(isinstance(uuid, str) for uuid in avoid):
        raise OptionError(f"avoid={shown(avoid)}: give UUIDs of GPUs, as in avoid=('GPU-...',)")
    return Lease(
        _core.acquire(
            sessions.bytes_of("bytes", bytes),
            whole("gpus", gpus, 1, 1),
            seconds("timeout", timeout),
            list(avoid),
            callback("on_wait", on_wait),
            callback("log", log),
        )
    )


@contextlib.contextmanager
def lease_or_none(bytes: int | str = 1 << 30, **options: Any) -> Iterator[Lease | None]:
    """As `lease()`, for a `with` statement. None if there is no GPU, or no GPU became free in time."""
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
    pid: int  #: pid in the holder's own namespace; differs in a container
    reserved_bytes: int
    held_bytes: int
    contexts: int  #: processes with a context under the lease; 0: none yet
    since_s: float
    stopped: bool
    elsewhere: bool  #: in another pid namespace (a container): `pid` is not valid in this namespace
    ended: bool  #: the process has ended, but processes that it started keep the lease
    kept_by: tuple[int, ...]  #: pids of the processes that keep it, as far as this user may see them


@renamed
@dataclasses.dataclass(frozen=True)
class LeaseGpu:
    uuid: str
    name: str
    total_bytes: int
    free_bytes: int
    available_bytes: int  #: free after all reservations are subtracted
    utilization_percent: int
    processes: int
    unmanaged_count: int  #: processes without a lease
    unmanaged_processes: tuple[tuple[int, int], ...]  #: (pid, bytes) of the processes without a lease
    holders: tuple[LeaseHolder, ...]


@dataclasses.dataclass(frozen=True)
class LeaseWaiter:
    uid: int
    pid: int
    bytes: int
    gpus: int
    candidates: tuple[str, ...]  #: UUIDs of suitable GPUs
    since_s: float
    passes: int  #: number of later requests that were served first
    awake: bool  #: False: the process does not respond, and is skipped


@dataclasses.dataclass(frozen=True)
class Leases:
    """All leases and waiting requests on this machine."""

    directory: str
    why_no_directory: str
    why_no_gpu: str
    gpus: tuple[LeaseGpu, ...]
    waiters: tuple[LeaseWaiter, ...]  #: in queue order


def leases() -> Leases:
    """Returns the current leases and the queue, as `glint top`. Read-only."""
    seen = _core.snapshot_leases()
    gpus = tuple(
        _copied(
            LeaseGpu,
            gpu,
            unmanaged_count=gpu.strangers,
            unmanaged_processes=tuple((p.pid, p.used_bytes) for p in gpu.stranger_processes),
            holders=tuple(_copied(LeaseHolder, holder) for holder in gpu.holders),
        )
        for gpu in seen.gpus
    )
    waiters = tuple(_copied(LeaseWaiter, waiter, candidates=tuple(waiter.candidates)) for waiter in seen.waiters)
    return _copied(Leases, seen, gpus=gpus, waiters=waiters)


# ---- Memory of this process


@dataclasses.dataclass(frozen=True)
class ContextMemory:
    """Memory of one of glint's contexts in this process; device memory unless stated otherwise."""

    ordinal: int
    name: str
    live_bytes: int  #: bytes in arrays and work areas
    peak_bytes: int
    reserved_bytes: int  #: allocated from the GPU by the pool
    limit_bytes: int  #: hard limit of the pool
    pinned_bytes: int  #: page-locked host memory
    allocations: int
    event_waits: int  #: uses that had to wait for another stream
    host_blocks: int  #: times the host waited for the GPU
    early_reclaims: int  #: returns of unused memory while memory was short, before an allocation failed
    early_reclaimed_bytes: int  #: bytes that early reclaims returned to the GPU
    retries: int  #: retries of failed allocations
    trims: int  #: trims of the pool


def memory() -> list[ContextMemory]:
    """Returns the memory of each of glint's open contexts in this process: of sessions and running fits, not of PyTorch
    or CuPy.
    """
    return [ContextMemory(**of) for of in _core.memory()]


def stats() -> dict[str, Any]:
    """Returns statistics for JSON: memory of this process's contexts, and operations of the default session."""
    return {"memory": [dataclasses.asdict(of) for of in memory()], "operations": sessions.statistics()}


_early_reclaim = ProcessSetting(_core.early_reclaim, _core.set_early_reclaim)
_unified = ProcessSetting(_core.unified, _core.set_unified)


def set_early_reclaim(on: bool) -> Block:
    """Switches early reclaim on or off for this process, including existing contexts; permanently, or for a `with`
    block. Overrides GLINT_GPU_EARLY_RECLAIM.

    If on, unused memory and garbage are returned to the GPU before an allocation fails, while the limit or the GPU is
    nearly used up. If off, they are returned only when an allocation fails or another program waits for the GPU.

    >>> with glint.gpu.set_early_reclaim(False):
    ...     glint.gpu.early_reclaim_enabled()
    False
    """
    return _early_reclaim.set(switch("set_early_reclaim", on))


def early_reclaim_enabled() -> bool:
    """Whether early reclaim is on: the value of `set_early_reclaim()`, else of GLINT_GPU_EARLY_RECLAIM."""
    return _core.early_reclaim()


def set_unified(on: bool) -> Block:
    """Sets whether this process's sessions without `unified=` create arrays of unified memory; permanently, or for a
    `with` block. Overrides GLINT_GPU_UNIFIED.

    >>> with glint.gpu.set_unified(True):
    ...     glint.gpu.unified_enabled(), glint.offload.Session("cpu").unified
    (True, True)
    """
    return _unified.set(switch("set_unified", on))


def unified_enabled() -> bool:
    """Whether unified memory is the default: the value of `set_unified()`, else of GLINT_GPU_UNIFIED."""
    return _core.unified()


def clean_up() -> None:
    """Collects garbage, and releases unused memory of glint's contexts and of the default session's GPU."""
    gc.collect()
    sessions.clean_up()
    _core.trim_all()
