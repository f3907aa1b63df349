// Linear systems, eigenvalues and QR decompositions on the CPU.
// SPDX-License-Identifier: MIT
#include "arrays/cpu.hpp"
#include "arrays/dense_test.hpp"
#include "glint/error.hpp"
#include "tests/expect_error.hpp"

namespace glint::arrays {
namespace {

using test::Matrix;

template <class T>
class CpuDense : public testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(CpuDense, Types);

TYPED_TEST(CpuDense, solutions_eigenvalues_singular_values_and_qr) {
    using T = TypeParam;
    test::expect_solutions<T>(
        [](const Matrix<T>& a, const Matrix<T>& b, Matrix<T>& x) { cpu::solve<T>(a.in(), b.in(), x.out(), 0); });
    test::expect_eigenvalues<T>([](const Matrix<T>& a, Matrix<T>& w, Matrix<T>* v) {
        const View<T> vectors = v ? v->out() : View<T>();
        cpu::eigh<T>(a.in(), View<T>(w.values.data(), {w.columns}), v ? &vectors : nullptr, 0);
    });
    test::expect_full_svd<T>([](const Matrix<T>& a, Matrix<T>& s, Matrix<T>& u, Matrix<T>& vt) {
        const View<T> left = u.out(), right = vt.out();
        cpu::svd<T>(a.in(), View<T>(s.values.data(), {s.columns}), &left, &right, 0);
    });
    test::expect_qr<T>([](const Matrix<T>& a, Matrix<T>& q, Matrix<T>& r) { cpu::qr<T>(a.in(), q.out(), r.out(), 0); });
}

TYPED_TEST(CpuDense, errors) {
    using T = TypeParam;
    Matrix<T> a(2, 2), x(2, 1);
    a.at(0, 0) = a.at(0, 1) = 1;
    glint::test::expect_error<OptionError>([&] { cpu::solve<T>(a.in(), x.in(), x.out(), 0); }, {"(2, 2)", "singular"});
    a.at(1, 0) = std::numeric_limits<T>::quiet_NaN();
    glint::test::expect_error<OptionError>([&] { cpu::eigh<T>(a.in(), View<T>(x.values.data(), {2}), nullptr, 0); },
                                           {"eigenvalues", "NaN at [1, 0]"});
}

}  // namespace
}  // namespace glint::arrays
