// The normal equations are a band, of coefficients that share a pixel, minus a product of vectors for each spot, which
// projects its background out. Conjugate gradients solve them.
// SPDX-License-Identifier: MIT
#include "analysis/lens/flat_spline.hpp"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include "base/arena.hpp"

namespace glint::lens {
namespace {

using Vector = std::vector<double>;

constexpr int band_reach = 3, band_edge = 2 * band_reach + 1;  // coefficients that share a pixel with another one
constexpr std::size_t parts = 16;  // of the spots; each part is summed in order, whatever the number of threads
constexpr int max_solver_steps = 60;
constexpr double solver_tolerance = 1e-5;  // of the first residual's length
constexpr double flat_ripple = 0.3;        // expected fourth differences, of the local and the highest coefficient
constexpr double flat_floor = 0.003;       // of the highest coefficient
constexpr double ridge_share = 1e-6;       // of the mean information
constexpr double min_spot_mean = 0.5;      // photoelectrons

/// The four coefficients, and their weights, of each pixel of a row or column.
struct AxisTaps {
    int first = 0;
    std::array<double, 4> weights{};
};

AxisTaps first_taps(const SplineGrid& grid, double offset_px) {
    const double limit = grid.max_offset_px(), half = 0.5 * (grid.window - 1);
    const double u = grid.samples * (-half - std::clamp(offset_px, -limit, limit)) + grid.middle();
    const CubicTaps taps = cubic_taps(u, grid.nxy() - grid.samples * (grid.window - 1));
    return {taps.first, taps.weights};
}

/// The sums over some spots.
struct NormalSums {
    Vector band, right;

    explicit NormalSums(std::size_t plane) : band(plane * band_edge * band_edge), right(plane) {}
};

/// A spot's part of the background's elimination: w a, summed over its pixels, and the sum of w.
struct Elimination {
    std::vector<float> row;
    double weight = 0;
};

/// In sixteen sums, which the compiler vectorises.
double dot_of_floats(const std::vector<float>& a, const std::vector<float>& b) {
    constexpr std::size_t lanes = 16;
    std::array<float, lanes> sums{};
    const std::size_t whole = a.size() / lanes * lanes;
    for (std::size_t k = 0; k < whole; k += lanes)
        for (std::size_t i = 0; i < lanes; ++i) sums[i] += a[k + i] * b[k + i];
    double sum = 0;
    for (const float one : sums) sum += double(one);
    for (std::size_t k = whole; k < a.size(); ++k) sum += double(a[k]) * double(b[k]);
    return sum;
}

class FlatEquations {
  public:
    FlatEquations(const SplineGrid& grid, const Rois& rois, const std::vector<SpotPlace>& spots,
                  const std::vector<float>& model, const Vector& before)
        : grid_(grid), rois_(rois), spots_(spots), model_(model), eliminations_(spots.size()) {
        std::vector<NormalSums> sums(parts, NormalSums(grid.plane()));
        in_arena_of(own_threads(), [&] {
            tbb::parallel_for(std::size_t(0), parts, [&](std::size_t part) {
                const std::size_t begin = part * spots.size() / parts, end = (part + 1) * spots.size() / parts;
                for (std::size_t k = begin; k < end; ++k)
                    if (spots[k].is_used) add_spot(k, sums[part]);
            });
        });
        band_.assign(grid.plane() * band_edge * band_edge, 0), right_.assign(grid.plane(), 0);
        for (const NormalSums& one : sums) {
            for (std::size_t k = 0; k < band_.size(); ++k) band_[k] += one.band[k];
            for (std::size_t k = 0; k < right_.size(); ++k) right_[k] += one.right[k];
        }
        constexpr std::size_t middle = band_reach * band_edge + band_reach;
        double information = 0;
        for (std::size_t k = 0; k < grid.plane(); ++k) information += band_[k * band_edge * band_edge + middle];
        ridge_ = ridge_share * information / double(grid.plane());
        set_penalty(before, information / double(grid.plane()));
        for (std::size_t k = 0; k < grid.plane(); ++k)
            diagonal_.push_back(band_[k * band_edge * band_edge + middle] + ridge_ + 70 * penalty_[k]);
    }

    const Vector& right_side() const { return right_; }
    const Vector& diagonal() const { return diagonal_; }

    Vector apply(const Vector& c) const {
        const int n = grid_.nxy();
        Vector out(c.size());
        for (int y = 0; y < n; ++y)
            for (int x = 0; x < n; ++x) {
                const std::size_t at = std::size_t(y * n + x);
                const double* band = band_.data() + at * band_edge * band_edge;
                double sum = ridge_ * c[at];
                for (int j = std::max(-band_reach, -y); j <= std::min(band_reach, n - 1 - y); ++j)
                    for (int i = std::max(-band_reach, -x); i <= std::min(band_reach, n - 1 - x); ++i)
                        sum += band[(j + band_reach) * band_edge + i + band_reach] * c[at + std::ptrdiff_t(j * n + i)];
                out[at] = sum;
            }
        subtract_eliminations(c, out);
        for (int y = 0; y < n; ++y)
            for (int x = 0; x < n; ++x) {
                const std::size_t at = std::size_t(y * n + x);
                if (x >= 2 && x + 2 < n) add_fourth_difference(c, at, 1, out);
                if (y >= 2 && y + 2 < n) add_fourth_difference(c, at, std::size_t(n), out);
            }
        return out;
    }

  private:
    void add_spot(std::size_t k, NormalSums& to) {
        const SpotPlace& spot = spots_[k];
        const std::size_t edge = std::size_t(rois_.size), pixels = edge * edge, n = std::size_t(grid_.nxy());
        const std::size_t step = std::size_t(grid_.samples);
        const AxisTaps x = first_taps(grid_, spot.x_px), y = first_taps(grid_, spot.y_px);
        std::array<double, 16> products{};
        std::array<std::size_t, 16> places{};
        for (std::size_t j = 0; j < 4; ++j)
            for (std::size_t i = 0; i < 4; ++i) {
                products[4 * j + i] = spot.photons * y.weights[j] * x.weights[i];
                places[4 * j + i] = (std::size_t(y.first) + j) * n + std::size_t(x.first) + i;
            }
        Vector row(grid_.plane());
        double weight = 0, weighted = 0;
        for (std::size_t p = 0; p < pixels; ++p) {
            const std::size_t at = k * pixels + p, moved = step * (p / edge * n + p % edge);
            const double q = rois_.qe.empty() ? rois_.qe_scalar : rois_.qe[at];
            const double v = rois_.variance.empty() ? rois_.variance_scalar : rois_.variance[at];
            const double w = 1 / (double(rois_.excess_noise) / q * std::max(double(model_[at]), min_spot_mean) + v);
            const double value = w * double(rois_.pixels[at]);
            weight += w, weighted += value;
            for (std::size_t a = 0; a < 16; ++a) {
                const std::size_t place = places[a] + moved;
                to.right[place] += products[a] * value, row[place] += products[a] * w;
                double* band = to.band.data() + place * band_edge * band_edge;
                const int from_y = int(a / 4), from_x = int(a % 4);
                for (std::size_t b = 0; b < 16; ++b)
                    band[(int(b / 4) - from_y + band_reach) * band_edge + int(b % 4) - from_x + band_reach] +=
                        w * products[a] * products[b];
            }
        }
        for (std::size_t c = 0; c < row.size(); ++c) to.right[c] -= row[c] * weighted / weight;
        eliminations_[k] = {std::vector<float>(row.begin(), row.end()), weight};
    }

    void subtract_eliminations(const Vector& c, Vector& out) const {
        const std::vector<float> direction(c.begin(), c.end());
        std::vector<std::vector<float>> sums(parts, std::vector<float>(c.size()));
        in_arena_of(own_threads(), [&] {
            tbb::parallel_for(std::size_t(0), parts, [&](std::size_t part) {
                const std::size_t begin = part * spots_.size() / parts, end = (part + 1) * spots_.size() / parts;
                for (std::size_t k = begin; k < end; ++k) {
                    const Elimination& one = eliminations_[k];
                    if (one.row.empty()) continue;
                    const float scaled = float(dot_of_floats(one.row, direction) / one.weight);
                    for (std::size_t i = 0; i < c.size(); ++i) sums[part][i] += scaled * one.row[i];
                }
            });
        });
        for (const std::vector<float>& one : sums)
            for (std::size_t i = 0; i < out.size(); ++i) out[i] -= double(one[i]);
    }

    void set_penalty(const Vector& before, double information) {
        penalty_.assign(grid_.plane(), 1e-3 * information);
        double highest = 0;
        for (const double c : before) highest = std::max(highest, std::abs(c));
        if (!(highest > 0)) return;
        const int n = grid_.nxy();
        for (int y = 0; y < n; ++y)
            for (int x = 0; x < n; ++x) {
                double sum = 0, count = 0;
                for (int j = std::max(0, y - 1); j <= std::min(n - 1, y + 1); ++j)
                    for (int i = std::max(0, x - 1); i <= std::min(n - 1, x + 1); ++i)
                        sum += std::abs(before[std::size_t(j * n + i)]), count += 1;
                const double expected = flat_ripple * (sum / count + flat_floor * highest);
                penalty_[std::size_t(y * n + x)] = 1 / (expected * expected);
            }
    }

    void add_fourth_difference(const Vector& c, std::size_t at, std::size_t step, Vector& sum) const {
        const double difference = c[at - 2 * step] + c[at + 2 * step] - 4 * (c[at - step] + c[at + step]) + 6 * c[at];
        const double bend = penalty_[at] * difference;
        sum[at - 2 * step] += bend, sum[at + 2 * step] += bend;
        sum[at - step] -= 4 * bend, sum[at + step] -= 4 * bend;
        sum[at] += 6 * bend;
    }

    const SplineGrid& grid_;
    const Rois& rois_;
    const std::vector<SpotPlace>& spots_;
    const std::vector<float>& model_;
    std::vector<Elimination> eliminations_;
    Vector band_, right_, penalty_, diagonal_;
    double ridge_ = 0;
};

double dot_of(const Vector& a, const Vector& b) {
    double sum = 0;
    for (std::size_t k = 0; k < a.size(); ++k) sum += a[k] * b[k];
    return sum;
}

}  // namespace

std::vector<double> solve_flat_spline(const SplineGrid& grid, const Rois& rois, const std::vector<SpotPlace>& spots,
                                      const std::vector<float>& model, const std::vector<double>& before) {
    const FlatEquations equations(grid, rois, spots, model, before);
    const auto precondition = [&](const Vector& r) {
        Vector out(r.size());
        for (std::size_t k = 0; k < r.size(); ++k) out[k] = r[k] / equations.diagonal()[k];
        return out;
    };
    Vector c = before.empty() ? Vector(grid.plane()) : before;
    Vector residual = equations.apply(c);
    for (std::size_t k = 0; k < residual.size(); ++k) residual[k] = equations.right_side()[k] - residual[k];
    Vector direction = precondition(residual);
    double length = dot_of(residual, direction);
    const double enough =
        solver_tolerance * solver_tolerance * dot_of(equations.right_side(), precondition(equations.right_side()));
    for (int step = 0; step < max_solver_steps && length > enough && std::isfinite(length); ++step) {
        const Vector along = equations.apply(direction);
        const double curvature = dot_of(direction, along);
        if (!(curvature > 0)) break;
        const double far = length / curvature;
        for (std::size_t k = 0; k < c.size(); ++k) c[k] += far * direction[k], residual[k] -= far * along[k];
        const Vector next = precondition(residual);
        const double next_length = dot_of(residual, next), keep = next_length / length;
        for (std::size_t k = 0; k < c.size(); ++k) direction[k] = next[k] + keep * direction[k];
        length = next_length;
    }
    return c;
}

std::vector<double> draw_flat_spline(const SplineGrid& grid, const std::vector<double>& coefficients, double x_px,
                                     double y_px) {
    const AxisTaps x = first_taps(grid, x_px), y = first_taps(grid, y_px);
    const int n = grid.nxy(), edge = grid.window, step = grid.samples;
    std::vector<double> h;
    for (int j = 0; j < edge; ++j)
        for (int i = 0; i < edge; ++i) {
            double sum = 0;
            for (int b = 0; b < 4; ++b)
                for (int a = 0; a < 4; ++a)
                    sum += y.weights[std::size_t(b)] * x.weights[std::size_t(a)] *
                           coefficients[std::size_t((y.first + step * j + b) * n + x.first + step * i + a)];
            h.push_back(sum);
        }
    return h;
}

}  // namespace glint::lens
