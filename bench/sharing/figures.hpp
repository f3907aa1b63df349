// What a simulation comes to.
// SPDX-License-Identifier: MIT
#pragma once

#include "bench/sharing/simulation.hpp"

namespace glint::sharing {

struct Figures {
    int jobs = 0, failures = 0;              ///< jobs that ended without a result
    int refusals = 0;                        ///< contexts and allocations that failed; the job may have tried again
    double makespan_s = 0;                   ///< from the start of the workload to the last result
    double bound_s = 0;                      ///< min_makespan_s()
    double mean_wait_s = 0, p99_wait_s = 0;  ///< from a job's arrival until it computes
    int long_waits = 0;  ///< of more than 300 s, after which the reference, left to itself, takes the CPU
    double mean_slowdown = 1, p99_slowdown = 1;  ///< of jobs: time from arrival to result over the least possible
    double jain_index = 1;                       ///< of slowdowns_by_others()
    double jain_index_of_means = 1;              ///< of mean_slowdowns()
    double idle_share = 0;                       ///< of the GPUs' time: neither a job nor a stranger computed

    double makespan_over_bound() const { return bound_s > 0 ? makespan_s / bound_s : 1; }
};

/// Simulates again, each user alone, for the first index.
Figures figures(const Workload& workload, PolicyKind policy, std::uint64_t seed, const Outcome& outcome);

}  // namespace glint::sharing
