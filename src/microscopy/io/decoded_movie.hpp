// Movies whose frames are decoded one by one, on all threads.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "glint/movie.hpp"

namespace glint {

/// Writes one frame's pixels, in the movie's type. Called by several threads simultaneously. Throws
/// std::runtime_error with the bare reason if the frame cannot be read.
using DecodeFrame = std::function<void(std::int64_t frame, std::byte* out)>;

/// `path`: as the user gave it, for messages. If several frames fail, reports the first.
std::unique_ptr<Movie> decoded_movie(const std::string& path, MovieInfo info, DecodeFrame decode);

}  // namespace glint
