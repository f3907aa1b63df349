// Fairness between the users of a server.
// SPDX-License-Identifier: MIT
#pragma once

#include <span>

#include "bench/sharing/simulation.hpp"

namespace glint::sharing {

/// (sum x)^2 / (n sum x^2): 1 when all are equal, 1/n when one has everything (Jain, Chiu and Hawe 1984).
double jain_index(std::span<const double> values);

/// The slowdown of each user caused by other users: the time from arrival to result, summed over the user's jobs, over the
/// same sum when the user is alone on the server, under the same policy. Jobs that fail in either simulation are left
/// out, and users without any remaining job.
std::vector<double> slowdowns_by_others(const Workload& workload, PolicyKind policy, std::uint64_t seed,
                                        const Outcome& outcome, double quantum_s = environment::gpu_quantum_s());

/// For each user the mean over jobs of the time from arrival to result over the minimum for that job. Includes the
/// slowdown that a user's own concurrent jobs cause.
std::vector<double> mean_slowdowns(const Workload& workload, const Outcome& outcome);

}  // namespace glint::sharing
