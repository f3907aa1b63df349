// The GPU's kernels of GaussianXYNBSXSY.
// SPDX-License-Identifier: MIT
#include "fit/cuda/fit_kernel.hpp"

GLINT_FIT_KERNELS(GaussianXYNBSXSY)
