// Files of a folder that are the frames of a movie, in the order of the numbers in their names.
// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace glint {

/// Natural order of the stems, so that "t_1" is before "t_1.1". Decimal numbers that differ alone are in the order of their values; those with a
/// zero behind other digits are numbers of parts: 1.9, 1.10.
void sort_by_number(std::vector<std::string>& files);

/// Whether an entry of a folder is a file, which may hold frames; nothing that is no file any more. Throws InputError for a file that cannot
/// be read, such as a link whose target is missing: without it the frames behind it would get wrong numbers.
bool is_readable_file(const std::filesystem::directory_entry& entry);

/// Whether it is a symbolic link whose target does not exist.
bool is_lost_link(const std::filesystem::path& path);

/// Names the numbers that are missing among files whose names differ in nothing else; empty if none is missing, or if names have no
/// such numbers. Numbers may have steps, such as every tenth.
std::string missing_numbers(const std::vector<std::filesystem::path>& files, const std::string& folder);

}  // namespace glint
