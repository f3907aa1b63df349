// Statistics of a simulation; docs/explanation/sharing-policies.md defines them.
// SPDX-License-Identifier: MIT
#pragma once

#include <span>

#include "bench/sharing/simulation.hpp"

namespace glint::sharing {

/// Returns the time from arrival to result on an empty server.
double min_time_s(const SimulatedJob& job);

/// Returns the lower bound in seconds for the jobs that did not fail (derived in docs/explanation/sharing-policies.md).
double min_makespan_s(const Workload& workload, std::span<const JobRun> runs);

/// Returns (sum x)^2 / (n sum x^2): 1 when all values are equal, 1/n when one value is the sum (Jain, Chiu and Hawe
/// 1984).
double jain_index(std::span<const double> values);

/// Returns the slowdown of each user caused by other users: the time from arrival to result, summed over the user's
/// jobs, divided by the same sum when the user is alone on the server under the same policy. Leaves out jobs that fail
/// in either simulation, and users without any remaining job.
std::vector<double> slowdowns_by_others(const Workload& workload, PolicyKind policy, std::uint64_t seed,
                                        const Outcome& outcome, double quantum_s = environment::gpu_quantum_s());

/// Returns for each user the mean over jobs of the time from arrival to result, divided by the job's minimum. Includes
/// the slowdown that a user's own concurrent jobs cause.
std::vector<double> mean_slowdowns(const Workload& workload, const Outcome& outcome);

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
