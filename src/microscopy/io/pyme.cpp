// Reads the tables of PYME (python-microscopy): `.h5r`, whose rows have records in them, and tables exported as
// `.hdf`.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "glint/error.hpp"
#include "io/hdf5/file.hpp"
#include "io/localization_formats.hpp"
#include "io/picasso/rows.hpp"

namespace glint {
namespace {

namespace fs = std::filesystem;

constexpr const char* fit_results = "FitResults";
constexpr const char* exported = "Data";

/// A number of a row, under PYME's name for it: "fitResults_x0".
struct PymeNumber {
    std::string name;
    std::size_t offset = 0;  ///< in memory
    bool is_integer = false;
};

/// A row as HDF5 converts it: the file's records, with only their numbers, each as a double.
class RowOfDoubles {
  public:
    RowOfDoubles(hid_t stored, const fs::path& path) : path_(path) { type = record(stored, "", 0, 0, bytes); }

    std::vector<PymeNumber> numbers;
    hdf5::Handle type;
    std::size_t bytes = 0;

  private:
    struct Member {
        std::string name;
        hdf5::Handle type;  ///< of a record
        std::size_t offset = 0;
    };

    [[noreturn]] void refuse(const std::string& why) const {
        throw InputError(
            fmt::format("{}: its table {}: the file is damaged; copy or write it again", path_.string(), why));
    }

    hdf5::Handle record(hid_t stored, const std::string& before, std::size_t begin, int depth, std::size_t& size) {
        constexpr int max_members = 1000, max_depth = 4;
        const int count = H5Tget_nmembers(stored);
        const std::size_t stored_bytes = H5Tget_size(stored);
        if (count < 0 || count > max_members || depth > max_depth) refuse("has too many columns");
        std::size_t bytes_left = stored_bytes;
        std::vector<Member> members;
        size = 0;
        for (int k = 0; k < count; ++k) {
            char* raw = H5Tget_member_name(stored, unsigned(k));
            Member member{raw ? raw : "", {}, size};
            H5free_memory(raw);
            const hdf5::Handle of_member(H5Tget_member_type(stored, unsigned(k)));
            // HDF5 would read outside the row for members that end beyond it.
            const std::size_t length = H5Tget_size(of_member), at = H5Tget_member_offset(stored, unsigned(k));
            if (length == 0 || length > bytes_left || at > stored_bytes || length > stored_bytes - at)
                refuse(fmt::format("has a column {} outside its row", member.name));
            bytes_left -= length;
            if (H5Tget_class(of_member) == H5T_COMPOUND) {
                std::size_t inner = 0;
                member.type = record(of_member, before + member.name + "_", begin + size, depth + 1, inner);
                if (inner == 0) continue;
                size += inner;
            } else if (hdf5::is_numeric(of_member)) {
                numbers.push_back({before + member.name, begin + size, H5Tget_class(of_member) == H5T_INTEGER});
                size += sizeof(double);
            } else {
                continue;
            }
            members.push_back(std::move(member));
        }
        if (size == 0) return {};
        hdf5::Handle made(H5Tcreate(H5T_COMPOUND, size));
        for (const Member& member : members)
            if (H5Tinsert(made, member.name.c_str(), member.offset,
                          member.type.valid() ? hid_t(member.type) : H5T_NATIVE_DOUBLE) < 0)
                refuse("has two columns of one name");
        return made;
    }

    const fs::path& path_;
};

/// PYME's name for one of glint's columns. Lengths are in nm.
struct PymeColumn {
    const char *nested, *flat;
    std::vector<const char*> names;
    enum Kind { plain, length, depth } kind;
};
const std::vector<PymeColumn>& pyme_columns() {
    static const std::vector<PymeColumn> columns{{"tIndex", "t", {"frame"}, PymeColumn::plain},
                                                 {"fitResults_x0", "x", {"x"}, PymeColumn::length},
                                                 {"fitResults_y0", "y", {"y"}, PymeColumn::length},
                                                 {"fitResults_z0", "z", {"z"}, PymeColumn::depth},
                                                 {"fitError_x0", "error_x", {"lpx"}, PymeColumn::length},
                                                 {"fitError_y0", "error_y", {"lpy"}, PymeColumn::length},
                                                 {"fitError_z0", "error_z", {"lpz"}, PymeColumn::depth},
                                                 {"fitResults_sigma", "sig", {"sx", "sy"}, PymeColumn::length},
                                                 {"nPhotons", "nPhotons", {"photons"}, PymeColumn::plain},
                                                 {"fitResults_A", "A", {"amplitude"}, PymeColumn::plain}};
    return columns;
}

double number_attribute_of(hid_t object, const char* name) {
    if (H5Aexists(object, name) <= 0) return 0;
    const hdf5::Handle attribute(H5Aopen(object, name, H5P_DEFAULT));
    if (!attribute.valid()) return 0;
    const hdf5::Handle type(H5Aget_type(attribute)), space(H5Aget_space(attribute));
    double value = 0;
    if (!type.valid() || !hdf5::is_numeric(type) || H5Sget_simple_extent_npoints(space) != 1 ||
        H5Aread(attribute, H5T_NATIVE_DOUBLE, &value) < 0)
        return 0;
    return std::isfinite(value) ? value : 0;
}

/// Returns /MetaData/voxelsize in um; 0 if it is missing.
double voxel_nm(hid_t file, const char* axis) {
    if (!hdf5::has(file, "MetaData")) return 0;
    const hdf5::Handle all(H5Gopen2(file, "MetaData", H5P_DEFAULT));
    if (!all.valid() || !hdf5::has(all, "voxelsize")) return 0;
    const hdf5::Handle size(H5Gopen2(all, "voxelsize", H5P_DEFAULT));
    const double nm = size.valid() ? 1000 * number_attribute_of(size, axis) : 0;
    return nm > 0 && nm <= 1e6 ? nm : 0;
}

/// Returns true if the file has a table of that name with these columns.
bool has_table(hid_t file, const char* name, std::initializer_list<const char*> columns) {
    if (!hdf5::has(file, name)) return false;
    const hdf5::Handle dataset(H5Dopen2(file, name, H5P_DEFAULT));
    if (!dataset.valid()) return false;
    const hdf5::Handle type(H5Dget_type(dataset));
    return H5Tget_class(type) == H5T_COMPOUND && std::all_of(columns.begin(), columns.end(), [&](const char* column) {
               return H5Tget_member_index(type, column) >= 0;
           });
}

const char* table_in(hid_t file) {
    if (has_table(file, fit_results, {"tIndex", "fitResults"}) || has_table(file, fit_results, {"x", "y"}))
        return fit_results;
    return has_table(file, exported, {"x", "y"}) ? exported : nullptr;
}

class PymeTable : public TableFile {
  public:
    PymeTable(const fs::path& from, double pixel_size_nm, const Warn& warn_of) : TableFile(from, warn_of) {
        const hdf5::Quiet quiet;
        file_ = hdf5::open_file(path);
        const char* name = table_in(file_);
        if (!name) throw InputError(fmt::format("{}: has no table of PYME (/FitResults, /Data)", path.string()));
        dataset_ = hdf5::open_dataset(file_, name, path);
        const std::vector<hsize_t> shape = hdf5::shape_of(dataset_);
        if (shape.size() != 1) throw InputError(fmt::format("{}: /{} is no table", path.string(), name));
        rows = shape[0];
        const double x_nm = voxel_nm(file_, "x"), y_nm = voxel_nm(file_, "y");
        about.pixel_size_nm = x_nm > 0 && (y_nm == 0 || y_nm == x_nm) ? x_nm : pixel_size_nm;
        if (!(about.pixel_size_nm > 0))
            throw OptionError(fmt::format(
                "{} does not state the size of a square camera pixel, which its lengths need: give it, as in "
                "`table_pixel_size=100nm`",
                path.string()));
        idle = {"probe"};
        add_columns();
    }

    void restart() override { read_ = 0; }

    std::size_t add_rows(std::size_t most) override {
        const hdf5::Quiet quiet;
        const hsize_t count = std::min<hsize_t>(most, *rows - read_);
        read_rows(dataset_, row_, read_, count, path, builder);
        read_ += count;
        return std::size_t(count);
    }

  private:
    void add(const PymeNumber& number, const std::string& name, double scale) {
        const int column = builder.add_column(name, scale);
        if (column < 0) return;
        if (number.is_integer) builder.set_integer(column);
        row_.members.push_back({number.name, column, number.offset, MemberType::f64});
    }

    void add_columns() {
        const hdf5::Handle stored(H5Dget_type(dataset_));
        RowOfDoubles doubles(stored, path);
        if (doubles.numbers.empty())
            throw InputError(fmt::format("{}: its table has no column of numbers", path.string()));
        row_.type = std::move(doubles.type), row_.bytes = doubles.bytes;
        std::vector<bool> is_taken(doubles.numbers.size(), false);
        for (const PymeColumn& column : pyme_columns()) {
            // An exported table may contain both: the plain name is then corrected for drift and mapped.
            const auto find = [&](const char* name) {
                return std::find_if(doubles.numbers.begin(), doubles.numbers.end(),
                                    [&](const PymeNumber& number) { return number.name == name; });
            };
            auto number = find(column.flat);
            if (number == doubles.numbers.end()) number = find(column.nested);
            if (number == doubles.numbers.end()) continue;
            is_taken[std::size_t(number - doubles.numbers.begin())] = true;
            for (const char* name : column.names)
                add(*number, name, column.kind == PymeColumn::length ? 1 / about.pixel_size_nm : 1);
        }
        for (std::size_t k = 0; k < doubles.numbers.size(); ++k) {
            const PymeNumber& number = doubles.numbers[k];
            // Skips names with another meaning in glint, and the corners of ROIs.
            if (!is_taken[k] && !builder.has(number.name) && number.name.find("slicesUsed") != 0 &&
                !is_own(number.name))
                add(number, number.name, 1);
        }
    }

    /// Returns true if glint would read a column of that name as one of its own, in another unit.
    static bool is_own(const std::string& name) {
        const auto own = localization_columns();
        return name == "status" || name == "iterations" || name == "frame" ||
               std::any_of(own.begin(), own.end(),
                           [&](const LocalizationColumn& column) { return column.name == name; });
    }

    hdf5::Handle file_, dataset_;
    LocsRow row_;
    hsize_t read_ = 0;
};

bool is_pyme(hid_t file) { return table_in(file) != nullptr; }

OpenTable open_pyme(const fs::path& path, double pixel_size_nm, const Warn& warn) {
    return std::make_unique<PymeTable>(path, pixel_size_nm, warn);
}

}  // namespace

TableFormat pyme_tables() {
    return {.name = "PYME",
            .endings = {".h5r", ".hdf"},
            .is = [](const TableContent& content) { return content.hdf5 >= 0 && is_pyme(content.hdf5); },
            .open = [](const fs::path& path, double pixel_size_nm, const Warn& warn,
                       const TextConventions&) { return open_pyme(path, pixel_size_nm, warn); }};
}

}  // namespace glint
