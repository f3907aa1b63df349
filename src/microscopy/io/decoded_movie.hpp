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

/// Writes one frame's pixels, in the movie's type. Several threads call it at once. Throws std::runtime_error with the bare
/// reason where the frame cannot be read.
using DecodeFrame = std::function<void(std::int64_t frame, std::byte* out)>;

/// `path`: as the user gave it, for messages. Of several frames that fail, the first is reported.
std::unique_ptr<Movie> decoded_movie(const std::string& path, MovieInfo info, DecodeFrame decode);

}  // namespace glint
