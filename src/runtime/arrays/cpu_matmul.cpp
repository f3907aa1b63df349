// Matrix products on the CPU, by OpenBLAS.
// SPDX-License-Identifier: MIT
#include <optional>
#include <string>
#include <vector>

#include "arrays/cpu.hpp"
#include "arrays/cpu_blas.hpp"
#include "arrays/cpu_copy.hpp"
#include "arrays/cpu_parallel.hpp"
#include "glint/error.hpp"

namespace glint::arrays::cpu {
namespace {

/// Below this number of multiplications per product, OpenBLAS's threads do not pay off, but threads over the stack do.
constexpr double small_product = 1 << 21;

/// One matrix; `apart`: distances between rows and between columns.
template <class T>
struct Matrix {
    T* data;
    std::int64_t rows, columns, row_apart, column_apart;

    Matrix transposed() const { return {data, columns, rows, column_apart, row_apart}; }
    bool has_rows() const {  ///< each without gaps, as BLAS requires
        return (column_apart == 1 || columns == 1) && (rows == 1 || (row_apart >= columns && row_apart <= blas_limit));
    }
    blasint leading() const { return blasint(rows == 1 ? std::max<std::int64_t>(columns, 1) : row_apart); }
    View<T> view() const { return {data, {rows, columns}, {row_apart, column_apart}}; }
};

/// A stack of matrices. Dimensions that are missing or 1, but larger in the result, repeat the matrices.
template <class T>
struct Stack {
    Stack(const View<T>& view, const Shape& result)
        : first{view.data, view.shape[view.shape.dimensions - 2], view.shape[view.shape.dimensions - 1],
                view.strides[view.shape.dimensions - 2], view.strides[view.shape.dimensions - 1]} {
        const int batch = result.dimensions - 2, missing = result.dimensions - view.shape.dimensions;
        for (int k = 0; k < batch; ++k) {
            extent[2 - batch + k] = result[k];
            if (k >= missing && view.shape[k - missing] > 1) apart[2 - batch + k] = view.strides[k - missing];
        }
    }
    std::int64_t count() const { return extent[0] * extent[1]; }
    Matrix<T> operator[](std::int64_t k) const {
        Matrix<T> matrix = first;
        matrix.data += k / extent[1] * apart[0] + k % extent[1] * apart[1];
        return matrix;
    }
    bool repeats() const { return apart[0] == 0 && apart[1] == 0; }
    /// Returns the rows of all matrices as those of a single matrix; nullopt if their distances differ.
    std::optional<Matrix<T>> as_one() const {
        const std::int64_t apart_inside = first.rows * first.row_apart;
        if (extent[1] > 1 && apart[1] != apart_inside) return {};
        if (extent[0] > 1 && apart[0] != apart_inside * extent[1]) return {};
        return Matrix<T>{first.data, first.rows * count(), first.columns, first.row_apart, first.column_apart};
    }

    Matrix<T> first;
    std::int64_t extent[2] = {1, 1}, apart[2] = {0, 0};
};

void gemm(CBLAS_TRANSPOSE ta, CBLAS_TRANSPOSE tb, blasint m, blasint n, blasint k, const float* a, blasint lda,
          const float* b, blasint ldb, float* c, blasint ldc) {
    openblas().cblas_sgemm(CblasRowMajor, ta, tb, m, n, k, 1, a, lda, b, ldb, 0, c, ldc);
}
void gemm(CBLAS_TRANSPOSE ta, CBLAS_TRANSPOSE tb, blasint m, blasint n, blasint k, const double* a, blasint lda,
          const double* b, blasint ldb, double* c, blasint ldc) {
    openblas().cblas_dgemm(CblasRowMajor, ta, tb, m, n, k, 1, a, lda, b, ldb, 0, c, ldc);
}
void gemv(CBLAS_TRANSPOSE ta, blasint m, blasint n, const float* a, blasint lda, const float* x, blasint apart,
          float* y) {
    openblas().cblas_sgemv(CblasRowMajor, ta, m, n, 1, a, lda, x, apart, 1, y, 1);
}
void gemv(CBLAS_TRANSPOSE ta, blasint m, blasint n, const double* a, blasint lda, const double* x, blasint apart,
          double* y) {
    openblas().cblas_dgemv(CblasRowMajor, ta, m, n, 1, a, lda, x, apart, 1, y, 1);
}

/// An input in a layout that BLAS accepts: unchanged, transposed, or copied.
template <class T>
class Argument {
  public:
    explicit Argument(const Matrix<const T>& matrix) : stored_(matrix) {
        if (matrix.has_rows()) return;
        if (matrix.transposed().has_rows()) {
            stored_ = matrix.transposed(), transposed_ = true;
            return;
        }
        copy_.resize(matrix.rows * matrix.columns);
        gather(matrix.view(), copy_.data());
        stored_ = {copy_.data(), matrix.rows, matrix.columns, matrix.columns, 1};
    }
    CBLAS_TRANSPOSE transposed() const { return transposed_ ? CblasTrans : CblasNoTrans; }
    const Matrix<const T>& stored() const { return stored_; }

  private:
    Matrix<const T> stored_;
    bool transposed_ = false;
    std::vector<T> copy_;
};

/// y = a x for a column x.
template <class T>
void multiply_vector(const Matrix<const T>& a, const Matrix<const T>& x, const Matrix<T>& y) {
    const Argument<T> matrix(a);
    std::vector<T> copy;
    const T* from = x.data;
    std::int64_t apart = x.rows == 1 ? 1 : x.row_apart;
    if (apart < 1 || apart > blas_limit) {  // for a negative distance, BLAS begins at the other end
        copy.resize(x.rows);
        gather(x.view(), copy.data());
        from = copy.data(), apart = 1;
    }
    std::vector<T> sums;
    T* to = y.data;
    const bool has_gaps = y.rows > 1 && y.row_apart != 1;
    if (has_gaps) sums.resize(y.rows), to = sums.data();
    std::fill_n(to, y.rows, T(0));  // BLAS adds to it: not all BLAS ignore the previous content
    gemv(matrix.transposed(), blasint(matrix.stored().rows), blasint(matrix.stored().columns), matrix.stored().data,
         matrix.stored().leading(), from, blasint(apart), to);
    if (has_gaps) scatter(to, y.view());
}

template <class T>
void multiply(const Matrix<const T>& a, const Matrix<const T>& b, const Matrix<T>& c) {
    if (c.columns == 1) return multiply_vector(a, b, c);
    if (c.rows == 1) return multiply_vector(b.transposed(), a.transposed(), c.transposed());
    if (!c.has_rows()) {
        if (c.transposed().has_rows()) return multiply(b.transposed(), a.transposed(), c.transposed());
        std::vector<T> product(c.rows * c.columns);
        multiply(a, b, Matrix<T>{product.data(), c.rows, c.columns, c.columns, 1});
        return scatter(product.data(), c.view());
    }
    const Argument<T> left(a), right(b);
    gemm(left.transposed(), right.transposed(), blasint(c.rows), blasint(c.columns), blasint(a.columns),
         left.stored().data, left.stored().leading(), right.stored().data, right.stored().leading(), c.data,
         c.leading());
}

void check_limit(std::int64_t m, std::int64_t k, std::int64_t n) {
    if (std::max({m, k, n}) <= blas_limit) return;
    throw OptionError("a product of matrices (" + std::to_string(m) + ", " + std::to_string(k) + ") and (" +
                      std::to_string(k) + ", " + std::to_string(n) + "): OpenBLAS counts rows and columns up to " +
                      std::to_string(blas_limit) + " only: multiply parts of them");
}

}  // namespace

template <class T>
void matmul(const View<const T>& a, const View<const T>& b, const View<T>& c, int threads) {
    const Stack<const T> left(a, c.shape), right(b, c.shape);
    const Stack<T> result(c, c.shape);
    const std::int64_t m = result.first.rows, n = result.first.columns, k = left.first.columns;
    check_limit(m, k, n);
    const std::int64_t count = result.count();
    if (count > 1 && right.repeats()) {  // all rows by the same matrix
        const auto rows = left.as_one();
        const auto to = result.as_one();
        if (rows && to && to->rows <= blas_limit) {
            const BlasThreads blas(threads);
            return multiply(*rows, right.first, *to);
        }
    }
    const bool over_stack =
        count > 1 && (double(m) * double(n) * double(k) < small_product || count >= 4 * thread_count(threads));
    const BlasThreads blas(over_stack ? 1 : threads);
    const bool too_few = double(m) * double(n) * double(k) * double(count) < small_product / 16;
    // Several products per task: a task takes as long as a product of 8 x 8.
    const std::int64_t tasks = over_stack && !too_few ? std::min<std::int64_t>(count, 8 * thread_count(threads)) : 1;
    parallel(threads, tasks, [&](std::int64_t task) {
        for (std::int64_t i = task * count / tasks, end = (task + 1) * count / tasks; i < end; ++i)
            multiply(left[i], right[i], result[i]);
    });
}

template void matmul(const View<const float>&, const View<const float>&, const View<float>&, int);
template void matmul(const View<const double>&, const View<const double>&, const View<double>&, int);

}  // namespace glint::arrays::cpu
