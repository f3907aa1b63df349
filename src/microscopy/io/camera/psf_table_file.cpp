// A PSF's table of coefficients: a TOML file that says for which pixels and which z, and a .npy file beside it.
// SPDX-License-Identifier: MIT
#include "io/camera/psf_table_file.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/micrometres.hpp"
#include "glint/camera_io.hpp"
#include "glint/error.hpp"
#include "io/camera/toml_section.hpp"
#include "io/files/input_file.hpp"
#include "io/npy/values.hpp"

namespace glint {
namespace {

namespace fs = std::filesystem;

constexpr const char *coefficients_key = "file", *edge_key = "pixel_size_um", *lowest_key = "z_min_um",
                     *highest_key = "z_max_um";

std::shared_ptr<const PsfTable> read_coefficients(const fs::path& path, const PsfTable::Scale& scale) {
    const InputFile file(path);
    const NpyHeader header = read_npy_header(file);
    PsfTable::Shape shape{1, 1, 1, 1};
    constexpr std::uint64_t most = PsfTable::most_bytes / sizeof(float);
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

CoefficientsFile read_table_file(const fs::path& path) {
    const toml::table file = parse_toml(path);
    require_toml_kind(file, path, TomlKind::calibration);
    TomlSection top(file, path, {"table"});
    const toml::table* table = file["table"].as_table();
    if (!table) throw InputError(fmt::format("{} has no section [table]: it is no table of a PSF", path.string()));
    const TomlSection section(*table, path, {coefficients_key, edge_key, lowest_key, highest_key});
    CoefficientsFile found;
    PsfTable::Scale& scale = found.scale;
    scale.pixel_size_nm = um_to_nm(section.required_number(edge_key, 1e-3, 100));
    scale.z_min_nm = um_to_nm(section.required_number(lowest_key, -100, 100));
    scale.z_max_nm = um_to_nm(section.required_number(highest_key, -100, 100));
    if (!(scale.z_min_nm < scale.z_max_nm)) section.refuse(highest_key, "must be greater than z_min_um");
    const std::optional<std::string> name = section.text(coefficients_key);
    if (!name) section.refuse(coefficients_key, "is missing: the .npy file of the coefficients");
    found.coefficients = path.parent_path() / *name;
    return found;
}

}  // namespace

fs::path coefficients_file(const fs::path& path) { return read_table_file(path).coefficients; }

std::shared_ptr<const PsfTable> read_psf_table(const fs::path& path) {
    const CoefficientsFile file = read_table_file(path);
    return read_coefficients(file.coefficients, file.scale);
}

}  // namespace glint
