// SMAP's *_3dcal.mat of MATLAB's version 5 to 7.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "glint/error.hpp"
#include "io/lens/lens_formats.hpp"
#include "io/mat_elements.hpp"

namespace glint {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t max_smap_psfs = 1000;

/// One array of coefficients, and the structure `cspline` that it is in.
struct Mat5Psf {
    std::uint64_t coefficients = 0;
    MatElement cspline;
    bool is_mirrored = false;
};

/// The first number of a field, which may be a cell; 0 if there is none.
double first_number(const MatElements& elements, const MatElement& structure, const char* name) {
    auto at = elements.field(structure, name);
    if (!at) return 0;
    if (const auto found = elements.matrix(*at); found && found->is_cell()) {
        if (found->count == 0) return 0;
        at = elements.cells(*found).front();
    }
    const auto numbers = elements.numbers(name, *at);
    double value = 0;
    if (numbers && numbers->count > 0) numbers->read(0, {&value, 1});
    return value;
}

std::optional<MatArray> find_variable(const MatFile& mat, const char* name) {
    for (const MatArray& array : mat.arrays)
        if (array.name == name) return array;
    return std::nullopt;
}

void add_psfs(const MatElements& elements, const MatElement& cspline, bool is_mirrored, std::vector<Mat5Psf>& psfs) {
    const auto at = elements.field(cspline, "coeff");
    const auto found = at ? elements.matrix(*at) : std::nullopt;
    if (!found) return;
    const std::vector<std::uint64_t> places =
        found->is_cell() ? elements.cells(*found) : std::vector<std::uint64_t>{*at};
    for (const std::uint64_t place : places)
        if (const auto numbers = elements.numbers("coeff", place); numbers && numbers->count > 0)
            psfs.push_back({place, cspline, is_mirrored});
}

std::vector<Mat5Psf> find_psfs(const MatElements& elements, const MatElement& root, bool is_field) {
    std::vector<Mat5Psf> psfs;
    if (!is_field) {
        add_psfs(elements, root, false, psfs);
        return psfs;
    }
    for (std::uint64_t k = 0; k < std::min(root.count, max_smap_psfs); ++k) {
        const auto cspline = elements.structure(root, "cspline", k);
        if (!cspline) continue;
        const auto em = elements.field(root, "EMon", k);
        const auto is_on = em ? elements.numbers("EMon", *em) : std::nullopt;
        double value = 0;
        if (is_on && is_on->count > 0) is_on->read(0, {&value, 1});
        add_psfs(elements, *cspline, value != 0, psfs);
    }
    return psfs;
}

CellPolynomials read_mat5_coefficients(const MatElements& elements, std::uint64_t at, const fs::path& path) {
    const auto numbers = elements.numbers("coeff", at);
    const std::vector<std::uint64_t> shape = numbers ? numbers->dimensions : std::vector<std::uint64_t>();
    if (shape.size() != 4 || shape[3] != 64)
        throw InputError(fmt::format("{}: cspline.coeff has {} values, not (y, x, z, 64): it is no 3D spline of SMAP",
                                     path.string(), fmt::join(shape, " x ")));
    check_cells(path, {shape[2], shape[0], shape[1]});
    std::vector<float> values;
    constexpr std::size_t piece = 1 << 16;
    std::vector<double> some;
    values.reserve(numbers->count);
    for (std::uint64_t from = 0; from < numbers->count; from += piece) {
        some.resize(std::min<std::uint64_t>(piece, numbers->count - from));
        numbers->read(from, some);
        for (const double value : some) values.push_back(float(value));
    }
    return matlab_polynomials({shape[0], shape[1], shape[2]}, std::move(values));
}

}  // namespace

Lens read_smap_mat5_lens(const fs::path& path, const ReadLensOptions& options) {
    const InputFile file(path);
    const MatFile mat = read_mat(file);
    auto array = find_variable(mat, "SXY");
    const bool is_field = array.has_value();
    if (!array) array = find_variable(mat, "cspline");
    if (!array)
        throw InputError(
            fmt::format("{}: has no structure SXY with the splines of SMAP: it is no measured PSF; glint reads {}",
                        path.string(), known_lenses));
    const MatElements elements(path, *array, mat.big_endian);
    const auto root = elements.root();
    std::vector<Mat5Psf> psfs;
    if (root && root->is_structure()) psfs = find_psfs(elements, *root, is_field);
    const Mat5Psf& psf = psfs.at(choose_channel(path, psfs.size(), options));
    SmapLensFacts facts;
    facts.z_step_nm = first_number(elements, psf.cspline, "dz"), facts.z0 = first_number(elements, psf.cspline, "z0");
    facts.is_mirrored = psf.is_mirrored;
    if (const auto variable = find_variable(mat, "parameters")) {
        const MatElements parameters(path, *variable, mat.big_endian);
        const auto structure = parameters.root();
        if (structure && structure->is_structure() && structure->count > 0)
            facts.pixel_size_um = first_number(parameters, *structure, "pixelsize");
    }
    return make_smap_lens(path, read_mat5_coefficients(elements, psf.coefficients, path), facts, options);
}

}  // namespace glint
