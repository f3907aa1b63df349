// The error of a frame that cannot be read; it stores the position, so that a joined movie can state its own frame
// number.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>

#include "glint/error.hpp"

namespace glint {

class UnreadableFrame : public InputError {
  public:
    /// Frame `frame` of `file`, whose first frame is frame `first` of the movie.
    UnreadableFrame(std::string file, std::int64_t frame, std::string reason, std::int64_t first = 0);

    /// The same error for a movie in which the frame's number is larger by `frames`.
    UnreadableFrame moved(std::int64_t frames) const { return {file_, frame_, reason_, first_ + frames}; }
    /// Its number in the movie.
    std::int64_t frame() const { return first_ + frame_; }

  private:
    std::string file_, reason_;
    std::int64_t frame_, first_;
};

}  // namespace glint
