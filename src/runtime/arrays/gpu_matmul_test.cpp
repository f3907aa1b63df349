// Matrix products on a GPU against sums written out.
// SPDX-License-Identifier: MIT
#include "arrays/gpu_arrays_fixture.hpp"

namespace glint::arrays::test {
namespace {

/// Products of stacks (outer, inner, m, k) and (outer, inner, k, n); an extent of 1 is repeated.
template <class T>
std::vector<T> product(const std::vector<T>& a, const std::array<std::int64_t, 2>& of_a, const std::vector<T>& b,
                       const std::array<std::int64_t, 2>& of_b, std::int64_t m, std::int64_t k, std::int64_t n) {
    const std::int64_t outer = std::max(of_a[0], of_b[0]), inner = std::max(of_a[1], of_b[1]);
    std::vector<T> c;
    for (std::int64_t o = 0; o < outer; ++o)
        for (std::int64_t i = 0; i < inner; ++i) {
            const auto begin = [&](const auto& of) { return (of[0] > 1 ? o : 0) * of[1] + (of[1] > 1 ? i : 0); };
            const T *x = a.data() + begin(of_a) * m * k, *y = b.data() + begin(of_b) * k * n;
            for (std::int64_t row = 0; row < m; ++row)
                for (std::int64_t column = 0; column < n; ++column) {
                    double sum = 0;
                    for (std::int64_t p = 0; p < k; ++p) sum += double(x[row * k + p]) * double(y[p * n + column]);
                    c.push_back(T(sum));
                }
        }
    return c;
}

template <class T>
struct GpuMatmul : GpuArraysTest {
    static constexpr double tolerance = std::is_same_v<T, float> ? 1e-4 : 1e-12;

    /// With all operands on the host, and with all or some on the device.
    void expect_right(const Shape& a, const Shape& b, const Shape& c, bool also_there = true) {
        const auto x = random_values<T>(a.count(), 1), y = random_values<T>(b.count(), 2);
        const auto stack = [](const Shape& s) {
            const int d = s.dimensions;
            return std::array<std::int64_t, 2>{d > 3 ? s[d - 4] : 1, d > 2 ? s[d - 3] : 1};
        };
        const std::int64_t m = c[c.dimensions - 2], k = a[a.dimensions - 1], n = c[c.dimensions - 1];
        const auto expected = product(x, stack(a), y, stack(b), m, k, n);
        std::vector<T> found(expected.size());
        on_gpu->matmul<T>(View<const T>(x.data(), a), View<const T>(y.data(), b), View<T>(found.data(), c));
        EXPECT_LE(distance(found, expected), tolerance);
        if (!also_there) return;
        const auto there = empty<T>(c);
        on_gpu->matmul<T>(to_device(x, a), to_device(y, b), there);
        EXPECT_LE(distance(values_of(there), expected), tolerance);
        on_gpu->matmul<T>(View<const T>(x.data(), a), to_device(y, b), there);
        EXPECT_LE(distance(values_of(there), expected), tolerance);
    }
};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(GpuMatmul, Types);

}  // namespace

TYPED_TEST(GpuMatmul, of_two_matrices) {
    this->expect_right({3, 5}, {5, 7}, {3, 7});
    this->expect_right({1, 1}, {1, 1}, {1, 1});
    this->expect_right({1, 9}, {9, 1}, {1, 1});
    this->expect_right({9, 1}, {1, 9}, {9, 9});
}

TYPED_TEST(GpuMatmul, of_stacks_and_of_one_matrix_with_a_stack) {
    this->expect_right({4, 3, 5}, {4, 5, 2}, {4, 3, 2});
    this->expect_right({3, 5}, {4, 5, 2}, {4, 3, 2});
    this->expect_right({4, 3, 5}, {5, 2}, {4, 3, 2});
    this->expect_right({2, 4, 3, 5}, {2, 4, 5, 2}, {2, 4, 3, 2});
    this->expect_right({2, 1, 3, 5}, {2, 4, 5, 2}, {2, 4, 3, 2});
    this->expect_right({4, 3, 5}, {2, 1, 5, 2}, {2, 4, 3, 2});
    this->expect_right({4, 1, 3, 5}, {2, 5, 2}, {4, 2, 3, 2});
}

TYPED_TEST(GpuMatmul, of_views_with_gaps_and_turned_around) {
    using T = TypeParam;
    const std::int64_t m = 6, k = 4, n = 5;
    const auto x = random_values<T>(m * k, 1), y = random_values<T>(3 * k * n, 2);
    std::vector<T> x_turned(x.size()), y_dense(std::size_t(k * n)), c_turned(std::size_t(m * n)), c(c_turned.size());
    for (std::int64_t i = 0; i < m; ++i)
        for (std::int64_t j = 0; j < k; ++j) x_turned[std::size_t(j * m + i)] = x[std::size_t(i * k + j)];
    for (std::int64_t i = 0; i < k * n; ++i) y_dense[std::size_t(i)] = y[std::size_t(3 * i)];
    this->on_gpu->template matmul<T>(View<const T>(x_turned.data(), {m, k}, {1, m}),
                                     View<const T>(y.data(), {k, n}, {3 * n, 3}),
                                     View<T>(c_turned.data(), {m, n}, {1, m}));
    const auto expected = product(x, {1, 1}, y_dense, {1, 1}, m, k, n);
    for (std::int64_t i = 0; i < m; ++i)
        for (std::int64_t j = 0; j < n; ++j) c[std::size_t(i * n + j)] = c_turned[std::size_t(j * m + i)];
    EXPECT_LE(distance(c, expected), this->tolerance);
}

TYPED_TEST(GpuMatmul, in_tiles_where_it_does_not_fit) {
    this->open(mib / 4);  // of it 64 KiB workspace
    this->expect_right({200, 190}, {190, 210}, {200, 210}, false);
    EXPECT_LE(this->context->statistics().peak_bytes, mib / 4);
}

// A product whose transfer takes long: thin, and large enough to be computed by rows. Plain sums would take too long.
TYPED_TEST(GpuMatmul, of_what_takes_long_to_copy) {
    using T = TypeParam;
    this->open(256 * mib);
    const std::int64_t m = 2500, k = 2, n = 4000;
    const auto x = random_values<T>(m * k, 1), y = random_values<T>(k * n, 2);
    std::vector<T> c(std::size_t(m * n));
    this->on_gpu->template matmul<T>(View<const T>(x.data(), {m, k}), View<const T>(y.data(), {k, n}),
                                     View<T>(c.data(), {m, n}));
    EXPECT_LE(distance(c, product(x, {1, 1}, y, {1, 1}, m, k, n)), this->tolerance);
}

TYPED_TEST(GpuMatmul, in_shorter_stacks_where_it_does_not_fit) {
    this->open(mib / 4);
    using T = TypeParam;
    const Shape a{50, 30, 30};
    const auto x = random_values<T>(a.count(), 1), y = random_values<T>(a.count(), 2);
    std::vector<T> c(x.size());
    this->on_gpu->template matmul<T>(View<const T>(x.data(), a), View<const T>(y.data(), a), View<T>(c.data(), a));
    EXPECT_LE(distance(c, product(x, {1, 50}, y, {1, 50}, 30, 30, 30)), this->tolerance);
}

TYPED_TEST(GpuMatmul, without_room_for_the_smallest_tile_says_so) {
    this->open(72 << 10);  // the workspace takes 64 KiB
    using T = TypeParam;
    const auto x = random_values<T>(400 * 400);
    std::vector<T> c(x.size());
    const View<const T> a(x.data(), {400, 400});
    EXPECT_THROW(this->on_gpu->template matmul<T>(a, a, View<T>(c.data(), {400, 400})), gpu::OutOfMemory);
}

}  // namespace glint::arrays::test
