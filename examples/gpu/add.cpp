// Adds two arrays on a GPU with glint::gpu only.
// SPDX-License-Identifier: MIT
#include "add.hpp"

#include <algorithm>
#include <cstdio>

#include "glint/gpu/device.hpp"

namespace glint {
std::span<const unsigned char> add_fatbin(int k);  // written by cmake/cuda.cmake
}

namespace example {

std::vector<int> usable_gpus() {
    std::vector<int> ordinals;
    if (glint::add_fatbin(0).empty())
        return std::puts("no GPU is used: this program was built without nvcc, so it has no kernels"), ordinals;
    const gpu::Inventory found = gpu::inventory();
    for (const gpu::Device& device : found.devices)
        if (device.why_not.empty()) ordinals.push_back(device.ordinal);
    if (ordinals.empty()) std::printf("no GPU is used: %s\n", found.why_none.c_str());
    return ordinals;
}

Adder::Adder(const gpu::Context& context) : module_(context, glint::add_fatbin(0)), kernel_(module_.kernel("add")) {}

void Adder::add(const gpu::Stream& stream, gpu::Buffer<float>& sum, std::uint64_t a, std::uint64_t b) const {
    constexpr unsigned threads = 256;
    std::uint64_t to = sum.write_on(stream);
    unsigned n = unsigned(sum.size());
    void* arguments[] = {&to, &a, &b, &n};
    gpu::launch(stream, kernel_, (n + threads - 1) / threads, threads, 0, arguments);
}

void add_on_gpu(const gpu::Context& context, const gpu::Stream& stream, std::span<float> sum, std::span<const float> a,
                std::span<const float> b) {
    gpu::Buffer<float> a_there(stream, a.size()), b_there(stream, b.size()), sum_there(stream, sum.size());
    upload(stream, a_there, a);
    upload(stream, b_there, b);
    const Adder adder(context);
    adder.add(stream, sum_there, a_there.read_on(stream), b_there.read_on(stream));
    download(stream, sum, sum_there);  // to ordinary memory: it waits
}

void fill_with_numbers(std::span<float> a, std::span<float> b) {
    for (std::size_t i = 0; i < a.size(); ++i) a[i] = float(i % 1000), b[i] = float(i % 777) / 4;
}

int check_sum(std::span<const float> sum, std::span<const float> a, std::span<const float> b) {
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < sum.size(); ++i) wrong += sum[i] != a[i] + b[i];
    std::printf("%zu sums, %zu wrong\n", sum.size(), wrong);
    return wrong == 0 ? 0 : 1;
}

}  // namespace example
