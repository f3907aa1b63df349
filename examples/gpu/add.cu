// The kernel of the examples: sum = a + b.
// SPDX-License-Identifier: MIT
#include "gpu/kernel_abi.hpp"

namespace {

struct Add {
    static constexpr unsigned max_threads = 256;
    static GLINT_DEVICE void compute(glint::gpu::Index index, float* sum, const float* a, const float* b, unsigned n) {
        if (const unsigned i = index.global(); i < n) sum[i] = a[i] + b[i];
    }
};

}  // namespace

GLINT_KERNEL(add, 4, Add)
