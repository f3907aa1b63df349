// Function attributes for code that is compiled both for the CPU and for GPU kernels.
// SPDX-License-Identifier: MIT
#pragma once

#if defined(__CUDACC__)
#define GLINT_PORTABLE __device__ __forceinline__
#define GLINT_UNROLL _Pragma("unroll")
#else
#define GLINT_PORTABLE inline __attribute__((always_inline))
#define GLINT_UNROLL _Pragma("GCC unroll 16")
#endif
