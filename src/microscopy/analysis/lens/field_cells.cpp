// The error of a fit with a wrong PSF: one Fisher scoring step from the truth.
// SPDX-License-Identifier: MIT
#include "analysis/lens/field_cells.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "analysis/lens/bead_model.hpp"

namespace glint::lens {
namespace {

constexpr double error_photons = 2000, error_background = 10;
constexpr int error_depths = 5;
constexpr double ends_left_out = 0.1;     // of the range of z, at both ends
constexpr double difference_part = 0.05;  // of the square's half edge
constexpr double min_edge_px = 4;
constexpr double larger_edge = 1.03;
constexpr double max_margin = 0.15;  // of the beads' field: how far polynomials are trusted beyond it

constexpr std::size_t unknowns = 5;  // x, y, z, photons, background

/// Solves a symmetric positive definite system, scaled to a unit diagonal. False if it is singular.
bool solve_scaled(std::array<std::array<double, unknowns>, unknowns> a, std::array<double, unknowns>& b) {
    std::array<double, unknowns> scale{};
    for (std::size_t k = 0; k < unknowns; ++k) {
        if (!(a[k][k] > 0)) return false;
        scale[k] = 1 / std::sqrt(a[k][k]);
    }
    for (std::size_t r = 0; r < unknowns; ++r) {
        b[r] *= scale[r];
        for (std::size_t c = 0; c < unknowns; ++c) a[r][c] *= scale[r] * scale[c];
    }
    for (std::size_t k = 0; k < unknowns; ++k) {
        if (!(a[k][k] > 1e-9)) return false;
        for (std::size_t r = k + 1; r < unknowns; ++r) {
            const double factor = a[r][k] / a[k][k];
            for (std::size_t c = k; c < unknowns; ++c) a[r][c] -= factor * a[k][c];
            b[r] -= factor * b[k];
        }
    }
    for (std::size_t k = unknowns; k-- > 0;) {
        for (std::size_t c = k + 1; c < unknowns; ++c) b[k] -= a[k][c] * b[c];
        b[k] /= a[k][k];
    }
    for (std::size_t k = 0; k < unknowns; ++k) b[k] *= scale[k];
    return true;
}

/// The change of a PSF per px along x and along y.
struct FieldSlope {
    Spline along_x, along_y;
};

Spline find_slope(const LearntPsf& learnt, double x, double y, double dx, double dy) {
    Spline above = learnt.at(x + dx, y + dy);
    const Spline below = learnt.at(x - dx, y - dy);
    for (std::size_t k = 0; k < above.coefficients.size(); ++k)
        above.coefficients[k] = float((above.coefficients[k] - below.coefficients[k]) / (2 * (dx + dy)));
    return above;
}

/// The errors of x and y, px per px: the sums over both directions, the larger of x and y, and the largest over z.
double find_error_at(const LearntPsf& learnt, double x, double y, const std::vector<double>& z_nm, int window) {
    const double step = difference_part * learnt.field.half_px;
    const Spline here = learnt.at(x, y);
    const auto images = [&](const Spline& spline, BeadModel::Of of) {
        return BeadModel(spline.grid, z_nm, window, {}, of).images(spline.coefficients);
    };
    const std::array<std::vector<float>, 4> model{
        images(here, BeadModel::Of::x_slope), images(here, BeadModel::Of::y_slope),
        images(here, BeadModel::Of::z_slope), images(here, BeadModel::Of::value)};
    const std::array<std::vector<float>, 2> changes{images(find_slope(learnt, x, y, step, 0), BeadModel::Of::value),
                                                    images(find_slope(learnt, x, y, 0, step), BeadModel::Of::value)};
    const std::size_t pixels = std::size_t(window) * std::size_t(window);
    double worst = 0;
    for (std::size_t z = 0; z < z_nm.size(); ++z) {
        std::array<std::array<double, unknowns>, unknowns> fisher{};
        std::array<std::array<double, unknowns>, 2> right{};
        for (std::size_t p = z * pixels; p < (z + 1) * pixels; ++p) {
            const double h = double(model[3][p]);
            const double weight = 1 / (error_photons * std::max(h, 0.0) + error_background);
            const std::array<double, unknowns> by{error_photons * double(model[0][p]),
                                                  error_photons * double(model[1][p]),
                                                  error_photons * double(model[2][p]), h, 1};
            for (std::size_t a = 0; a < unknowns; ++a) {
                for (std::size_t b = 0; b < unknowns; ++b) fisher[a][b] += weight * by[a] * by[b];
                for (std::size_t d = 0; d < 2; ++d)
                    right[d][a] += weight * by[a] * error_photons * double(changes[d][p]);
            }
        }
        if (!solve_scaled(fisher, right[0]) || !solve_scaled(fisher, right[1])) continue;
        for (std::size_t axis = 0; axis < 2; ++axis)
            worst = std::max(worst, std::abs(right[0][axis]) + std::abs(right[1][axis]));
    }
    return worst;
}

}  // namespace

double find_error_per_px(const LearntPsf& learnt, double z_min_nm, double z_max_nm, int window, double pixel_size_nm) {
    std::vector<double> z_nm;
    for (int k = 0; k < error_depths; ++k)
        z_nm.push_back(z_min_nm + (z_max_nm - z_min_nm) *
                                      (ends_left_out + (1 - 2 * ends_left_out) * k / double(error_depths - 1)));
    double worst = 0;
    for (const int j : {-1, 0, 1})
        for (const int i : {-1, 0, 1}) {
            const double x = learnt.field.x_middle_px + i * learnt.field.half_px,
                         y = learnt.field.y_middle_px + j * learnt.field.half_px;
            worst = std::max(worst, find_error_at(learnt, x, y, z_nm, window));
        }
    return worst * pixel_size_nm;
}

FieldCells choose_cells(const std::vector<BeadWindow>& windows, double error_nm_per_px, std::size_t values) {
    double left = 1e300, right = -1e300, top = 1e300, bottom = -1e300;
    for (const BeadWindow& window : windows) {
        const double x = window.left + window.size / 2, y = window.top + window.size / 2;
        left = std::min(left, x), right = std::max(right, x), top = std::min(top, y), bottom = std::max(bottom, y);
    }
    // Windows of beads end at the border of the frames: molecules lie there, too.
    const double margin = std::min(0.5 * windows.front().size, max_margin * std::max(right - left, bottom - top));
    left -= margin, right += margin, top -= margin, bottom += margin;
    const double widest = std::max({right - left, bottom - top, min_edge_px});
    // Half an edge from the middle of a cell along x and along y.
    double edge = error_nm_per_px > 0 ? 2 * max_cell_error_nm / error_nm_per_px : widest;
    const auto count = [&](double length) { return std::max(1, int(std::ceil(length / edge - 1e-9))); };
    const double most =
        std::min(double(PsfField::max_cells), double(PsfTable::max_field_bytes / sizeof(float)) / double(values));
    for (edge = std::clamp(edge, min_edge_px, widest);
         edge<widest&& double(count(right - left)) * double(count(bottom - top))> most;)
        edge = std::min(widest, edge * larger_edge);
    FieldCells cells;
    cells.field.cells_x = count(right - left), cells.field.cells_y = count(bottom - top);
    // Whole numbers of cells, so that they end where the beads do along the wider axis.
    edge = std::max((right - left) / cells.field.cells_x, (bottom - top) / cells.field.cells_y);
    cells.field.cell_px = std::max(edge, 1.0);
    cells.field.left_px = 0.5 * (left + right) - 0.5 * cells.field.cell_px * cells.field.cells_x;
    cells.field.top_px = 0.5 * (top + bottom) - 0.5 * cells.field.cell_px * cells.field.cells_y;
    cells.error_nm = 0.5 * cells.field.cell_px * error_nm_per_px;
    return cells;
}

}  // namespace glint::lens
