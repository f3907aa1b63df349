// For tests of arrays on a real or simulated GPU, with NVIDIA's libraries or their replacements.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <complex>
#include <random>

#include "arrays/gpu.hpp"
#include "arrays/libraries.hpp"
#include "gpu/gpu_fixture.hpp"

namespace glint::arrays::test {

using gpu::test::mib;

template <class T>
T random_value(std::mt19937& numbers) {
    std::uniform_real_distribution<double> between(-1, 1);
    if constexpr (std::is_floating_point_v<T>)
        return T(between(numbers));
    else
        return T(typename T::value_type(between(numbers)), typename T::value_type(between(numbers)));
}

template <class T>
std::vector<T> random_values(std::int64_t n, unsigned seed = 1) {
    std::mt19937 numbers(seed);
    std::vector<T> values(static_cast<std::size_t>(n));
    for (T& value : values) value = random_value<T>(numbers);
    return values;
}

/// Returns the maximum distance of two arrays' elements.
template <class T>
double distance(const std::vector<T>& a, const std::vector<T>& b) {
    if (a.size() != b.size()) return 1e300;
    double most = 0;
    for (std::size_t k = 0; k < a.size(); ++k) {
        const double d = double(std::abs(a[k] - b[k]));
        if (!(d <= most)) most = d;  // NaN too
        if (d != d) return d;
    }
    return most;
}

/// A separate context with a limit, its stream, and the object under test.
class GpuArraysTest : public gpu::test::GpuTest {
  protected:
    void SetUp() override {
        GpuTest::SetUp();
        if (IsSkipped()) return;
        try {
            cusolver();
            cufft();
        } catch (const LibraryMissing& missing) {
            GTEST_SKIP() << missing.what();
        }
        open(64 * mib);
    }
    void open(std::uint64_t limit) {
        close();
        context = std::make_unique<gpu::Context>(0, gpu::ContextOptions{.limit_bytes = limit, .separate = true});
        stream = std::make_unique<gpu::Stream>(*context);
        on_gpu = std::make_unique<OnGpu>(*context, *stream);
    }
    void close() { on_gpu.reset(), stream.reset(), context.reset(); }

    template <class T>
    DeviceArray<T> to_device(const std::vector<T>& values, const Shape& shape) {
        DeviceArray<T> array{gpu::Buffer<T>(*stream, values.size()), shape};
        gpu::upload(*stream, array.buffer, std::span<const T>(values));
        return array;
    }
    template <class T>
    DeviceArray<T> empty(const Shape& shape) {
        return {gpu::Buffer<T>(*stream, std::size_t(shape.count())), shape};
    }
    template <class T>
    std::vector<T> values_of(const DeviceArray<T>& array) {
        return gpu::test::downloaded(*stream, array.buffer);
    }

    /// Runs each operation once. Ignores exceptions of type `Allowed`. Returns the number of operations that did not
    /// throw.
    template <class Allowed>
    int all_operations() {
        using C = std::complex<float>;
        const std::int64_t n = 60;
        const Shape square{n, n}, half{n, n / 2 + 1};
        const auto x = random_values<float>(n * n);
        const auto z = random_values<C>(n * n);
        std::vector<float> y(x.size()), s(static_cast<std::size_t>(n)), u(x.size()), vt(x.size()), back(x.size());
        std::vector<C> spectrum(std::size_t(half.count())), spectra(z.size()), zy(z.size());
        const View<const float> in(x.data(), square);
        int done = 0;
        const auto attempt = [&](const auto& operation, const auto& check) {
            try {
                operation();
            } catch (const Allowed&) {
                return;
            }
            check();
            ++done;
        };
        attempt([&] { on_gpu->matmul<float>(in, in, View<float>(y.data(), square)); },
                [&] {
                    double sum = 0;
                    for (std::int64_t k = 0; k < n; ++k)
                        sum += double(x[std::size_t(k)]) * double(x[std::size_t(k * n + n - 1)]);
                    EXPECT_NEAR(y[std::size_t(n - 1)], sum, 1e-4);
                });
        attempt(
            [&] {
                on_gpu->rfft<float>(in, View<C>(spectrum.data(), half), 2);
                on_gpu->irfft<float>(View<const C>(spectrum.data(), half), View<float>(back.data(), square), 2);
            },
            [&] { EXPECT_LE(distance(back, x), 1e-4); });
        attempt(
            [&] {
                on_gpu->fft<float>(View<const C>(z.data(), square), View<C>(spectra.data(), square), {});
                on_gpu->fft<float>(View<const C>(spectra.data(), square), View<C>(zy.data(), square),
                                   {.inverse = true});
            },
            [&] { EXPECT_LE(distance(zy, z), 1e-4); });
        attempt(
            [&] {
                on_gpu->svd<float>(in, View<float>(s.data(), {n}), View<float>(u.data(), square),
                                   View<float>(vt.data(), square));
            },
            [&] {
                double sum = 0;
                for (std::int64_t k = 0; k < n; ++k)
                    sum += double(u[std::size_t(k)]) * double(s[std::size_t(k)]) * double(vt[std::size_t(k * n)]);
                EXPECT_NEAR(sum, double(x[0]), 1e-4);
            });
        std::vector<float> solution(static_cast<std::size_t>(n));
        attempt(
            [&] {
                on_gpu->solve<float>(in, View<const float>(x.data(), {n, 1}), View<float>(solution.data(), {n, 1}));
            },
            [&] {
                double sum = 0;
                for (std::int64_t k = 0; k < n; ++k)
                    sum += double(x[std::size_t(k)]) * double(solution[std::size_t(k)]);
                EXPECT_NEAR(sum, double(x[0]), 1e-2);
            });
        const Program doubled = compile(2 * input(0));
        const std::vector<Operand<const float>> inputs{in};
        attempt([&] { on_gpu->map<float>(doubled, inputs, View<float>(y.data(), square)); },
                [&] { EXPECT_EQ(y.back(), 2 * x.back()); });
        double most = 0;
        attempt([&] { most = on_gpu->reduce<float>(Reduction::maximum, doubled, inputs, square); },
                [&] { EXPECT_EQ(most, 2 * double(*std::max_element(x.begin(), x.end()))); });
        on_gpu->drop_caches();
        EXPECT_EQ(context->statistics().live_bytes, 0u);
        return done;
    }

    std::unique_ptr<gpu::Context> context;
    std::unique_ptr<gpu::Stream> stream;
    std::unique_ptr<OnGpu> on_gpu;
};

}  // namespace glint::arrays::test
