// Rounds of coefficients and bead positions, and the conventions that make the result unique.
// SPDX-License-Identifier: MIT
#include "analysis/lens/learn_spline.hpp"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <utility>

#include "analysis/lens/bead_model.hpp"
#include "analysis/lens/normal_equations.hpp"
#include "base/arena.hpp"
#include "base/median.hpp"

namespace glint::lens {
namespace {

constexpr int learning_margin = 2;          // px: positions may move that far during learning
constexpr double min_relative_mean = 0.02;  // of a bead's photons over the window's pixels: floor of the model
constexpr double max_bead_step_px = 0.5, max_bead_step_nm = 100;
constexpr double relative_bend = 0.1;     // of second differences along z between knots of 50 nm
constexpr double relative_ripple = 0.3;   // of fourth differences along x and y
constexpr double relative_floor = 0.003;  // of the highest coefficient
constexpr double relative_change = 0.3;   // of differences of a change over the field, to those of the PSF
constexpr int convention_slices = 41;     // at which the scale and the centre are measured

struct Bead {
    WeightedBead weighted;
    BeadPlace place;
    std::vector<double> background;
    double misfit = 0;
    std::vector<double> terms;  // of the field, at the bead

    const BeadWindow& window() const { return *weighted.window; }
};

/// The mean of |c| over the neighbours along one axis.
std::vector<float> blur(const std::vector<float>& c, std::size_t step, std::size_t length) {
    std::vector<float> out(c.size());
    for (std::size_t k = 0; k < c.size(); ++k) {
        const std::size_t at = k / step % length;
        out[k] = (c[at > 0 ? k - step : k] + c[k] + c[at + 1 < length ? k + step : k]) / 3;
    }
    return out;
}

/// Expects differences in proportion to the PSF: its standard deviation is a share of the local |c| and of a small
/// part of the highest. So noise in the dim parts is smoothed, and the bright parts, which determine positions, are
/// not. At half a pixel, few beads do not sample all sub-pixel positions; fourth differences hardly change what a
/// lens can transmit.
Penalty make_penalty(const SplineGrid& grid, const std::vector<float>& coefficients) {
    std::vector<float> size(grid.size());  // of the mean over the field
    float highest = 0;
    for (std::size_t k = 0; k < size.size(); ++k)
        size[k] = std::abs(coefficients[k]), highest = std::max(highest, size[k]);
    const std::size_t n = std::size_t(grid.nxy());
    size = blur(blur(blur(size, 1, n), n, n), grid.plane(), std::size_t(grid.nz));
    const double bend = relative_bend * std::pow(grid.knot_nm() / 50, 2), floor = relative_floor * highest;
    const auto penalty = [&](double share) {
        std::vector<float> out(size.size());
        for (std::size_t k = 0; k < out.size(); ++k) out[k] = float(1 / std::pow(share * (size[k] + floor), 2));
        return out;
    };
    if (!(highest > 0)) return {};
    return {penalty(bend), grid.samples > 1 ? penalty(relative_ripple) : std::vector<float>(),
            1 / (relative_change * relative_change)};
}

bool is_border(std::size_t pixel, int size) {
    const int x = int(pixel % std::size_t(size)), y = int(pixel / std::size_t(size));
    return x == 0 || y == 0 || x == size - 1 || y == size - 1;
}

Bead start_bead(const BeadWindow& window, const BeadPlace& place) {
    Bead bead{{&window, 0, {}}, place, {}, 0, {}};
    bead.weighted.weights.assign(window.photoelectrons.size(), 1.0f);
    double brightest = 0;
    for (std::size_t k = 0; k < window.slices(); ++k) {
        std::vector<float> border;
        double sum = 0;
        for (std::size_t p = 0; p < window.pixels(); ++p) {
            if (is_border(p, window.size)) border.push_back(window.slice(k)[p]);
            sum += window.slice(k)[p];
        }
        bead.background.push_back(median(border));
        brightest = std::max(brightest, sum - bead.background.back() * double(window.pixels()));
    }
    bead.place.photons = std::max(brightest, 1.0);
    return bead;
}

/// The coefficients at places of the field with these terms, of all terms' coefficients.
std::vector<float> combine_terms(const std::vector<double>& terms, const std::vector<float>& coefficients) {
    if (terms.size() == 1) return coefficients;
    const std::size_t size = coefficients.size() / terms.size();
    std::vector<float> sum(coefficients.begin(), coefficients.begin() + std::ptrdiff_t(size));
    for (std::size_t t = 1; t < terms.size(); ++t) {
        const float factor = float(terms[t]);
        const float* from = coefficients.data() + t * size;
        for (std::size_t k = 0; k < size; ++k) sum[k] += factor * from[k];
    }
    return sum;
}

/// Weights of the images' noise: eq. 2.2, with the model's mean. 0 for slices outside of the grid.
void weigh(Bead& bead, const BeadModel& model, const std::vector<float>& coefficients) {
    const BeadWindow& window = bead.window();
    const std::vector<float> h = model.images(coefficients);
    const double floor = min_relative_mean * bead.place.photons / double(window.pixels());
    for (std::size_t k = 0; k < window.slices(); ++k)
        for (std::size_t p = 0; p < window.pixels(); ++p) {
            const std::size_t at = k * window.pixels() + p;
            const double mean = std::max(bead.place.photons * h[at] + bead.background[k], floor);
            bead.weighted.weights[at] =
                model.contains(k) ? float(1 / (window.shot_noise[p] * mean + window.read_variance[p])) : 0.0f;
        }
}

/// Solves a symmetric positive definite system by Gaussian elimination. False if it is singular.
template <std::size_t n>
bool solve(std::array<std::array<double, n>, n> a, std::array<double, n>& b) {
    for (std::size_t k = 0; k < n; ++k) {
        if (!(a[k][k] > 0)) return false;
        for (std::size_t r = k + 1; r < n; ++r) {
            const double factor = a[r][k] / a[k][k];
            for (std::size_t c = k; c < n; ++c) a[r][c] -= factor * a[k][c];
            b[r] -= factor * b[k];
        }
    }
    for (std::size_t k = n; k-- > 0;) {
        for (std::size_t c = k + 1; c < n; ++c) b[k] -= a[k][c] * b[c];
        b[k] /= a[k][k];
    }
    return std::isfinite(b[0]);
}

/// The background of each slice and chi-squared a degree of freedom, for the bead's h.
void fit_backgrounds(Bead& bead, const std::vector<float>& h) {
    const BeadWindow& window = bead.window();
    double chi_squared = 0;
    std::size_t used = 0;
    for (std::size_t k = 0; k < window.slices(); ++k) {
        const float *data = window.slice(k), *w = bead.weighted.weights.data() + k * window.pixels();
        const auto rest = [&](std::size_t p) { return data[p] - bead.place.photons * h[k * window.pixels() + p]; };
        double sum = 0, total = 0;
        for (std::size_t p = 0; p < window.pixels(); ++p) sum += w[p] * rest(p), total += w[p];
        if (!(total > 0)) continue;
        const double background = bead.background[k] = sum / total;
        for (std::size_t p = 0; p < window.pixels(); ++p) chi_squared += w[p] * std::pow(rest(p) - background, 2);
        used += window.pixels() - 1;
    }
    bead.misfit = chi_squared / double(std::max<std::size_t>(used, 1));
}

/// One Gauss-Newton step of x, y, z and photons.
void move_bead(Bead& bead, const SplineGrid& grid, const std::vector<float>& coefficients) {
    const BeadWindow& window = bead.window();
    const auto images = [&](BeadModel::Of of) {
        return BeadModel(grid, window.z_nm, window.size, bead.place, of).images(coefficients);
    };
    std::vector<float> h = images(BeadModel::Of::value);
    const std::array<std::vector<float>, 4> columns{images(BeadModel::Of::x_slope), images(BeadModel::Of::y_slope),
                                                    images(BeadModel::Of::z_slope), h};
    const double n = bead.place.photons;
    const std::array<double, 4> factors{n, n, n, 1};
    std::array<std::array<double, 4>, 4> matrix{};
    std::array<double, 4> right{};
    for (std::size_t a = 0; a < 4; ++a) {
        std::vector<float> projected = columns[a];
        project_backgrounds(bead.weighted.weights, window.pixels(), projected);
        for (std::size_t p = 0; p < h.size(); ++p) right[a] += factors[a] * projected[p] * window.photoelectrons[p];
        for (std::size_t b = 0; b < 4; ++b) {
            double sum = 0;
            for (std::size_t p = 0; p < h.size(); ++p) sum += double(projected[p]) * columns[b][p];
            matrix[a][b] = factors[a] * factors[b] * sum;
        }
    }
    for (std::size_t a = 0; a < 4; ++a) matrix[a][a] *= 1 + 1e-9;
    if (solve(matrix, right)) {
        const double limit = grid.max_offset_px();
        const auto moved = [&](double at, double step) {
            return std::clamp(at + std::clamp(step, -max_bead_step_px, max_bead_step_px), -limit, limit);
        };
        bead.place.x_px = moved(bead.place.x_px, right[0]);
        bead.place.y_px = moved(bead.place.y_px, right[1]);
        bead.place.z_nm += std::clamp(right[2], -max_bead_step_nm, max_bead_step_nm);
        if (right[3] > 0) bead.place.photons = right[3];
    }
    fit_backgrounds(bead, h);
}

/// What each coefficient of a plane contributes to the mean of h over the window's border.
std::vector<float> border_functional(const SplineGrid& grid) {
    SplineGrid one_plane = grid;
    one_plane.nz = 4, one_plane.z_min_nm = 0, one_plane.z_max_nm = 1;  // at z = 0, plane 1 has the weight 2/3
    std::vector<float> border(std::size_t(grid.window) * grid.window);
    for (std::size_t p = 0; p < border.size(); ++p)
        border[p] = is_border(p, grid.window) ? 1.5f / float(4 * (grid.window - 1)) : 0.0f;
    std::vector<float> planes(one_plane.size());
    BeadModel(one_plane, {0.0}, grid.window, {}).add_transposed(border, planes);
    return {planes.begin() + std::ptrdiff_t(grid.plane()), planes.begin() + std::ptrdiff_t(2 * grid.plane())};
}

void subtract_border(const SplineGrid& grid, std::vector<float>& coefficients) {
    const std::vector<float> border = border_functional(grid);
    for (std::size_t first = 0; first < coefficients.size(); first += grid.plane()) {
        double mean = 0;
        for (std::size_t k = 0; k < grid.plane(); ++k) mean += double(border[k]) * coefficients[first + k];
        for (std::size_t k = 0; k < grid.plane(); ++k) coefficients[first + k] -= float(mean);
    }
}

/// The largest sum of h over the window, and the centroid of max(h, 0)^1.5 over all z, px from the middle.
struct Conventions {
    double scale = 0, x_px = 0, y_px = 0;
};

Conventions measure_conventions(const SplineGrid& grid, const std::vector<float>& coefficients) {
    std::vector<double> z;
    for (int k = 0; k < convention_slices; ++k)
        z.push_back(grid.z_min_nm + (grid.z_max_nm - grid.z_min_nm) * k / (convention_slices - 1));
    const std::vector<float> h = BeadModel(grid, z, grid.window, {}).images(coefficients);
    const std::size_t edge = std::size_t(grid.window), pixels = edge * edge;
    Conventions found;
    double total = 0;
    for (std::size_t k = 0; k < z.size(); ++k) {
        double sum = 0;
        for (std::size_t p = 0; p < pixels; ++p) {
            const double value = h[k * pixels + p], share = value > 0 ? value * std::sqrt(value) : 0;
            sum += value, total += share;
            found.x_px += share * (double(p % edge) - 0.5 * double(edge - 1));
            found.y_px += share * (double(p / edge) - 0.5 * double(edge - 1));
        }
        found.scale = std::max(found.scale, sum);
    }
    if (total > 0) found.x_px /= total, found.y_px /= total;
    return found;
}

/// The same spline on a grid with a smaller margin.
Spline with_margin(const Spline& spline, int margin) {
    Spline out{spline.grid, {}};
    out.grid.margin = margin;
    const std::size_t cut = std::size_t(spline.grid.samples * (spline.grid.margin - margin)),
                      n = std::size_t(spline.grid.nxy());
    for (std::size_t k = 0; k < std::size_t(spline.grid.nz); ++k)
        for (std::size_t j = cut; j < n - cut; ++j) {
            const auto row = spline.coefficients.begin() + std::ptrdiff_t((k * n + j) * n);
            out.coefficients.insert(out.coefficients.end(), row + std::ptrdiff_t(cut), row + std::ptrdiff_t(n - cut));
        }
    return out;
}

SplineGrid learning_grid(const std::vector<BeadWindow>& beads, const LearnOptions& options) {
    const SliceRange range = find_slice_range(beads);
    SplineGrid grid{.window = beads.front().size, .margin = learning_margin, .samples = options.samples};
    grid.z_min_nm = range.min_nm, grid.z_max_nm = range.max_nm;
    grid.nz = 3 + std::max(1, int(std::lround((range.max_nm - range.min_nm) / options.knot_nm)));
    return grid;
}

void apply_conventions(const SplineGrid& grid, bool is_last, std::vector<float>& coefficients,
                       std::vector<Bead>& beads) {
    subtract_border(grid, coefficients);
    const bool has_field = beads.front().terms.size() > 1;
    const Conventions mean = measure_conventions(
        grid, has_field ? std::vector<float>(coefficients.begin(), coefficients.begin() + std::ptrdiff_t(grid.size()))
                        : coefficients);
    if (!(mean.scale > 0)) return;
    std::vector<Conventions> found(beads.size(), mean);
    if (has_field && !is_last)
        in_own_arena([&] {
            tbb::parallel_for(std::size_t(0), beads.size(), [&](std::size_t b) {
                const Conventions here = measure_conventions(grid, combine_terms(beads[b].terms, coefficients));
                if (here.scale > 0) found[b] = here;
            });
        });
    for (float& value : coefficients) value = float(value / mean.scale);
    for (std::size_t b = 0; b < beads.size(); ++b) {
        BeadPlace& place = beads[b].place;
        place.photons *= found[b].scale;
        if (is_last) continue;  // the coefficients of the next round belong to the new places
        place.x_px += found[b].x_px, place.y_px += found[b].y_px;
    }
}

void move_beads(const SplineGrid& grid, const std::vector<float>& coefficients, std::vector<Bead>& beads) {
    in_own_arena([&] {
        tbb::parallel_for(std::size_t(0), beads.size(), [&](std::size_t b) {
            move_bead(beads[b], grid, combine_terms(beads[b].terms, coefficients));
        });
    });
    double mean = 0;
    for (const Bead& bead : beads) mean += bead.place.z_nm / double(beads.size());
    for (Bead& bead : beads) bead.place.z_nm -= mean;
}

}  // namespace

SliceRange find_slice_range(const std::vector<BeadWindow>& beads) {
    SliceRange range{beads.front().z_nm.front(), beads.front().z_nm.front()};
    for (const BeadWindow& bead : beads)
        for (const double z : bead.z_nm)
            range.min_nm = std::min(range.min_nm, z), range.max_nm = std::max(range.max_nm, z);
    return range;
}

double find_light(const Spline& spline) { return measure_conventions(spline.grid, spline.coefficients).scale; }

Spline LearntPsf::combine(const std::vector<double>& terms) const {
    Spline sum = spline;
    for (std::size_t t = 0; t < changes.size(); ++t)
        for (std::size_t k = 0; k < sum.coefficients.size(); ++k)
            sum.coefficients[k] += float(terms[t + 1]) * changes[t][k];
    return sum;
}

LearntPsf learn_spline(const std::vector<BeadWindow>& windows, const std::vector<BeadPlace>& start,
                       const LearnOptions& options) {
    const SplineGrid grid = learning_grid(windows, options);
    std::vector<Bead> beads;
    std::vector<std::vector<double>> terms;
    for (std::size_t b = 0; b < windows.size(); ++b) {
        beads.push_back(start_bead(windows[b], start[b]));
        terms.push_back(beads.back().terms = options.field.at(windows[b]));
    }
    std::vector<float> coefficients(options.field.count() * grid.size());
    for (int round = 0; round < options.rounds; ++round) {
        std::vector<BeadModel> models;
        std::vector<WeightedBead> weighted;
        for (Bead& bead : beads) {
            models.emplace_back(grid, bead.window().z_nm, bead.window().size, bead.place);
            if (round > 0) weigh(bead, models.back(), combine_terms(bead.terms, coefficients));
            bead.weighted.photons = bead.place.photons;
            weighted.push_back(bead.weighted);
        }
        improve_coefficients(grid, weighted, models, terms, make_penalty(grid, coefficients),
                             round == 0 ? 2 * options.iterations : options.iterations, coefficients);
        const bool is_last = round + 1 == options.rounds;
        move_beads(grid, coefficients, beads);
        apply_conventions(grid, is_last, coefficients, beads);
        if (options.finished_round) options.finished_round();
    }
    LearntPsf learnt;
    learnt.field = options.field;
    for (std::size_t first = 0; first < coefficients.size(); first += grid.size()) {
        const auto from = coefficients.begin() + std::ptrdiff_t(first);
        Spline part = with_margin({grid, {from, from + std::ptrdiff_t(grid.size())}}, 1);
        if (first == 0)
            learnt.spline = std::move(part);
        else
            learnt.changes.push_back(std::move(part.coefficients));
    }
    for (Bead& bead : beads) {
        learnt.places.push_back(bead.place);
        learnt.background.push_back(std::move(bead.background));
        learnt.misfit.push_back(bead.misfit);
    }
    return learnt;
}

}  // namespace glint::lens
