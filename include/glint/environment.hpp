// The environment variables GLINT_*, all read and validated here. docs/reference/command_line.md lists them.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "glint/backend.hpp"

namespace glint::environment {

// All functions throw OptionError for an invalid value; the message names the variable, the value and what is valid. An
// empty variable counts as unset. The environment is read at every call.

/// Returns GLINT_GPU_ENABLED, by default true. False: glint neither uses nor queries GPUs. A change after the first
/// use of a GPU has no effect.
bool gpu_enabled();

/// Returns GLINT_GPU_MEMORY_LIMIT in bytes, for a GPU with `total_bytes`; 0 (`auto`): no limit besides that of the
/// program.
std::uint64_t gpu_memory_limit_bytes(std::uint64_t total_bytes);

/// Returns GLINT_GPU_EARLY_RECLAIM, by default true: while memory is short, return unused memory before an allocation
/// fails.
bool gpu_early_reclaim();

/// Returns GLINT_GPU_LOG, by default false: print a line to standard error for each reclaim of GPU memory
/// (gpu::set_log).
bool gpu_log();
/// Returns GLINT_GPU_UNIFIED, by default false: sessions create arrays of unified memory, unless their options say
/// otherwise.
bool gpu_unified();

/// Returns GLINT_GPU_QUANTUM in seconds. A fit that has held its GPU for longer gives way to a waiting request that
/// expects to need the GPU for less time. By default 30, the shortest quantum with which a crowded server is fair in
/// `glint bench sharing` (docs/explanation/sharing-policies.md). Infinity (`never`): the fit keeps its GPU.
double gpu_quantum_s();

/// Returns whether GLINT_GPU_WORKER is `auto`; by default it is `off`. True: commands use a warm worker for work on a
/// GPU, and start a worker if none is running.
bool gpu_worker();
/// Returns GLINT_GPU_WORKER_IDLE, by default 5: seconds without work after which a warm worker ends.
int gpu_worker_idle_s();

/// Returns GLINT_OFFLOAD_THRESHOLD, by default 10 MB: without measurements, operations on fewer bytes run on the CPU.
std::uint64_t offload_threshold_bytes();

/// Returns `asked`; if it is automatic, GLINT_BACKEND (`auto`, `cpu`, `gpu`, `prefer-gpu`, or `cuda` for gpu).
Backend backend(Backend asked = Backend::automatic);

/// Returns GLINT_THREADS, else usable_threads(): the default number of threads.
int threads();

/// Returns GLINT_LEASES_PER_USER: the maximum number of GPU shares that this user's leases may have simultaneously; 0:
/// no maximum.
int leases_per_user();
/// Returns GLINT_LEASE_DIR, else /dev/shm/glint-lease.
std::string lease_directory();
/// Returns GLINT_MPI_LIBRARY: the MPI library for the glint-mpi of the release archive; empty: glint-mpi searches for
/// one.
std::string mpi_library();
/// Returns GLINT_LEASE: the lease under which `glint lease` started this program; empty: none.
std::string inherited_lease();
/// Returns GLINT_ISA, which active_isa() validates. Empty: the best available.
std::string isa();

/// Returns the number of threads that can run concurrently, at least 1: the minimum of the CPU affinity mask and the
/// CPU quotas of the cgroup and its ancestors. Supports cgroup versions 1 and 2; a quota of 2.5 CPUs is rounded up to
/// 3. Reads /proc and /sys below `root`.
int usable_threads(const std::string& root = "");

/// The state of one variable.
struct Setting {
    std::string name, value;  ///< value: the effective one, or the given one if that is invalid
    bool is_set = false;      ///< set in the environment; false: the value is the default
    std::string problem;      ///< why the value is invalid; empty: it is valid
};
/// Returns the state of all variables, in the order of the documentation. Does not throw for invalid values.
std::vector<Setting> settings();
/// Throws OptionError for the first variable with an invalid value. Programs call it when they start.
void check();

}  // namespace glint::environment
