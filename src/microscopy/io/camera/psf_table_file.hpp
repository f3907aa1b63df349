// The files of a PSF's table of coefficients (docs/reference/formats.md).
// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>

namespace glint {

/// Returns the file of the coefficients that read_psf_table() reads: a measured PSF itself, or the .npy file that the
/// TOML file of a table names, without checking that it exists. Throws InputError as read_psf_table() does.
std::filesystem::path coefficients_file(const std::filesystem::path& path);

}  // namespace glint
