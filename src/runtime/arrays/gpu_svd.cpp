// Singular values on a GPU, by cuSOLVER's gesvd.
//
// gesvd expects columns, and no matrix that is wider than high. A row-major matrix read by columns is its
// transpose: a wide matrix needs no change; a high matrix is transposed before, and its vectors are transposed
// afterwards. cuSOLVER's alternatives are faster, gesvdj for small matrices and Xgesvdp for large well-conditioned
// ones, but have caveats that gesvd does not have.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "arrays/gpu_dense.hpp"
#include "glint/error.hpp"

namespace glint::arrays {
namespace {

lib::Status size_of(const Cusolver& library, lib::Solver handle, int m, int n, int* count, float) {
    return library.cusolverDnSgesvd_bufferSize(handle, m, n, count);
}
lib::Status size_of(const Cusolver& library, lib::Solver handle, int m, int n, int* count, double) {
    return library.cusolverDnDgesvd_bufferSize(handle, m, n, count);
}
template <class... P>
lib::Status gesvd(const Cusolver& library, lib::Solver handle, signed char u, signed char vt, int m, int n, float* a,
                  P... rest) {
    return library.cusolverDnSgesvd(handle, u, vt, m, n, a, rest...);
}
template <class... P>
lib::Status gesvd(const Cusolver& library, lib::Solver handle, signed char u, signed char vt, int m, int n, double* a,
                  P... rest) {
    return library.cusolverDnDgesvd(handle, u, vt, m, n, a, rest...);
}

}  // namespace

template <class T>
void OnGpu::svd(const Operand<const T>& a, const Operand<T>& s, const Operand<T>& u, const Operand<T>& vt) {
    State& state = *state_;
    const gpu::Stream& stream = state.stream;
    const std::int64_t m = a.shape()[0], n = a.shape()[1], k = std::min(m, n), size = m * n;
    const bool wide = m <= n, vectors = bool(u);
    const std::string what = fmt::format("the singular values of a matrix of {} x {}", m, n);

    gpu::Buffer<T> matrix = copy_of(stream, a);
    require_finite_there(*this, stream, "the singular values", matrix, a.shape());
    if (!wide) {
        gpu::Buffer<T> by_columns(stream, std::size_t(size));
        transpose<T>(state, by_columns.write_on(stream), matrix.read_on(stream), m, n);
        matrix = by_columns;
    }

    // For cuSOLVER: high x k, with left vectors (high, k), or all (high, high), and right vectors (k, k), by columns.
    const bool all = vectors && u.shape()[1] == m && vt.shape()[0] == n;
    const std::int64_t left_count = all ? std::max(m, n) : k;
    const int high = as_int("the singular values", std::max(m, n)), low = int(k);
    const lib::Solver handle = state.ready_solver();
    int work_count = 0, info = 0;
    {
        const auto current = state.current();
        state.check(Library::cusolver, "cusolverDnXgesvd_bufferSize",
                    size_of(cusolver(), handle, high, low, &work_count, T()));
    }
    gpu::Buffer<T> work(stream, std::size_t(work_count)), values = place_for(stream, s), of_u, of_vt, left, right;
    gpu::Buffer<int> told(stream, 1);
    if (vectors) {
        of_u = place_for(stream, u), of_vt = place_for(stream, vt);
        left = wide ? of_vt : gpu::Buffer<T>(stream, std::size_t(m * left_count));
        right = wide ? of_u : gpu::Buffer<T>(stream, std::size_t(k * k));
    }
    const signed char job = vectors ? 'S' : 'N', job_of_left = all ? 'A' : job;
    const std::uint64_t to_left = vectors ? left.write_on(stream) : 0, to_right = vectors ? right.write_on(stream) : 0,
                        to_values = values.write_on(stream), to_matrix = matrix.write_on(stream),
                        to_work = work.write_on(stream), to_told = told.write_on(stream);
    {
        const auto current = state.current();
        state.check(Library::cusolver, "cusolverDnXgesvd",
                    gesvd(cusolver(), handle, job_of_left, job, high, low, at<T>(to_matrix), high, at<T>(to_values),
                          at<T>(to_left), high, at<T>(to_right), low, at<T>(to_work), work_count,
                          static_cast<T*>(nullptr), at<int>(to_told)));
    }
    gpu::download(stream, std::span<int>(&info, 1), told);
    if (info < 0)
        throw gpu::GpuError(lib::cusolver::invalid_value,
                            fmt::format("{}: cuSOLVER does not take parameter {}: report it", what, -info));
    if (info > 0) throw NotConverged(fmt::format("{}: {} of them did not converge", what, info));
    if (vectors && !wide) {
        transpose<T>(state, of_u.write_on(stream), left.read_on(stream), left_count, m);
        transpose<T>(state, of_vt.write_on(stream), right.read_on(stream), k, k);
    }
    bring_home(stream, s, values);
    bring_home(stream, u, of_u);
    bring_home(stream, vt, of_vt);
}

template void OnGpu::svd(const Operand<const float>&, const Operand<float>&, const Operand<float>&,
                         const Operand<float>&);
template void OnGpu::svd(const Operand<const double>&, const Operand<double>&, const Operand<double>&,
                         const Operand<double>&);

}  // namespace glint::arrays
