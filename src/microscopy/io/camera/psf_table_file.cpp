// A PSF's table of coefficients: a file of a measured PSF, or a TOML file that says for which pixels and which z, and a
// .npy file beside it.
// SPDX-License-Identifier: MIT
#include "io/camera/psf_table_file.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "base/micrometres.hpp"
#include "glint/camera_io.hpp"
#include "glint/error.hpp"
#include "io/camera/toml_section.hpp"
#include "io/files/input_file.hpp"
#include "io/header_bytes.hpp"
#include "io/lens/lens_formats.hpp"
#include "io/npy/values.hpp"

namespace glint {
namespace {

namespace fs = std::filesystem;

constexpr const char *coefficients_key = "file", *edge_key = "pixel_size_um", *lowest_key = "z_min_um",
                     *highest_key = "z_max_um", *per_px_key = "samples_per_px", *table_section = "table";

std::shared_ptr<const PsfTable> read_coefficients(const fs::path& path, const PsfTable::Scale& scale) {
    const InputFile file(path);
    const NpyHeader header = read_npy_header(file);
    PsfTable::Shape shape{1, 1, 1, 1};
    constexpr std::uint64_t most = PsfTable::max_bytes / sizeof(float);
    std::uint64_t count = header.shape.empty() || header.shape.size() > shape.size() || header.fortran_order ? 0 : 1;
    for (std::size_t k = 0; count > 0 && k < header.shape.size(); ++k) {
        const std::uint64_t edge = header.shape[k];
        count = edge == 0 || edge > most / count ? 0 : count * edge;
        shape[k] = int(std::min(edge, most));
    }
    if (count == 0)
        throw InputError(fmt::format(
            "{}: its shape ({}{}) is no table of a PSF: one to four dimensions in C order and "
            "1 to {} coefficients are",
            file.name(), fmt::join(header.shape, ", "), header.fortran_order ? ", Fortran order" : "", most));
    if (npy_values_stored(file, header) < count)
        throw InputError(fmt::format("{}: is truncated: its header says {} coefficients, {} are there; copy it again",
                                     file.name(), count, npy_values_stored(file, header)));
    try {
        return std::make_shared<const PsfTable>(shape, read_npy_values(file, header, count), scale);
    } catch (const OptionError& error) {
        throw InputError(fmt::format("{}: {}", file.name(), error.what()));
    }
}

struct CoefficientsFile {
    fs::path coefficients;
    PsfTable::Scale scale;
};

/// Whether a file is meant as TOML: by its name, or because it contains the section.
bool is_table_toml(const fs::path& path) {
    if (path.extension() == ".toml") return true;
    std::error_code failed;
    if (!fs::is_regular_file(path, failed) || fs::file_size(path, failed) == 0 || failed) return false;
    constexpr std::uint64_t searched = 4096;
    return bytes_at(InputFile(path), 0, searched).find(fmt::format("[{}]", table_section)) != std::string::npos;
}

CoefficientsFile read_table_file(const fs::path& path) {
    const toml::table file = parse_toml(path);
    require_toml_kind(file, path, TomlKind::calibration);
    const toml::table* table = file[table_section].as_table();
    if (!table)
        throw InputError(
            fmt::format("{} has no section [{}]: it is no table of a PSF; {}glint reads that section, and files of "
                        "measured PSFs: {}",
                        path.string(), table_section,
                        file["astigmatism"].is_table()
                            ? fmt::format("for its widths over z, give `calibration={}` alone; ", path.string())
                            : "",
                        known_lenses));
    const TomlSection top(file, path, {table_section});
    const TomlSection section(*table, path, {coefficients_key, edge_key, lowest_key, highest_key, per_px_key});
    CoefficientsFile found;
    PsfTable::Scale& scale = found.scale;
    scale.pixel_size_nm = um_to_nm(section.required_number(edge_key, 1e-3, 100));
    scale.z_min_nm = um_to_nm(section.required_number(lowest_key, -100, 100));
    scale.z_max_nm = um_to_nm(section.required_number(highest_key, -100, 100));
    if (!(scale.z_min_nm < scale.z_max_nm)) section.refuse(highest_key, "must be greater than z_min_um");
    const double samples = section.number(per_px_key, 1, PsfTable::max_samples_per_px).value_or(1);
    if (samples != std::floor(samples))
        section.refuse(per_px_key, fmt::format("is {}: 1 or {} coefficients along the edge of a pixel are read",
                                               samples, PsfTable::max_samples_per_px));
    scale.samples_per_px = int(samples);
    const std::optional<std::string> name = section.text(coefficients_key);
    if (!name) section.refuse(coefficients_key, "is missing: the .npy file of the coefficients");
    found.coefficients = path.parent_path() / *name;
    return found;
}

}  // namespace

fs::path coefficients_file(const fs::path& path) {
    return is_table_toml(path) ? read_table_file(path).coefficients : path;
}

std::shared_ptr<const PsfTable> read_psf_table(const fs::path& path, double pixel_size_nm, int channel) {
    if (!is_table_toml(path)) return read_lens(path, {.pixel_size_nm = pixel_size_nm, .channel = channel}).table;
    const CoefficientsFile file = read_table_file(path);
    return read_coefficients(file.coefficients, file.scale);
}

}  // namespace glint
