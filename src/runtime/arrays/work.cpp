// Operation and byte counts of each operation, by textbook formulas.
// SPDX-License-Identifier: MIT
#include "glint/arrays/work.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <type_traits>

namespace glint::arrays {
namespace {

using offload::Operation;

// By the fixed rules, the GPU gets products of more than 1000 x 1000, transforms of more than 100,000 elements, and no
// simple arithmetic.
constexpr double large_matrix = 1000, large_transform = 1e5, never = std::numeric_limits<double>::infinity();

constexpr Operation matmul32{"matmul float32", "rows", 3, 2, large_matrix};
constexpr Operation matmul64{"matmul float64", "rows", 3, 2, large_matrix};
constexpr Operation fft32{"fft complex64", "elements", 1, 1, large_transform};
constexpr Operation fft64{"fft complex128", "elements", 1, 1, large_transform};
constexpr Operation rfft32{"fft float32", "elements", 1, 1, large_transform};
constexpr Operation rfft64{"fft float64", "elements", 1, 1, large_transform};
constexpr Operation svd32{"svd float32", "rows", 3, 2, large_matrix};
constexpr Operation svd64{"svd float64", "rows", 3, 2, large_matrix};
constexpr Operation values32{"singular values float32", "rows", 3, 2, large_matrix};
constexpr Operation values64{"singular values float64", "rows", 3, 2, large_matrix};
constexpr Operation solve32{"solve float32", "rows", 3, 2, large_matrix};
constexpr Operation solve64{"solve float64", "rows", 3, 2, large_matrix};
constexpr Operation eigh32{"eigh float32", "rows", 3, 2, large_matrix};
constexpr Operation eigh64{"eigh float64", "rows", 3, 2, large_matrix};
constexpr Operation eigenvalues32{"eigenvalues float32", "rows", 3, 2, large_matrix};
constexpr Operation eigenvalues64{"eigenvalues float64", "rows", 3, 2, large_matrix};
constexpr Operation qr32{"qr float32", "rows", 3, 2, large_matrix};
constexpr Operation qr64{"qr float64", "rows", 3, 2, large_matrix};
constexpr Operation map32{"map float32", "elements", 1, 1, never};
constexpr Operation map64{"map float64", "elements", 1, 1, never};
constexpr Operation map_whole{"map int64", "elements", 1, 1, never};
constexpr Operation axis32{"reduce axis float32", "elements", 1, 1, never};
constexpr Operation axis64{"reduce axis float64", "elements", 1, 1, never};
constexpr Operation axis_whole{"reduce axis int64", "elements", 1, 1, never};
constexpr Operation reduce32{"reduce float32", "elements", 1, 1, never};
constexpr Operation reduce64{"reduce float64", "elements", 1, 1, never};

template <class T>
const Operation* either(const Operation& of_float, const Operation& of_double) {
    static_assert(std::is_same_v<T, float> || std::is_same_v<T, double>);
    return std::is_same_v<T, float> ? &of_float : &of_double;
}

void place(Work& work, std::uint64_t in, std::uint64_t out, const Residency& at) {
    (at.inputs_on_gpu ? work.bytes_to_host : work.bytes_to_gpu) = in;
    (at.result_on_gpu ? work.bytes_to_return : work.bytes_from_gpu) = out;
    work.bytes = double(in + out), work.gpu_bytes = in + out;
    work.expected_reuse = at.expected_reuse;
}

double batch_of(const Shape& shape, int rank) {
    double n = 1;
    for (int k = 0; k < shape.dimensions - rank; ++k) n *= double(shape[k]);
    return n;
}

/// The cost of a step, in additions. Functions without a CPU instruction are computed by polynomials.
double cost_of(Step step) {
    switch (step) {
        case Step::constant:
        case Step::input: return 0;
        case Step::divide:
        case Step::square_root:
        case Step::reciprocal: return 4;
        default:
            return step < Step::power ? 1 : step >= Step::exp && step <= Step::erf ? 20 : step == Step::power ? 40 : 1;
    }
}

template <class T>
Work elementwise(const Operation* operation, const Program& program, const Shape& shape, bool reduced,
                 const Residency& at) {
    Work work;
    const double n = double(shape.count());
    work.operation = operation, work.size = n;
    double each = 0;
    for (int k = 0; k < program.count; ++k) each += cost_of(program.instructions[k].step);
    work.flops = n * each;
    place(work, std::uint64_t(n) * std::uint64_t(program.inputs) * sizeof(T),
          reduced ? sizeof(double) : std::uint64_t(n) * sizeof(T), at);
    return work;
}

}  // namespace

template <class T>
Work matmul_work(const Shape& a, const Shape& b, const Residency& at) {
    Work work;
    const double m = double(a[a.dimensions - 2]), k = double(a[a.dimensions - 1]), n = double(b[b.dimensions - 1]);
    const double batch = std::max(batch_of(a, 2), batch_of(b, 2));
    work.operation = either<T>(matmul32, matmul64), work.library = "cublas";
    work.size = std::cbrt(batch * m * n * k), work.flops = 2 * batch * m * n * k;
    place(work, std::uint64_t(a.count() + b.count()) * sizeof(T), std::uint64_t(batch * m * n) * sizeof(T), at);
    return work;
}

template <class T>
Work fft_work(const Shape& shape, int rank, bool real, const Residency& at) {
    Work work;
    const double n = double(shape.count());
    double transform = 1;
    for (int k = std::max(0, shape.dimensions - rank); k < shape.dimensions; ++k) transform *= double(shape[k]);
    work.operation = real ? either<T>(rfft32, rfft64) : either<T>(fft32, fft64), work.library = "cufft";
    work.size = n, work.flops = (real ? 2.5 : 5) * n * std::log2(std::max(2.0, transform));
    const std::uint64_t complex_bytes = std::uint64_t(n) * sizeof(std::complex<T>);
    place(work, real ? complex_bytes / 2 : complex_bytes, complex_bytes, at);
    work.launches = rank + 1;
    return work;
}

template <class T>
Work svd_work(const Shape& a, bool vectors, const Residency& at) {
    Work work;
    const double m = double(std::max(a[0], a[1])), n = double(std::min(a[0], a[1]));
    work.operation = vectors ? either<T>(svd32, svd64) : either<T>(values32, values64), work.library = "cusolver";
    work.size = std::cbrt(m * n * n);
    work.flops = vectors ? 4 * m * n * n + 22 * n * n * n : 4 * m * n * n;
    const double out = n + (vectors ? m * n + n * n : 0);
    place(work, std::uint64_t(a.count()) * sizeof(T), std::uint64_t(out) * sizeof(T), at);
    work.launches = int(std::min(1e6, 8 * n));  // column after column
    return work;
}

template <class T>
Work solve_work(const Shape& a, std::int64_t columns, const Residency& at) {
    Work work;
    const double n = double(a[0]), k = double(columns);
    work.operation = either<T>(solve32, solve64), work.library = "cusolver";
    work.flops = 2.0 / 3 * n * n * n + 2 * n * n * k;
    work.size = std::cbrt(n * n * (n + 3 * k));
    place(work, std::uint64_t(n * (n + k)) * sizeof(T), std::uint64_t(n * k) * sizeof(T), at);
    work.launches = int(std::min(1e6, n / 16 + 8));  // blocks of columns
    return work;
}

template <class T>
Work eigh_work(const Shape& a, bool vectors, const Residency& at) {
    Work work;
    const double n = double(a[0]);
    work.operation = vectors ? either<T>(eigh32, eigh64) : either<T>(eigenvalues32, eigenvalues64);
    work.library = "cusolver", work.size = n, work.flops = (vectors ? 9 : 4.0 / 3) * n * n * n;
    place(work, std::uint64_t(n * n) * sizeof(T), std::uint64_t(vectors ? n * n + n : n) * sizeof(T), at);
    work.launches = int(std::min(1e6, 8 * n));  // column after column
    return work;
}

template <class T>
Work qr_work(const Shape& a, const Residency& at) {
    Work work;
    const double m = double(a[0]), n = double(a[1]), k = std::min(m, n);
    work.operation = either<T>(qr32, qr64), work.library = "cusolver";
    work.size = std::cbrt(m * n * k), work.flops = 4 * m * n * k;
    place(work, std::uint64_t(m * n) * sizeof(T), std::uint64_t(k * (m + n)) * sizeof(T), at);
    work.launches = int(std::min(1e6, k / 16 + 8));
    return work;
}

template <class T>
Work map_work(const Program& program, const Shape& shape, const Residency& at) {
    if constexpr (std::is_integral_v<T>)
        return elementwise<T>(&map_whole, program, shape, false, at);
    else
        return elementwise<T>(either<T>(map32, map64), program, shape, false, at);
}

template <class T>
Work reduce_work(const Program& program, const Shape& shape, const Residency& at) {
    return elementwise<T>(either<T>(reduce32, reduce64), program, shape, true, at);
}

template <class T>
Work reduce_axis_work(const Shape& shape, const Residency& at) {
    Work work;
    work.size = double(shape.count()), work.flops = work.size;
    if constexpr (std::is_integral_v<T>)
        work.operation = &axis_whole;
    else
        work.operation = either<T>(axis32, axis64);
    place(work, std::uint64_t(shape.count()) * sizeof(T), std::uint64_t(shape[0] * shape[2]) * sizeof(T), at);
    return work;
}

template Work map_work<std::int64_t>(const Program&, const Shape&, const Residency&);
template Work reduce_axis_work<float>(const Shape&, const Residency&);
template Work reduce_axis_work<double>(const Shape&, const Residency&);
template Work reduce_axis_work<std::int64_t>(const Shape&, const Residency&);

#define GLINT_WORK(T)                                                           \
    template Work matmul_work<T>(const Shape&, const Shape&, const Residency&); \
    template Work fft_work<T>(const Shape&, int, bool, const Residency&);       \
    template Work svd_work<T>(const Shape&, bool, const Residency&);            \
    template Work solve_work<T>(const Shape&, std::int64_t, const Residency&);  \
    template Work eigh_work<T>(const Shape&, bool, const Residency&);           \
    template Work qr_work<T>(const Shape&, const Residency&);                   \
    template Work map_work<T>(const Program&, const Shape&, const Residency&);  \
    template Work reduce_work<T>(const Program&, const Shape&, const Residency&);
GLINT_WORK(float)
GLINT_WORK(double)

}  // namespace glint::arrays
