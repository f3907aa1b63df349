// The kernel of random numbers: a thread computes a block of the sequence.
// SPDX-License-Identifier: MIT
#include "arrays/cuda/launch.hpp"

#include "arrays/philox.hpp"

namespace {

using namespace glint::arrays;
using glint::gpu::Index;

/// Elements [first, first + n) of the sequence of a seed.
template <class T>
struct Random {
    static constexpr unsigned max_threads = random_threads;
    static GLINT_DEVICE void compute(Index index, T* out, unsigned long long seed, long long first, long long n,
                                     int normals) {
        constexpr int each = philox::per_block<T>;
        const long long block = first / each + (long long)index.block * index.block_dim + index.thread;
        const long long begin = block * each - first;
        if (begin >= n) return;
        T values[each];
        philox::numbers<T>(seed, (unsigned long long)block, normals != 0, values);
#pragma unroll
        for (int k = 0; k < each; ++k)
            if (begin + k >= 0 && begin + k < n) out[begin + k] = values[k];
    }
};

}  // namespace

GLINT_KERNEL(arrays_random_float, 5, Random<float>)
GLINT_KERNEL(arrays_random_double, 5, Random<double>)
