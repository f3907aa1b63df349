// Linear systems, eigenvalues of symmetric matrices and QR decompositions on a GPU, by cuSOLVER.
//
// cuSOLVER expects column-major matrices, so it sees a row-major matrix as its transpose. A system is solved with the
// transpose of the factored matrix, and other operands are transposed if necessary.
// SPDX-License-Identifier: MIT
#include "arrays/gpu_dense.hpp"

#include <algorithm>

namespace glint::arrays {
namespace {

/// cuSOLVER's functions for a type.
template <class T>
struct Calls;
#define GLINT_CALLS(T, letter)                                                              \
    template <>                                                                             \
    struct Calls<T> {                                                                       \
        static constexpr auto getrf_size = &Cusolver::cusolverDn##letter##getrf_bufferSize; \
        static constexpr auto getrf = &Cusolver::cusolverDn##letter##getrf;                 \
        static constexpr auto getrs = &Cusolver::cusolverDn##letter##getrs;                 \
        static constexpr auto syevd_size = &Cusolver::cusolverDn##letter##syevd_bufferSize; \
        static constexpr auto syevd = &Cusolver::cusolverDn##letter##syevd;                 \
        static constexpr auto geqrf_size = &Cusolver::cusolverDn##letter##geqrf_bufferSize; \
        static constexpr auto geqrf = &Cusolver::cusolverDn##letter##geqrf;                 \
        static constexpr auto orgqr_size = &Cusolver::cusolverDn##letter##orgqr_bufferSize; \
        static constexpr auto orgqr = &Cusolver::cusolverDn##letter##orgqr;                 \
    };
GLINT_CALLS(float, S)
GLINT_CALLS(double, D)
#undef GLINT_CALLS

/// Calls a function of cuSOLVER under the session's context, with its handle.
template <class Function, class... P>
void call(OnGpu::State& state, const char* name, Function function, P... parameters) {
    const lib::Solver handle = state.ready_solver();
    const auto current = state.current();
    state.check(Library::cusolver, name, (cusolver().*function)(handle, parameters...));
}

/// The status that cuSOLVER writes on the device: 0, or the row or column at which it stopped.
class Info {
  public:
    explicit Info(const gpu::Stream& stream) : stream_(stream), told_(stream, 1) {}
    int* address() { return at<int>(told_.write_on(stream_)); }
    int value(const char* what) const {
        int info = 0;
        gpu::download(stream_, std::span<int>(&info, 1), told_);
        stream_.synchronize();
        if (info < 0)
            throw gpu::GpuError(lib::cusolver::invalid_value,
                                fmt::format("{}: cuSOLVER does not take parameter {}: report it", what, -info));
        return info;
    }

  private:
    const gpu::Stream& stream_;
    gpu::Buffer<int> told_;
};

/// Returns the matrix (rows, columns) in column order.
template <class T>
gpu::Buffer<T> turned(OnGpu::State& state, const gpu::Buffer<T>& by_rows, std::int64_t rows, std::int64_t columns) {
    if (rows == 1 || columns == 1) return by_rows;
    gpu::Buffer<T> out(state.stream, by_rows.size());
    transpose<T>(state, out.write_on(state.stream), by_rows.read_on(state.stream), rows, columns);
    return out;
}

/// Writes a matrix (rows, columns) in column order to its destination, in row order.
template <class T>
void deliver(OnGpu::State& state, const Operand<T>& to, const gpu::Buffer<T>& by_columns, std::int64_t rows,
             std::int64_t columns) {
    gpu::Buffer<T> place = place_for(state.stream, to);
    transpose<T>(state, place.write_on(state.stream), by_columns.read_on(state.stream), columns, rows);
    bring_home(state.stream, to, place);
}

}  // namespace

template <class T>
void OnGpu::solve(const Operand<const T>& a, const Operand<const T>& b, const Operand<T>& x) {
    using Of = Calls<T>;
    State& state = *state_;
    const gpu::Stream& stream = state.stream;
    const int n = as_int("solve", a.shape()[0]), columns = as_int("solve", b.shape()[1]);
    gpu::Buffer<T> matrix = copy_of(stream, a), right = turned(state, copy_of(stream, b), n, columns);
    gpu::Buffer<int> pivots(stream, std::size_t(n));
    Info info(stream);
    T* const factors = at<T>(matrix.write_on(stream));
    int work_count = 0;
    call(state, "cusolverDnXgetrf_bufferSize", Of::getrf_size, n, n, factors, n, &work_count);
    gpu::Buffer<T> work(stream, std::size_t(std::max(1, work_count)));
    int* const to_pivots = at<int>(pivots.write_on(stream));
    call(state, "cusolverDnXgetrf", Of::getrf, n, n, factors, n, at<T>(work.write_on(stream)), to_pivots,
         info.address());
    if (const int stopped = info.value("solve"); stopped > 0) refuse_singular(n, stopped - 1);
    call(state, "cusolverDnXgetrs", Of::getrs, lib::cublas::transposed, n, columns, factors, n, to_pivots,
         at<T>(right.write_on(stream)), n, info.address());
    info.value("solve");
    deliver(state, x, right, n, columns);
}

template <class T>
void OnGpu::eigh(const Operand<const T>& a, const Operand<T>& w, const Operand<T>& v) {
    using Of = Calls<T>;
    State& state = *state_;
    const gpu::Stream& stream = state.stream;
    const int n = as_int("the eigenvalues", a.shape()[0]);
    const int job = v ? lib::cusolver::with_vectors : lib::cusolver::values_only;
    gpu::Buffer<T> matrix = copy_of(stream, a), values = place_for(stream, w);
    require_finite_there(*this, stream, "the eigenvalues", matrix, a.shape());
    Info info(stream);
    T *const to_matrix = at<T>(matrix.write_on(stream)), *const to_values = at<T>(values.write_on(stream));
    const int triangle = lib::cusolver::upper;  // the lower triangle by rows is the upper one by columns
    int work_count = 0;
    call(state, "cusolverDnXsyevd_bufferSize", Of::syevd_size, job, triangle, n, to_matrix, n, to_values, &work_count);
    gpu::Buffer<T> work(stream, std::size_t(std::max(1, work_count)));
    call(state, "cusolverDnXsyevd", Of::syevd, job, triangle, n, to_matrix, n, to_values, at<T>(work.write_on(stream)),
         work_count, info.address());
    if (const int failed = info.value("the eigenvalues"); failed > 0)
        throw NotConverged(
            fmt::format("the eigenvalues of a matrix of {} x {}: {} of them did not converge", n, n, failed));
    if (v) deliver(state, v, matrix, n, n);
    bring_home(stream, w, values);
}

template <class T>
void OnGpu::qr(const Operand<const T>& a, const Operand<T>& q, const Operand<T>& r) {
    using Of = Calls<T>;
    State& state = *state_;
    const gpu::Stream& stream = state.stream;
    const int m = as_int("qr", a.shape()[0]), n = as_int("qr", a.shape()[1]), k = std::min(m, n);
    gpu::Buffer<T> matrix = turned(state, copy_of(stream, a), m, n), tau(stream, std::size_t(k)),
                   upper = place_for(stream, r);
    Info info(stream);
    T *const factors = at<T>(matrix.write_on(stream)), *const to_tau = at<T>(tau.write_on(stream));
    int of_r = 0, of_q = 0;
    call(state, "cusolverDnXgeqrf_bufferSize", Of::geqrf_size, m, n, factors, m, &of_r);
    call(state, "cusolverDnXorgqr_bufferSize", Of::orgqr_size, m, k, k, factors, m, to_tau, &of_q);
    gpu::Buffer<T> work(stream, std::size_t(std::max({1, of_r, of_q})));
    T* const to_work = at<T>(work.write_on(stream));
    call(state, "cusolverDnXgeqrf", Of::geqrf, m, n, factors, m, to_tau, to_work, of_r, info.address());
    info.value("qr");
    const long long count = (long long)k * n;
    launch(stream, state.kernel<T>("arrays_upper"), (count + map_threads - 1) / map_threads, map_threads, 0,
           upper.write_on(stream), matrix.read_on(stream), (long long)m, (long long)n, count);
    call(state, "cusolverDnXorgqr", Of::orgqr, m, k, k, at<T>(matrix.write_on(stream)), m, to_tau, to_work, of_q,
         info.address());
    info.value("qr");
    deliver(state, q, matrix.view(0, std::size_t(m) * std::size_t(k)), m, k);
    bring_home(stream, r, upper);
}

#define GLINT_DENSE(T)                                                                               \
    template void OnGpu::solve(const Operand<const T>&, const Operand<const T>&, const Operand<T>&); \
    template void OnGpu::eigh(const Operand<const T>&, const Operand<T>&, const Operand<T>&);        \
    template void OnGpu::qr(const Operand<const T>&, const Operand<T>&, const Operand<T>&);
GLINT_DENSE(float)
GLINT_DENSE(double)
#undef GLINT_DENSE

}  // namespace glint::arrays
