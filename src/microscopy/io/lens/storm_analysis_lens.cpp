// storm-analysis' splines: Python pickles of a dictionary with 64 coefficients a cell.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <stdexcept>

#include "glint/error.hpp"
#include "io/files/input_file.hpp"
#include "io/lens/lens_formats.hpp"
#include "io/lens/pickle.hpp"

namespace glint {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t max_pickle_bytes = std::uint64_t(1) << 29;
constexpr double min_spline_version = 2;  // older ones are transposed

template <class T>
T required_value(const PickleDictionary& file, const char* key, const char* what) {
    const auto found = file.find(std::string_view(key));
    const T* value = found == file.end() ? nullptr : std::get_if<T>(&found->second);
    if (!value) throw std::runtime_error(fmt::format("it has no {}, {}: it is no spline of storm-analysis", key, what));
    return *value;
}

CellPolynomials read_storm_coefficients(const PickleDictionary& file, const fs::path& path) {
    const auto array = required_value<PickleArray>(file, "coeff", "an array");
    if (array.shape.size() != 4 || array.shape[3] != 64)
        throw std::runtime_error(
            fmt::format("its coefficients have the shape ({}), not (z, y, x, 64)", fmt::join(array.shape, ", ")));
    CellPolynomials out;
    out.cells = {std::size_t(array.shape[0]), std::size_t(array.shape[1]), std::size_t(array.shape[2])};
    check_cells(path, out.cells);
    out.cell_strides = {64 * out.cells[1] * out.cells[2], 64 * out.cells[2], 64};
    out.power_strides = {16, 4, 1};
    out.values.resize(array.count());
    for (std::size_t k = 0; k < out.values.size(); ++k) out.values[k] = float(array.value(k));
    return out;
}

Lens read_spline(const PickleDictionary& file, const fs::path& path) {
    const auto type = required_value<std::string>(file, "type", "2D or 3D");
    const auto version = required_value<double>(file, "version", "a number");
    if (!(version >= min_spline_version))
        throw std::runtime_error(
            fmt::format("its version {} is older than {}, and its axes have another order: measure "
                        "it again by storm-analysis 2",
                        version, min_spline_version));
    if (type != "3D")
        throw std::runtime_error(
            fmt::format("is a spline of type \"{}\": only 3D ones are read, since fits with a "
                        "measured PSF find z; use a Gaussian model for a movie in 2D",
                        type.substr(0, 20)));
    const CellPolynomials polynomials = read_storm_coefficients(file, path);
    constexpr double nm_per_um = 1000;
    LensGrid grid;
    grid.pixel_size_nm = nm_per_um * required_value<double>(file, "pixel_size", "um");
    grid.first_z_nm = required_value<double>(file, "zmin", "nm");
    const double last_z_nm = required_value<double>(file, "zmax", "nm");
    if (!(last_z_nm > grid.first_z_nm))
        throw std::runtime_error(
            fmt::format("its zmax, {} nm, is not above its zmin, {} nm", last_z_nm, grid.first_z_nm));
    grid.z_step_nm = (last_z_nm - grid.first_z_nm) / double(polynomials.cells[0]);
    return make_lens(path, polynomials, grid, "storm-analysis spline " + path.filename().string());
}

}  // namespace

Lens read_storm_analysis_lens(const fs::path& path) try {
    const InputFile file(path);
    if (file.size() > max_pickle_bytes)
        throw std::runtime_error(
            fmt::format("is a Python pickle of {} bytes, more than the limit of {}", file.size(), max_pickle_bytes));
    std::vector<std::byte> bytes(file.size());
    bytes.resize(file.read_at(0, bytes.data(), bytes.size()));
    return read_spline(read_pickle(bytes), path);
} catch (const Error&) {
    throw;
} catch (const std::runtime_error& error) {
    throw InputError(fmt::format("{}: {}", path.string(), error.what()));
}

}  // namespace glint
