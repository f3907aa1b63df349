// Linear systems, eigenvalues and QR decompositions on a GPU.
// SPDX-License-Identifier: MIT
#include "arrays/dense_test.hpp"
#include "arrays/gpu_arrays_fixture.hpp"
#include "glint/error.hpp"
#include "tests/expect_error.hpp"

namespace glint::arrays::test {
namespace {

template <class T>
struct GpuDense : GpuArraysTest {};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(GpuDense, Types);

}  // namespace

TYPED_TEST(GpuDense, from_the_host) {
    using T = TypeParam;
    expect_solutions<T>([&](const Matrix<T>& a, const Matrix<T>& b, Matrix<T>& x) {
        this->on_gpu->template solve<T>(a.in(), b.in(), x.out());
    });
    expect_eigenvalues<T>([&](const Matrix<T>& a, Matrix<T>& w, Matrix<T>* v) {
        this->on_gpu->template eigh<T>(a.in(), View<T>(w.values.data(), {w.columns}),
                                       v ? Operand<T>(v->out()) : Operand<T>());
    });
    expect_full_svd<T>([&](const Matrix<T>& a, Matrix<T>& s, Matrix<T>& u, Matrix<T>& vt) {
        this->on_gpu->template svd<T>(a.in(), View<T>(s.values.data(), {s.columns}), u.out(), vt.out());
    });
    expect_qr<T>([&](const Matrix<T>& a, Matrix<T>& q, Matrix<T>& r) {
        this->on_gpu->template qr<T>(a.in(), q.out(), r.out());
    });
}

TYPED_TEST(GpuDense, there) {
    using T = TypeParam;
    const auto up = [&](const Matrix<T>& a) { return this->to_device(a.values, a.shape()); };
    expect_solutions<T>([&](const Matrix<T>& a, const Matrix<T>& b, Matrix<T>& x) {
        const auto matrix = up(a), right = up(b), to = up(x);
        this->on_gpu->template solve<T>(matrix, right, to);
        x.values = this->values_of(to);
        EXPECT_EQ(this->values_of(matrix), a.values) << "the input is as it was";
        EXPECT_EQ(this->values_of(right), b.values);
    });
    expect_eigenvalues<T>([&](const Matrix<T>& a, Matrix<T>& w, Matrix<T>* v) {
        const auto matrix = up(a), values = this->template empty<T>({w.columns}), vectors = up(a);
        this->on_gpu->template eigh<T>(matrix, values, v ? Operand<T>(vectors) : Operand<T>());
        w.values = this->values_of(values);
        if (v) v->values = this->values_of(vectors);
        EXPECT_EQ(this->values_of(matrix), a.values);
    });
    expect_full_svd<T>([&](const Matrix<T>& a, Matrix<T>& s, Matrix<T>& u, Matrix<T>& vt) {
        const auto matrix = up(a), values = this->template empty<T>({s.columns}), left = up(u), right = up(vt);
        this->on_gpu->template svd<T>(matrix, values, left, right);
        s.values = this->values_of(values), u.values = this->values_of(left), vt.values = this->values_of(right);
    });
    expect_qr<T>([&](const Matrix<T>& a, Matrix<T>& q, Matrix<T>& r) {
        const auto matrix = up(a), to_q = up(q), to_r = up(r);
        this->on_gpu->template qr<T>(matrix, to_q, to_r);
        q.values = this->values_of(to_q), r.values = this->values_of(to_r);
        EXPECT_EQ(this->values_of(matrix), a.values);
    });
}

TYPED_TEST(GpuDense, errors) {
    using T = TypeParam;
    Matrix<T> a(2, 2), x(2, 1);
    a.at(0, 0) = a.at(0, 1) = 1;
    glint::test::expect_error<OptionError>([&] { this->on_gpu->template solve<T>(a.in(), x.in(), x.out()); },
                                           {"(2, 2)", "singular"});
    a.at(1, 0) = std::numeric_limits<T>::quiet_NaN();
    glint::test::expect_error<OptionError>(
        [&] { this->on_gpu->template eigh<T>(a.in(), View<T>(x.values.data(), {2}), {}); },
        {"eigenvalues", "NaN at [1, 0]"});
}

}  // namespace glint::arrays::test
