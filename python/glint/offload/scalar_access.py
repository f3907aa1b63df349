"""Access from the host to single elements of a GPU's memory. Each access needs a kernel and a copy."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from ..arguments import switch
from ..errors import OptionError
from .process_settings import Block, ProcessSetting

_allowed = False


def _set(on: bool) -> None:
    global _allowed
    _allowed = on


_setting = ProcessSetting(lambda: _allowed, _set)


def set_scalar_access(on: bool) -> Block:
    """Allows or disallows scalar access to device memory in this process, permanently or for a `with` block. Disallowed
    by default.

    Scalar access is an iteration over the elements of a DeviceArray, `float(x[0])`, and arithmetic of single elements
    such as `x[0] + 1`. Each access needs a kernel and a copy, about 20 us, so a loop over elements is slower than on
    the CPU by orders of magnitude. If disallowed, it raises an OptionError with the alternatives. `x.item(0)`, slices
    and unified memory are always allowed.

    >>> with glint.gpu.set_scalar_access(True):
    ...     glint.gpu.scalar_access_enabled()
    True
    >>> glint.gpu.scalar_access_enabled()
    False
    """
    return _setting.set(switch("set_scalar_access", on))


def scalar_access_enabled() -> bool:
    """Whether scalar access to device memory is allowed."""
    return _allowed


def require_scalar_access() -> None:
    """Raises OptionError while scalar access is disallowed."""
    if not _allowed:
        raise OptionError(
            "scalar access to device memory is disallowed, since each element takes a kernel and a copy: "
            "compute with whole arrays, "
            "copy the array to the host by to_numpy(), take one element by item(), or use unified memory, as in "
            "glint.gpu.to_device(a, unified=True); to allow it, `with glint.gpu.set_scalar_access(True):`"
        )
