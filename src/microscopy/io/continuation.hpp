// Files that continue a MicroManager movie that did not fit into one.
// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <vector>

namespace glint {

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
