"""Names of types in annotations; imported by type checkers only."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import DTypeLike as DTypeLike

from .offload.device_arrays import DeviceArray

Axes: TypeAlias = int | tuple[int, ...] | None
Shape: TypeAlias = int | Sequence[int]
Operand: TypeAlias = DeviceArray | np.ndarray | np.generic | complex  #: for operators of DeviceArray
