// For tests of arrays on a GPU, real or simulated, with NVIDIA's libraries or their stand-ins.
// SPDX-License-Identifier: MIT
#pragma once

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

/// A separate context with a limit, its stream, and what is tested.
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

    std::unique_ptr<gpu::Context> context;
    std::unique_ptr<gpu::Stream> stream;
    std::unique_ptr<OnGpu> on_gpu;
};

/// The greatest distance of two arrays' elements.
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

}  // namespace glint::arrays::test
