// Where a camera's maps lie: HDF5, MATLAB's .mat, or a .npy or .tif for each quantity.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "io/camera/gain_unit.hpp"

namespace glint {

struct StoredMap {
    std::string name;  ///< with its file's, where it has one of its own: for messages
    std::uint64_t height = 0, width = 0;
    std::optional<std::string> unit;  ///< as the file tells it
    std::vector<float> values;        ///< height * width, C order
};

/// Which quantities a source has, by glint's names: offset, gain, readnoise, readvar, qe, faults.
class MapSource {
  public:
    virtual ~MapSource() = default;
    /// Nothing where the source has no such map. Throws InputError for one that is no map: not of two dimensions of 1 to
    /// 32,768 px, too large, truncated.
    virtual std::optional<StoredMap> find(const std::string& quantity) = 0;
    /// The unit of the gain where neither the file nor the user tells it; none: it has to be told.
    virtual std::optional<GainUnit> usual_gain_unit() const { return {}; }
    /// The files, for messages, and what they could hold.
    virtual std::string where() const = 0;
    virtual std::string wanted() const = 0;
};

/// One file with all maps, HDF5 or .mat by its content. Throws InputError.
std::unique_ptr<MapSource> open_map_source(const std::filesystem::path& path);

/// The one map of a .npy or TIFF, by its content. Throws InputError.
StoredMap map_in_file(const std::filesystem::path& path, const std::string& quantity);

/// A file for each of these quantities.
std::unique_ptr<MapSource> map_files(std::vector<std::pair<std::string, std::filesystem::path>> files);

}  // namespace glint
