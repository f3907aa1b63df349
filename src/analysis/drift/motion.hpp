// The motions that make what is seen likeliest.
// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <vector>

#include "analysis/drift/smoother.hpp"

namespace glint::drift {

/// What is seen along one axis, and where to begin the search; the white jitter of the first start is kept.
struct AxisToFit {
    const Seen* seen;
    std::vector<Motion> starts;
};

/// The motions of the highest likelihood that are found: of all axes one, each with its own white jitter, unless motions of their own
/// are likelier by more than their values are worth (Schwarz, Ann. Stat. 6, 461 (1978)).
std::vector<Motion> fit_motions(std::span<const AxisToFit> axes, const std::vector<char>& jumps);

}  // namespace glint::drift
