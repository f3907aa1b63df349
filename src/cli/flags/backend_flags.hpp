// The flags that choose between CPU and GPUs, and what is told of GPUs afterwards.
// SPDX-License-Identifier: MIT
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>

#include "cli/console.hpp"
#include "glint/fit.hpp"
#include "glint/gpu/lease.hpp"

namespace glint::cli {

struct BackendFlags {
    std::string backend = "auto";
    bool always_gpu = false, explain = false;
    std::string gpus = "1", gpu_memory = "1GiB";
    std::string auto_timeout = "300s", gpu_timeout = "inf";
    std::int64_t batch_size = 0;
    bool restart_batches = false, gpu_log = false;
};

/// --backend, --gpus, and what there is to say about GPUs.
void add_backend_flags(CLI::App& app, BackendFlags& flags);
/// How a stack of ROIs is cut.
void add_stack_flags(CLI::App& app, BackendFlags& flags);
/// The console is told of waits and, with --gpu-log, of everything that befalls a fit on a GPU.
void use_backend(const BackendFlags& flags, FitOptions& options, Console& console);
/// --backend, or GLINT_BACKEND where that is auto.
Backend backend_of(const BackendFlags& flags);
/// Of --gpus.
int gpu_count(const BackendFlags& flags);
/// What a program asks for that fits on a GPU or not at all.
gpu::LeaseRequest lease_request(const BackendFlags& flags);
/// Says why it was not the GPU, or not to the end: a warning where one was there.
void tell_backend(const BackendFlags& flags, const FitInfo& info, Console& console);
/// What each GPU did, where it was more than one, or one and the CPU.
void add_gpu_lines(Summary& summary, const FitInfo& info);
/// Of --gpu-memory; a share is that of the first GPU that can be used.
std::uint64_t gpu_memory_bytes(const BackendFlags& flags);

}  // namespace glint::cli
