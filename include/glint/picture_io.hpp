// Pictures to files.
// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>

#include "glint/if_exists.hpp"
#include "glint/picture.hpp"

namespace glint {

/// 8-bit RGB PNG with the pixel size as its physical resolution. Atomic. Throws OutputError.
void write_png(const std::filesystem::path& path, const RgbPicture& picture, IfExists if_exists = IfExists::replace);

/// 32-bit float grayscale TIFF with the pixel size as its resolution (ImageJ reads it). Atomic. Throws OutputError.
void write_float_tiff(const std::filesystem::path& path, const Picture& picture,
                      IfExists if_exists = IfExists::replace);

/// Reads a PNG back (tests, and comparison). Throws InputError.
RgbPicture read_png(const std::filesystem::path& path);

}  // namespace glint
