// For tests that need a real or simulated GPU. Without a GPU they are skipped, with the reason.
// SPDX-License-Identifier: MIT
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <vector>

#include "glint/gpu/buffer.hpp"
#include "glint/gpu/device.hpp"
#include "gpu/driver.hpp"

namespace glint::gpu::test {

constexpr std::uint64_t mib = std::uint64_t(1) << 20;

class GpuTest : public ::testing::Test {
  protected:
    void SetUp() override {
        if (!driver().why.empty()) GTEST_SKIP() << "no GPU: " << driver().why;
    }
    static int gpu_count() {
        int count = 0;
        check(driver().cuDeviceGetCount(&count), "cuDeviceGetCount");
        return count;
    }
};

/// A context of GPU 0 with a limit of 512 MiB, and a stream.
class OneGpuTest : public GpuTest {
  protected:
    void SetUp() override {
        GpuTest::SetUp();
        if (IsSkipped()) return;
        context = std::make_unique<Context>(0, ContextOptions{.limit_bytes = 512 * mib});
        stream = std::make_unique<Stream>(*context);
    }
    std::unique_ptr<Context> context;
    std::unique_ptr<Stream> stream;
};

/// A function that only the simulated driver exports; null on a real one.
template <class F>
F* simulated(const char* name) {
    return reinterpret_cast<F*>(dlsym(dlopen("libcuda.so.1", RTLD_NOW), name));
}
inline auto* set_stranger() { return simulated<void(int, unsigned long long, int)>("simgpu_set_stranger"); }

/// 0, 1, 2, ... times a factor.
inline std::vector<unsigned> ramp(std::size_t n, unsigned factor = 1) {
    std::vector<unsigned> values(n);
    for (std::size_t k = 0; k < n; ++k) values[k] = unsigned(k) * factor;
    return values;
}

template <class T>
std::vector<T> downloaded(const Stream& stream, const Buffer<T>& buffer) {
    std::vector<T> values(buffer.size());
    download(stream, std::span<T>(values), buffer);
    return values;
}

}  // namespace glint::gpu::test
