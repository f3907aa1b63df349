// Writes pictures to files; reads PNG.
// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>

#include "glint/if_exists.hpp"
#include "glint/picture.hpp"

namespace glint {

/// Writes an 8-bit RGB PNG with the pixel size as physical resolution. The file appears only when complete. Throws
/// OutputError if the file cannot be written, and OptionError if the picture is empty or too large for a PNG.
void write_png(const std::filesystem::path& path, const RgbPicture& picture, IfExists if_exists = IfExists::replace);

/// Writes a 32-bit float grayscale TIFF with the pixel size as resolution (readable by ImageJ). The file appears only
/// when complete. Throws OutputError if the file cannot be written.
void write_float_tiff(const std::filesystem::path& path, const Picture& picture,
                      IfExists if_exists = IfExists::replace);

/// Reads a PNG, e.g. for comparisons in tests. Returns the picture. Throws InputError if the file cannot be read or is
/// no PNG.
RgbPicture read_png(const std::filesystem::path& path);

}  // namespace glint
