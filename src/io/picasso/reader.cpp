// Reads Picasso's HDF5: one compound dataset `/locs`, its metadata in `.yaml` or in the file.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <fstream>

#include "glint/error.hpp"
#include "io/files/input_file.hpp"
#include "io/hdf5/file.hpp"
#include "io/localization_builder.hpp"
#include "io/localization_formats.hpp"
#include "io/picasso/metadata.hpp"

namespace glint {
namespace {

namespace fs = std::filesystem;
constexpr hsize_t block_rows = 16384;
constexpr int most_members = 1000;

/// The numeric members of the file's compound, each to be read as a double.
struct Members {
    std::vector<int> columns;  ///< of the builder
    hdf5::Handle type;         ///< a row in memory: one double per column
};

Members announce_members(hid_t file_type, const fs::path& path, LocalizationBuilder& builder, const Warn& warn) {
    const int count = H5Tget_nmembers(file_type);
    if (count < 0 || count > most_members)
        throw InputError(
            fmt::format("{}: /locs has {} columns, more than the limit of {}", path.string(), count, most_members));
    std::vector<std::string> names;
    Members members;
    std::size_t bytes_left = H5Tget_size(file_type);
    for (int k = 0; k < count; ++k) {
        char* raw = H5Tget_member_name(file_type, unsigned(k));
        const std::string name = raw ? raw : "";
        H5free_memory(raw);
        const hdf5::Handle type(H5Tget_member_type(file_type, unsigned(k)));
        // HDF5 would read outside the row for members that end beyond it, or that together are longer than the row.
        const std::size_t bytes = H5Tget_size(type), end = H5Tget_member_offset(file_type, unsigned(k)) + bytes;
        if (bytes == 0 || bytes > bytes_left || end < bytes || end > H5Tget_size(file_type))
            throw InputError(
                fmt::format("{}: column {} of /locs lies outside its row: the file is damaged; copy or write it "
                            "again",
                            path.string(), name));
        bytes_left -= bytes;
        if (!hdf5::is_numeric(type)) {
            if (warn) warn(fmt::format("{}: column {} is left out: it holds no numbers", path.string(), name));
            continue;
        }
        const int column = builder.add_column(name);
        if (column < 0) continue;
        if (H5Tget_class(type) == H5T_INTEGER) builder.set_integer(column);
        names.push_back(name), members.columns.push_back(column);
    }
    if (names.empty()) throw InputError(fmt::format("{}: /locs has no numeric column", path.string()));
    members.type = hdf5::Handle(H5Tcreate(H5T_COMPOUND, names.size() * sizeof(double)));
    for (std::size_t k = 0; k < names.size(); ++k)
        H5Tinsert(members.type, names[k].c_str(), k * sizeof(double), H5T_NATIVE_DOUBLE);
    return members;
}

void read_rows(hid_t dataset, hsize_t rows, const Members& members, const fs::path& path,
               LocalizationBuilder& builder) {
    const std::size_t columns = members.columns.size();
    std::vector<double> block(std::size_t(std::min(rows, block_rows)) * columns);
    const hdf5::Handle space(H5Dget_space(dataset));
    for (hsize_t first = 0; first < rows; first += block_rows) {
        const hsize_t count = std::min(block_rows, rows - first);
        const hdf5::Handle memory(H5Screate_simple(1, &count, nullptr));
        H5Sselect_hyperslab(space, H5S_SELECT_SET, &first, nullptr, &count, nullptr);
        if (H5Dread(dataset, members.type, memory, space, H5P_DEFAULT, block.data()) < 0)
            throw InputError(
                fmt::format("{}: rows {} to {} of /locs cannot be read: the file is damaged; copy or "
                            "write it again",
                            path.string(), first, first + count - 1));
        for (std::size_t k = 0; k < columns; ++k)
            for (std::size_t row = 0; row < count; ++row)
                builder.add_value(members.columns[k], block[row * columns + k]);
    }
}

Steps steps_beside(const fs::path& path, const Warn& warn) {
    const fs::path yaml = fs::path(path).replace_extension(".yaml");
    std::error_code failed;
    if (!fs::is_regular_file(yaml, failed)) return {};
    std::ifstream in(yaml, std::ios::binary);
    if (!in) require_descriptors(yaml.string(), errno);
    const std::uintmax_t bytes = fs::file_size(yaml, failed);
    std::string text(failed ? 0 : std::size_t(std::min<std::uintmax_t>(bytes, largest_metadata_bytes + 1)), '\0');
    in.read(text.data(), std::streamsize(text.size()));
    text.resize(std::size_t(in.gcount()));
    return understood_steps(yaml.string(), text, steps_from_yaml, warn);
}

/// Picasso keeps the list in a dataset of that name; some writers in an attribute.
Steps steps_inside(hid_t file, const fs::path& path, const Warn& warn) {
    auto text = hdf5::read_string_dataset(file, "metadata");
    if (!text) text = hdf5::read_string_attribute(file, "metadata");
    return text ? understood_steps(path.string() + ": /metadata", *text, steps_from_json, warn) : Steps();
}

void take_facts(Localizations& out, Steps steps, double pixel_size_nm) {
    const MovieFacts facts = facts_in(steps);
    out.width = facts.width, out.height = facts.height, out.frames = facts.frames;
    out.pixel_size_nm = facts.pixel_size_nm > 0 ? facts.pixel_size_nm : pixel_size_nm;
    out.history = std::move(steps);
}

}  // namespace

std::vector<std::string> picasso_history(const fs::path& path, hid_t file, const Warn& warn) {
    Steps steps = steps_beside(path, warn);
    return steps.empty() ? steps_inside(file, path, warn) : steps;
}

Localizations read_picasso(const fs::path& path, double pixel_size_nm, const Warn& warn) {
    const hdf5::Quiet quiet;
    const hdf5::Handle file = hdf5::open_file(path);
    const hdf5::Handle dataset = hdf5::open_dataset(file, "locs", path);
    const hdf5::Handle type(H5Dget_type(dataset));
    const std::vector<hsize_t> shape = hdf5::shape_of(dataset);
    if (H5Tget_class(type) != H5T_COMPOUND || shape.size() != 1)
        throw InputError(fmt::format("{}: /locs is not a table (a 1-D dataset of compound type)", path.string()));
    LocalizationBuilder builder(path.string(), warn);
    const Members members = announce_members(type, path, builder, warn);
    read_rows(dataset, shape[0], members, path, builder);
    Localizations out = builder.finish();

    Steps steps = picasso_history(path, file, warn);
    if (steps.empty() && warn)
        warn(
            fmt::format("{} has no metadata (no .yaml beside it, no /metadata in it): the movie's size is taken from "
                        "the rows",
                        path.string()));
    take_facts(out, std::move(steps), pixel_size_nm);
    fill_unknown_extent(out);
    return out;
}

}  // namespace glint
