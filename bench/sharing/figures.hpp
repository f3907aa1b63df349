// Figures of merit of a simulation; docs/sharing-policies.md defines them.
// SPDX-License-Identifier: MIT
#pragma once

#include "bench/sharing/simulation.hpp"

namespace glint::sharing {

struct Figures {
    int jobs = 0, failures = 0;                  ///< jobs that ended without a result
    int refusals = 0;                            ///< contexts and allocations that failed; the job may have tried again
    double makespan_s = 0;                       ///< from the start of the workload to the last result
    double bound_s = 0;                          ///< min_makespan_s()
    double mean_wait_s = 0, p99_wait_s = 0;      ///< from a job's arrival until it computes
    int long_waits = 0;                          ///< of more than 300 s, the default timeout of GaussMLE.jl
    double mean_slowdown = 1, p99_slowdown = 1;  ///< of jobs: time from arrival to result over the minimum
    double jain_index = 1;                       ///< of slowdowns_by_others()
    double jain_index_of_means = 1;              ///< of mean_slowdowns()
    double idle_share = 0;                       ///< fraction of GPU time in which nothing computed

    double makespan_over_bound() const { return bound_s > 0 ? makespan_s / bound_s : 1; }
};

/// Simulates each user alone again, for jain_index; `quantum_s` as in simulate().
Figures figures(const Workload& workload, PolicyKind policy, std::uint64_t seed, const Outcome& outcome,
                double quantum_s = environment::gpu_quantum_s());

}  // namespace glint::sharing
