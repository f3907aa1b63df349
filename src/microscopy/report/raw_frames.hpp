// Some frames of the movie, as the page stores them.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "glint/drift.hpp"
#include "glint/localizations.hpp"
#include "glint/movie.hpp"
#include "glint/progress.hpp"
#include "report/page_json.hpp"

namespace glint {

/// Raw frames of 8 bits, and the rows found in them.
struct RawFrames {
    PageJson json = PageJson::array();  ///< one object per frame
    std::vector<std::string> texts;     ///< of each frame: base64 of a zlib stream of bytes in C order
    std::string note;                   ///< a sentence if frames were cropped or left out; empty: none
};

/// Reads frames, evenly spaced, at most `count` and `max_bytes` of text. Counts are rounded to steps that grow with the
/// square root of the count, as their noise does. Larger frames are cropped around their centre. `drift`: what was
/// subtracted from the table, and is added again; null: nothing. Throws InputError if the movie cannot be read, and
/// Cancelled after a stop.
RawFrames read_raw_frames(Movie& movie, const Localizations& table, int count, double max_bytes, const Drift* drift,
                          const StopFlag* stop);

}  // namespace glint
