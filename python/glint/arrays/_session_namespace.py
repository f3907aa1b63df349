"""The array namespace of a session: `Session.xp`."""
# SPDX-License-Identifier: MIT
from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ..offload import random as _random

_CREATE = ("arange", "asarray", "empty", "eye", "fftfreq", "from_dlpack", "full", "linspace", "ones", "rfftfreq", "zeros")


class _Part:
    """A module of functions; those that create arrays get `device`."""

    def __init__(self, module: Any, session: Any) -> None:
        self._module, self._session = module, session

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._module, name)
        return functools.partial(found, device=self._session) if name in _CREATE else found

    def __dir__(self) -> list[str]:
        return dir(self._module)


class _Random:
    """`glint.offload.random` for the session's side."""

    def __init__(self, session: Any, on: str) -> None:
        self.uniform = functools.partial(_random.uniform, on=on, session=session)
        self.normal = functools.partial(_random.normal, on=on, session=session)


class SessionNamespace(_Part):
    """The functions of `glint.arrays`; new arrays lie on the session's GPU."""

    def __init__(self, session: Any) -> None:
        from .. import arrays
        super().__init__(arrays, session)
        self.linalg, self.fft, self.random = arrays.linalg, _Part(arrays.fft, session), _Random(session, "device")

    def __repr__(self) -> str:
        return f"<glint.arrays on GPU {self._session.open()}>"


class NumPyNamespace:
    """NumPy's functions, with random numbers as on a GPU, for a session without one."""

    def __init__(self, session: Any) -> None:
        self.linalg, self.fft, self.random = np.linalg, np.fft, _Random(session, "host")

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)

    def __dir__(self) -> list[str]:
        return dir(np)

    def __repr__(self) -> str:
        return "<numpy, for a session without a GPU>"
