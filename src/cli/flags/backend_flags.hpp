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
    std::string gpu_worker;  ///< empty: the value of GLINT_GPU_WORKER
};

/// Adds --backend, --gpus and the other flags of GPUs.
void add_backend_flags(CLI::App& app, BackendFlags& flags);
/// Adds the flags that divide a stack of ROIs into batches.
void add_stack_flags(CLI::App& app, BackendFlags& flags);
/// Sets `placement` and `callbacks`. The console reports waits and, with --gpu-log, every event of a fit on a GPU.
void use_backend(const BackendFlags& flags, Placement& placement, Callbacks& callbacks, Console& console);
/// Returns the value of --backend, or of GLINT_BACKEND if that is auto.
Backend backend_of(const BackendFlags& flags);
/// Returns the value of --gpus.
int gpu_count(const BackendFlags& flags);
/// Returns the lease request of a program that can only fit on a GPU.
gpu::LeaseRequest lease_request(const BackendFlags& flags);
/// Warns if a GPU was not used, or not until the end, with the reason. On a machine without a GPU, only if the flags
/// ask for one.
void tell_backend(const BackendFlags& flags, const FitInfo& info, Console& console);
/// Adds a line for each GPU, if several GPUs were used, or a GPU and the CPU.
void add_gpu_lines(Summary& summary, const FitInfo& info);
/// Returns the value of --gpu-memory. A percentage refers to the first usable GPU.
std::uint64_t gpu_memory_bytes(const BackendFlags& flags);

}  // namespace glint::cli
