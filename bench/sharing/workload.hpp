// Who asks for GPUs, when, and for what: drawn from a file that describes it.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace glint::sharing {

struct Job {
    int user = 0;  ///< in Workload::users
    double arrives_s = 0;
    int gpus = 1;             ///< different ones, all at once
    std::uint64_t bytes = 0;  ///< on each GPU, beyond the context
    double compute_s = 0;     ///< on each GPU, if it had them to itself
};

/// A program that asks nobody: it takes memory where it happens to start, as much as is there, and goes.
struct ForeignProcess {
    double comes_s = 0, goes_s = 0;
    int gpu = 0;
    std::uint64_t bytes = 0;  ///< with its context
    bool computes = false;    ///< all the time
};

struct Workload {
    std::string name, about;
    int gpus = 8;
    std::uint64_t gpu_bytes = 0;  ///< each has
    std::vector<std::string> users;
    std::vector<Job> jobs;  ///< in the order of their arrival
    std::vector<ForeignProcess> foreign_processes;
};

constexpr int most_gpus = 16, max_jobs = 10'000;

/// The server, where it is not to be the one that the file names.
struct ServerOptions {
    std::optional<int> gpus;
    std::optional<std::uint64_t> gpu_bytes;
};

/// Draws the jobs of one of builtin_workloads(), or of a file (docs/sharing-policies.md has the format); the same for
/// the same seed on any machine. Throws OptionError for a name that is neither, InputError with the place in the file.
Workload draw_workload(const std::string& name_or_path, std::uint64_t seed, const ServerOptions& server = {});

struct BuiltinWorkload {
    std::string_view name, text;
};
/// The files of bench/workloads, as they were when the program was built, by name.
std::span<const BuiltinWorkload> builtin_workloads();

}  // namespace glint::sharing
