// Decodes single TIFF pages; each decoder has a handle of its own, so that several threads can decode at once.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "glint/movie.hpp"
#include "io/tiff/handle.hpp"

namespace glint {

class TiffDecoder {
  public:
    explicit TiffDecoder(const std::filesystem::path& path) : tiff_(path) {}
    /// Decodes the page whose directory stands at `directory_offset` to native pixels. Throws std::runtime_error with
    /// the bare reason: the page is damaged, or is no longer the one that the movie's facts describe.
    void decode(std::uint64_t directory_offset, const MovieInfo& movie, std::byte* out);

  private:
    void decode_strips(const MovieInfo& movie, std::byte* out);
    void decode_tiles(const MovieInfo& movie, std::byte* out);
    [[noreturn]] void fail();

    TiffHandle tiff_;
    std::vector<std::byte> tile_;
};

}  // namespace glint
