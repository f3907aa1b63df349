// What no policy can undercut.
// SPDX-License-Identifier: MIT
#pragma once

#include <span>

#include "bench/sharing/simulation.hpp"

namespace glint::sharing {

/// From arrival to result on an empty server.
double min_time_s(const Job& job);

/// No schedule of the jobs that did not fail is done earlier (docs/sharing-policies.md derives it).
double min_makespan_s(const Workload& workload, std::span<const JobRun> runs);

}  // namespace glint::sharing
