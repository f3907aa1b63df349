// Plays a workload under a policy, event by event, without waiting for anything.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "bench/sharing/workload.hpp"
#include "glint/progress.hpp"

namespace glint::sharing {

enum class PolicyKind { naive, first_fit, polling, leases };
constexpr PolicyKind all_policies[] = {PolicyKind::naive, PolicyKind::first_fit, PolicyKind::polling,
                                       PolicyKind::leases};
std::string_view name_of(PolicyKind policy);
/// Throws OptionError, naming those there are.
PolicyKind parse_policy(std::string_view name);

/// Of one job.
struct JobRun {
    bool failed = false;  ///< it ended without a result
    double starts_s = 0;  ///< to compute, after it has waited and created its contexts
    double finishes_s = 0;
};

struct Outcome {
    std::vector<JobRun> runs;  ///< of Workload::jobs
    int refusals = 0;          ///< contexts and allocations that failed
    double lasted_s = 0;       ///< until the last job had finished or failed
    double idle_s = 0;         ///< until then nobody computed, not even a stranger; added up over GPUs
};

/// The same for the same arguments; `seed` is that of the moments when somebody polls and of GPUs taken blindly.
/// `progress` counts jobs. Throws OptionError for a job that the server has no room for.
Outcome simulate(const Workload& workload, PolicyKind policy, std::uint64_t seed, const Progress& progress = {});

}  // namespace glint::sharing
