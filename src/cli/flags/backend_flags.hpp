// The flags that choose between CPU and GPUs, and the report on GPUs afterwards.
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
    std::string gpu_worker;  ///< empty: what GLINT_GPU_WORKER says
};

/// --backend, --gpus, and the other flags of GPUs.
void add_backend_flags(CLI::App& app, BackendFlags& flags);
/// Flags for the division of a stack of ROIs.
void add_stack_flags(CLI::App& app, BackendFlags& flags);
/// Fills in `options`; the console reports waits and, with --gpu-log, every event of a fit on a GPU.
void use_backend(const BackendFlags& flags, Placement& placement, Callbacks& callbacks, Console& console);
/// --backend, or GLINT_BACKEND where that is auto.
Backend backend_of(const BackendFlags& flags);
/// The value of --gpus.
int gpu_count(const BackendFlags& flags);
/// The request of a program that fits on a GPU or not at all.
gpu::LeaseRequest lease_request(const BackendFlags& flags);
/// Reports why the GPU was not used, or not to the end: as a warning where one exists; where the machine has none, only if
/// the flags ask about it.
void tell_backend(const BackendFlags& flags, const FitInfo& info, Console& console);
/// Adds a line for each GPU, where several were used, or one and the CPU.
void add_gpu_lines(Summary& summary, const FitInfo& info);
/// The value of --gpu-memory; a percentage is of the first GPU that can be used.
std::uint64_t gpu_memory_bytes(const BackendFlags& flags);

}  // namespace glint::cli
