// Localizations of one molecule in frames that follow one another, linked to blinks.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "glint/localizations.hpp"

namespace glint::drift {

using Vec3 = std::array<double, 3>;

/// The rows in the order of their frames, in nm, without those whose position is no number or beyond a metre; `axes` 2 or 3. Frames are
/// counted from that of the first row, and end with that of the last: nothing tells of a drift before and after.
struct Table {
    std::vector<int> frame;
    std::array<std::vector<float>, 3> nm, precision_nm;
    int frames = 0, axes = 2;
    int movie_frames = 0, first_frame = 0;  ///< of the whole movie, and the one that is 0 here
    std::size_t size() const { return frame.size(); }
};

/// Throws InputError without a pixel size, or with more than 2^24 frames. Unknown precisions are taken from the rows' own repeats.
Table table_of(const Localizations& from);

/// The rows of which `keep` is not 0.
Table rows_of(const Table& table, const std::vector<char>& keep);

/// Blink b has the rows members[begin[b]] to members[begin[b + 1]].
struct Blinks {
    std::vector<std::uint32_t> members, begin;
    std::vector<float> frame;  ///< mean
    std::size_t size() const { return frame.size(); }
};

/// Nearest neighbours within five standard errors and one dark frame. A blink ends after `longest` frames, so that a
/// bead becomes many.
Blinks link(const Table& table, int longest = 32);

/// Precision-weighted mean positions of blinks after the drift is taken out, and their variances.
struct Points {
    std::array<std::vector<float>, 3> nm, variance;
    std::size_t size() const { return nm[0].size(); }
};
using FrameDrift = std::array<std::vector<double>, 3>;  ///< nm a frame
Points points_of(const Table& table, const Blinks& blinks, const FrameDrift& drift);

}  // namespace glint::drift
