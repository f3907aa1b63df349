// A = sum N^2 B' P B + penalty, applied bead by bead; beads are processed in parallel and added in order.
// SPDX-License-Identifier: MIT
#include "analysis/lens/normal_equations.hpp"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>

#include "base/arena.hpp"

namespace glint::lens {
namespace {

constexpr double relative_ridge = 1e-4;  // of the mean information: decides coefficients beyond the beads' windows

using Coefficients = std::vector<float>;

double dot(const Coefficients& a, const Coefficients& b) {
    double sum = 0;
    for (std::size_t k = 0; k < a.size(); ++k) sum += double(a[k]) * b[k];
    return sum;
}

/// The factor of each bead's contribution to each term of the field.
using Factors = std::vector<std::vector<double>>;

/// Adds the contributions of all beads in their order, so that the sum does not depend on the threads: `size`
/// coefficients for each term.
Coefficients sum_over_beads(std::size_t size, const Factors& factors,
                            const std::function<void(std::size_t bead, Coefficients& sum)>& add) {
    const std::size_t beads = factors.size(), terms = factors.front().size();
    std::vector<Coefficients> parts(beads);
    in_own_arena([&] {
        tbb::parallel_for(std::size_t(0), beads, [&](std::size_t b) {
            parts[b].assign(size, 0.0f);
            add(b, parts[b]);
        });
    });
    Coefficients sum(terms * size, 0.0f);
    if (terms == 1) {
        for (const Coefficients& part : parts)
            for (std::size_t k = 0; k < size; ++k) sum[k] += part[k];
        return sum;
    }
    constexpr std::size_t at_once = 4096;  // so that the sums stay in the cache
    in_own_arena([&] {
        tbb::parallel_for(std::size_t(0), (size + at_once - 1) / at_once, [&](std::size_t n) {
            const std::size_t first = n * at_once, end = std::min(size, first + at_once);
            for (std::size_t b = 0; b < beads; ++b)
                for (std::size_t t = 0; t < terms; ++t) {
                    const float factor = float(factors[b][t]);
                    float* to = sum.data() + t * size;
                    const float* from = parts[b].data();
                    for (std::size_t k = first; k < end; ++k) to[k] += factor * from[k];
                }
        });
    });
    return sum;
}

void scale(std::vector<float>& values, double factor) {
    for (float& value : values) value = float(value * factor);
}

class NormalEquations {
  public:
    NormalEquations(const SplineGrid& grid, const std::vector<WeightedBead>& beads,
                    const std::vector<BeadModel>& models, const Factors& terms, const Penalty& penalty)
        : grid_(grid), beads_(beads), models_(models), terms_(terms), penalty_(penalty) {
        Factors squares = terms;
        for (std::vector<double>& of_bead : squares)
            for (double& value : of_bead) value *= value;
        information_ = sum_over_beads(grid.size(), squares, [&](std::size_t b, Coefficients& sum) {
            models[b].add_transposed(beads[b].weights, sum);
            scale(sum, beads[b].photons * beads[b].photons);
        });
        double total = 0;
        std::size_t informed = 0;
        for (const float value : information_) total += value, informed += value > 0;
        ridge_ = relative_ridge * total / double(std::max<std::size_t>(informed, 1));
    }

    Coefficients right_side() const {
        return sum_over_beads(grid_.size(), terms_, [&](std::size_t b, Coefficients& sum) {
            std::vector<float> images = beads_[b].window->photoelectrons;
            project_backgrounds(beads_[b].weights, beads_[b].window->pixels(), images);
            models_[b].add_transposed(images, sum);
            scale(sum, beads_[b].photons);
        });
    }

    Coefficients apply(const Coefficients& c) const {
        Coefficients sum = sum_over_beads(grid_.size(), terms_, [&](std::size_t b, Coefficients& part) {
            std::vector<float> images = models_[b].images(terms_[b].size() == 1 ? c : c_at(b, c));
            project_backgrounds(beads_[b].weights, beads_[b].window->pixels(), images);
            models_[b].add_transposed(images, part);
            scale(part, beads_[b].photons * beads_[b].photons);
        });
        for (std::size_t first = 0; first < c.size(); first += grid_.size()) {
            if (!penalty_.z.empty()) add_z_penalty(first, c, sum);
            if (!penalty_.xy.empty()) add_xy_penalty(first, c, sum);
        }
        for (std::size_t k = 0; k < c.size(); ++k) sum[k] += float(ridge_) * c[k];
        return sum;
    }

    /// Divides by an approximate diagonal.
    Coefficients precondition(const Coefficients& residual) const {
        Coefficients out(residual.size());
        for (std::size_t k = 0; k < out.size(); ++k) {
            const std::size_t at = k % grid_.size();
            const double penalty =
                (penalty_.z.empty() ? 0 : 6 * penalty_.z[at]) + (penalty_.xy.empty() ? 0 : 140 * penalty_.xy[at]);
            out[k] = float(residual[k] / (information_[k] + factor_of(k) * penalty + ridge_));
        }
        return out;
    }

  private:
    /// The coefficients at a bead.
    Coefficients c_at(std::size_t bead, const Coefficients& c) const {
        const std::size_t size = grid_.size();
        Coefficients sum(c.begin(), c.begin() + std::ptrdiff_t(size));
        for (std::size_t t = 1; t < terms_[bead].size(); ++t) {
            const float factor = float(terms_[bead][t]);
            const float* from = c.data() + t * size;
            for (std::size_t k = 0; k < size; ++k) sum[k] += factor * from[k];
        }
        return sum;
    }

    /// The factor of the penalty of coefficient k.
    double factor_of(std::size_t k) const { return k < grid_.size() ? 1 : penalty_.of_changes; }

    // Penalties of the term whose coefficients begin at `first`.
    void add_z_penalty(std::size_t first, const Coefficients& c, Coefficients& sum) const {
        const std::size_t plane = grid_.plane();
        const float factor = float(factor_of(first));
        for (std::size_t at = plane; at + plane < grid_.size(); ++at) {
            const std::size_t k = first + at;
            const float bend = factor * penalty_.z[at] * ((c[k - plane] - c[k]) + (c[k + plane] - c[k]));
            sum[k - plane] += bend, sum[k] -= 2 * bend, sum[k + plane] += bend;
        }
    }

    void add_xy_penalty(std::size_t first, const Coefficients& c, Coefficients& sum) const {
        const std::size_t n = std::size_t(grid_.nxy()), end = first + grid_.size();
        for (std::size_t row = first; row < end; row += n)
            for (std::size_t i = 2; i + 2 < n; ++i) add_fourth_difference(c, first, row + i, 1, sum);
        for (std::size_t plane = first; plane < end; plane += grid_.plane())
            for (std::size_t at = 2 * n; at + 2 * n < grid_.plane(); ++at)
                add_fourth_difference(c, first, plane + at, n, sum);
    }

    void add_fourth_difference(const Coefficients& c, std::size_t first, std::size_t at, std::size_t step,
                               Coefficients& sum) const {
        const float difference = (c[at - 2 * step] + c[at + 2 * step]) - 4 * (c[at - step] + c[at + step]) + 6 * c[at];
        const float bend = float(factor_of(first)) * penalty_.xy[at - first] * difference;
        sum[at - 2 * step] += bend, sum[at + 2 * step] += bend;
        sum[at - step] -= 4 * bend, sum[at + step] -= 4 * bend;
        sum[at] += 6 * bend;
    }

    const SplineGrid& grid_;
    const std::vector<WeightedBead>& beads_;
    const std::vector<BeadModel>& models_;
    const Factors& terms_;
    const Penalty& penalty_;
    double ridge_ = 0;
    Coefficients information_;  ///< the sum of each row of B' W B
};

}  // namespace

void project_backgrounds(const std::vector<float>& weights, std::size_t pixels, std::vector<float>& images) {
    for (std::size_t first = 0; first < images.size(); first += pixels) {
        const float* w = weights.data() + first;
        float* image = images.data() + first;
        double sum = 0, total = 0;
        for (std::size_t p = 0; p < pixels; ++p) sum += double(w[p]) * image[p], total += w[p];
        const float mean = total > 0 ? float(sum / total) : 0.0f;
        for (std::size_t p = 0; p < pixels; ++p) image[p] = w[p] * (image[p] - mean);
    }
}

void improve_coefficients(const SplineGrid& grid, const std::vector<WeightedBead>& beads,
                          const std::vector<BeadModel>& models, const std::vector<std::vector<double>>& terms,
                          const Penalty& penalty, int iterations, std::vector<float>& coefficients) {
    const NormalEquations equations(grid, beads, models, terms, penalty);
    Coefficients residual = equations.right_side();
    const Coefficients applied = equations.apply(coefficients);
    for (std::size_t k = 0; k < residual.size(); ++k) residual[k] -= applied[k];
    Coefficients direction = equations.precondition(residual);
    double length = dot(residual, direction);
    for (int step = 0; step < iterations && length > 0 && std::isfinite(length); ++step) {
        const Coefficients along = equations.apply(direction);
        const double curvature = dot(direction, along);
        if (!(curvature > 0)) break;
        const float far = float(length / curvature);
        for (std::size_t k = 0; k < residual.size(); ++k)
            coefficients[k] += far * direction[k], residual[k] -= far * along[k];
        const Coefficients next = equations.precondition(residual);
        const double next_length = dot(residual, next);
        const float keep = float(next_length / length);
        for (std::size_t k = 0; k < direction.size(); ++k) direction[k] = next[k] + keep * direction[k];
        length = next_length;
    }
}

}  // namespace glint::lens
