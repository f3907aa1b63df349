// The one word that lets a function stand in code for the CPU and in a GPU's kernel.
// SPDX-License-Identifier: MIT
#pragma once

#if defined(__CUDACC__)
#define GLINT_PORTABLE __device__ __forceinline__
#define GLINT_UNROLL _Pragma("unroll")
#else
#define GLINT_PORTABLE inline __attribute__((always_inline))
#define GLINT_UNROLL _Pragma("GCC unroll 16")
#endif
