// Decodes single TIFF pages, by any number of threads at once.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "glint/movie.hpp"
#include "io/files/input_file.hpp"
#include "io/plain_movie.hpp"

namespace glint {

/// Decodes the page whose directory stands at `directory_offset` to pixels as `stored`, in the machine's byte order. Throws std::runtime_error with
/// the bare reason: the page is damaged, or is no longer the one that the movie's facts describe.
void decode_page(const InputFile& file, std::uint64_t directory_offset, const MovieInfo& movie, StoredPixel stored,
                 std::byte* out);

}  // namespace glint
