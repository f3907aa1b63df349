// The files of a PSF's table of coefficients (docs/reference/formats.md).
// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>

namespace glint {

/// The .npy file that the TOML file of a table names. Throws InputError as read_psf_table() does; whether the .npy file is there is
/// not looked at.
std::filesystem::path coefficients_file(const std::filesystem::path& path);

}  // namespace glint
