// Files that are one movie together: those of a folder in the order of their numbers, and those that continue a movie
// of MicroManager.
// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace glint {

/// The order in which people count files: img_2 before img_10. Runs of digits count as numbers of any length, all else byte by byte; names that differ in leading zeros alone keep a fixed
/// order.
bool natural_less(const std::string& a, const std::string& b);

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

/// The continuations of `path` that stand beside it, in order: NAME_1.tif, NAME_2.tif, ... of NAME.tif, and
/// NAME_1.ome.tif, ... of NAME.ome.tif. Only where name or content say that MicroManager wrote the file
/// (`NDTiffStack`, `MMStack`, its magic numbers, `.ome.tif`): otherwise movies named cell.tif and
/// cell_1.tif stay separate.
std::vector<std::filesystem::path> continuations(const std::filesystem::path& path);

/// `paths` without those that are opened with another one of them: its continuations, the other files of its OME-TIFF set, and all
/// but one of an NDTiff folder. Throws OptionError for a file that is given twice.
std::vector<std::filesystem::path> without_continuations(const std::vector<std::filesystem::path>& paths);

/// One path for a file, whatever name leads to it.
std::filesystem::path real_place(const std::filesystem::path& path);

}  // namespace glint
