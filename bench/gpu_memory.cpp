// Benchmarks of GPU memory: host access to unified memory, allocations under a limit, uploads, contexts.
// SPDX-License-Identifier: MIT
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <vector>

#include "glint/gpu/buffer.hpp"
#include "glint/gpu/device.hpp"
#include "glint/gpu/managed.hpp"

namespace gpu = glint::gpu;
using Json = nlohmann::ordered_json;

namespace {

struct Options {
    int gpu = 0;
    std::uint64_t limit_bytes = 0;
    bool small = false, json = false;
};

double seconds_of(const auto& work) {
    const auto began = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
}

double median_of(int times, const auto& work) {
    std::vector<double> taken;
    for (int k = 0; k < times; ++k) taken.push_back(seconds_of(work));
    std::nth_element(taken.begin(), taken.begin() + times / 2, taken.end());
    return taken[std::size_t(times / 2)];
}

volatile float kept;  // prevents the compiler from omitting the measured loop

/// Measures access by index, which checks at each element whether a GPU is at work, and a fold from begin() to end(),
/// which checks once.
Json host_walk(auto& numbers, int times) {
    const double by_index = median_of(times, [&] {
        for (std::size_t k = 0; k < numbers.size(); ++k) kept = numbers[k];
    });
    const double fold = median_of(times, [&] { kept = std::accumulate(numbers.begin(), numbers.end(), 0.0f); });
    return {{"ns_per_element", by_index * 1e9 / double(numbers.size())}, {"fold_ms", fold * 1e3}};
}

Json host_iteration(const Options& options) {
    const std::size_t n = options.small ? 64 * 64 : 1024 * 1024;
    const int times = options.small ? 3 : 21;
    const gpu::Context context(options.gpu, {.limit_bytes = options.limit_bytes});
    const gpu::Stream stream(context);
    gpu::Managed<float> managed(context, n);
    std::vector<float> ordinary(n);
    for (std::size_t k = 0; k < n; ++k) managed[k] = ordinary[k] = float(k % 10);
    Json of_managed = host_walk(managed, times);
    auto lent = gpu::Buffer<float>::adopt(stream, managed.write_on(stream), n, false);
    gpu::fill(stream, lent, 0);
    const auto fold = [&] { kept = std::accumulate(managed.begin(), managed.end(), 0.0f); };
    of_managed["fold_after_gpu_ms"] = seconds_of(fold) * 1e3;  // waits, and transfers the pages back
    return {{"elements", n}, {"managed", of_managed}, {"vector", host_walk(ordinary, times)}};
}

/// The memory use of a training run: a data set stays; each batch allocates its rows and two results and drops them.
/// The host waits at the end of an epoch. Batches are on several streams, so memory that one batch dropped is not
/// immediately free for the next. `tight`: the data set alone needs four fifths of the limit.
Json epochs(const Options& options, bool tight, bool early_reclaim) {
    const std::size_t rows = options.small ? 3000 : 300000, features = 1000, batches = 147;
    const std::size_t batch_rows = (rows + batches - 1) / batches;
    const int count = options.small ? 3 : 100, stream_count = 8;
    const std::uint64_t limit = tight ? rows * features * sizeof(float) / 4 * 5 : options.limit_bytes;
    const gpu::Context context(options.gpu, {.limit_bytes = limit, .early_reclaim = early_reclaim});
    std::vector<gpu::Stream> streams;
    for (int k = 0; k < stream_count; ++k) streams.emplace_back(context);
    gpu::Buffer<float> data(streams[0], rows * features);
    gpu::fill(streams[0], data, 1);
    context.synchronize();
    const auto batch = [&](const gpu::Stream& stream, std::size_t first) {
        const std::size_t n = std::min(batch_rows, rows - first) * features;
        gpu::Buffer<float> taken(stream, n), forward(stream, 2 * n), backward(stream, n);
        copy(stream, taken, data.view(first * features, n));
        gpu::fill(stream, forward, 2);
        gpu::fill(stream, backward, 3);
    };
    const double seconds = seconds_of([&] {
        for (int epoch = 0; epoch < count; ++epoch) {
            for (std::size_t k = 0; k < batches && k * batch_rows < rows; ++k)
                batch(streams[k % streams.size()], k * batch_rows);
            context.synchronize();
        }
    });
    const gpu::MemoryStatistics s = context.statistics();
    return {{"early_reclaim", early_reclaim},
            {"epochs", count},
            {"limit_bytes", s.limit_bytes},
            {"data_bytes", data.bytes()},
            {"peak_bytes", s.peak_bytes},
            {"reserved_bytes", s.reserved_bytes},
            {"seconds", seconds},
            {"early_reclaims", s.early_reclaims},
            {"early_reclaimed_bytes", s.early_reclaimed_bytes},
            {"retries", s.retries},
            {"trims", s.trims}};
}

Json uploads(const Options& options) {
    const std::size_t bytes = std::size_t(options.small ? 16 : 1024) << 20;
    const gpu::Context context(options.gpu, {.limit_bytes = options.limit_bytes});
    const gpu::Stream stream(context);
    gpu::Buffer<char> there(stream, bytes);
    const auto rate = [&](std::span<const char> from) {
        const auto send = [&] { upload(stream, there, from), stream.synchronize(); };
        send();  // the first call allocates memory that later calls reuse
        return double(bytes) / median_of(options.small ? 1 : 5, send) / 1e9;
    };
    const gpu::Pinned<char> pinned(context, bytes);
    std::fill(pinned.data(), pinned.data() + bytes, 1);
    const std::vector<char> pageable(bytes, 1);
    return {{"bytes", bytes}, {"pinned_gb_per_s", rate(pinned.span())}, {"pageable_gb_per_s", rate(pageable)}};
}

Json contexts(const Options& options) {
    std::vector<double> created, released;
    for (int k = 0; k < (options.small ? 1 : 5); ++k) {
        std::unique_ptr<gpu::Context> context;
        created.push_back(seconds_of([&] { context = std::make_unique<gpu::Context>(options.gpu); }));
        released.push_back(seconds_of([&] { context.reset(); }));
    }
    const auto least = [](const std::vector<double>& taken) { return *std::min_element(taken.begin(), taken.end()); };
    return {{"first_creation_s", created.front()}, {"creation_s", least(created)}, {"release_s", least(released)}};
}

void print(const Json& result) {
    std::printf("GPU %d: %s, driver %s\n\n", result["gpu"].get<int>(), result["name"].get<std::string>().c_str(),
                result["driver"].get<std::string>().c_str());
    const auto number = [](const Json& of, const char* name) { return of.value(name, 0.0); };
    const Json &context = result["context"], &upload = result["upload"], &host = result["host_iteration"];
    std::printf("context: %.3f s to create (%.3f s the first), %.3f s to release\n\n", number(context, "creation_s"),
                number(context, "first_creation_s"), number(context, "release_s"));
    std::printf("%-24s %12s %12s %18s\n", "host iteration", "ns/element", "fold, ms", "after a GPU, ms");
    for (const char* of : {"vector", "managed"})
        std::printf("%-24s %12.3f %12.3f %18.3f\n", of, number(host[of], "ns_per_element"), number(host[of], "fold_ms"),
                    number(host[of], "fold_after_gpu_ms"));
    std::printf("\nupload of %.0f MiB: %.1f GB/s from pinned, %.1f GB/s from pageable memory\n\n",
                number(upload, "bytes") / (1 << 20), number(upload, "pinned_gb_per_s"),
                number(upload, "pageable_gb_per_s"));
    std::printf("%-24s %12s %9s %9s %14s %9s %9s %12s\n", "epochs, early reclaim", "limit, MiB", "seconds", "early",
                "returned, MiB", "retries", "trims", "kept, MiB");
    for (const Json& run : result["epochs"])
        std::printf("%-24s %12.0f %9.3f %9.0f %14.0f %9.0f %9.0f %12.0f\n",
                    run["early_reclaim"].get<bool>() ? "on" : "off", number(run, "limit_bytes") / (1 << 20),
                    number(run, "seconds"), number(run, "early_reclaims"),
                    number(run, "early_reclaimed_bytes") / (1 << 20), number(run, "retries"), number(run, "trims"),
                    number(run, "reserved_bytes") / (1 << 20));
}

int run(const Options& options) {
    const gpu::Inventory there = gpu::inventory();
    if (!there.why_none.empty()) return std::printf("no GPU: %s\n", there.why_none.c_str()), 0;
    Json result;
    result["gpu"] = options.gpu;
    result["name"] = "";
    for (const gpu::Device& device : there.devices)
        if (device.ordinal == options.gpu) result["name"] = device.name;
    result["driver"] = there.driver_version;
    result["context"] = contexts(options);  // measured first, while the process has no other context
    result["host_iteration"] = host_iteration(options);
    result["upload"] = uploads(options);
    for (const bool tight : {false, true})
        for (const bool early : {false, true}) result["epochs"].push_back(epochs(options, tight, early));
    if (options.json)
        std::cout << result.dump(2) << "\n";
    else
        print(result);
    return 0;
}

}  // namespace

int main(int argc, char** argv) try {
    Options options;
    CLI::App app("Memory of a GPU, measured: unified memory, allocations under a limit, uploads, contexts");
    double limit_gib = 4;
    app.add_option("--gpu", options.gpu, "CUDA's number of the GPU")->capture_default_str();
    app.add_option("--limit-gib", limit_gib, "Most that buffers take")->capture_default_str();
    app.add_flag("--small", options.small, "Small sizes, as for the simulated server");
    app.add_flag("--json", options.json, "Print JSON");
    CLI11_PARSE(app, argc, argv);
    options.limit_bytes = std::uint64_t(limit_gib * double(1 << 30));
    return run(options);
} catch (const std::exception& error) {
    return std::fprintf(stderr, "bench_gpu_memory: %s\n", error.what()), 1;
}
