// Finds the continuation files of MicroManager's movies.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <cstring>
#include <set>
#include <string>

#include "glint/error.hpp"
#include "io/byte_order.hpp"
#include "io/files/input_file.hpp"
#include "io/movie_files.hpp"
#include "io/movie_readers.hpp"
#include "io/tiff/handle.hpp"
#include "io/tiff/ome_set.hpp"

namespace glint {
namespace {

// Both are at byte 8, where an ordinary TIFF may have any value.
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
    const InputFile file(path);
    const TiffHandle tiff(file);
    const char* text = nullptr;
    if (!TIFFGetField(tiff.get(), TIFFTAG_IMAGEDESCRIPTION, &text) || !text) return false;
    return std::strstr(text, ("FileName=\"" + next + "\"").c_str()) != nullptr;
}

bool is_continued_by(const std::filesystem::path& path, const std::string& next) {
    const std::string name = path.filename().string();
    if (name.find("NDTiffStack") != std::string::npos || name.find("MMStack") != std::string::npos) return true;
    try {
        return has_micromanager_magic(path) || ome_metadata_name(path, next);
    } catch (const InputError&) {
        return false;  // opening the file will report the reason
    }
}

/// Returns the folder of the NDTiff movie to which the file belongs, else the path itself.
std::filesystem::path ndtiff_or_itself(const std::filesystem::path& path) {
    const bool of_ndtiff =
        path.filename().string().find("NDTiffStack") != std::string::npos && is_ndtiff(path.parent_path());
    return real_place(of_ndtiff ? path.parent_path() : path);
}

}  // namespace

std::filesystem::path real_place(const std::filesystem::path& path) {
    std::error_code failed;
    const auto real = std::filesystem::canonical(path, failed);
    return failed ? path : real;
}

std::vector<std::filesystem::path> continuations(const std::filesystem::path& path) {
    std::string stem = path.stem().string(), extension = path.extension().string();
    if (std::filesystem::path(stem).extension() == ".ome") {
        extension = ".ome" + extension;
        stem.resize(stem.size() - std::strlen(".ome"));
    }
    const auto numbered = [&](int k) { return fmt::format("{}_{}{}", stem, k, extension); };
    std::vector<std::filesystem::path> found;
    std::error_code ignored;  // a neighbour that cannot be examined counts as absent; opening a broken link reports it
    const auto is_file = [&](const std::filesystem::path& next) {
        return std::filesystem::is_regular_file(next, ignored) || is_lost_link(next);
    };
    for (int k = 1; is_file(path.parent_path() / numbered(k)); ++k) found.push_back(path.parent_path() / numbered(k));
    if (!found.empty() && !is_continued_by(path, numbered(1))) found.clear();
    return found;
}

std::vector<std::filesystem::path> without_continuations(const std::vector<std::filesystem::path>& paths) {
    std::set<std::filesystem::path> given, opened;
    for (const auto& path : paths) {
        if (!given.insert(real_place(path)).second)
            throw OptionError(fmt::format("{} is given twice: its frames would count twice", path.string()));
        for (const auto& next : continuations(path)) opened.insert(real_place(next));
    }
    std::vector<std::filesystem::path> firsts;
    for (const auto& path : paths) {
        if (opened.contains(real_place(path)) || !opened.insert(ndtiff_or_itself(path)).second) continue;
        firsts.push_back(path);
        if (paths.size() > 1)
            for (const auto& other : ome_set_beside(path)) opened.insert(real_place(other));
    }
    return firsts;
}

}  // namespace glint
