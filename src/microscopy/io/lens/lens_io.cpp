// Finds out of which format a measured PSF is, and makes a table of any.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "glint/error.hpp"
#include "glint/units.hpp"
#include "io/files/input_file.hpp"
#include "io/header_bytes.hpp"
#include "io/lens/lens_formats.hpp"
#include "io/mat_arrays.hpp"

namespace glint {
namespace {

namespace fs = std::filesystem;

enum class LensKind { none, hdf5, mat5, pickle };

LensKind find_kind(const InputFile& file) {
    if (begins_with(file, "\x89HDF\r\n\x1a\n")) return LensKind::hdf5;
    switch (mat_version(file)) {
        case MatVersion::hdf5: return LensKind::hdf5;
        case MatVersion::elements: return LensKind::mat5;
        case MatVersion::none: break;
    }
    const std::string head = bytes_at(file, 0, 2);
    if (head.size() == 2 && head[0] == '\x80' && head[1] >= 2 && head[1] <= 5) return LensKind::pickle;
    return LensKind::none;
}

/// Describes a file of another kind by its first bytes: "it looks like a TIFF file, perhaps the stack of beads ...".
std::string describe_content(const InputFile& file) {
    if (begins_with(file, std::string_view("II*\0", 4)) || begins_with(file, std::string_view("MM\0*", 4)) ||
        begins_with(file, std::string_view("II+\0", 4)) || begins_with(file, std::string_view("MM\0+", 4)))
        return "it is a TIFF file. If it contains beads, `glint calibrate psf` measures the PSF from it";
    constexpr std::size_t shown = 24;
    std::string head = bytes_at(file, 0, std::size_t(std::min<std::uint64_t>(shown, file.size())));
    const bool is_text = std::all_of(head.begin(), head.end(), [](char c) {
        return (c >= ' ' && c < '\x7f') || c == '\n' || c == '\r' || c == '\t';
    });
    if (is_text) return fmt::format("it is text that begins with \"{}\"", head.substr(0, head.find_first_of("\r\n")));
    std::string bytes;
    for (const char c : head.substr(0, 8)) bytes += fmt::format(" {:02x}", unsigned(static_cast<unsigned char>(c)));
    return "it begins with the bytes" + bytes;
}

Lens read_hdf5_lens(const fs::path& path, const ReadLensOptions& options, bool& is_own) {
    const hdf5::Quiet quiet;
    const hdf5::Handle file = hdf5::open_file(path);
    is_own = is_own_lens(file);
    if (is_own) return read_own_lens(file, path);
    if (is_picasso_lens(file)) return read_picasso_lens(file, path, options);
    if (is_uipsf_lens(file)) return read_uipsf_lens(file, path, options);
    if (is_smap_mat73_lens(file)) return read_smap_mat73_lens(file, path, options);
    throw InputError(
        fmt::format("{}: is an HDF5 file without a measured PSF; glint reads {}", path.string(), known_lenses));
}

}  // namespace

Lens read_lens(const fs::path& path, const ReadLensOptions& options) {
    std::error_code failed;
    const bool is_folder = fs::is_directory(path, failed);
    if (is_folder || (fs::is_regular_file(path, failed) && fs::file_size(path, failed) == 0 && !failed))
        throw InputError(fmt::format("{}: is {}, not the file of a measured PSF; glint reads {}", path.string(),
                                     is_folder ? "a folder" : "empty", known_lenses));
    const InputFile file(path);
    bool is_own = false;
    Lens lens;
    switch (find_kind(file)) {
        case LensKind::hdf5: lens = read_hdf5_lens(path, options, is_own); break;
        case LensKind::mat5: lens = read_smap_mat5_lens(path, options); break;
        case LensKind::pickle: lens = read_storm_analysis_lens(path); break;
        case LensKind::none:
            refuse_mat4(file);
            throw InputError(fmt::format("{}: is no file of a measured PSF: {}; glint reads {}", path.string(),
                                         describe_content(file), known_lenses));
    }
    check_lens(path, lens, is_own);
    return lens;
}

Lens make_lens(const fs::path& path, const CellPolynomials& polynomials, const LensGrid& grid,
               const std::string& origin) try {
    if (!(std::abs(grid.z_step_nm) > 0) || !std::isfinite(grid.z_step_nm) || !std::isfinite(grid.first_z_nm))
        throw std::runtime_error(
            fmt::format("its points along z begin at {} nm and are {} nm apart: the distance must "
                        "not be 0",
                        grid.first_z_nm, grid.z_step_nm));
    SplineCoefficients spline = to_spline(polynomials);
    const double light = brightest_plane(spline);
    if (!(light > 0)) throw std::runtime_error("no plane of its PSF has light");
    const double last_z_nm = grid.first_z_nm + double(polynomials.cells[0]) * grid.z_step_nm;
    if (grid.z_step_nm < 0) spline.reverse(0);
    if (grid.is_mirrored) spline.reverse(2);
    std::vector<float> values(spline.values.size());
    std::transform(spline.values.begin(), spline.values.end(), values.begin(),
                   [light](double value) { return float(value / light); });
    Lens lens;
    lens.usable_min_nm = std::min(grid.first_z_nm, last_z_nm);
    lens.usable_max_nm = std::max(grid.first_z_nm, last_z_nm);
    const PsfTable::Scale scale{grid.pixel_size_nm, lens.usable_min_nm, lens.usable_max_nm, 1};
    const PsfTable::Shape shape{int(spline.shape[0]), int(spline.shape[1]), int(spline.shape[2]), 1};
    lens.table = std::make_shared<const PsfTable>(shape, std::move(values), scale);
    lens.origin = origin;
    return lens;
} catch (const OptionError& error) {
    throw InputError(fmt::format("{}: {}", path.string(), error.what()));
} catch (const std::runtime_error& error) {
    if (dynamic_cast<const Error*>(&error)) throw;
    throw InputError(fmt::format("{}: {}", path.string(), error.what()));
}

std::size_t choose_channel(const fs::path& path, std::size_t channels, const ReadLensOptions& options) {
    if (channels == 0) throw InputError(fmt::format("{}: has no coefficients of a spline", path.string()));
    if (options.channel == 0 && channels > 1)
        throw InputError(
            fmt::format("{}: has the PSFs of {} channels or fields: choose one from 1 to {}, as in `psf_channel=1`",
                        path.string(), channels, channels));
    if (options.channel < 0 || std::size_t(options.channel) > channels)
        throw InputError(fmt::format("{}: has no channel {}: there are 1 to {}, `psf_channel=1` is the first",
                                     path.string(), options.channel, channels));
    return options.channel == 0 ? 0 : std::size_t(options.channel) - 1;
}

void check_cells(const fs::path& path, const Index3& cells) {
    constexpr std::size_t max_coefficients = PsfTable::max_bytes / sizeof(float);
    std::size_t values = 64, coefficients = 1;
    bool is_valid = true;
    for (const std::size_t count : cells) {
        is_valid = is_valid && count > 0 && count <= max_polynomial_values / values &&
                   count + 3 <= max_coefficients / coefficients;
        if (is_valid) values *= count, coefficients *= count + 3;
    }
    if (!is_valid)
        throw InputError(
            fmt::format("{}: its polynomials have {} x {} x {} cells (z, y, x): one or more along each "
                        "axis, and at most {} coefficients of 64 a cell are read; cut the PSF, or "
                        "calibrate with fewer slices",
                        path.string(), cells[0], cells[1], cells[2], max_polynomial_values));
}

void require_spline(const fs::path& path, const Lens& lens) {
    const char* remedy = "write a PSF that was measured or read from a file";
    if (!lens.table) throw OptionError(fmt::format("{}: the lens has no table: {}", path.string(), remedy));
    const PsfTable::Shape& shape = lens.table->shape();
    if ((shape[0] < 4 && shape[0] != 1) || std::min(shape[1], shape[2]) < 4 || shape[3] != 1)
        throw OptionError(
            fmt::format("{}: a table of {} x {} x {} x {} coefficients is none of a measured PSF, which has "
                        "three dimensions of 4 or more, or 1 along z: {}",
                        path.string(), shape[0], shape[1], shape[2], shape[3], remedy));
}

void require_pixel_samples(const fs::path& path, const Lens& lens) {
    require_spline(path, lens);
    if (const PsfField& field = lens.table->field(); field.cells() > 1)
        throw OptionError(
            fmt::format("{}: this format is for one PSF, and this one has {} x {} cells over the field: write glint's "
                        "own file, or measure the PSF of a part of the field, `region`",
                        path.string(), field.cells_x, field.cells_y));
    if (lens.table->shape()[0] == 1)
        throw OptionError(fmt::format("{}: this format is for PSFs with z, this one has none: write glint's own file",
                                      path.string()));
    if (lens.table->scale().samples_per_px != 1)
        throw OptionError(
            fmt::format("{}: this format has one sample a pixel, the PSF has {}: measure it with one, or "
                        "write glint's own file",
                        path.string(), lens.table->scale().samples_per_px));
}

CellPolynomials to_reversed_polynomials(const fs::path& path, const PsfTable& table) {
    constexpr std::size_t max_values = (std::size_t(2) << 30) / sizeof(float) - 1024;
    const PsfTable::Shape& shape = table.shape();
    const std::size_t values = 64 * std::size_t(shape[0] - 3) * std::size_t(shape[1] - 3) * std::size_t(shape[2] - 3);
    if (values > max_values)
        throw OptionError(
            fmt::format("{}: this format stores {} coefficients of polynomials for the PSF, more than "
                        "{}: write glint's own file",
                        path.string(), values, max_values));
    SplineCoefficients spline{{std::size_t(shape[0]), std::size_t(shape[1]), std::size_t(shape[2])},
                              {table.values().begin(), table.values().end()}};
    spline.reverse(0);
    return to_polynomials(spline);
}

}  // namespace glint
