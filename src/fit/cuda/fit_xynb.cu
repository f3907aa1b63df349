// The GPU's kernels of GaussianXYNB.
// SPDX-License-Identifier: MIT
#include "fit/cuda/fit_kernel.hpp"

GLINT_FIT_KERNELS(GaussianXYNB)
