// Reductions along an axis on the CPU against plain loops.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "arrays/cpu.hpp"
#include "arrays/reduce_axis_test.hpp"

namespace glint::arrays {
namespace {

template <class T>
class CpuAxes : public testing::Test {};
using Types = testing::Types<float, double, std::int64_t>;
TYPED_TEST_SUITE(CpuAxes, Types);

TYPED_TEST(CpuAxes, reductions_in_any_layout_for_any_number_of_threads) {
    using T = TypeParam;
    const Shape shapes[] = {{1, 1, 1}, {3, 5, 2}, {2, 700, 65}, {7, 1, 40}, {1, 200000, 1}, {300, 1000, 1}};
    for (const Shape& shape : shapes)
        for (const bool turned : {false, true})  // the axis last in memory
            for (const int threads : {1, 0}) {
                const auto values = test::axis_values<T>(shape.count(), 1);
                View<const T> in(values.data(), shape);
                if (turned) in.strides = {shape[1] * shape[2], 1, shape[1]};
                std::vector<T> out(std::size_t(shape[0] * shape[2]));
                std::vector<std::int64_t> found(out.size());
                test::expect_reductions<T>(
                    shape,
                    [&](std::int64_t u, std::int64_t k, std::int64_t i) {
                        return in.data[u * in.strides[0] + k * in.strides[1] + i * in.strides[2]];
                    },
                    [&](Reduction how) {
                        cpu::reduce_axis<T, T>(how, in, View<T>(out.data(), {shape[0], shape[2]}), threads);
                        return out;
                    },
                    [&](Reduction how) {
                        cpu::reduce_axis<T, std::int64_t>(
                            how, in, View<std::int64_t>(found.data(), {shape[0], shape[2]}), threads);
                        return found;
                    });
            }
}

TYPED_TEST(CpuAxes, products) {
    using T = TypeParam;
    const std::vector<T> values{2, 3, 5, 7, -1, 4};
    std::vector<T> out(2);
    cpu::reduce_axis<T, T>(Reduction::product, View<const T>(values.data(), {1, 3, 2}), View<T>(out.data(), {1, 2}), 1);
    EXPECT_EQ(out, (std::vector<T>{2 * 5 * -1, 3 * 7 * 4}));
}

TEST(CpuAxes, nan_is_least_and_greatest_and_found_first) {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const std::vector<double> values{3, nan, -1, nan};
    for (const std::int64_t inner : {1, 2}) {
        const View<const double> in(values.data(), {1, 4 / inner, inner});
        std::vector<double> out(2);
        std::vector<std::int64_t> at(2);
        for (const Reduction how : {Reduction::sum, Reduction::minimum, Reduction::maximum}) {
            cpu::reduce_axis<double, double>(how, in, View<double>(out.data(), {1, inner}), 1);
            EXPECT_TRUE(std::isnan(out[std::size_t(inner - 1)]));
        }
        for (const Reduction how : {Reduction::argmin, Reduction::argmax}) {
            cpu::reduce_axis<double, std::int64_t>(how, in, View<std::int64_t>(at.data(), {1, inner}), 1);
            EXPECT_EQ(at[std::size_t(inner - 1)], inner == 1 ? 1 : 0);
        }
    }
}

}  // namespace
}  // namespace glint::arrays
