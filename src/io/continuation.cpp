// Finding the continuation files of MicroManager's movies.
// SPDX-License-Identifier: MIT
#include "io/continuation.hpp"

#include <fmt/format.h>

#include <cstring>
#include <string>

#include "io/byte_order.hpp"
#include "io/input_file.hpp"
#include "io/tiff_handle.hpp"

namespace glint {
namespace {

// Both stand at byte 8, where an ordinary TIFF has anything.
constexpr std::uint32_t micromanager_magic = 54773648, ndtiff_magic = 483729;

bool has_micromanager_magic(const std::filesystem::path& path) {
    std::byte bytes[12]{};
    InputFile(path).read_at(0, bytes, sizeof bytes);
    if ((bytes[0] == std::byte{'M'}) == host_is_little_endian) swap_32_bit(bytes + 8, 1);
    std::uint32_t magic = 0;
    std::memcpy(&magic, bytes + 8, sizeof magic);
    return magic == micromanager_magic || magic == ndtiff_magic;
}

bool ome_metadata_name(const std::filesystem::path& path, const std::string& next) {
    const TiffHandle tiff(path);
    const char* text = nullptr;
    if (!TIFFGetField(tiff.get(), TIFFTAG_IMAGEDESCRIPTION, &text) || !text) return false;
    return std::strstr(text, ("FileName=\"" + next + "\"").c_str()) != nullptr;
}

bool is_continued_by(const std::filesystem::path& path, const std::string& next) {
    const std::string name = path.filename().string();
    if (name.find("NDTiffStack") != std::string::npos || name.find("MMStack") != std::string::npos) return true;
    return has_micromanager_magic(path) || ome_metadata_name(path, next);
}

}  // namespace

std::vector<std::filesystem::path> continuations(const std::filesystem::path& path) {
    std::string stem = path.stem().string(), extension = path.extension().string();
    if (std::filesystem::path(stem).extension() == ".ome") {
        extension = ".ome" + extension;
        stem.resize(stem.size() - std::strlen(".ome"));
    }
    const auto numbered = [&](int k) { return fmt::format("{}_{}{}", stem, k, extension); };
    std::vector<std::filesystem::path> found;
    std::error_code ignored;  // a neighbour that cannot be looked at is none
    for (int k = 1; std::filesystem::is_regular_file(path.parent_path() / numbered(k), ignored); ++k)
        found.push_back(path.parent_path() / numbered(k));
    if (!found.empty() && !is_continued_by(path, numbered(1))) found.clear();
    return found;
}

}  // namespace glint
