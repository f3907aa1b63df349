// Maps and reductions on the CPU against plain loops.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "arrays/cpu.hpp"
#include "arrays/strided_test.hpp"

namespace glint::arrays {
namespace {

using test::Layout;
using test::Strided;

template <class T>
class CpuMap : public testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(CpuMap, Types);

const Shape shapes[] = {{}, {1}, {15}, {16}, {1023}, {1024}, {1025}, {7, 33}, {3, 5, 70}, {4, 3, 2, 90}, {300, 500}};

TYPED_TEST(CpuMap, computes_each_element_in_all_layouts) {
    using T = TypeParam;
    std::mt19937 random(1);
    const Program program = compile(select(input(0) < input(1), input(0) * 2 + input(2), input(1) - 0.25));
    for (const Shape& shape : shapes)
        for (const Layout of_x : test::all_layouts)
            for (const Layout of_out : test::writable_layouts) {
                const Strided<T> x(shape, of_x, random), y(shape, Layout::contiguous, random);
                const Strided<T> one({1, 1}, Layout::contiguous, random);
                const auto out = Strided<T>::of_nan(shape, of_out);
                const View<const T> inputs[] = {x.view, y.view, one.view};
                cpu::map<T>(program, inputs, out.view, 0);
                for (std::int64_t k = 0; k < shape.count(); ++k) {
                    const T expected = x.at(k) < y.at(k) ? x.at(k) * 2 + one.at(0) : y.at(k) - T(0.25);
                    ASSERT_EQ(out.at(k), expected) << k;
                }
            }
}

TYPED_TEST(CpuMap, may_write_to_one_of_its_inputs) {
    using T = TypeParam;
    std::mt19937 random(2);
    for (const Layout layout : test::writable_layouts)
        for (const Shape& shape : shapes) {
            const Strided<T> x(shape, layout, random), y(shape, layout, random), before(shape, layout);
            for (std::int64_t k = 0; k < shape.count(); ++k) before.at(k) = x.at(k);
            const View<const T> inputs[] = {x.view, y.view};
            cpu::map<T>(compile(abs(input(0)) + input(1) * input(0)), inputs, x.view, 0);
            for (std::int64_t k = 0; k < shape.count(); ++k) {
                const double b = before.at(k), product = double(y.at(k)) * b;
                const double bound = (std::abs(product) + std::abs(b)) * std::numeric_limits<T>::epsilon();
                ASSERT_NEAR(x.at(k), std::abs(b) + product, bound) << k;
            }
        }
}

TYPED_TEST(CpuMap, gives_an_element_the_same_result_wherever_it_lies) {
    using T = TypeParam;
    std::mt19937 random(3);
    const Program program = compile(exp(sin(input(0))) / log1p(abs(input(0))));
    const Strided<T> x({200000}, Layout::contiguous, random), out({200000}, Layout::contiguous);
    const View<const T> all[] = {x.view};
    cpu::map<T>(program, all, out.view, 0);
    for (const std::int64_t first : {0, 1, 17, 1023, 65535, 199990})
        for (const std::int64_t n : {1, 3, 9}) {
            T alone[9];
            const View<const T> part[] = {{x.view.data + first, {n}}};
            cpu::map<T>(program, part, View<T>(alone, {n}), 1);
            for (int k = 0; k < n; ++k) EXPECT_EQ(alone[k], out.at(first + k));
        }
}

TYPED_TEST(CpuMap, writes_an_input_or_a_constant_as_they_are) {
    using T = TypeParam;
    std::mt19937 random(4);
    const Strided<T> x({40}, Layout::backwards, random), out({40}, Layout::padded), one({}, Layout::contiguous, random);
    const View<const T> inputs[] = {x.view}, single[] = {one.view};
    cpu::map<T>(compile(input(0)), inputs, out.view, 1);
    for (int k = 0; k < 40; ++k) EXPECT_EQ(out.at(k), x.at(k));
    cpu::map<T>(compile(input(0)), single, out.view, 1);
    for (int k = 0; k < 40; ++k) EXPECT_EQ(out.at(k), one.at(0));
    cpu::map<T>(compile(7), {}, out.view, 1);
    for (int k = 0; k < 40; ++k) EXPECT_EQ(out.at(k), 7);
}

/// A sum of n terms in double precision is off by less than n eps sum|x|.
TYPED_TEST(CpuMap, reduces_all_layouts_alike_for_any_number_of_threads) {
    using T = TypeParam;
    std::mt19937 random(5);
    for (const Shape& shape : shapes)
        for (const Layout layout : test::all_layouts) {
            const Strided<T> x(shape, layout, random);
            const std::int64_t n = shape.count();
            long double sum = 0, sizes = 0;
            double least = x.at(0), greatest = x.at(0);
            for (std::int64_t k = 0; k < n; ++k) {
                sum += x.at(k), sizes += std::abs(x.at(k));
                least = std::min<double>(least, x.at(k)), greatest = std::max<double>(greatest, x.at(k));
            }
            const View<const T> inputs[] = {x.view};
            const auto reduced = [&](Reduction how, int threads) {
                return cpu::reduce<T>(how, compile(input(0)), inputs, shape, threads);
            };
            const double bound = double(n * sizes) * std::numeric_limits<double>::epsilon();
            EXPECT_NEAR(reduced(Reduction::sum, 1), double(sum), bound);
            EXPECT_NEAR(reduced(Reduction::mean, 1), double(sum / n), bound / double(n));
            EXPECT_EQ(reduced(Reduction::minimum, 1), least);
            EXPECT_EQ(reduced(Reduction::maximum, 1), greatest);
            for (const int threads : {0, 2, 3})
                EXPECT_EQ(reduced(Reduction::sum, threads), reduced(Reduction::sum, 1)) << "to the last bit";
        }
}

TYPED_TEST(CpuMap, sums_more_than_a_float_can_count) {
    using T = TypeParam;
    const Strided<T> one({}, Layout::contiguous);
    one.at(0) = T(0.1);
    const View<const T> inputs[] = {one.view};
    const std::int64_t n = (1 << 24) + 5;
    EXPECT_NEAR(cpu::reduce<T>(Reduction::sum, compile(input(0)), inputs, {n}, 0), double(T(0.1)) * double(n), 1e-6);
    EXPECT_NEAR(cpu::reduce<T>(Reduction::mean, compile(input(0)), inputs, {n}, 0), double(T(0.1)), 1e-12);
}

TYPED_TEST(CpuMap, hands_nan_on_from_any_place) {
    using T = TypeParam;
    for (const std::int64_t n : {1, 5, 16, 40, 1025, 70000})
        for (const std::int64_t at : {std::int64_t(0), n / 2, n - 1}) {
            const Strided<T> x({n}, Layout::contiguous);
            x.at(at) = std::numeric_limits<T>::quiet_NaN();
            const View<const T> inputs[] = {x.view};
            for (const Reduction how : {Reduction::sum, Reduction::mean, Reduction::minimum, Reduction::maximum})
                EXPECT_TRUE(std::isnan(cpu::reduce<T>(how, compile(input(0)), inputs, {n}, 0))) << n << " " << at;
        }
}

}  // namespace
}  // namespace glint::arrays
