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

/// Throws OptionError for frames [first, first + count) that the movie does not have.
void check_frames(const MovieInfo& info, std::int64_t first, int count);

/// Gives `block` the shape of frames [first, first + count) of the movie. Throws OptionError for frames that
/// the movie does not have.
void shape_like(const MovieInfo& info, std::int64_t first, int count, FrameBlock& block);

}  // namespace glint
