// Kernels that test the simulated GPU server itself.
// SPDX-License-Identifier: MIT
#include "gpu/kernel_abi.hpp"

namespace {

using glint::gpu::Index;
using glint::gpu::Scratch;

/// y += a x.
struct Axpy {
    static constexpr unsigned max_threads = 256;
    static GLINT_DEVICE void compute(Index index, float* y, const float* x, float a, unsigned n) {
        if (const unsigned i = index.global(); i < n) y[i] += a * x[i];
    }
};

/// Reverses each block's part of x through the scratch memory: every thread reads an element that another one staged.
template <class T>
struct ReverseBlocks {
    static constexpr unsigned max_threads = 256;
    static GLINT_DEVICE void stage(Index index, Scratch scratch, T* y, const T* x) {
        (void)y;
        scratch.as<T>()[index.thread] = x[index.global()];
    }
    static GLINT_DEVICE void compute(Index index, Scratch scratch, T* y, const T* x) {
        (void)x;
        y[index.global()] = scratch.as<T>()[index.block_dim - 1 - index.thread];
    }
};

/// Reads a given distance beyond x.
struct ReadBeyond {
    static constexpr unsigned max_threads = 256;
    static GLINT_DEVICE void compute(Index, float* y, const float* x, unsigned long long offset) { *y = x[offset]; }
};

/// A struct with padding, whose layout host and device must agree on.
struct Affine {
    double a;
    float b;
};
struct ApplyAffine {
    static constexpr unsigned max_threads = 256;
    static GLINT_DEVICE void compute(Index index, float* y, Affine f, unsigned n) {
        if (const unsigned i = index.global(); i < n) y[i] = float(f.a) * y[i] + f.b;
    }
};

}  // namespace

GLINT_KERNEL(axpy, 4, Axpy)
GLINT_KERNEL(reverse_blocks, 2, ReverseBlocks<float>)
GLINT_KERNEL(read_beyond, 3, ReadBeyond)
GLINT_KERNEL(apply_affine, 3, ApplyAffine)
