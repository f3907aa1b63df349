// The reference for reductions along an axis: plain loops, for tests on the CPU and on a GPU.
// SPDX-License-Identifier: MIT
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <vector>

#include "glint/arrays/operations.hpp"

namespace glint::arrays::test {

/// Of `at(outer, k, inner)`.
template <class T>
using Elements = std::function<T(std::int64_t, std::int64_t, std::int64_t)>;

template <class T>
std::vector<T> axis_values(std::int64_t n, unsigned seed) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> between(-1, 1);
    std::vector<T> values(static_cast<std::size_t>(n));
    for (T& value : values) value = std::is_integral_v<T> ? T(1000 * between(random)) : T(between(random));
    return values;
}

/// A sum of n terms in double precision is off by less than n eps sum|x|, and is rounded once to T.
template <class T>
void expect_sum(T found, long double sum, long double sizes, std::int64_t n) {
    const double bound = std::is_integral_v<T> ? 0
                                               : double(n * sizes) * std::numeric_limits<double>::epsilon() +
                                                     std::abs(double(sum)) * double(std::numeric_limits<T>::epsilon());
    EXPECT_NEAR(double(found), double(sum), bound);
}

/// Calls run(reduction) -> out (outer, inner) and find(reduction) -> positions, and compares them with loops.
template <class T, class Run, class Find>
void expect_reductions(const Shape& shape, const Elements<T>& at, const Run& run, const Find& find) {
    const std::vector<T> sum = run(Reduction::sum), least = run(Reduction::minimum), most = run(Reduction::maximum);
    const std::vector<std::int64_t> first_least = find(Reduction::argmin), first_most = find(Reduction::argmax);
    std::vector<T> mean;
    if constexpr (!std::is_integral_v<T>) mean = run(Reduction::mean);
    const std::int64_t n = shape[1];
    for (std::int64_t u = 0, to = 0; u < shape[0]; ++u)
        for (std::int64_t i = 0; i < shape[2]; ++i, ++to) {
            long double total = 0, sizes = 0;
            std::int64_t low = 0, high = 0;
            for (std::int64_t k = 0; k < n; ++k) {
                total += (long double)at(u, k, i), sizes += std::abs((long double)at(u, k, i));
                if (at(u, k, i) < at(u, low, i)) low = k;
                if (at(u, k, i) > at(u, high, i)) high = k;
            }
            const auto here = std::size_t(to);
            expect_sum<T>(sum[here], total, sizes, n);
            if (!mean.empty()) expect_sum<T>(mean[here], total / n, sizes / n, n + 1);
            ASSERT_EQ(least[here], at(u, low, i)) << u << ", " << i;
            ASSERT_EQ(most[here], at(u, high, i)) << u << ", " << i;
            ASSERT_EQ(first_least[here], low) << u << ", " << i;
            ASSERT_EQ(first_most[here], high) << u << ", " << i;
        }
}

}  // namespace glint::arrays::test
