// The preparation of a FrameBlock, common to all readers of movies, and the error of a frame that cannot be read.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>

#include "glint/error.hpp"
#include "glint/movie.hpp"

namespace glint {

/// Stores the position, so that a joined movie can state its own frame number.
class UnreadableFrame : public InputError {
  public:
    /// Describes frame `frame` of `file`, whose first frame is frame `first` of the movie.
    UnreadableFrame(std::string file, std::int64_t frame, std::string reason, std::int64_t first = 0);

    /// Returns the same error for a movie in which the frame's number is larger by `frames`.
    UnreadableFrame moved(std::int64_t frames) const { return {file_, frame_, reason_, first_ + frames}; }
    /// Returns the frame's number in the movie.
    std::int64_t frame() const { return first_ + frame_; }

  private:
    std::string file_, reason_;
    std::int64_t frame_, first_;
};

/// Throws OptionError if the movie does not contain frames [first, first + count).
void check_frames(const MovieInfo& info, std::int64_t first, int count);

/// Gives `block` the shape of frames [first, first + count) of the movie. Throws OptionError if the movie does not
/// contain them.
void shape_like(const MovieInfo& info, std::int64_t first, int count, FrameBlock& block);

}  // namespace glint
