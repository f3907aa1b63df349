// A movie as the cost model sees it (offload/advisor.hpp): how much work it is.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "glint/offload/decision.hpp"
#include "pipeline/job.hpp"

namespace glint {

/// So many frames: all that is done to them, from counts in memory to rows.
offload::Work movie_work(const MovieInfo& movie, const Job& job, std::int64_t frames);

}  // namespace glint
