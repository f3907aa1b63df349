// The GPU's kernels of AstigmaticXYZNB.
// SPDX-License-Identifier: MIT
#include "fit/cuda/fit_kernel.hpp"

GLINT_FIT_KERNELS(AstigmaticXYZNB)
