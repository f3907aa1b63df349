// Finds slices of a stack without a usable image: dropped frames, and frames for which the lamp was off.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/lens/bead_window.hpp"
#include "analysis/lens/find_beads.hpp"

namespace glint::lens {

/// Why slices are left out, and which (their numbers in the stack, from 0).
struct FaultySlices {
    std::string reason;
    std::vector<std::int64_t> slices;
};

/// Slices that are constant, or have many more missing pixels (NaN) than the others. `slices`: those that were
/// projected.
std::vector<FaultySlices> find_empty_slices(const Projection& projection, const std::vector<std::int64_t>& slices);

/// Slices in which the beads of a stack have much less or more light than before and after, beyond noise. A PSF loses
/// or gains light in its window over many slices, and in one direction at a time. `windows`: of one stack, with
/// `slices`.
std::vector<FaultySlices> find_dark_slices(const std::vector<BeadWindow>& windows,
                                           const std::vector<std::int64_t>& slices);

/// Removes the faulty ones from `slices`. Returns a warning for each reason. Throws InputError if more than a tenth
/// of the stack's `all` slices would be missing.
std::vector<std::string> leave_out(const std::vector<FaultySlices>& faults, const std::string& stack, std::int64_t all,
                                   std::vector<std::int64_t>& slices);

}  // namespace glint::lens
