// The parameters that the stand-ins of NVIDIA's libraries pass to their kernels.
// SPDX-License-Identifier: MIT
#pragma once

namespace simgpu {

/// c = op(a) op(b) + beta c, by columns; one block per matrix.
struct GemmShape {
    int op_a, op_b;
    long long m, n, k, lda, ldb, ldc, apart_a, apart_b, apart_c;
    double beta;
    unsigned long long workspace_bytes;
};

/// One block per transform of height x width numbers. The width is halved on the complex side of a real transform.
struct FourierShape {
    long long height, width;
    int direction;
};

struct SvdShape {
    int m, n, lda, ldu, ldvt, vectors, left;  // left: vectors of that side
    long long work_count;
};

/// A square matrix, or one of m x n; columns: of the right side, or the requested ones of q.
struct DenseShape {
    int m = 0, n = 0, lda = 0, columns = 0, ldb = 0, transposed = 0, vectors = 0, upper = 0;
    long long work_count = 0;
};

}  // namespace simgpu
