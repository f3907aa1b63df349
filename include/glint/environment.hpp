// The variables GLINT_*: each is read and checked here and nowhere else. docs/command_line.md lists them.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "glint/backend.hpp"

namespace glint::environment {

// All throw OptionError for a value that will not do; it names the variable, the value and what would do. A variable
// that is empty counts as one that is not set. They look anew at every call.

/// GLINT_GPU_ENABLED, by default true. False: glint uses no GPU and asks none. Looked at once, before the first one.
bool gpu_enabled();

/// GLINT_GPU_MEMORY_LIMIT: the most to take of a GPU of so many bytes; 0: `auto`, what a program asks for.
std::uint64_t gpu_memory_limit_bytes(std::uint64_t total_bytes);

/// GLINT_GPU_EARLY_RECLAIM, by default true: unused memory goes back under pressure, before an allocation fails.
bool gpu_early_reclaim();

/// GLINT_OFFLOAD_THRESHOLD, by default 10 MB: where nothing is measured, operations on less stay on the CPU.
std::uint64_t offload_threshold_bytes();

/// What is meant by `asked`: where that leaves the choice open, GLINT_BACKEND (`auto`, `cpu`, `gpu`, or `cuda` for gpu).
Backend backend(Backend asked = Backend::automatic);

/// GLINT_THREADS, else usable_threads(): how many threads are meant where a program does not say.
int threads();

/// GLINT_LEASES_PER_USER: most shares of GPUs that this user's leases have at once; 0: any number.
int leases_per_user();
/// GLINT_LEASE_DIR, else /dev/shm/glint-lease.
std::string lease_directory();
/// GLINT_LEASE: the lease that `glint lease` started this program under; empty: none.
std::string inherited_lease();
/// GLINT_ISA, unchecked: active_isa() knows which ones there are. Empty: the best.
std::string isa();

/// Threads that the system lets this process run at once: by its CPU affinity, and by the CPU quotas of its cgroup and
/// all above it (versions 1 and 2; a quota of 2.5 CPUs makes 3). At least 1. Below `root` lie the /proc and /sys that
/// are read.
int usable_threads(const std::string& root = "");

/// A variable as it stands.
struct Setting {
    std::string name, value;  ///< the value in force, or as it was written where that will not do
    bool is_set = false;      ///< in the environment; else the value is the default
    std::string problem;      ///< what is wrong with the value; empty: nothing
};
/// All of them, in the order of the documentation. Never throws for a wrong value.
std::vector<Setting> settings();

}  // namespace glint::environment
