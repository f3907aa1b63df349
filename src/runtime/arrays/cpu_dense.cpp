// Linear systems, eigenvalues of symmetric matrices and QR decompositions on the CPU, by LAPACK in OpenBLAS.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "arrays/check.hpp"
#include "arrays/cpu.hpp"
#include "arrays/cpu_blas.hpp"
#include "arrays/cpu_copy.hpp"
#include "glint/error.hpp"

namespace glint::arrays::cpu {
namespace {

/// LAPACK expects columns: returns the view with rows and columns exchanged.
template <class T>
View<T> turned(View<T> view) {
    std::swap(view.shape.extent[0], view.shape.extent[1]), std::swap(view.strides[0], view.strides[1]);
    return view;
}

template <class T>
std::vector<T> by_columns(const View<const T>& view) {
    std::vector<T> copy(std::size_t(view.shape.count()));
    gather(turned(view), copy.data());
    return copy;
}

void require_size(const char* what, std::int64_t rows, std::int64_t columns) {
    if (std::max(rows, columns) > blas_limit)
        throw OptionError(std::string(what) + " of the matrix " + words({rows, columns}) + ": it is too large");
}

/// A float's work size may have been rounded down.
template <class T>
blasint work_size_of(T optimum) {
    return blasint(std::ceil(std::nextafter(optimum, std::numeric_limits<T>::infinity())));
}

/// Calls run(work, size) with as much memory as it requests.
template <class T, class Run>
void with_work(const Run& run) {
    T optimum = 0;
    const blasint ask = -1;
    run(&optimum, &ask);
    const blasint size = work_size_of(optimum);
    std::vector<T> work(std::size_t(std::max<blasint>(1, size)));
    run(work.data(), &size);
}

}  // namespace

template <class T>
void solve(const View<const T>& a, const View<const T>& b, const View<T>& x, int threads) {
    require_size("the solution", a.shape[0], b.shape[1]);
    const blasint n = blasint(a.shape[0]), columns = blasint(b.shape[1]);
    std::vector<T> matrix = by_columns(a), right = by_columns(b);
    std::vector<blasint> pivots(a.shape[0]);
    blasint info = 0;
    const BlasThreads blas(threads);
    openblas().lapack<T>().gesv(&n, &columns, matrix.data(), &n, pivots.data(), right.data(), &n, &info);
    if (info > 0) refuse_singular(n, info - 1);
    scatter(right.data(), turned(x));
}

template <class T>
void eigh(const View<const T>& a, const View<T>& w, const View<T>* v, int threads) {
    require_size("the eigenvalues", a.shape[0], a.shape[1]);
    const blasint n = blasint(a.shape[0]);
    std::vector<T> matrix(std::size_t(a.shape.count())), values(a.shape[0]);
    gather(a, matrix.data());
    require_finite("the eigenvalues", matrix, n, n);
    const char job = v ? 'V' : 'N', triangle = 'U';  // the lower triangle by rows is the upper one by columns
    blasint info = 0, int_size = 3 + 5 * n;
    std::vector<blasint> int_work(int_size);
    const BlasThreads blas(threads);
    with_work<T>([&](T* work, const blasint* size) {
        openblas().lapack<T>().syevd(&job, &triangle, &n, matrix.data(), &n, values.data(), work, size, int_work.data(),
                                     &int_size, &info, 1, 1);
    });
    if (info != 0)
        throw NotConverged("the eigenvalues of the matrix " + words(a.shape) +
                           " did not converge (LAPACK's syevd: " + std::to_string(info) + ")");
    scatter(values.data(), w);
    if (v) scatter(matrix.data(), turned(*v));
}

template <class T>
void qr(const View<const T>& a, const View<T>& q, const View<T>& r, int threads) {
    require_size("qr", a.shape[0], a.shape[1]);
    const blasint m = blasint(a.shape[0]), n = blasint(a.shape[1]), k = std::min(m, n);
    std::vector<T> matrix = by_columns(a), tau(k);
    const Lapack<T>& lapack = openblas().lapack<T>();
    blasint info = 0;
    const BlasThreads blas(threads);
    with_work<T>(
        [&](T* work, const blasint* size) { lapack.geqrf(&m, &n, matrix.data(), &m, tau.data(), work, size, &info); });
    for (std::int64_t i = 0; i < k; ++i)
        for (std::int64_t j = 0; j < n; ++j)
            r.data[i * r.strides[0] + j * r.strides[1]] = i <= j ? matrix[std::size_t(i + j * m)] : T(0);
    with_work<T>([&](T* work, const blasint* size) {
        lapack.orgqr(&m, &k, &k, matrix.data(), &m, tau.data(), work, size, &info);
    });
    scatter(matrix.data(), turned(q));
}

#define GLINT_DENSE(T)                                                                    \
    template void solve(const View<const T>&, const View<const T>&, const View<T>&, int); \
    template void eigh(const View<const T>&, const View<T>&, const View<T>*, int);        \
    template void qr(const View<const T>&, const View<T>&, const View<T>&, int);
GLINT_DENSE(float)
GLINT_DENSE(double)
#undef GLINT_DENSE

}  // namespace glint::arrays::cpu
