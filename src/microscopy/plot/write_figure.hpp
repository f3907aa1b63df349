// Figures as files.
// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "glint/if_exists.hpp"
#include "plot/figure.hpp"

namespace glint::plots {

/// Endings of the names of figures. Others are refused with `other_endings`.
inline const std::vector<std::string> figure_endings{".png", ".svg"};
inline constexpr const char* other_endings =
    "give a name that ends in .png or .svg; for a PDF, print the .svg or convert it";

bool is_figure_name(const std::filesystem::path& file);

/// Writes a figure in the format of the file's ending: PNG, of 1.5 pixels a px, or SVG. The file appears only when it
/// is complete. Throws OptionError for another ending; OutputError.
void write_figure(const std::filesystem::path& file, const Figure& figure, IfExists if_exists = IfExists::replace);

}  // namespace glint::plots
