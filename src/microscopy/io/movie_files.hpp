// Files that together are one movie: those of a folder in the order of their numbers, and those that continue a movie
// of MicroManager.
// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace glint {

/// Compares names in natural order: img_2 before img_10. Runs of digits count as numbers of any length, all else
/// byte by byte. Names that differ only in leading zeros keep a fixed order.
bool natural_less(const std::string& a, const std::string& b);

/// Sorts by the natural order of the stems, so that "t_1" is before "t_1.1". If names differ only in decimal numbers,
/// sorts by their values. Numbers with a final zero after other decimals are numbers of parts: 1.9, 1.10.
void sort_by_number(std::vector<std::string>& files);

/// Returns true if an entry of a folder is a file, which may contain frames. Throws InputError for a file that cannot
/// be read, such as a link whose target is missing: without that file, later frames would get wrong numbers.
bool is_readable_file(const std::filesystem::directory_entry& entry);

/// Returns true for a symbolic link whose target does not exist.
bool is_lost_link(const std::filesystem::path& path);

/// Returns the numbers that are missing among files whose names differ only in a number. Empty if none is missing,
/// or if names have no such numbers. Numbers may have steps, such as every tenth.
std::string missing_numbers(const std::vector<std::filesystem::path>& files, const std::string& folder);

/// Returns the continuations beside `path`, in order: NAME_1.tif, NAME_2.tif, ... of NAME.tif, and NAME_1.ome.tif, ...
/// of NAME.ome.tif. Only if name or content show that MicroManager wrote the file (`NDTiffStack`, `MMStack`, its magic
/// numbers, `.ome.tif`). Other movies named cell.tif and cell_1.tif stay separate.
std::vector<std::filesystem::path> continuations(const std::filesystem::path& path);

/// Returns `paths` without those that are opened with another of them: its continuations, the other files of its
/// OME-TIFF set, and all but one of an NDTiff folder. Throws OptionError for a file that is given twice.
std::vector<std::filesystem::path> without_continuations(const std::vector<std::filesystem::path>& paths);

/// Returns the same path for a file, whatever name leads to it.
std::filesystem::path real_place(const std::filesystem::path& path);

}  // namespace glint
