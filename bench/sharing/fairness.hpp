// How evenly a server's users are served.
// SPDX-License-Identifier: MIT
#pragma once

#include <span>

#include "bench/sharing/simulation.hpp"

namespace glint::sharing {

/// (sum x)^2 / (n sum x^2): 1 when all are equal, 1/n when one has everything (Jain, Chiu and Hawe 1984).
double jain_index(std::span<const double> values);

/// By how much the others slow down each user: the time from arrival to result, summed over his jobs, over the same
/// with the server to himself under the same policy. Jobs that fail in either do not count, nor users without any
/// other.
std::vector<double> slowdowns_by_others(const Workload& workload, PolicyKind policy, std::uint64_t seed,
                                        const Outcome& outcome);

/// The mean over each user's jobs of the time from arrival to result, over the least that the job takes. A user who
/// starts many jobs at once slows them down himself.
std::vector<double> mean_slowdowns(const Workload& workload, const Outcome& outcome);

}  // namespace glint::sharing
