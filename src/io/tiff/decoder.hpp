// Decodes single TIFF pages, by any number of threads at once.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "glint/movie.hpp"
#include "io/files/input_file.hpp"

namespace glint {

/// Decodes the page whose directory stands at `directory_offset` to native pixels. Throws std::runtime_error with
/// the bare reason: the page is damaged, or is no longer the one that the movie's facts describe.
void decode_page(const InputFile& file, std::uint64_t directory_offset, const MovieInfo& movie, std::byte* out);

}  // namespace glint
