// Links the localizations of one molecule in successive frames to blinks.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "glint/localizations.hpp"

namespace glint::drift {

using Vec3 = std::array<double, 3>;

/// The rows in the order of frames, in nm. Rows whose position is not finite or beyond a metre are left out. `axes` is
/// 2 or 3. Frames are counted from that of the first row and end with that of the last: frames before and after contain
/// no information on the drift.
struct Table {
    std::vector<int> frame;
    std::array<std::vector<float>, 3> nm, precision_nm;
    int frames = 0, axes = 2;
    int movie_frames = 0, first_frame = 0;  ///< number of frames of the movie; its frame that is 0 here
    std::size_t size() const { return frame.size(); }
};

/// Returns the table in nm. Unknown precisions are 10 nm; an unknown precision of z is 2.5 times that of x. Throws
/// InputError if the pixel size is unknown, or if there are more than 2^24 frames.
Table table_of(const Localizations& from);

/// Returns the rows for which `keep` is not 0.
Table rows_of(const Table& table, const std::vector<char>& keep);

/// Blink b consists of the rows members[begin[b]] to members[begin[b + 1]].
struct Blinks {
    std::vector<std::uint32_t> members, begin;
    std::vector<float> frame;  ///< mean of its rows
    std::size_t size() const { return frame.size(); }
};

/// Links nearest neighbours within five standard errors, with at most one dark frame between. A blink ends after
/// `longest` frames, so that a bead becomes many blinks.
Blinks link(const Table& table, int longest = 32);

/// Positions of blinks with the drift subtracted: means weighted by precision, and their variances.
struct Points {
    std::array<std::vector<float>, 3> nm, variance;
    std::size_t size() const { return nm[0].size(); }
};
using FrameDrift = std::array<std::vector<double>, 3>;  ///< nm for each frame, by axis
Points points_of(const Table& table, const Blinks& blinks, const FrameDrift& drift);

}  // namespace glint::drift
