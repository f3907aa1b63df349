"""GPUs that others use too."""
# SPDX-License-Identifier: MIT
from .errors import DeviceLost, GpuError, LeaseTimeout, NoGpu, OutOfMemory
