// Singular values and vectors on the CPU, by LAPACK's gesdd (divide and conquer) in OpenBLAS.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "arrays/check.hpp"
#include "arrays/cpu.hpp"
#include "arrays/cpu_blas.hpp"
#include "arrays/cpu_copy.hpp"

namespace glint::arrays::cpu {
namespace {

template <class T>
Gesdd<T>* gesdd_of(const OpenBlas& library) {
    if constexpr (std::is_same_v<T, float>)
        return library.sgesdd_;
    else
        return library.dgesdd_;
}

std::string text(std::int64_t m, std::int64_t n) {
    return "the matrix (" + std::to_string(m) + ", " + std::to_string(n) + ")";
}

/// Contiguous memory for a result: the caller's, or a buffer that finish() copies to the caller's.
template <class T>
class Result {
  public:
    explicit Result(const View<T>* view) : view_(view) {
        if (view && !view->is_contiguous()) copy_.resize(view->shape.count());
    }
    T* data() { return !view_ ? nullptr : copy_.empty() ? view_->data : copy_.data(); }
    void finish() const {
        if (!copy_.empty()) scatter(copy_.data(), *view_);
    }

  private:
    const View<T>* view_;
    std::vector<T> copy_;
};

/// A float's work size may have been rounded down.
template <class T>
std::int64_t svd_work_size(T optimum) {
    return std::int64_t(std::ceil(std::nextafter(optimum, std::numeric_limits<T>::infinity())));
}

}  // namespace

template <class T>
void svd(const View<const T>& a, const View<T>& s, const View<T>* u, const View<T>* vt, int threads) {
    const std::int64_t m = a.shape[0], n = a.shape[1], k = std::min(m, n);
    if (std::max(m, n) > blas_limit) throw OptionError("the singular values of " + text(m, n) + ": it is too large");
    std::vector<T> matrix(m * n);  // LAPACK overwrites it
    gather(a, matrix.data());
    require_finite("the singular values", matrix, m, n);

    // LAPACK sees a matrix in C order as its transpose, whose u is our vt, and vice versa.
    Result<T> values(&s), our_u(u), our_vt(vt);
    const bool all = u && u->shape[1] == m && vt->shape[0] == n;
    const char job = !u ? 'N' : all ? 'A' : 'S';
    const blasint rows = blasint(n), columns = blasint(m), of_u = blasint(all ? m : k);
    std::vector<blasint> int_work(8 * k);
    blasint info = 0;
    T unused = 0;
    const auto run = [&](T* work, blasint work_size) {
        gesdd_of<T>(openblas())(&job, &rows, &columns, matrix.data(), &rows, values.data(), u ? our_vt.data() : &unused,
                                &rows, u ? our_u.data() : &unused, &of_u, work, &work_size, int_work.data(), &info, 1);
    };
    const BlasThreads blas(threads);
    T optimum = 0;
    run(&optimum, -1);
    const std::int64_t size = svd_work_size(optimum);
    if (info != 0 || size > blas_limit)
        throw OptionError("the singular values of " + text(m, n) + ": LAPACK cannot work on one so large");
    std::vector<T> work(size);
    run(work.data(), blasint(size));
    if (info != 0)
        throw NotConverged("the singular values of " + text(m, n) +
                           " did not converge (LAPACK's gesdd: " + std::to_string(info) + ")");
    values.finish(), our_u.finish(), our_vt.finish();
}

template void svd(const View<const float>&, const View<float>&, const View<float>*, const View<float>*, int);
template void svd(const View<const double>&, const View<double>&, const View<double>*, const View<double>*, int);

}  // namespace glint::arrays::cpu
