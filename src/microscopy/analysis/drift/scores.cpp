// Pulls of the blinks around a blink: several estimates of the density's slope, weighted by their information.
// SPDX-License-Identifier: MIT
#include "analysis/drift/scores.hpp"

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "analysis/drift/blink_sums.hpp"
#include "analysis/drift/cells.hpp"

namespace glint::drift {
namespace {

constexpr std::size_t kernels = drift_kernels, windows = drift_windows, kinds = kernels + windows;
constexpr double background_share = 0.1;
constexpr std::size_t densities = 4, precisions = 4, classes = densities * precisions, at_once = 4096, max_in_cell = 60;
constexpr double thin_cell_nm = 50, probe_nm = 2;

using Scores = std::array<std::array<float, 3>, kinds>;
/// For each kind: -d score / d position along x, y and z. The last: of the score along y if x changes.
using Slopes = std::array<std::array<float, 4>, kinds>;

/// Indices of blinks, sorted by cell.
struct ByCell {
    std::vector<std::uint32_t> blinks, begin;

    ByCell(const Cells& cells, const Points& points, const std::vector<std::uint32_t>& of)
        : blinks(of.size()), begin(cells.count() + 1, 0) {
        std::vector<std::uint32_t> cell(of.size());
        for (std::size_t k = 0; k < of.size(); ++k) {
            cell[k] = std::uint32_t(cells.of(points.nm[0][of[k]], points.nm[1][of[k]]));
            ++begin[cell[k] + 1];
        }
        std::partial_sum(begin.begin(), begin.end(), begin.begin());
        std::vector<std::uint32_t> at(begin.begin(), begin.end() - 1);
        for (std::size_t k = 0; k < of.size(); ++k) blinks[at[cell[k]]++] = of[k];
    }
};

/// The blinks that others are compared with, in cells. Crowded places keep only a part of their blinks.
class Map {
  public:
    Map(const Points& points, const Blinks& blinks)
        : cells(points.nm[0], points.nm[1], drift_reach_nm / 3), kept_(cells, points, thinned(points)) {
        for (std::size_t c = 0; c < columns; ++c) {
            const std::vector<float>& from = c < 3 ? points.nm[c] : c < 6 ? points.variance[c - 3] : blinks.frame;
            values_[c].reserve(kept_.blinks.size());
            for (const std::uint32_t b : kept_.blinks) values_[c].push_back(from[b]);
        }
    }
    static constexpr std::size_t columns = 7;  ///< x, y, z, their variances, frame
    using Near = std::array<std::vector<float>, columns>;
    /// Returns all blinks within `reach` of a place in the cell, and some farther away.
    NearBlinks around(std::size_t cell, double reach, Near& near) const {
        for (auto& column : near) column.clear();
        cells.rows_around(cell, reach, [&](std::size_t first, std::size_t last) {
            const std::size_t from = kept_.begin[first], to = kept_.begin[last + 1];
            for (std::size_t c = 0; c < columns; ++c)
                near[c].insert(near[c].end(), values_[c].begin() + std::ptrdiff_t(from),
                               values_[c].begin() + std::ptrdiff_t(to));
        });
        const std::size_t count = (near[0].size() + blinks_at_once - 1) / blinks_at_once * blinks_at_once;
        for (std::size_t c = 0; c < columns; ++c) near[c].resize(count, c == 0 ? NearBlinks::far_nm : 1);
        return {{near[0].data(), near[1].data(), near[2].data()},
                {near[3].data(), near[4].data(), near[5].data()},
                near[6].data(),
                int(count)};
    }
    const Cells cells;

  private:
    static std::vector<std::uint32_t> thinned(const Points& points) {
        const Cells fine(points.nm[0], points.nm[1], thin_cell_nm);
        std::vector<std::uint32_t> in_cell(fine.count(), 0), seen(fine.count(), 0), kept;
        for (std::size_t b = 0; b < points.size(); ++b) ++in_cell[fine.of(points.nm[0][b], points.nm[1][b])];
        for (std::size_t b = 0; b < points.size(); ++b) {
            const std::size_t cell = fine.of(points.nm[0][b], points.nm[1][b]);
            const std::size_t step = (in_cell[cell] + max_in_cell - 1) / max_in_cell;
            if (seen[cell]++ % step == 0) kept.push_back(std::uint32_t(b));
        }
        return kept;
    }
    ByCell kept_;
    std::array<std::vector<float>, columns> values_;
};

/// Solves S g = d for a symmetric positive 2x2 or 3x3 S.
Vec3 solve(const double (&s)[6], const Vec3& d, int axes) {  // s: xx, xy, yy, xz, yz, zz
    Vec3 g{};
    if (axes == 2) {
        const double det = s[0] * s[2] - s[1] * s[1];
        g[0] = (s[2] * d[0] - s[1] * d[1]) / det, g[1] = (s[0] * d[1] - s[1] * d[0]) / det;
        return g;
    }
    const double c00 = s[2] * s[5] - s[4] * s[4], c01 = s[3] * s[4] - s[1] * s[5], c02 = s[1] * s[4] - s[3] * s[2];
    const double det = s[0] * c00 + s[1] * c01 + s[3] * c02;
    const double c11 = s[0] * s[5] - s[3] * s[3], c12 = s[1] * s[3] - s[0] * s[4], c22 = s[0] * s[2] - s[1] * s[1];
    g[0] = (c00 * d[0] + c01 * d[1] + c02 * d[2]) / det;
    g[1] = (c01 * d[0] + c11 * d[1] + c12 * d[2]) / det;
    g[2] = (c02 * d[0] + c12 * d[1] + c22 * d[2]) / det;
    return g;
}

/// Returns the slope from the sums of a local Gaussian (eq. 15.2).
Vec3 score_of(const float (&sums)[11], double h, int axes) {
    const double w = sums[0], ww = sums[1];
    if (!(w > 1e-3)) return {};
    const double effective = w * w / ww, prior = 2;
    const Vec3 mean{sums[2] / w, sums[3] / w, sums[4] / w};
    double c[6];
    constexpr int row[6] = {0, 0, 1, 0, 1, 2}, column[6] = {0, 1, 1, 2, 2, 2};
    for (int k = 0; k < 6; ++k)
        c[k] = (effective * (sums[5 + k] / w - mean[std::size_t(row[k])] * mean[std::size_t(column[k])]) +
                (row[k] == column[k] ? prior * h * h : 0)) /
               (effective + prior);
    return solve(c, mean, axes);
}

/// Computes the slopes of the log-density at a place. Returns how many blinks are near it.
double scores_at(const NearBlinks& near, const BlinkPlace& place, int axes, Scores& to) {
    BlinkSums sums;
    GLINT_PICK(blink_sums)(near, place, axes, sums);
    // An even background from a share of all blinks around, so that single molecules without neighbours do not pull.
    const double middle = drift_window_nm[1], volume = middle * middle * (axes == 2 ? 1 : middle);
    const double background = (background_share * sums.window[1][0] + 0.02) / volume;
    for (std::size_t k = 0; k < kernels; ++k)
        for (std::size_t a = 0; a < 3; ++a) to[k][a] = float(sums.kernel[k][1 + a] / (sums.kernel[k][0] + background));
    for (std::size_t k = 0; k < windows; ++k) {
        const Vec3 score = score_of(sums.window[k], drift_window_nm[k], axes);
        to[kernels + k] = {float(score[0]), float(score[1]), float(score[2])};
    }
    // The number is that of a wide window: a blink that lies off its molecule's place must keep its class and its
    // weights.
    return sums.window[1][0];
}

using Square = std::array<std::array<double, kinds>, kinds>;

/// Solves C a = h by Gaussian elimination. C is positive; its diagonal is raised a little.
std::array<double, kinds> weights(Square c, std::array<double, kinds> h) {
    for (std::size_t i = 0; i < kinds; ++i) c[i][i] = c[i][i] * 1.02 + 1e-30;
    for (std::size_t i = 0; i < kinds; ++i)
        for (std::size_t k = i + 1; k < kinds; ++k) {
            const double by = c[k][i] / c[i][i];
            for (std::size_t j = i; j < kinds; ++j) c[k][j] -= by * c[i][j];
            h[k] -= by * h[i];
        }
    for (std::size_t i = kinds; i-- > 0;) {
        for (std::size_t j = i + 1; j < kinds; ++j) h[i] -= c[i][j] * h[j];
        h[i] /= c[i][i];
    }
    return h;
}

/// The weights and the information of the scores along one axis, for one class of blinks (eq. 15.3).
struct Worth {
    Square spread{};  // sum of products, the upper triangle
    std::array<double, kinds> slope{}, weight{};
    double count = 0, probes = 0, information = 0;

    void add(const Worth& other) {
        for (std::size_t i = 0; i < kinds; ++i) {
            for (std::size_t k = i; k < kinds; ++k) spread[i][k] += other.spread[i][k];
            slope[i] += other.slope[i];
        }
        count += other.count, probes += other.probes;
    }
    void weigh() {
        if (count < 50 || probes < 10) return;
        for (std::size_t i = 0; i < kinds; ++i)
            for (std::size_t k = i; k < kinds; ++k) spread[k][i] = spread[i][k] /= count;
        for (double& value : slope) value /= probes;
        weight = weights(spread, slope);
        for (std::size_t k = 0; k < kinds; ++k) information += weight[k] * slope[k];
    }
};
using Worths = std::array<std::array<Worth, classes>, 3>;

/// Divides values by size into parts of equal number.
class Parted {
  public:
    Parted(std::vector<float> values, std::size_t parts) {
        std::sort(values.begin(), values.end());
        for (std::size_t part = 1; part < parts; ++part) limits_.push_back(values[part * values.size() / parts]);
    }
    std::size_t part_of(float value) const {
        return std::size_t(std::upper_bound(limits_.begin(), limits_.end(), value) - limits_.begin());
    }

  private:
    std::vector<float> limits_;
};

/// Returns the sum of the mean slopes of all kinds. The weight of a kind is its trace over the sum of squared scores.
std::array<double, 3> matrix_of(const std::vector<Scores>& scores, const std::vector<Slopes>& slopes) {
    std::array<double, 3> to{};
    for (std::size_t i = 0; i < kinds; ++i) {
        double xx = 0, xy = 0, yy = 0, squares = 0;
        for (const Slopes& s : slopes) xx += double(s[i][0]), xy += double(s[i][3]), yy += double(s[i][1]);
        for (const Scores& s : scores) squares += double(s[i][0]) * double(s[i][0]) + double(s[i][1]) * double(s[i][1]);
        const double weight = squares > 0 ? std::max(0.0, xx + yy) / squares : 0;
        to[0] += weight * xx, to[1] += weight * xy, to[2] += weight * yy;
    }
    return to;
}

}  // namespace

Pulls pulls(const Blinks& blinks, const Points& points, int axes, double finest_nm, int frames, std::size_t most) {
    const std::size_t step = std::max<std::size_t>(1, (points.size() + most - 1) / most),
                      n = (points.size() + step - 1) / step;
    const Map map(points, blinks);
    const float apart = float(std::min(100, std::max(2, frames / 50)));
    std::vector<Scores> scores(n);
    std::vector<float> near(n);
    const std::size_t probe_step = n / 20000 + 1;
    std::vector<Slopes> slopes(n / probe_step + 1);
    std::vector<std::uint32_t> used(n);
    for (std::size_t k = 0; k < n; ++k) used[k] = std::uint32_t(k * step);
    const ByCell by_cell(map.cells, points, used);
    const auto place_of = [&](std::size_t b) {
        return BlinkPlace{{points.nm[0][b], points.nm[1][b], points.nm[2][b]},
                          {points.variance[0][b], points.variance[1][b], points.variance[2][b]},
                          blinks.frame[b],
                          apart,
                          float(finest_nm)};
    };
    tbb::parallel_for(tbb::blocked_range<std::size_t>(0, map.cells.count()), [&](const auto& range) {
        Map::Near buffer;
        for (std::size_t cell = range.begin(); cell < range.end(); ++cell) {
            if (by_cell.begin[cell] == by_cell.begin[cell + 1]) continue;
            const NearBlinks around = map.around(cell, drift_reach_nm + probe_nm, buffer);
            for (std::uint32_t j = by_cell.begin[cell]; j < by_cell.begin[cell + 1]; ++j) {
                const std::size_t k = by_cell.blinks[j] / step;
                near[k] = float(scores_at(around, place_of(by_cell.blinks[j]), axes, scores[k]));
                if (k % probe_step) continue;
                // Shift all axes together, in all combinations of directions, so that the effect of one axis on the
                // score of another averages out.
                const std::size_t probe = k / probe_step;
                BlinkPlace place = place_of(by_cell.blinks[j]);
                Vec3 by{};
                for (std::size_t a = 0; a < std::size_t(axes); ++a) {
                    by[a] = probe >> a & 1 ? probe_nm : -probe_nm;
                    place.nm[a] += float(by[a]);
                }
                Scores shifted;
                scores_at(around, place, axes, shifted);
                for (std::size_t i = 0; i < kinds; ++i) {
                    for (std::size_t a = 0; a < std::size_t(axes); ++a)
                        slopes[probe][i][a] = (scores[k][i][a] - shifted[i][a]) / float(by[a]);
                    slopes[probe][i][3] = (scores[k][i][1] - shifted[i][1]) / float(by[0]);
                }
            }
        }
    });
    std::vector<float> variance(n);
    for (std::size_t k = 0; k < n; ++k) variance[k] = points.variance[0][k * step];
    // With few blinks, use few classes: the weights of many classes would be due to chance.
    const Parted by_density(near, std::clamp<std::size_t>(n / 8000, 1, densities));
    const Parted by_precision(variance, std::clamp<std::size_t>(n / 1000, 1, precisions));
    const auto class_of = [&](std::size_t k) {
        return by_density.part_of(near[k]) * precisions + by_precision.part_of(variance[k]);
    };
    const std::size_t parts = (n + at_once - 1) / at_once;
    std::vector<Worths> of_part(parts);
    tbb::parallel_for(std::size_t(0), parts, [&](std::size_t part) {
        for (std::size_t k = part * at_once; k < std::min(n, (part + 1) * at_once); ++k)
            for (std::size_t a = 0, c = class_of(k); a < std::size_t(axes); ++a) {
                Worth& worth = of_part[part][a][c];
                ++worth.count;
                for (std::size_t i = 0; i < kinds; ++i)
                    for (std::size_t j = i; j < kinds; ++j)
                        worth.spread[i][j] += double(scores[k][i][a]) * double(scores[k][j][a]);
                if (k % probe_step) continue;
                ++worth.probes;
                for (std::size_t i = 0; i < kinds; ++i) worth.slope[i] += double(slopes[k / probe_step][i][a]);
            }
    });
    Worths worths;
    for (std::size_t a = 0; a < std::size_t(axes); ++a)
        for (std::size_t c = 0; c < classes; ++c) {
            for (const Worths& part : of_part) worths[a][c].add(part[a][c]);
            worths[a][c].weigh();
        }
    Pulls to;
    to.matrix_xy = matrix_of(scores, slopes);
    for (std::size_t a = 0; a < 3; ++a) to.offset_nm[a].assign(points.size(), 0), to.information[a] = to.offset_nm[a];
    tbb::parallel_for(tbb::blocked_range<std::size_t>(0, n, at_once), [&](const auto& range) {
        for (std::size_t k = range.begin(); k < range.end(); ++k)
            for (std::size_t a = 0, c = class_of(k); a < std::size_t(axes); ++a) {
                const Worth& worth = worths[a][c];
                if (!(worth.information > 0)) continue;
                double score = 0;
                for (std::size_t i = 0; i < kinds; ++i) score += worth.weight[i] * double(scores[k][i][a]);
                to.offset_nm[a][k * step] = float(-score / worth.information);
                to.information[a][k * step] = float(worth.information);
            }
    });
    return to;
}

}  // namespace glint::drift
