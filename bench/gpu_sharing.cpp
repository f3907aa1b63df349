// Many simultaneous processes on one machine's GPUs. Each process fills its share of a GPU and computes for a while.
// With leases all processes succeed. With --naive, without coordination, processes that start too late fail.
// SPDX-License-Identifier: MIT
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <vector>

#include "glint/gpu/buffer.hpp"
#include "glint/gpu/device.hpp"
#include "glint/gpu/lease.hpp"

namespace gpu = glint::gpu;
using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

namespace {

struct Options {
    int processes = 32;
    double gib = 8, compute_s = 2;
    bool naive = false, json = false;
    std::uint64_t bytes() const { return std::uint64_t(gib * double(1 << 30)); }
};

/// What a process reports through a pipe.
struct Told {
    bool good = false, no_gpu = false;
    int retries = 0;
    double waited_s = 0, context_s = 0, whole_s = 0;
    std::uint64_t context_bytes = 0, gpu_bytes = 0;
    char error[512] = {};
};

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

void compute(const gpu::Context& context, const Options& options, const gpu::Lease* lease) {
    const gpu::Stream stream(context);
    gpu::Buffer<std::uint8_t> share(stream, options.bytes());
    if (lease) lease->publish_held(context.statistics().reserved_bytes);
    for (const Clock::time_point begin = Clock::now(); seconds_since(begin) < options.compute_s;) {
        gpu::fill(stream, share, std::uint8_t(1));
        stream.synchronize();
    }
}

void attempt(const Options& options, Told& told) {
    const Clock::time_point asked = Clock::now();
    std::optional<gpu::Lease> lease;
    if (!options.naive) lease = gpu::acquire({.bytes = options.bytes()});
    std::optional<gpu::Context> context;
    if (lease) {
        const gpu::Lease::CreationLock creation_lock =
            lease->lock_context_creation();  // as create_context() does, apart from the clock
        told.waited_s += seconds_since(asked);
        const Clock::time_point began = Clock::now();
        context.emplace(lease->devices().front().ordinal, gpu::ContextOptions{.limit_bytes = options.bytes()});
        lease->publish_held(0);
        told.context_s = seconds_since(began);
        told.context_bytes = lease->devices().front().context_bytes;
    } else {
        context.emplace(0, gpu::ContextOptions{.limit_bytes = options.bytes()});
        told.context_s = seconds_since(asked);
    }
    compute(*context, options, lease ? &*lease : nullptr);
}

Told work(const Options& options) {
    Told told;
    const Clock::time_point begin = Clock::now();
    while (!told.good) try {
            attempt(options, told);
            told.good = true;
        } catch (const gpu::NoGpu& none) {
            std::snprintf(told.error, sizeof told.error, "%s", none.what());
            told.no_gpu = true;
            break;
        } catch (const std::exception& error) {
            std::snprintf(told.error, sizeof told.error, "%s", error.what());
            if (options.naive) break;
            ++told.retries;
        }
    told.whole_s = seconds_since(begin);
    for (const gpu::Device& device : gpu::inventory().devices)
        if (device.ordinal == 0) told.gpu_bytes = device.total_bytes;
    return told;
}

std::vector<Told> run(const Options& options, double& wall_s) {
    std::vector<int> pipes;
    const Clock::time_point begin = Clock::now();
    for (int k = 0; k < options.processes; ++k) {
        int ends[2];
        if (::pipe(ends)) throw std::runtime_error("no pipe");
        const pid_t pid = ::fork();
        if (pid < 0) throw std::runtime_error("no process could be forked");
        if (pid == 0) {
            const Told told = work(options);
            ::_exit(::write(ends[1], &told, sizeof told) == ssize_t(sizeof told) ? 0 : 1);
        }
        ::close(ends[1]);
        pipes.push_back(ends[0]);
    }
    std::vector<Told> all;
    for (const int end : pipes) {
        Told told;
        if (::read(end, &told, sizeof told) != ssize_t(sizeof told)) std::strcpy(told.error, "the process died");
        ::close(end);
        all.push_back(told);
    }
    while (::wait(nullptr) > 0) {
    }
    wall_s = seconds_since(begin);
    return all;
}

Json summary(const Options& options, const std::vector<Told>& all, double wall_s) {
    const auto good = std::count_if(all.begin(), all.end(), [](const Told& told) { return told.good; });
    double contexts_s = 0, longest_wait_s = 0;
    int retries = 0;
    std::string error;
    for (const Told& told : all) {
        contexts_s += told.context_s, retries += told.retries;
        longest_wait_s = std::max(longest_wait_s, told.waited_s);
        if (error.empty()) error = told.error;
    }
    // The lower bound is the maximum of two times: all contexts in sequence plus the work of the last process, and as
    // many rounds of work as memory requires.
    const std::uint64_t each = options.bytes() + all.front().context_bytes;
    const std::uint64_t together = std::max<std::uint64_t>(1, all.front().gpu_bytes / each);
    const double rounds = double((std::uint64_t(options.processes) + together - 1) / together);
    const double by_contexts_s = contexts_s + options.compute_s, by_memory_s = rounds * options.compute_s;
    return {{"processes", options.processes},
            {"gib_each", options.gib},
            {"leases", !options.naive},
            {"succeeded", good},
            {"retries", retries},
            {"wall_s", wall_s},
            {"bound_by_contexts_s", by_contexts_s},
            {"bound_by_memory_s", by_memory_s},
            {"wall_over_bound", wall_s / std::max(by_contexts_s, by_memory_s)},
            {"mean_context_s", contexts_s / double(all.size())},
            {"longest_wait_s", longest_wait_s},
            {"first_error", error}};
}

}  // namespace

int main(int argc, char** argv) try {
    CLI::App app("Many processes at once on the GPUs of this machine, with leases or without.", "bench_gpu_sharing");
    Options options;
    app.add_option("--processes", options.processes, "How many, at once")
        ->check(CLI::Range(1, 1024))
        ->capture_default_str();
    app.add_option("--gib", options.gib, "What each fills of a GPU, GiB")
        ->check(CLI::Range(0.001, 1000.0))
        ->capture_default_str();
    app.add_option("--seconds", options.compute_s, "How long each computes")
        ->check(CLI::Range(0.0, 3600.0))
        ->capture_default_str();
    app.add_flag("--naive", options.naive, "Without leases, each on GPU 0 at once");
    app.add_flag("--json", options.json, "As JSON");
    app.footer(
        "\nExample:\n  bench_gpu_sharing --processes 32 --gib 8\n\n"
        "The bound is for one GPU: the time that its contexts took one after the other and one process's work, or "
        "the rounds that its memory makes necessary, whichever is more.");
    CLI11_PARSE(app, argc, argv);
    double wall_s = 0;
    const std::vector<Told> all = run(options, wall_s);
    if (all.front().no_gpu) {
        std::printf("no GPU: %s\n", all.front().error);
        return 0;
    }
    const Json result = summary(options, all, wall_s);
    if (options.json) {
        std::cout << result.dump(2) << '\n';
    } else {
        for (const auto& [name, value] : result.items()) std::printf("%-20s  %s\n", name.c_str(), value.dump().c_str());
    }
    return result["succeeded"] == options.processes ? 0 : 1;
} catch (const std::exception& error) {
    std::fprintf(stderr, "bench_gpu_sharing: %s\n", error.what());
    return 1;
}
