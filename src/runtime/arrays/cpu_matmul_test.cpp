// Matrix products on the CPU against sums in long double.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <thread>

#include "arrays/cpu.hpp"
#include "arrays/strided_test.hpp"

namespace glint::arrays {
namespace {

using test::Layout;
using test::Strided;

/// Position of c's matrix `batch` in an operand's stack, with the broadcasting of NumPy.
template <class T>
long double element(const Strided<T>& a, const Shape& c, std::int64_t batch, std::int64_t i, std::int64_t j) {
    const int lead = c.dimensions - 2;
    std::int64_t index[max_dimensions];
    for (int k = lead - 1; k >= 0; --k) index[k] = batch % c[k], batch /= c[k];
    const Shape& shape = a.view.shape;
    const int missing = c.dimensions - shape.dimensions;
    std::int64_t at = 0;
    for (int k = missing; k < lead; ++k) at += (shape[k - missing] == 1 ? 0 : index[k]) * a.view.strides[k - missing];
    return a.view.data[at + i * a.view.strides[shape.dimensions - 2] + j * a.view.strides[shape.dimensions - 1]];
}

/// |error| <= (k + 2) eps |a| |b|, element by element: Higham, Accuracy and Stability, 3.13.
template <class T>
void expect_product(const Strided<T>& a, const Strided<T>& b, const Strided<T>& c, int threads) {
    cpu::matmul<T>(a.view, b.view, c.view, threads);
    const Shape& shape = c.view.shape;
    const std::int64_t m = shape[shape.dimensions - 2], n = shape[shape.dimensions - 1];
    const std::int64_t inner = a.view.shape[a.view.shape.dimensions - 1], count = shape.count() / (m * n);
    for (std::int64_t at = 0; at < count; ++at)
        for (std::int64_t i = 0; i < m; ++i)
            for (std::int64_t j = 0; j < n; ++j) {
                long double sum = 0, sizes = 0;
                for (std::int64_t k = 0; k < inner; ++k) {
                    const long double term = element(a, shape, at, i, k) * element(b, shape, at, k, j);
                    sum += term, sizes += std::abs(term);
                }
                const long double bound = (inner + 2) * sizes * std::numeric_limits<T>::epsilon();
                ASSERT_LE(std::abs(element(c, shape, at, i, j) - sum), bound) << at << " " << i << " " << j;
            }
}

template <class T>
class Matmul : public testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(Matmul, Types);

TYPED_TEST(Matmul, is_right_for_all_layouts) {
    using T = TypeParam;
    std::mt19937 random(1);
    for (const Layout in : test::all_layouts)
        for (const Layout of_b : test::all_layouts)
            for (const Layout out : test::writable_layouts) {
                const Strided<T> a({7, 5}, in, random), b({5, 9}, of_b, random);
                expect_product(a, b, Strided<T>::of_nan({7, 9}, out), 1);
            }
}

TYPED_TEST(Matmul, is_right_for_rows_columns_and_single_elements) {
    using T = TypeParam;
    std::mt19937 random(2);
    for (const Layout layout : test::all_layouts)
        for (const auto& [m, k, n] : {std::tuple{1, 1, 1}, {1, 7, 1}, {7, 1, 9}, {1, 7, 9}, {7, 9, 1}, {1, 1, 5}}) {
            const Strided<T> a({m, k}, layout, random), b({k, n}, layout, random);
            const Layout out = layout == Layout::repeated ? Layout::contiguous : layout;
            expect_product(a, b, Strided<T>::of_nan({m, n}, out), 1);
        }
}

TYPED_TEST(Matmul, repeats_what_a_stack_lacks) {
    using T = TypeParam;
    std::mt19937 random(3);
    const Shape shapes[][3] = {{{3, 4, 5}, {3, 5, 6}, {3, 4, 6}},
                               {{4, 5}, {3, 5, 6}, {3, 4, 6}},
                               {{3, 4, 5}, {5, 6}, {3, 4, 6}},
                               {{2, 3, 4, 5}, {3, 5, 6}, {2, 3, 4, 6}},
                               {{2, 1, 4, 5}, {1, 3, 5, 6}, {2, 3, 4, 6}},
                               {{2, 3, 4, 5}, {5, 6}, {2, 3, 4, 6}},
                               {{2, 3, 1, 5}, {2, 3, 5, 1}, {2, 3, 1, 1}},
                               {{1, 5}, {40, 5, 6}, {40, 1, 6}},
                               {{1, 1, 4, 5}, {2, 3, 5, 6}, {2, 3, 4, 6}}};
    for (const auto& [a, b, c] : shapes)
        for (const Layout layout : test::all_layouts)
            for (const int threads : {0, 1, 2, 3}) {
                const Layout out = layout == Layout::repeated ? Layout::contiguous : layout;
                expect_product(Strided<T>(a, layout, random), Strided<T>(b, layout, random), Strided<T>::of_nan(c, out),
                               threads);
            }
}

TYPED_TEST(Matmul, is_right_for_larger_ones_on_several_threads) {
    using T = TypeParam;
    std::mt19937 random(4);
    for (const int threads : {0, 1, 2})
        expect_product(Strided<T>({130, 270}, Layout::transposed, random),
                       Strided<T>({270, 140}, Layout::padded, random), Strided<T>::of_nan({130, 140}, Layout::padded),
                       threads);
    expect_product(Strided<T>({200, 20, 30}, Layout::contiguous, random),
                   Strided<T>({200, 30, 10}, Layout::contiguous, random),
                   Strided<T>::of_nan({200, 20, 10}, Layout::contiguous), 0);
}

TYPED_TEST(Matmul, can_be_called_from_several_threads_with_different_numbers_of_threads) {
    using T = TypeParam;
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([t] {
            std::mt19937 random(t);
            const Strided<T> a({60, 50}, Layout::contiguous, random), b({50, 40}, Layout::contiguous, random);
            for (int k = 0; k < 20; ++k) expect_product(a, b, Strided<T>::of_nan({60, 40}, Layout::contiguous), t % 3);
        });
    for (std::thread& thread : threads) thread.join();
}

TYPED_TEST(Matmul, keeps_nan_where_it_belongs) {
    using T = TypeParam;
    std::mt19937 random(5);
    Strided<T> a({4, 6}, Layout::contiguous, random), b({6, 5}, Layout::contiguous, random);
    a.view.data[2 * 6 + 3] = std::numeric_limits<T>::quiet_NaN();
    const auto c = Strided<T>::of_nan({4, 5}, Layout::contiguous);
    cpu::matmul<T>(a.view, b.view, c.view, 1);
    for (int i = 0; i < 20; ++i) EXPECT_EQ(std::isnan(c.view.data[i]), i / 5 == 2) << i;
}

}  // namespace
}  // namespace glint::arrays
