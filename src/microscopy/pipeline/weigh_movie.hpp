// The amount of work in a movie, for the cost model (offload/advisor.hpp).
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "glint/offload/decision.hpp"
#include "pipeline/job.hpp"

namespace glint {

/// Whether groups of molecules may take most of the time: most spots have neighbours, or none were looked at.
bool may_be_crowded(const Job& job);

/// All work on `frames` frames, from counts in memory to rows.
offload::Work movie_work(const MovieInfo& movie, const Job& job, std::int64_t frames);

}  // namespace glint
