// Fourier transforms on the CPU against the definition in long double.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>
#include <thread>

#include "arrays/cpu.hpp"
#include "arrays/strided_test.hpp"

namespace glint::arrays {
namespace {

using test::Layout;
using test::Strided;
using Wide = std::complex<long double>;

/// The transform of one line; `sign` -1: forward.
std::vector<Wide> defined(const std::vector<Wide>& x, int sign) {
    const std::size_t n = x.size();
    std::vector<Wide> to(n), roots(n);
    for (std::size_t k = 0; k < n; ++k)
        roots[k] = std::polar(1.0L, sign * 2 * std::numbers::pi_v<long double> * static_cast<long double>(k) /
                                        static_cast<long double>(n));
    for (std::size_t k = 0; k < n; ++k)
        for (std::size_t j = 0; j < n; ++j) to[k] += x[j] * roots[k * j % n];
    return to;
}

/// Transforms the last `rank` dimensions of `values`, in C order.
std::vector<Wide> defined(std::vector<Wide> values, const Shape& shape, int rank, int sign) {
    std::int64_t apart = 1;
    for (int axis = shape.dimensions - 1, k = 0; k < rank; ++k, apart *= shape[axis--]) {
        const std::int64_t n = shape[axis];
        for (std::int64_t first = 0; first < shape.count(); ++first) {
            if (first / apart % n != 0) continue;
            std::vector<Wide> line(n);
            for (std::int64_t i = 0; i < n; ++i) line[i] = values[first + i * apart];
            line = defined(line, sign);
            for (std::int64_t i = 0; i < n; ++i) values[first + i * apart] = line[i];
        }
    }
    return values;
}

template <class E>
std::vector<Wide> wide(const Strided<E>& array) {
    std::vector<Wide> values(array.view.shape.count());
    for (std::size_t k = 0; k < values.size(); ++k) values[k] = Wide(array.at(std::int64_t(k)));
    return values;
}

std::int64_t elements(const Shape& shape, int rank) {
    std::int64_t n = 1;
    for (int k = 0; k < rank; ++k) n *= shape[shape.dimensions - 1 - k];
    return n;
}

/// The expected root mean square error is a few eps sqrt(log n), bounded by eps log n (Gentleman and Sande). Lengths
/// with large prime factors need several transforms.
template <class T, class E>
void expect_near(const Strided<E>& found, const std::vector<Wide>& expected, std::int64_t n) {
    long double error = 0, size = 0;
    for (std::size_t k = 0; k < expected.size(); ++k)
        error += std::norm(Wide(found.at(std::int64_t(k))) - expected[k]), size += std::norm(expected[k]);
    EXPECT_LE(std::sqrt(error), 4 * std::numeric_limits<T>::epsilon() * std::log2(n + 2.0L) * std::sqrt(size));
}

template <class T>
class Fft : public testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(Fft, Types);

const Shape lines[] = {{1}, {2}, {15}, {64}, {101}, {5, 1}, {37, 6}, {3, 4, 130}, {2, 3, 2, 9}};
const Shape images[] = {{1, 1}, {1, 6}, {6, 1}, {4, 6}, {9, 7}, {131, 20}, {2, 20, 130}, {2, 3, 5, 4}};

TYPED_TEST(Fft, is_what_it_is_defined_as_in_all_layouts) {
    using T = TypeParam;
    std::mt19937 random(1);
    for (const int rank : {1, 2})
        for (const Shape& shape : rank == 1 ? std::vector<Shape>(std::begin(lines), std::end(lines))
                                            : std::vector<Shape>(std::begin(images), std::end(images)))
            for (const Layout layout : test::all_layouts)
                for (const bool inverse : {false, true}) {
                    const Layout of_out = layout == Layout::repeated ? Layout::contiguous : layout;
                    const Strided<std::complex<T>> in(shape, layout, random);
                    const auto out = Strided<std::complex<T>>::of_nan(shape, of_out);
                    cpu::fft<T>(in.view, out.view, {.rank = rank, .inverse = inverse}, 1);
                    std::vector<Wide> expected = defined(wide(in), shape, rank, inverse ? 1 : -1);
                    const std::int64_t n = elements(shape, rank);
                    if (inverse)
                        for (Wide& x : expected) x /= static_cast<long double>(n);
                    expect_near<T>(out, expected, n);
                }
}

TYPED_TEST(Fft, of_real_values_is_half_of_it_and_comes_back) {
    using T = TypeParam;
    std::mt19937 random(2);
    for (const int rank : {1, 2})
        for (const Shape& shape : rank == 1 ? std::vector<Shape>(std::begin(lines), std::end(lines))
                                            : std::vector<Shape>(std::begin(images), std::end(images)))
            for (const Layout layout : test::writable_layouts) {
                const int last = shape.dimensions - 1;
                Shape half = shape;
                half.extent[last] = shape[last] / 2 + 1;
                const Strided<T> in(shape, layout, random), back = Strided<T>::of_nan(shape, layout);
                const auto out = Strided<std::complex<T>>::of_nan(half, layout);
                cpu::rfft<T>(in.view, out.view, rank, 1);
                const std::vector<Wide> whole = defined(wide(in), shape, rank, -1);
                std::vector<Wide> expected;
                for (std::int64_t k = 0; k < shape.count(); ++k)
                    if (k % shape[last] < half[last]) expected.push_back(whole[k]);
                expect_near<T>(out, expected, elements(shape, rank));
                const std::vector<Wide> before = wide(out);
                cpu::irfft<T>(out.view, back.view, rank, 1);
                expect_near<T>(back, wide(in), elements(shape, rank));
                EXPECT_EQ(wide(out), before) << "the input is not overwritten";
            }
}

TYPED_TEST(Fft, does_not_depend_on_the_number_of_threads) {
    using T = TypeParam;
    std::mt19937 random(3);
    for (const auto& [shape, rank] : {std::pair{Shape{70, 300}, 1}, {Shape{300, 200}, 2}, {Shape{1 << 17}, 1}}) {
        const Strided<std::complex<T>> in(shape, Layout::contiguous, random);
        const auto one = Strided<std::complex<T>>::of_nan(shape, Layout::contiguous);
        cpu::fft<T>(in.view, one.view, {.rank = rank}, 1);
        for (const int threads : {0, 2, 3}) {
            const auto several = Strided<std::complex<T>>::of_nan(shape, Layout::contiguous);
            cpu::fft<T>(in.view, several.view, {.rank = rank}, threads);
            expect_near<T>(several, wide(one), elements(shape, rank));
        }
    }
}

TYPED_TEST(Fft, can_be_called_from_several_threads_with_more_plans_than_are_kept) {
    using T = TypeParam;
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([t] {
            std::mt19937 random(t);
            for (int n = 1; n < 90; ++n) {
                const Strided<std::complex<T>> in({n}, Layout::contiguous, random);
                const auto out = Strided<std::complex<T>>::of_nan({n}, Layout::contiguous);
                cpu::fft<T>(in.view, out.view, {}, 1);
                expect_near<T>(out, defined(wide(in), -1), n);
            }
        });
    for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace glint::arrays
