// The motions that make what is seen likeliest.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
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

/// No motion; a straight line; a slope that changes; and a jitter beside it.
inline constexpr std::size_t motion_kinds = 4;

/// The richest motion of an axis that what is seen supports.
struct Support {
    std::size_t kind = 0;
    std::array<Motion, motion_kinds> ladder;
    std::array<double, motion_kinds> gain{};  ///< twice the logarithm of the likelihood over that of no motion
    const Motion& motion() const { return ladder[kind]; }
    /// The next richer one, whose errors include those of what is not corrected.
    const Motion& richer() const { return ladder[kind + 1 < motion_kinds ? kind + 1 : kind]; }
};

/// `full`: the motions that `fit_motions` found. Which kind is supported is still to be chosen.
std::vector<Support> supported(std::span<const AxisToFit> axes, std::span<const Motion> full,
                               const std::vector<char>& jumps);

/// Chooses the kinds, none richer than `richest`: of all axes together, and of an axis perhaps a poorer one. Returns the richest chosen.
std::size_t choose_kinds(std::span<Support> axes, std::size_t richest);

}  // namespace glint::drift
