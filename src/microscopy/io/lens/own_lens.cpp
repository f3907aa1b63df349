// glint's own file of a measured PSF: the group /psf of an HDF5 file.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "glint/error.hpp"
#include "io/files/atomic_file.hpp"
#include "io/hdf5/writing.hpp"
#include "io/lens/lens_formats.hpp"

namespace glint {
namespace {

namespace fs = std::filesystem;

constexpr const char *group_name = "psf", *values_name = "coefficients", *errors_name = "errors";
constexpr const char *format_key = "format", *version_key = "version", *lens_pixel_key = "pixel_size_nm",
                     *z_min_key = "z_min_nm", *z_max_key = "z_max_nm", *samples_key = "samples_per_px",
                     *origin_key = "origin", *date_key = "date", *usable_min_key = "usable_min_nm",
                     *usable_max_key = "usable_max_nm", *hash_key = "hash", *left_key = "field_left_px",
                     *top_key = "field_top_px", *cell_key = "field_cell_px";
constexpr const char* own_format = "glint PSF";
constexpr int own_major_version = 2;
// 1.1 added the hash, 1.2 PSFs without z; a reader of 1.0 refuses these. 2.0 added PSFs of several cells, which a
// reader of 1.2 refuses by the version. All other files keep their version.
constexpr const char *own_version = "1.2", *own_field_version = "2.0";
constexpr std::size_t max_error_points = 100000;

/// The columns of the errors, a dataset each.
struct ErrorColumn {
    const char* name;
    double LensError::*value;
};
constexpr ErrorColumn error_columns[] = {{"z_nm", &LensError::z_nm},
                                         {"z_bias_nm", &LensError::z_bias_nm},
                                         {"z_rms_nm", &LensError::z_rms_nm},
                                         {"crlb_nm", &LensError::crlb_nm}};

hdf5::Handle open_psf_group(hid_t place, const char* name) {
    H5O_info_t info;
    if (!hdf5::has(place, name) || H5Oget_info_by_name(place, name, &info, H5P_DEFAULT) < 0 ||
        info.type != H5O_TYPE_GROUP)
        return {};
    return hdf5::Handle(H5Gopen2(place, name, H5P_DEFAULT));
}

/// The attributes of the group.
class LensAttributes {
  public:
    LensAttributes(hid_t group, const fs::path& path) : group_(group), path_(path) {}

    double number(const char* key) const {
        const auto value = hdf5::read_number_attribute(group_, key);
        if (!value || !std::isfinite(*value))
            throw InputError(
                fmt::format("{}: /psf has no attribute {}, a finite number: the file is damaged, or "
                            "another program wrote it; write it again by glint",
                            path_.string(), key));
        return *value;
    }
    double number(const char* key, double default_value) const {
        return H5Aexists(group_, key) > 0 ? number(key) : default_value;
    }
    std::string text(const char* key) const { return hdf5::read_string_attribute(group_, key).value_or(""); }

  private:
    hid_t group_;
    const fs::path& path_;
};

void check_lens_version(const std::string& version, const fs::path& path) {
    int major = 0;
    const auto [rest, error] = std::from_chars(version.data(), version.data() + version.size(), major);
    const bool is_known = error == std::errc() && (rest == version.data() + version.size() || *rest == '.');
    if (!is_known || major < 1)
        throw InputError(fmt::format("{}: its version \"{}\" is none: expected as in {}; the file is damaged",
                                     path.string(), version, own_version));
    if (major > own_major_version)
        throw InputError(
            fmt::format("{}: has version {} of glint's PSF files, and this glint reads up to {}.x: use a "
                        "newer glint, or write the file again by this one",
                        path.string(), version, own_major_version));
}

/// Returns the number of cells along x and y, and removes their dimensions from the shape.
PsfField read_cells(std::vector<hsize_t>& shape, const fs::path& path) {
    PsfField field;
    if (shape.size() != 5) return field;
    const hsize_t rows = shape[0], columns = shape[1];
    if (rows == 0 || columns == 0 || rows > hsize_t(PsfField::max_cells) / columns)
        throw InputError(fmt::format(
            "{}: /psf/coefficients has the shape ({}): 1 or more cells of the field along y and x, the first two "
            "dimensions, and at most {} in all are read; the file is damaged",
            path.string(), fmt::join(shape, ", "), PsfField::max_cells));
    field.cells_x = int(columns), field.cells_y = int(rows);
    shape.erase(shape.begin(), shape.begin() + 2);
    return field;
}

PsfTable::Shape read_shape(const std::vector<hsize_t>& shape, const PsfField& field, const fs::path& path) {
    const std::uint64_t max_values =
        field.cells() == 1
            ? PsfTable::max_bytes / sizeof(float)
            : std::min(PsfTable::max_bytes, PsfTable::max_field_bytes / std::size_t(field.cells())) / sizeof(float);
    std::uint64_t count = shape.size() == 3 ? 1 : 0;
    for (std::size_t k = 0; k < shape.size(); ++k) {
        const bool is_flat = k == 0 && shape[k] == 1;
        count = count == 0 || (shape[k] < 4 && !is_flat) || shape[k] > max_values / count ? 0 : count * shape[k];
    }
    if (count == 0)
        throw InputError(fmt::format(
            "{}: /psf/coefficients has the shape ({}){}: three dimensions of 4 or more (1 along z "
            "without z), and at most {} values are read",
            path.string(), fmt::join(shape, ", "),
            field.cells() == 1 ? "" : fmt::format(" in each of {} cells of the field", field.cells()), max_values));
    return {int(shape[0]), int(shape[1]), int(shape[2]), 1};
}

std::string to_hex(std::uint64_t hash) { return fmt::format("{:016x}", hash); }

/// Throws InputError if the table is not the one that was written. Files of version 1.0 have no hash.
void check_lens_hash(const std::string& written, const PsfTable& table, const fs::path& path) {
    if (written.empty() || written == to_hex(table.hash())) return;
    throw InputError(
        fmt::format("{}: its coefficients or their scale are not those that were written: their hash is {}, and the "
                    "file states {}. The file is damaged or was edited: copy it again, or measure the PSF again",
                    path.string(), to_hex(table.hash()), written.substr(0, 40)));
}

std::vector<LensError> read_errors(hid_t group, const fs::path& path) {
    std::vector<LensError> errors;
    const hdf5::Handle place = open_psf_group(group, errors_name);
    if (!place.valid()) return errors;
    for (const ErrorColumn& column : error_columns) {
        const hdf5::Handle dataset = hdf5::open_dataset(place, column.name, path);
        const std::vector<hsize_t> shape = hdf5::shape_of(dataset);
        const bool is_first = &column == error_columns;
        if (shape.size() != 1 || shape[0] > max_error_points || (!is_first && shape[0] != errors.size()))
            throw InputError(
                fmt::format("{}: /psf/errors/{} has the shape ({}): one dimension, of at most {} values "
                            "and as long as the others, is read; the file is damaged",
                            path.string(), column.name, fmt::join(shape, ", "), max_error_points));
        const std::vector<double> values = hdf5::read_doubles(dataset, column.name, path);
        errors.resize(values.size());
        for (std::size_t k = 0; k < values.size(); ++k) errors[k].*column.value = values[k];
    }
    return errors;
}

}  // namespace

bool is_own_lens(hid_t file) {
    const hdf5::Handle group = open_psf_group(file, group_name);
    return group.valid() && hdf5::read_string_attribute(group, format_key) == own_format;
}

Lens read_own_lens(hid_t file, const fs::path& path) {
    const hdf5::Handle group = open_psf_group(file, group_name);
    const LensAttributes attributes(group, path);
    check_lens_version(attributes.text(version_key), path);
    const hdf5::Handle dataset = hdf5::open_dataset(group, values_name, path);
    std::vector<hsize_t> edges = hdf5::shape_of(dataset);
    PsfField field = read_cells(edges, path);
    const PsfTable::Shape shape = read_shape(edges, field, path);
    if (field.cells() > 1) {
        field.left_px = attributes.number(left_key), field.top_px = attributes.number(top_key);
        field.cell_px = attributes.number(cell_key);
    }
    PsfTable::Scale scale;
    scale.pixel_size_nm = attributes.number(lens_pixel_key);
    scale.z_min_nm = attributes.number(z_min_key), scale.z_max_nm = attributes.number(z_max_key);
    const double samples = attributes.number(samples_key);
    if (samples != 1 && samples != PsfTable::max_samples_per_px)
        throw InputError(
            fmt::format("{}: samples_per_px of /psf, coefficients along the edge of a pixel, is {}: 1 or {} are read; "
                        "the file is damaged or was edited: copy it again, or measure the PSF again",
                        path.string(), samples, PsfTable::max_samples_per_px));
    scale.samples_per_px = int(samples);
    Lens lens;
    try {
        lens.table =
            std::make_shared<const PsfTable>(shape, hdf5::read_floats(dataset, values_name, path), scale, field);
    } catch (const OptionError& error) {
        throw InputError(fmt::format("{}: {}", path.string(), error.what()));
    }
    check_lens_hash(attributes.text(hash_key), *lens.table, path);
    lens.origin = attributes.text(origin_key), lens.date = attributes.text(date_key);
    lens.usable_min_nm = attributes.number(usable_min_key, scale.z_min_nm);
    lens.usable_max_nm = attributes.number(usable_max_key, scale.z_max_nm);
    lens.errors = read_errors(group, path);
    return lens;
}

void write_lens(const fs::path& path, const Lens& lens, IfExists if_exists) {
    require_spline(path, lens);
    if (const std::string fault = find_lens_fault(lens, true); !fault.empty())
        throw OptionError(fmt::format("{}: the measured PSF is not written: {}", path.string(), fault));
    const hdf5::Quiet quiet;
    AtomicFile output(path, if_exists);
    hdf5::Handle file = hdf5::create_file(output);
    hdf5::Handle group = hdf5::create_group(file, group_name, path);
    const PsfTable& table = *lens.table;
    const PsfTable::Scale& scale = table.scale();
    hdf5::write_attribute(group, format_key, std::string(own_format), path);
    const PsfField& field = table.field();
    const bool has_field = field.cells() > 1;
    hdf5::write_attribute(group, version_key, std::string(has_field ? own_field_version : own_version), path);
    hdf5::write_attribute(group, lens_pixel_key, scale.pixel_size_nm, path);
    hdf5::write_attribute(group, z_min_key, scale.z_min_nm, path);
    hdf5::write_attribute(group, z_max_key, scale.z_max_nm, path);
    hdf5::write_attribute(group, samples_key, double(scale.samples_per_px), path);
    hdf5::write_attribute(group, usable_min_key, lens.usable_min_nm, path);
    hdf5::write_attribute(group, usable_max_key, lens.usable_max_nm, path);
    hdf5::write_attribute(group, hash_key, to_hex(table.hash()), path);
    hdf5::write_attribute(group, origin_key, lens.origin, path);
    hdf5::write_attribute(group, date_key, lens.date, path);
    const hsize_t shape[] = {hsize_t(field.cells_y), hsize_t(field.cells_x), hsize_t(table.shape()[0]),
                             hsize_t(table.shape()[1]), hsize_t(table.shape()[2])};
    if (has_field) {
        hdf5::write_attribute(group, left_key, field.left_px, path);
        hdf5::write_attribute(group, top_key, field.top_px, path);
        hdf5::write_attribute(group, cell_key, field.cell_px, path);
    }
    hdf5::write_values(group, values_name, H5T_NATIVE_FLOAT, std::span(shape).subspan(has_field ? 0 : 2),
                       table.values().data(), path);
    if (!lens.errors.empty()) {
        hdf5::Handle errors = hdf5::create_group(group, errors_name, path);
        for (const ErrorColumn& column : error_columns) {
            std::vector<double> values;
            for (const LensError& error : lens.errors) values.push_back(error.*column.value);
            const hsize_t count[] = {values.size()};
            hdf5::write_values(errors, column.name, H5T_NATIVE_DOUBLE, count, values.data(), path);
        }
        if (!errors.close()) throw_output_error(path, 0);
    }
    if (!group.close() || !file.close()) throw_output_error(path, 0);
    output.commit();
}

}  // namespace glint
