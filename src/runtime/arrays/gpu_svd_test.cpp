// Singular values on a GPU: the factors are orthogonal, in order, and multiply to the matrix.
// SPDX-License-Identifier: MIT
#include <limits>

#include "arrays/gpu_arrays_fixture.hpp"
#include "glint/error.hpp"

namespace glint::arrays::test {
namespace {

template <class T>
struct GpuSvd : GpuArraysTest {
    static constexpr double tolerance = std::is_same_v<T, float> ? 2e-5 : 1e-12;

    static void expect_factors(const std::vector<T>& a, std::int64_t m, std::int64_t n, const std::vector<T>& s,
                               const std::vector<T>& u, const std::vector<T>& vt) {
        const std::int64_t k = std::min(m, n);
        for (std::int64_t i = 1; i < k; ++i) EXPECT_GE(s[std::size_t(i - 1)], s[std::size_t(i)]);
        for (std::int64_t i = 0; i < m; ++i)
            for (std::int64_t j = 0; j < n; ++j) {
                double sum = 0;
                for (std::int64_t p = 0; p < k; ++p)
                    sum += double(u[std::size_t(i * k + p)]) * double(s[std::size_t(p)]) *
                           double(vt[std::size_t(p * n + j)]);
                EXPECT_NEAR(sum, double(a[std::size_t(i * n + j)]), tolerance) << i << ", " << j;
            }
        for (std::int64_t p = 0; p < k; ++p)
            for (std::int64_t q = 0; q < k; ++q) {
                double of_u = 0, of_v = 0;
                for (std::int64_t i = 0; i < m; ++i)
                    of_u += double(u[std::size_t(i * k + p)]) * double(u[std::size_t(i * k + q)]);
                for (std::int64_t j = 0; j < n; ++j)
                    of_v += double(vt[std::size_t(p * n + j)]) * double(vt[std::size_t(q * n + j)]);
                EXPECT_NEAR(of_u, p == q, tolerance);
                EXPECT_NEAR(of_v, p == q, tolerance);
            }
    }

    void expect_right(std::int64_t m, std::int64_t n) {
        SCOPED_TRACE(std::to_string(m) + " x " + std::to_string(n));
        const std::int64_t k = std::min(m, n);
        const auto a = random_values<T>(m * n);
        std::vector<T> s(static_cast<std::size_t>(k)), u(std::size_t(m * k)), vt(std::size_t(k * n)), only(s.size());
        on_gpu->svd<T>(View<const T>(a.data(), {m, n}), View<T>(s.data(), {k}), View<T>(u.data(), {m, k}),
                       View<T>(vt.data(), {k, n}));
        expect_factors(a, m, n, s, u, vt);
        const auto there = to_device(a, {m, n}), s_there = empty<T>({k}), u_there = empty<T>({m, k}),
                   vt_there = empty<T>({k, n});
        on_gpu->svd<T>(there, s_there, u_there, vt_there);
        expect_factors(a, m, n, values_of(s_there), values_of(u_there), values_of(vt_there));
        EXPECT_EQ(values_of(there), a) << "the input is as it was";
        on_gpu->svd<T>(View<const T>(a.data(), {m, n}), View<T>(only.data(), {k}), {}, {});
        EXPECT_LE(distance(only, s), tolerance);
    }
};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(GpuSvd, Types);

}  // namespace

TYPED_TEST(GpuSvd, of_high_and_wide_and_square_matrices) {
    for (const auto& [m, n] : {std::pair{1, 1}, {6, 6}, {40, 7}, {7, 40}, {1, 9}, {9, 1}, {33, 32}, {65, 64}})
        this->expect_right(m, n);
}

TYPED_TEST(GpuSvd, of_what_is_not_finite_is_refused) {
    using T = TypeParam;
    for (const T bad : {std::numeric_limits<T>::quiet_NaN(), std::numeric_limits<T>::infinity()}) {
        auto a = random_values<T>(12);
        a[7] = bad;
        std::vector<T> s(3);
        EXPECT_THROW(this->on_gpu->template svd<T>(View<const T>(a.data(), {4, 3}), View<T>(s.data(), {3}), {}, {}),
                     OptionError);
        EXPECT_THROW(this->on_gpu->template svd<T>(this->to_device(a, {4, 3}), View<T>(s.data(), {3}), {}, {}),
                     OptionError);
    }
}

TYPED_TEST(GpuSvd, without_room_says_so) {
    this->open(mib / 16);
    using T = TypeParam;
    const auto a = random_values<T>(200 * 200);
    std::vector<T> s(200);
    EXPECT_THROW(this->on_gpu->template svd<T>(View<const T>(a.data(), {200, 200}), View<T>(s.data(), {200}), {}, {}),
                 gpu::OutOfMemory);
}

}  // namespace glint::arrays::test
