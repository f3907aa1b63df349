// Finds the motions that make the observations most likely.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "analysis/drift/smoother.hpp"

namespace glint::drift {

/// The observations along one axis, and the starts of the search. The white jitter of the first start is kept.
struct AxisToFit {
    const Seen* seen;
    std::vector<Motion> starts;
};

/// Returns the motions of the highest likelihood. All axes share one motion, each with its own white jitter. They have
/// separate motions if these are more likely by more than their additional values justify (Schwarz, Ann. Stat. 6, 461
/// (1978)).
std::vector<Motion> fit_motions(std::span<const AxisToFit> axes, const std::vector<char>& jumps);

/// No motion; a straight line; a slope that changes; a slope that changes with a jitter in addition.
inline constexpr std::size_t motion_kinds = 4;

/// The richest motion of an axis that the observations support.
struct Support {
    std::size_t kind = 0;
    std::array<Motion, motion_kinds> ladder;
    std::array<double, motion_kinds> gain{};  ///< twice the log-likelihood, relative to no motion
    const Motion& motion() const { return ladder[kind]; }
    /// Returns the next richer motion. Its errors include the motion that is not corrected.
    const Motion& richer() const { return ladder[kind + 1 < motion_kinds ? kind + 1 : kind]; }
};

/// Returns the motions of all kinds for each axis. `full` is what `fit_motions` found. `choose_kinds` chooses the
/// supported kind.
std::vector<Support> supported(std::span<const AxisToFit> axes, std::span<const Motion> full,
                               const std::vector<char>& jumps);

/// Chooses one kind for all axes, and perhaps a simpler one for a single axis. None is richer than `richest`. Returns
/// the richest chosen kind.
std::size_t choose_kinds(std::span<Support> axes, std::size_t richest);

}  // namespace glint::drift
