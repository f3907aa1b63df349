// Workloads: jobs and foreign processes, drawn at random from the distributions in a file.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace glint::sharing {

struct SimulatedJob {
    int user = 0;  ///< index into Workload::users
    double arrives_s = 0;
    int gpus = 1;             ///< number of different GPUs, used together
    std::uint64_t bytes = 0;  ///< on each GPU, not counting the context
    double compute_s = 0;     ///< computing time with exclusive use of the GPUs
    /// True for a fit of glint, which releases its GPU after a quantum while other jobs wait, and continues later.
    bool gives_way = false;
};

/// A process without a lease (another group in the file): allocates memory on its GPU, at most the free memory, and
/// ends.
struct ForeignProcess {
    double comes_s = 0, goes_s = 0;
    int gpu = 0;
    std::uint64_t bytes = 0;  ///< including its context
    bool computes = false;    ///< during its whole life
};

struct Workload {
    std::string name, about;
    int gpus = 8;
    std::uint64_t gpu_bytes = 0;  ///< of each GPU
    std::vector<std::string> users;
    std::vector<SimulatedJob> jobs;  ///< in the order of their arrival
    std::vector<ForeignProcess> foreign_processes;
};

constexpr int max_gpus = 16, max_jobs = 10'000;

/// Overrides the server that the file describes.
struct ServerOptions {
    std::optional<int> gpus;
    std::optional<std::uint64_t> gpu_bytes;
};

/// Draws the jobs of one of builtin_workloads(), or of a file (format: docs/explanation/sharing-policies.md). A seed
/// gives the same jobs on any machine. Throws OptionError for an unknown name; InputError, with the location, for an
/// invalid file.
Workload draw_workload(const std::string& name_or_path, std::uint64_t seed, const ServerOptions& server = {});

struct BuiltinWorkload {
    std::string_view name, text;
};
/// Returns the files of bench/workloads, compiled into the program, by name.
std::span<const BuiltinWorkload> builtin_workloads();

}  // namespace glint::sharing
