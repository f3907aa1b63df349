// What the stand-ins of NVIDIA's libraries tell their kernels.
// SPDX-License-Identifier: MIT
#pragma once

namespace simgpu {

/// c = op(a) op(b) + beta c, by columns; one block a matrix.
struct GemmShape {
    int op_a, op_b;
    long long m, n, k, lda, ldb, ldc, apart_a, apart_b, apart_c;
    double beta;
    unsigned long long workspace_bytes;
};

/// One block a transform of height x width numbers, the width halved on the complex side of a real transform.
struct FourierShape {
    long long height, width;
    int direction;
};

struct SvdShape {
    int m, n, lda, ldu, ldvt, vectors;
    long long work_count;
};

}  // namespace simgpu
