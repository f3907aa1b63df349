// Chooses CPU or GPUs from the command line.
// SPDX-License-Identifier: MIT
#include "cli/flags/backend_flags.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cstdio>

#include "cli/process.hpp"
#include "glint/environment.hpp"
#include "glint/error.hpp"
#include "glint/gpu/context.hpp"
#include "glint/gpu/device.hpp"
#include "glint/gpu/limit.hpp"
#include "glint/units.hpp"
#include "gpu/doctor/doctor.hpp"

namespace glint::cli {

void add_backend_flags(CLI::App& app, BackendFlags& flags) {
    app.add_option("--backend", flags.backend,
                   "Where to fit. auto: as in GLINT_BACKEND, else the backend that is expected to finish first; "
                   "prefer-gpu: a GPU if there is one, else the CPU")
        ->transform(CLI::Validator(
            [](std::string& word) {
                if (const std::optional<Backend> named = backend_named(word)) word = to_name(*named);
                return std::string();
            },
            ""))
        ->check(CLI::IsMember({"auto", "cpu", "gpu", "prefer-gpu"}))
        ->capture_default_str()
        ->group("Fit");
    app.add_option("--gpu-memory", flags.gpu_memory, "Maximum memory on each GPU, beyond its context: 1GiB, 500MB, 25%")
        ->capture_default_str()
        ->group("Fit");
    app.add_option("--auto-timeout", flags.auto_timeout,
                   "With auto: how long to wait for a GPU, or to retry after failures, before the CPU fits the rest: "
                   "30s, 5min, inf")
        ->capture_default_str()
        ->group("Fit");
    app.add_option("--gpu-timeout", flags.gpu_timeout,
                   "With gpu: how long to wait for a GPU, or to retry, before the command fails")
        ->capture_default_str()
        ->group("Fit");
    app.add_option("--gpus", flags.gpus,
                   "Maximum number of GPUs, or all: starts with the free GPUs, and adds others as they become free")
        ->capture_default_str()
        ->group("Fit");
    app.add_flag("--always-gpu", flags.always_gpu,
                 "With auto: use a GPU if there is one, and wait for it, even if the CPU is expected to finish first")
        ->group("Fit");
    app.add_option(
           "--gpu-worker", flags.gpu_worker,
           "auto: fit on the GPU in a warm worker, a background process that keeps the GPU open for 5 s, for the "
           "next command (default: GLINT_GPU_WORKER, or off)")
        ->check(CLI::IsMember({"auto", "off"}))
        ->group("Fit");
    app.add_flag("--explain", flags.explain, "Print the choice of auto, and its estimates for CPU and GPU")
        ->group("Fit");
    app.add_flag("--gpu-log", flags.gpu_log,
                 "Print every wait, failure and retry on a GPU, and the memory that was freed")
        ->group("Fit");
}

void add_stack_flags(CLI::App& app, BackendFlags& flags) {
    app.add_option("--batch-size", flags.batch_size,
                   "ROIs per batch, on a GPU and on the CPU (default: chosen for the link to the GPU, or a core)")
        ->check(CLI::Range(std::int64_t(1), std::int64_t(1) << 26))
        ->group("Fit");
    app.add_flag("--restart-batches", flags.restart_batches,
                 "After a failure on the GPU, repeat all ROIs, not only those without a result")
        ->group("Fit");
}

Backend backend_of(const BackendFlags& flags) {
    return environment::backend(backend_named(flags.backend).value());  // valid, since the flag has a check
}

void use_backend(const BackendFlags& flags, Placement& placement, Callbacks& callbacks, Console& console) {
    placement.backend = backend_of(flags);
    placement.gpus = gpu_count(flags);
    placement.gpu_memory_bytes = gpu_memory_bytes(flags);
    placement.batch_size = flags.batch_size;
    placement.auto_timeout_s = parse_seconds(flags.auto_timeout, "--auto-timeout");
    placement.gpu_timeout_s = parse_seconds(flags.gpu_timeout, "--gpu-timeout");
    placement.restart_batches = flags.restart_batches;
    callbacks.on_wait = console.waiter();
    placement.always_gpu = flags.always_gpu;
    if (flags.gpu_worker == "auto" || (flags.gpu_worker.empty() && environment::gpu_worker()))
        placement.gpu_worker = "/proc/self/exe";
    if (flags.explain) callbacks.on_decision = [&console](const std::string& words) { console.say(words); };
    if (!flags.gpu_log && !environment::gpu_log()) return;
    callbacks.log = [&console](const std::string& what) { console.say("gpu: " + what); };
    // Does not use the console, since contexts may outlive it.
    gpu::set_log([](const std::string& what) { std::fprintf(stderr, "gpu: %s\n", what.c_str()); });
}

int gpu_count(const BackendFlags& flags) {
    if (flags.gpus == "all") return all_gpus;
    int count = 0;
    const char* end = flags.gpus.data() + flags.gpus.size();
    const auto [rest, error] = std::from_chars(flags.gpus.data(), end, count);
    if (error != std::errc() || rest != end || count < 1)
        throw OptionError(fmt::format("--gpus {}: give a number, 1 or more, or all", flags.gpus));
    return count;
}

gpu::LeaseRequest lease_request(const BackendFlags& flags) {
    const bool strict = backend_of(flags) == Backend::gpu;
    return {.bytes = gpu_memory_bytes(flags),
            .timeout_s = strict ? parse_seconds(flags.gpu_timeout, "--gpu-timeout")
                                : parse_seconds(flags.auto_timeout, "--auto-timeout"),
            .stop = &stop_on_signals()};
}

void tell_backend(const BackendFlags& flags, const FitInfo& info, Console& console) {
    console.end_progress();
    if (info.note.empty() || (flags.explain && info.note == info.decision)) return;
    const bool tried = info.timed_out || info.waited_seconds > 0.1 || info.retries > 0 || info.bytes_up > 0;
    // Without a GPU there is nothing to report, unless a flag asks for it.
    const bool asked = flags.explain || flags.gpu_log || flags.always_gpu ||
                       flags.backend == to_name(Backend::prefer_gpu) || flags.gpu_worker == "auto";
    if (!tried && !asked && !gpu::doctor::machine_has_gpu()) return;
    tried ? console.warn(info.note) : console.notice(info.note);
}

void add_gpu_lines(Summary& summary, const FitInfo& info) {
    const bool with_cpu = info.cpu_fits > 0 && !info.gpus.empty();
    if (info.gpus.size() + with_cpu < 2) return;
    double shares = 0;
    for (const GpuPart& part : info.gpus) {
        summary.add("GPU", fmt::format("{} fits, {:.1f} %, in {:.3f} s by {} ({})", with_commas(part.fits),
                                       100 * part.share, part.seconds, part.name, part.uuid));
        shares += part.share;
    }
    if (with_cpu) summary.add("CPU", fmt::format("{} fits, {:.1f} %", with_commas(info.cpu_fits), 100 * (1 - shares)));
}

std::uint64_t gpu_memory_bytes(const BackendFlags& flags) {
    std::uint64_t total = std::uint64_t(1) << 40;  // without a GPU: only the syntax is checked
    if (flags.gpu_memory.find('%') != std::string::npos)
        for (const gpu::Device& device : gpu::inventory().devices)
            if (device.why_not.empty()) {
                total = device.total_bytes;
                break;
            }
    return gpu::parse_limit(flags.gpu_memory, total, "--gpu-memory");
}

}  // namespace glint::cli
