// SMAP's .mat of version 5 to 7: the structure saveloc.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "glint/error.hpp"
#include "io/localization_formats.hpp"
#include "io/mat_elements.hpp"
#include "io/smap/contents.hpp"

namespace glint {
namespace {

namespace fs = std::filesystem;

/// Real numbers of a row or column; nothing for all else.
std::optional<SmapArray> line(const MatElements& elements, const std::string& name, std::uint64_t at) {
    const auto found = elements.matrix(at);
    if (!found || !found->is_line()) return std::nullopt;
    auto numbers = elements.numbers(name, at);
    if (!numbers) return std::nullopt;
    return SmapArray{name, numbers->count, numbers->is_integer, std::move(numbers->read)};
}

std::optional<MatArray> saveloc_of(const MatFile& mat) {
    for (const MatArray& array : mat.arrays)
        if (array.name == "saveloc" && array.array_class == 2) return array;
    return std::nullopt;
}

std::vector<SmapMovie> movies_of(const MatElements& elements, const MatElement& saveloc) {
    std::vector<SmapMovie> movies;
    const auto file = elements.structure(saveloc, "file");
    for (std::uint64_t k = 0; file && k < std::min<std::uint64_t>(file->count, smap_max_files); ++k) {
        const auto info = elements.structure(*file, "info", k);
        if (!info) continue;
        movies.push_back(smap_movie([&](const char* field, std::size_t number) {
            const auto at = elements.field(*info, field);
            const auto found = at ? line(elements, field, *at) : std::nullopt;
            double value = 0;
            if (found && number < found->count) found->read(number, {&value, 1});
            return value;
        }));
    }
    return movies;
}

}  // namespace

bool is_smap_mat5(const fs::path& path) {
    const InputFile file(path);
    return mat_version(file) == MatVersion::elements && saveloc_of(read_mat(file));
}

SmapContents smap_contents_of_elements(const fs::path& path) {
    const InputFile file(path);
    const MatFile mat = read_mat(file);
    const auto array = saveloc_of(mat);
    if (!array) throw InputError(fmt::format("{}: has no structure saveloc", path.string()));
    const MatElements elements(path, *array, mat.big_endian);
    const auto saveloc = elements.root();
    const auto loc = saveloc ? elements.structure(*saveloc, "loc") : std::nullopt;
    if (!loc || loc->count != 1)
        throw InputError(fmt::format("{}: has no structure saveloc.loc, so it is no table of SMAP", path.string()));
    SmapContents contents;
    std::uint64_t at = loc->contents;
    for (const std::string& name : loc->fields) {
        if (auto found = line(elements, name, at))
            contents.columns.push_back(std::move(*found));
        else
            contents.skipped.push_back(name);
        at = elements.next(at);
    }
    contents.movies = movies_of(elements, *saveloc);
    return contents;
}

}  // namespace glint
