// A lower bound of the makespan under any policy.
// SPDX-License-Identifier: MIT
#pragma once

#include <span>

#include "bench/sharing/simulation.hpp"

namespace glint::sharing {

/// From arrival to result on an empty server.
double min_time_s(const Job& job);

/// The bound for the jobs that did not fail (derived in docs/sharing-policies.md), in seconds.
double min_makespan_s(const Workload& workload, std::span<const JobRun> runs);

}  // namespace glint::sharing
