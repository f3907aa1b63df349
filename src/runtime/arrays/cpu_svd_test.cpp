// Singular values on the CPU: the factors are orthogonal and multiply to the matrix (backward stability of gesdd:
// errors of a small multiple of max(m, n) eps times the maximum value).
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "arrays/cpu.hpp"
#include "arrays/strided_test.hpp"
#include "glint/error.hpp"
#include "tests/expect_error.hpp"

namespace glint::arrays {
namespace {

using test::Layout;
using test::Strided;

template <class T>
class Svd : public testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(Svd, Types);

/// Returns the sum over k of x[i, k] y[j, k] weight[k]; x and y each have their own strides.
template <class T>
double product(const T* x, std::int64_t x_apart, const T* y, std::int64_t y_apart, std::int64_t n,
               const T* weight = nullptr, std::int64_t weight_apart = 0) {
    double sum = 0;
    for (std::int64_t k = 0; k < n; ++k)
        sum += double(x[k * x_apart]) * double(y[k * y_apart]) * (weight ? double(weight[k * weight_apart]) : 1);
    return sum;
}

template <class T>
void expect_decomposed(const Strided<T>& a, Layout layout, int threads) {
    const std::int64_t m = a.view.shape[0], n = a.view.shape[1], k = std::min(m, n);
    const auto s = Strided<T>::of_nan({k}, layout), alone = Strided<T>::of_nan({k}, layout);
    const auto u = Strided<T>::of_nan({m, k}, layout), vt = Strided<T>::of_nan({k, n}, layout);
    const std::vector<T> before = a.memory;
    cpu::svd<T>(a.view, s.view, &u.view, &vt.view, threads);
    cpu::svd<T>(a.view, alone.view, nullptr, nullptr, threads);
    EXPECT_EQ(a.memory, before) << "the matrix is not overwritten";
    const double bound = 4 * double(std::max(m, n)) * std::numeric_limits<T>::epsilon();
    const Strides &us = u.view.strides, &vs = vt.view.strides;
    for (std::int64_t i = 0; i < m; ++i)
        for (std::int64_t j = 0; j < n; ++j)
            EXPECT_NEAR(product(u.view.data + i * us[0], us[1], vt.view.data + j * vs[1], vs[0], k, s.view.data,
                                s.view.strides[0]),
                        a.at(i * n + j), bound * s.at(0));
    for (std::int64_t i = 0; i < k; ++i) {
        EXPECT_GE(s.at(i), 0);
        EXPECT_LE(s.at(i), s.at(std::max<std::int64_t>(i - 1, 0)));
        EXPECT_NEAR(alone.at(i), s.at(i), bound * s.at(0));
        for (std::int64_t j = 0; j < k; ++j) {
            EXPECT_NEAR(product(u.view.data + i * us[1], us[0], u.view.data + j * us[1], us[0], m), i == j, bound);
            EXPECT_NEAR(product(vt.view.data + i * vs[0], vs[1], vt.view.data + j * vs[0], vs[1], n), i == j, bound);
        }
    }
}

TYPED_TEST(Svd, takes_a_matrix_apart_in_all_layouts) {
    std::mt19937 random(1);
    for (const Layout layout : test::writable_layouts)
        for (const auto& [m, n] : {std::pair{1, 1}, {1, 6}, {6, 1}, {5, 5}, {9, 4}, {4, 9}, {60, 3}, {40, 50}})
            expect_decomposed(Strided<TypeParam>({m, n}, layout, random), layout, 1);
    expect_decomposed(Strided<TypeParam>({20, 8}, Layout::repeated, random), Layout::contiguous, 2);  // of rank one
}

TYPED_TEST(Svd, takes_a_matrix_of_zeros) {
    expect_decomposed(Strided<TypeParam>({4, 3}, Layout::contiguous), Layout::contiguous, 0);
}

TYPED_TEST(Svd, says_where_a_number_is_missing) {
    using T = TypeParam;
    std::mt19937 random(2);
    for (const auto& [value, name] : {std::pair{std::numeric_limits<T>::quiet_NaN(), "NaN at [2, 1]"},
                                      {std::numeric_limits<T>::infinity(), "infinity at [2, 1]"}}) {
        const Strided<T> a({3, 4}, Layout::transposed, random);
        a.at(2 * 4 + 1) = value;
        const auto s = Strided<T>::of_nan({3}, Layout::contiguous);
        glint::test::expect_error<OptionError>([&] { cpu::svd<T>(a.view, s.view, nullptr, nullptr, 1); },
                                               {"(3, 4)", name});
    }
}

}  // namespace
}  // namespace glint::arrays
