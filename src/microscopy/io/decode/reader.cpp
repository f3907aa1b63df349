// Reads DECODE's .h5 of an emitter set: /data/xyz and lists beside it, /meta with the unit and the pixel size.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "glint/error.hpp"
#include "io/decode/columns.hpp"
#include "io/hdf5/file.hpp"
#include "io/localization_formats.hpp"

namespace glint {
namespace {

namespace fs = std::filesystem;

/// A dataset, or one of the three columns of a dataset.
struct Source {
    hdf5::Handle stored;
    std::string name;
    std::optional<hsize_t> axis;
    bool is_variance = false;
    int target = -1;  ///< the builder's column
};

/// Returns up to two numbers of an attribute.
std::vector<double> two_numbers(hid_t object, const char* name) {
    const hdf5::Quiet quiet;
    if (H5Aexists(object, name) <= 0) return {};
    const hdf5::Handle attribute(H5Aopen(object, name, H5P_DEFAULT));
    if (!attribute.valid()) return {};
    const hdf5::Handle type(H5Aget_type(attribute)), space(H5Aget_space(attribute));
    std::vector<double> values(2);
    if (!hdf5::is_numeric(type) || H5Sget_simple_extent_npoints(space) != 2 ||
        H5Aread(attribute, H5T_NATIVE_DOUBLE, values.data()) < 0)
        return {};
    return values;
}

bool is_dataset(hid_t place, const char* name) {
    H5O_info_t info;
    return hdf5::has(place, name) && H5Oget_info_by_name(place, name, &info, H5P_DEFAULT) >= 0 &&
           info.type == H5O_TYPE_DATASET;
}

class DecodeTable : public TableFile {
  public:
    DecodeTable(const fs::path& from, double pixel_size_nm, const Warn& warn_of) : TableFile(from, warn_of) {
        const hdf5::Quiet quiet;
        file_ = hdf5::open_file(path);
        if (!hdf5::has(file_, "data")) throw InputError(fmt::format("{}: has no group /data", path.string()));
        data_ = hdf5::Handle(H5Gopen2(file_, "data", H5P_DEFAULT));
        if (!data_.valid()) throw InputError(fmt::format("{}: /data is not a group", path.string()));
        read_meta();
        complete_decode_meta(meta_, pixel_size_nm, path.string());
        about.pixel_size_nm = meta_.px_size_y_nm;
        idle = {"id"};  // -1 in all rows
        add_columns();
        if (warn) warn(fmt::format("{}: {}", path.string(), decode_axes));
    }

    void restart() override { read_ = 0; }

    std::size_t add_rows(std::size_t most) override {
        const auto count = hsize_t(std::min<std::size_t>(most, *rows - read_));
        for (const Source& source : sources_) {
            for (const double value : read(source, count))
                builder.add_value(source.target, source.is_variance ? std::sqrt(value) : value);
        }
        read_ += count;
        return std::size_t(count);
    }

  private:
    void read_meta() {
        if (!hdf5::has(file_, "meta")) return;
        const hdf5::Handle group(H5Gopen2(file_, "meta", H5P_DEFAULT));
        if (!group.valid()) return;
        meta_.xy_unit = hdf5::read_string_attribute(group, "xy_unit").value_or("");
        const std::vector<double> sizes = two_numbers(group, "px_size");
        constexpr double largest_nm = 1e6;
        const auto is_size = [](double nm) { return nm > 0 && nm <= largest_nm; };
        if (sizes.size() == 2 && is_size(sizes[0]) && is_size(sizes[1]))
            meta_.px_size_x_nm = sizes[0], meta_.px_size_y_nm = sizes[1];
    }

    bool has_values(const char* name) const {
        if (!is_dataset(data_, name)) return false;
        const hdf5::Handle dataset(H5Dopen2(data_, name, H5P_DEFAULT));
        const hdf5::Handle space(dataset.valid() ? H5Dget_space(dataset) : -1);
        return space.valid() && H5Sget_simple_extent_type(space) == H5S_SIMPLE;  // an empty dataspace is not simple
    }

    void add_columns() {
        const bool uses_sig = has_values("xyz_sig") || !has_values("xyz_cr");
        std::vector<std::string> skipped;
        std::vector<std::string> names = hdf5::names_in(data_);
        constexpr std::size_t max_columns = 1000;
        if (names.size() > max_columns)
            throw InputError(fmt::format("{}: /data has {} datasets, more than the limit of {}", path.string(),
                                         names.size(), max_columns));
        std::stable_partition(names.begin(), names.end(), [](const std::string& name) { return name == "xyz"; });
        for (const std::string& name : names) {
            if (!is_dataset(data_, name.c_str())) {
                skipped.push_back(name);
                continue;
            }
            if (!has_values(name.c_str())) continue;
            const bool is_spatial = name == "xyz" || name == "xyz_sig" || name == "xyz_cr";
            for (hsize_t axis = 0; axis < (is_spatial ? 3 : 1); ++axis) {
                const std::string column = is_spatial ? fmt::format("{}{}", "xyz"[axis], name.substr(3)) : name;
                add(name, column, is_spatial ? std::optional(axis) : std::nullopt, uses_sig);
            }
        }
        if (warn && !skipped.empty())
            warn(fmt::format("{}: what is no dataset in /data is left out: {}", path.string(),
                             fmt::join(skipped, ", ")));
    }

    void add(const std::string& dataset, const std::string& column, std::optional<hsize_t> axis, bool uses_sig) {
        const DecodeMeaning meaning = decode_meaning(column, meta_, uses_sig);
        if (meaning.name.empty()) return;
        Source source{hdf5::open_dataset(data_, dataset.c_str(), path), "data/" + dataset, axis, meaning.is_variance,
                      -1};
        const hdf5::Handle type(H5Dget_type(source.stored));
        const std::vector<hsize_t> shape = hdf5::shape_of(source.stored);
        const bool is_right = hdf5::is_numeric(type) && (axis ? shape.size() == 2 && shape[1] == 3 : shape.size() == 1);
        if (!is_right)
            throw InputError(fmt::format("{}: /{} is no list of {}", path.string(), source.name,
                                         axis ? "three numbers for each row" : "numbers"));
        if (!rows) rows = std::size_t(shape[0]);
        if (shape[0] != *rows)
            throw InputError(
                fmt::format("{}: /{} has {} rows, /data/xyz has {}", path.string(), source.name, shape[0], *rows));
        source.target = builder.add_column(meaning.name, meaning.scale);
        if (source.target < 0) return;
        if (H5Tget_class(type) == H5T_INTEGER) builder.set_integer(source.target);
        sources_.push_back(std::move(source));
    }

    std::vector<double> read(const Source& source, hsize_t count) const {
        const hdf5::Quiet quiet;
        std::vector<double> values(count);
        if (count == 0) return values;
        const hsize_t first[] = {read_, source.axis.value_or(0)}, counts[] = {count, 1};
        const hdf5::Handle memory(H5Screate_simple(1, &count, nullptr)), space(H5Dget_space(source.stored));
        if (H5Sselect_hyperslab(space, H5S_SELECT_SET, first, nullptr, counts, nullptr) < 0 ||
            H5Dread(source.stored, H5T_NATIVE_DOUBLE, memory, space, H5P_DEFAULT, values.data()) < 0)
            throw InputError(
                fmt::format("{}: rows {} to {} of /{} cannot be read: the file is damaged; copy or write it again",
                            path.string(), read_, read_ + count - 1, source.name));
        return values;
    }

    hdf5::Handle file_, data_;
    DecodeMeta meta_;
    std::vector<Source> sources_;
    hsize_t read_ = 0;
};

bool is_decode(hid_t file) {
    const hdf5::Quiet quiet;
    H5O_info_t info;
    if (!hdf5::has(file, "data") || H5Oget_info_by_name(file, "data", &info, H5P_DEFAULT) < 0) return false;
    return info.type == H5O_TYPE_GROUP && hdf5::has(file, "data/xyz") && hdf5::has(file, "data/frame_ix");
}

OpenTable open_decode(const fs::path& path, double pixel_size_nm, const Warn& warn) {
    return std::make_unique<DecodeTable>(path, pixel_size_nm, warn);
}

}  // namespace

TableFormat decode_tables() {
    return {.name = "DECODE",
            .endings = {".h5"},
            .is = [](const TableContent& content) { return content.hdf5 >= 0 && is_decode(content.hdf5); },
            .open = [](const fs::path& path, double pixel_size_nm, const Warn& warn,
                       const TextConventions&) { return open_decode(path, pixel_size_nm, warn); }};
}

}  // namespace glint
