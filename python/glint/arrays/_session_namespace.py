"""The array namespace of a session: `Session.xp`."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ..offload import random as _random

_CREATE = (
    "arange",
    "asarray",
    "empty",
    "eye",
    "fftfreq",
    "from_dlpack",
    "full",
    "linspace",
    "ones",
    "rfftfreq",
    "zeros",
)


class _Part:
    """A module of functions. Functions that create arrays receive `device`."""

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


class _NumPyPart:
    """A module of NumPy. In functions that create arrays, `device=session` means the host."""

    def __init__(self, module: Any, session: Any) -> None:
        self._module, self._session = module, session

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._module, name)
        if name not in _CREATE and not name.endswith("_like"):
            return found

        @functools.wraps(found)
        def create(*arguments: Any, **options: Any) -> Any:
            if options.get("device") is self._session:
                del options["device"]
            return found(*arguments, **options)

        return create

    def __dir__(self) -> list[str]:
        return dir(self._module)


class NumPyNamespace(_NumPyPart):
    """NumPy's functions, with random numbers as on a GPU, for a session without one."""

    def __init__(self, session: Any) -> None:
        super().__init__(np, session)
        self.linalg, self.fft, self.random = np.linalg, _NumPyPart(np.fft, session), _Random(session, "host")

    def __repr__(self) -> str:
        return "<numpy, for a session without a GPU>"
