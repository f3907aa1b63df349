// Times copies and fills from the host, as the caller of an operation experiences them.
// SPDX-License-Identifier: MIT
#include "offload/advisor.hpp"

#include <algorithm>
#include <chrono>
#include <limits>
#include <vector>

#include "base/clock.hpp"
#include "glint/gpu/buffer.hpp"

namespace glint::offload {
namespace {

constexpr std::size_t large = std::size_t(32) << 20, small = 4096;
constexpr int small_repeats = 20;
constexpr double flops_a_cycle = 256;  // of a multiprocessor: 128 fused multiplications and additions
constexpr double clock_hz = 1.5e9;     // approximate: the curves correct it

/// Returns the minimum of three runs, after one to warm up.
template <class Act>
double best_seconds(const Act& act, int repeats = 3) {
    act();
    double best = std::numeric_limits<double>::infinity();
    for (int k = 0; k < repeats; ++k) {
        const Clock::time_point began = Clock::now();
        act();
        best = std::min(best, seconds_since(began));
    }
    return std::max(best, 1e-9);
}

}  // namespace

void measure_gpu(const gpu::Context& context, const gpu::Stream& stream, Constants& constants) {
    const std::uint64_t limit = context.statistics().limit_bytes;
    const std::size_t n = std::max<std::size_t>(small, std::min<std::uint64_t>(large, limit / 4));
    gpu::Buffer<unsigned char> on_gpu(stream, n), other(stream, n);
    const gpu::Pinned<unsigned char> pinned(context, n);
    std::fill_n(pinned.data(), n, 1);
    std::vector<unsigned char> pageable(n, 1);
    const auto up = [&](std::span<unsigned char> from) {
        gpu::upload(stream, on_gpu, from);
        stream.synchronize();
    };
    const auto down = [&](std::span<unsigned char> to) {
        gpu::download(stream, to, on_gpu);
        stream.synchronize();
    };
    const std::span<unsigned char> few = pinned.span().first(small);
    const double transfer_s = best_seconds([&] { up(few); }, small_repeats);
    const auto rate = [&](double seconds) { return double(n) / std::max(seconds - transfer_s, 1e-7); };
    constants.up_pinned = rate(best_seconds([&] { up(pinned.span()); }));
    constants.down_pinned = rate(best_seconds([&] { down(pinned.span()); }));
    constants.up_pageable = rate(best_seconds([&] { up(pageable); }));
    constants.down_pageable = rate(best_seconds([&] { down(pageable); }));
    constants.transfer_s = transfer_s;

    gpu::Buffer<unsigned char> little = on_gpu.view(0, small);
    constants.launch_s = best_seconds(
        [&] {
            gpu::fill(stream, little, 0);
            stream.synchronize();
        },
        small_repeats);
    const double copying = best_seconds([&] {
        gpu::copy(stream, other, on_gpu);
        stream.synchronize();
    });
    constants.gpu_bytes = 2 * double(n) / std::max(copying - constants.launch_s, 1e-7);
    constants.gpu_flops = context.multiprocessors() * flops_a_cycle * clock_hz;
    little = {}, on_gpu = {}, other = {};
    stream.synchronize();  // so that the first allocation on another stream finds this memory free
}

}  // namespace glint::offload
