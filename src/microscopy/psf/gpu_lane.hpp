// Compiles everything included after it for one GPU thread, real or simulated: Lane is a float, and the namespace is
// the GPU's. Kernels include it first.
// SPDX-License-Identifier: MIT
#pragma once

#define GLINT_SCALAR_LANE 1
#ifdef __CUDACC__
#define GLINT_ISA cuda
#else
#define GLINT_ISA simulated_gpu
#endif

#include "psf/lane.hpp"
