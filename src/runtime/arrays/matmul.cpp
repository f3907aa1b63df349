// Matrix products on the CPU or the GPU, as the session decides.
//
// How an operation runs: it checks shapes, computes its work (work.cpp), and gives the session two functions.
// - On the CPU, cpu_matmul.cpp calls OpenBLAS, which cpu_blas.cpp loads at first use (transforms: cpu_fft.cpp and
//   FFTW).
// - On a GPU, gpu_matmul.cpp cuts operands into tiles that fit into the limit and calls cuBLAS, which libraries.cpp
//   loads at run time. transfer.hpp copies parts of arrays, host_copy.cpp arrays with gaps; gpu_state.cpp keeps
//   handles, plans and kernels.
// - Expressions become steps on registers (expression.cpp). evaluate.hpp defines the steps once for the CPU's blocks
//   (cpu_steps.isa.cpp) and the GPU's threads (cuda/elementwise.cu).
// SPDX-License-Identifier: MIT
#include "arrays/check.hpp"
#include "arrays/cpu.hpp"
#include "arrays/on_host.hpp"

namespace glint::arrays {
namespace {

/// Returns the shape of c. Dimensions before the last two are a batch; a dimension that is 1 or missing is repeated.
Shape product_shape(const Shape& a, const Shape& b) {
    if (a.dimensions < 2) refuse("matmul: a", "a matrix or a stack of them is needed", a);
    if (b.dimensions < 2) refuse("matmul: b", "a matrix or a stack of them is needed", b);
    const std::int64_t inner = a[a.dimensions - 1];
    if (b[b.dimensions - 2] != inner)
        refuse("matmul: b", "with an a of " + words(a) + " it must have " + std::to_string(inner) + " rows", b);
    Shape c;
    c.dimensions = std::max(a.dimensions, b.dimensions);
    for (int k = 0; k < c.dimensions - 2; ++k) {
        const int of_a = k - (c.dimensions - a.dimensions), of_b = k - (c.dimensions - b.dimensions);
        const std::int64_t n = of_a < 0 ? 1 : a[of_a], m = of_b < 0 ? 1 : b[of_b];
        if (n != m && n != 1 && m != 1) refuse("matmul: b", "a stack that goes with " + words(a) + " is needed", b);
        c.extent[k] = n == 1 ? m : n;
    }
    c.extent[c.dimensions - 2] = a[a.dimensions - 2];
    c.extent[c.dimensions - 1] = b[b.dimensions - 1];
    return c;
}

template <class T>
void fill_with_zeros(Session& session, const Operand<T>& c) {
    map<T>(session, compile(Expression(0.0)), {}, c);
}

}  // namespace

template <class T>
void matmul(Session& session, const Operand<const T>& a, const Operand<const T>& b, const Operand<T>& c) {
    require_shape("matmul: c", product_shape(a.shape(), b.shape()), c.shape());
    if (c.shape().count() == 0) return;
    if (a.shape().count() == 0) return fill_with_zeros(session, c);  // sums of no terms
    const Work work = matmul_work<T>(a.shape(), b.shape(), residency<T>({&a, &b}, c.on_device()));
    session.run(
        work,
        [&] {
            const InputOnHost<T> x(session, a), y(session, b);
            ResultOnHost<T> z(session, c);
            cpu::matmul<T>(x.view(), y.view(), z.view(), session.threads());
            z.finish();
        },
        [&] { on_gpu(session).template matmul<T>(a, b, c); });
}

template void matmul<float>(Session&, const Operand<const float>&, const Operand<const float>&, const Operand<float>&);
template void matmul<double>(Session&, const Operand<const double>&, const Operand<const double>&,
                             const Operand<double>&);

}  // namespace glint::arrays
