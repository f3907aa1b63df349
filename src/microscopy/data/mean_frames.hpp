// Tables of molecules, whose rows have the mean of several frames.
// SPDX-License-Identifier: MIT
#pragma once

namespace glint {

/// The extra column with the frames of a table in which these are no whole numbers, counted from 0; `frame` is rounded down.
inline constexpr const char* mean_frame_column = "mean_frame";

}  // namespace glint
