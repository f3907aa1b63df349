// The declaration of kernels such that one .cu file compiles twice: by nvcc to device code, and by the host compiler to
// the library that the simulated GPU server (tests/simgpu) runs.
//
// A kernel is a struct of static functions, every parameter but the first one passed to cuLaunchKernel:
//
//     struct Axpy {
//         static constexpr unsigned max_threads = 128;  // of a block
//         static GLINT_DEVICE void compute(Index index, float* y, const float* x, float a, unsigned n) {
//             if (const unsigned i = index.global(); i < n) y[i] += a * x[i];
//         }
//     };
//     GLINT_KERNEL(axpy, 4, Axpy)  // name for cuModuleGetFunction, number of parameters, type (may be a template)
//
// A kernel that needs the block's dynamic shared memory has a parameter `Scratch` after the index. It may have a first
// phase: all threads of a block run stage(), then (__syncthreads) all run compute(), with the same parameters. There is
// no other barrier, so that the host can run one thread after the other.
//
//     static GLINT_DEVICE void stage(Index index, Scratch scratch, float* y, ...);
//     static GLINT_DEVICE void compute(Index index, Scratch scratch, float* y, ...);
//
// A kernel with more barriers has phases instead, with a barrier after each phase but the last. PerThread contains the
// values that a thread keeps from one phase to the next; it is initialised with zeros:
//
//     static constexpr int phases = 3;
//     struct PerThread { float sum; };
//     static GLINT_DEVICE void phase(int phase, PerThread& own, Index index, Scratch scratch, float* y, ...);
//
// Pass pointers as separate parameters: the simulated server checks the order of their uses (const: read only),
// and cannot check members of structs.
// SPDX-License-Identifier: MIT
#pragma once

#ifdef __CUDACC__
#define GLINT_DEVICE __device__ __forceinline__
#else
#define GLINT_DEVICE inline
#endif

namespace glint::gpu {

/// The index of the current thread. Blocks and grids are one-dimensional.
struct Index {
    unsigned block, thread, block_dim, grid_dim;
    GLINT_DEVICE unsigned global() const { return block * block_dim + thread; }
};

/// The block's dynamic shared memory, of the size given at the launch, aligned to 16 bytes, uninitialised.
struct Scratch {
    void* memory;
    template <class T>
    GLINT_DEVICE T* as() const {
        return static_cast<T*>(memory);
    }
};

/// For numbers that several threads of a block may change simultaneously. The order of the changes must not matter.
GLINT_DEVICE void add_together(unsigned& to, unsigned value) {
#ifdef __CUDACC__
    atomicAdd(&to, value);
#else
    to += value;
#endif
}
GLINT_DEVICE void set_together(unsigned& to, unsigned bits) {
#ifdef __CUDACC__
    atomicOr(&to, bits);
#else
    to |= bits;
#endif
}

namespace detail {

template <class...>
struct Types {};

/// The parameters of a kernel, deduced from its compute() or phase().
template <class Function>
struct Signature;
template <class... P>
struct Signature<void (*)(Index, P...)> {
    using Parameters = Types<P...>;
    static constexpr int count = sizeof...(P);
    static constexpr bool scratch = false;
};
template <class... P>
struct Signature<void (*)(Index, Scratch, P...)> {
    using Parameters = Types<P...>;
    static constexpr int count = sizeof...(P);
    static constexpr bool scratch = true;
};
template <class PerThread, class... P>
struct Signature<void (*)(int, PerThread&, Index, Scratch, P...)> : Signature<void (*)(Index, Scratch, P...)> {};

template <class Kernel>
concept HasStage = requires {
    &Kernel::stage;
};
template <class Kernel>
concept HasPhases = requires {
    &Kernel::phase;
};

template <class Kernel>
constexpr auto function_of() {
    if constexpr (HasPhases<Kernel>)
        return &Kernel::phase;
    else
        return &Kernel::compute;
}
template <class Kernel>
using SignatureOf = Signature<decltype(function_of<Kernel>())>;

}  // namespace detail
}  // namespace glint::gpu

#ifdef __CUDACC__
#include "gpu/kernel_device.hpp"
#else
#include "gpu/kernel_host.hpp"
#endif
