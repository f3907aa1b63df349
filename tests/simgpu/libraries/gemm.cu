// The stand-in of cuBLAS's kernels.
// SPDX-License-Identifier: MIT
#include "shapes.hpp"

#include <cstring>

#include "gpu/kernel_abi.hpp"

namespace {

using glint::gpu::Index;
using simgpu::GemmShape;

template <class T>
struct Gemm {
    static constexpr unsigned max_threads = 1;
    static GLINT_DEVICE void compute(Index index, T* c, const T* a, const T* b, unsigned char* workspace, GemmShape g) {
        std::memset(workspace, 0xFF, g.workspace_bytes);  // NaN, so that any other use of the workspace is noticed
        a += index.block * g.apart_a, b += index.block * g.apart_b, c += index.block * g.apart_c;
        for (long long j = 0; j < g.n; ++j)
            for (long long i = 0; i < g.m; ++i) {
                double sum = 0;
                for (long long p = 0; p < g.k; ++p)
                    sum += double(g.op_a ? a[p + i * g.lda] : a[i + p * g.lda]) *
                           double(g.op_b ? b[j + p * g.ldb] : b[p + j * g.ldb]);
                T& to = c[i + j * g.ldc];
                to = T(g.beta == 0 ? sum : sum + g.beta * double(to));
            }
    }
};

}  // namespace

GLINT_KERNEL(simlib_gemm_float, 5, Gemm<float>)
GLINT_KERNEL(simlib_gemm_double, 5, Gemm<double>)
