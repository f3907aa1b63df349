// Fourier transforms on a GPU against sums written out.
// SPDX-License-Identifier: MIT
#include "arrays/gpu_arrays_fixture.hpp"

namespace glint::arrays::test {
namespace {

/// count transforms of height x width.
template <class T>
std::vector<std::complex<T>> transformed(const std::vector<std::complex<T>>& x, std::int64_t height, std::int64_t width,
                                         int direction) {
    const double turn = direction * 2 * 3.14159265358979323846;
    const std::int64_t n = height * width, count = std::int64_t(x.size()) / n;
    std::vector<std::complex<T>> y;
    for (std::int64_t which = 0; which < count; ++which)
        for (std::int64_t u = 0; u < height; ++u)
            for (std::int64_t v = 0; v < width; ++v) {
                std::complex<double> sum;
                for (std::int64_t i = 0; i < height; ++i)
                    for (std::int64_t j = 0; j < width; ++j)
                        sum += std::complex<double>(x[std::size_t(which * n + i * width + j)]) *
                               std::polar(1.0, turn * (double(u * i % height) / double(height) +
                                                       double(v * j % width) / double(width)));
                if (direction > 0) sum /= double(n);
                y.emplace_back(sum);
            }
    return y;
}

/// The first half of each line of `width`.
template <class T>
std::vector<std::complex<T>> half(const std::vector<std::complex<T>>& x, std::int64_t width) {
    std::vector<std::complex<T>> y;
    for (std::size_t k = 0; k < x.size(); ++k)
        if (std::int64_t(k) % width <= width / 2) y.push_back(x[k]);
    return y;
}

template <class T>
struct GpuFft : GpuArraysTest {
    using C = std::complex<T>;
    static constexpr double tolerance = std::is_same_v<T, float> ? 1e-4 : 1e-12;

    void expect_right(const Shape& shape, int rank, bool also_there = true) {
        const int last = shape.dimensions - 1;
        const std::int64_t width = shape[last], height = rank == 2 ? shape[last - 1] : 1;
        const auto x = random_values<C>(shape.count());
        for (const bool inverse : {false, true}) {
            const auto expected = transformed(x, height, width, inverse ? 1 : -1);
            std::vector<C> y(x.size());
            on_gpu->fft<T>(View<const C>(x.data(), shape), View<C>(y.data(), shape),
                           {.rank = rank, .inverse = inverse});
            EXPECT_LE(distance(y, expected), tolerance);
            if (!also_there) continue;
            const auto out = empty<C>(shape);
            on_gpu->fft<T>(to_device(x, shape), out, {.rank = rank, .inverse = inverse});
            EXPECT_LE(distance(values_of(out), expected), tolerance);
        }
        expect_right_of_reals(shape, rank, height, width, also_there);
    }

    void expect_right_of_reals(const Shape& shape, int rank, std::int64_t height, std::int64_t width, bool also_there) {
        const auto real = random_values<T>(shape.count());
        const auto expected = half(transformed(std::vector<C>(real.begin(), real.end()), height, width, -1), width);
        Shape of_half = shape;
        of_half.extent[std::size_t(shape.dimensions - 1)] = width / 2 + 1;
        std::vector<C> spectrum(expected.size());
        on_gpu->rfft<T>(View<const T>(real.data(), shape), View<C>(spectrum.data(), of_half), rank);
        EXPECT_LE(distance(spectrum, expected), tolerance);
        std::vector<T> back(real.size());
        on_gpu->irfft<T>(View<const C>(spectrum.data(), of_half), View<T>(back.data(), shape), rank);
        EXPECT_LE(distance(back, real), tolerance);
        if (!also_there) return;
        const auto spectrum_there = empty<C>(of_half);
        on_gpu->rfft<T>(to_device(real, shape), spectrum_there, rank);
        EXPECT_LE(distance(values_of(spectrum_there), expected), tolerance);
        const auto back_there = empty<T>(shape);
        on_gpu->irfft<T>(spectrum_there, back_there, rank);
        EXPECT_LE(distance(values_of(back_there), real), tolerance);
        EXPECT_LE(distance(values_of(spectrum_there), expected), tolerance) << "the input is as it was";
    }
};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(GpuFft, Types);

}  // namespace

TYPED_TEST(GpuFft, of_one_dimension) {
    this->expect_right({8}, 1);
    this->expect_right({7}, 1);
    this->expect_right({1}, 1);
    this->expect_right({3, 12}, 1);
    this->expect_right({3, 2, 9}, 1);
}

TYPED_TEST(GpuFft, of_two_dimensions) {
    this->expect_right({4, 6}, 2);
    this->expect_right({3, 5, 7}, 2);
    this->expect_right({2, 3, 4, 5}, 2);
}

TYPED_TEST(GpuFft, of_a_spectrum_that_no_real_array_has_takes_its_real_half) {
    using T = TypeParam;
    const auto x =
        random_values<std::complex<TypeParam>>(5);  // of 8 real numbers: NumPy ignores the imaginary parts of 0 and 4
    std::vector<std::complex<TypeParam>> full(8);
    for (std::size_t k = 0; k < 8; ++k) full[k] = k < 5 ? x[k] : std::conj(x[8 - k]);
    full[0] = x[0].real(), full[4] = x[4].real();
    std::vector<T> y(8), expected;
    for (const std::complex<TypeParam>& value : transformed(full, 1, 8, 1)) expected.push_back(value.real());
    this->on_gpu->template irfft<T>(View<const std::complex<TypeParam>>(x.data(), {5}), View<T>(y.data(), {8}), 1);
    EXPECT_LE(distance(y, expected), this->tolerance);
}

TYPED_TEST(GpuFft, of_views_with_gaps) {
    const auto x = random_values<std::complex<TypeParam>>(2 * 3 * 8);
    std::vector<std::complex<TypeParam>> dense, y(2 * 3 * 8, std::complex<TypeParam>(7)), found;
    for (std::size_t k = 0; k < x.size(); k += 2) dense.push_back(x[k]);
    this->on_gpu->template fft<TypeParam>(View<const std::complex<TypeParam>>(x.data(), {3, 8}, {16, 2}),
                                          View<std::complex<TypeParam>>(y.data(), {3, 8}, {1, 6}), {});
    for (std::size_t k = 0; k < 24; ++k) found.push_back(y[k / 8 + 6 * (k % 8)]);
    EXPECT_LE(distance(found, transformed(dense, 1, 8, -1)), this->tolerance);
    EXPECT_EQ(y[3], std::complex<TypeParam>(7)) << "what lies between is not touched";
}

TYPED_TEST(GpuFft, in_pieces_where_it_does_not_fit) {
    this->open(mib / 4);
    this->expect_right({1000, 16}, 1, false);
    EXPECT_LE(this->context->statistics().peak_bytes, mib / 4);
}

TYPED_TEST(GpuFft, one_transform_too_large_says_so) {
    this->open(mib / 16);
    const auto x = random_values<std::complex<TypeParam>>(1 << 14);
    std::vector<std::complex<TypeParam>> y(x.size());
    EXPECT_THROW(this->on_gpu->template fft<TypeParam>(View<const std::complex<TypeParam>>(x.data(), {1 << 14}),
                                                       View<std::complex<TypeParam>>(y.data(), {1 << 14}), {}),
                 gpu::OutOfMemory);
}

TYPED_TEST(GpuFft, of_many_sizes_keeps_few_plans) {
    for (std::int64_t n = 1; n < 20; ++n) {
        const auto x = random_values<std::complex<TypeParam>>(n);
        std::vector<std::complex<TypeParam>> y(x.size());
        this->on_gpu->template fft<TypeParam>(View<const std::complex<TypeParam>>(x.data(), {n}),
                                              View<std::complex<TypeParam>>(y.data(), {n}), {});
        EXPECT_LE(distance(y, transformed(x, 1, n, -1)), this->tolerance);
    }
    this->on_gpu->drop_caches();
    EXPECT_EQ(this->context->statistics().live_bytes, 0u);
}

}  // namespace glint::arrays::test
