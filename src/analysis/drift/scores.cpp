// How the blinks around a blink pull at it: several estimates of the density's slope, combined by what they are worth.
// SPDX-License-Identifier: MIT
#include "analysis/drift/scores.hpp"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

#include "analysis/drift/cells.hpp"

namespace glint::drift {
namespace {

// Kernel estimates: width beyond the precisions; local Gaussians: width of the window (docs/theory.md, "Drift").
constexpr std::size_t kernels = 3, windows = 3, kinds = kernels + windows;
constexpr double kernel_nm[kernels] = {0, 8, 20}, window_nm[windows] = {40, 80, 160};
constexpr double reach_nm = 330, kernel_reach_nm = 70;
constexpr double background_share = 0.1;
constexpr std::size_t classes = 4, most_in_cell = 60;
constexpr double thin_cell_nm = 50, probe_nm = 2;

using Scores = std::array<Vec3, kinds>;

/// The blinks that the others are compared with: of crowded places a part, in cells.
class Map {
  public:
    Map(const Points& points, const Blinks& blinks) : cells_(points.nm[0], points.nm[1], reach_nm / 3) {
        std::vector<std::uint32_t> kept = thinned(points);
        std::vector<std::uint32_t> begin(cells_.count() + 1, 0);
        for (const std::uint32_t b : kept) ++begin[cells_.of(points.nm[0][b], points.nm[1][b]) + 1];
        std::partial_sum(begin.begin(), begin.end(), begin.begin());
        begin_ = begin;
        for (std::size_t a = 0; a < 3; ++a) nm[a].resize(kept.size()), variance[a].resize(kept.size());
        frame.resize(kept.size());
        for (const std::uint32_t b : kept) {
            const std::size_t at = begin[cells_.of(points.nm[0][b], points.nm[1][b])]++;
            for (std::size_t a = 0; a < 3; ++a) nm[a][at] = points.nm[a][b], variance[a][at] = points.variance[a][b];
            frame[at] = blinks.frame[b];
        }
    }
    template <class Use>
    void around(float x, float y, Use use) const {
        cells_.around(x, y, reach_nm, [&](std::size_t cell) {
            for (std::size_t j = begin_[cell]; j < begin_[cell + 1]; ++j) use(j);
        });
    }
    std::array<std::vector<float>, 3> nm, variance;
    std::vector<float> frame;

  private:
    static std::vector<std::uint32_t> thinned(const Points& points) {
        const Cells fine(points.nm[0], points.nm[1], thin_cell_nm);
        std::vector<std::uint32_t> in_cell(fine.count(), 0), seen(fine.count(), 0), kept;
        for (std::size_t b = 0; b < points.size(); ++b) ++in_cell[fine.of(points.nm[0][b], points.nm[1][b])];
        for (std::size_t b = 0; b < points.size(); ++b) {
            const std::size_t cell = fine.of(points.nm[0][b], points.nm[1][b]);
            const std::size_t step = (in_cell[cell] + most_in_cell - 1) / most_in_cell;
            if (seen[cell]++ % step == 0) kept.push_back(std::uint32_t(b));
        }
        return kept;
    }
    Cells cells_;
    std::vector<std::uint32_t> begin_;
};

struct Place {
    Vec3 at, variance;
    double frame;
};

/// exp(x) of -80 < x <= 0 to 1e-4 of its value, which is enough for a weight.
inline float weight_exp(float x) {
    const float t = x * 1.44269504f + 127.0f;
    const auto whole = std::int32_t(t);
    const float part = t - float(whole);
    return std::bit_cast<float>(whole << 23) *
           (1.0f + part * (0.69583283f + part * (0.22606716f + part * 0.078024523f)));
}

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

/// Sums of one local Gaussian.
struct Window {
    double w = 0, ww = 0, d[3] = {}, s[6] = {};
    void add(double weight, double x, double y, double z) {
        w += weight, ww += weight * weight;
        d[0] += weight * x, d[1] += weight * y, d[2] += weight * z;
        s[0] += weight * x * x, s[1] += weight * x * y, s[2] += weight * y * y;
        s[3] += weight * x * z, s[4] += weight * y * z, s[5] += weight * z * z;
    }
    Vec3 score(double h, int axes) const {
        if (!(w > 1e-3)) return {};
        const double effective = w * w / ww, prior = 2;
        const Vec3 mean{d[0] / w, d[1] / w, d[2] / w};
        double c[6];
        constexpr int row[6] = {0, 0, 1, 0, 1, 2}, column[6] = {0, 1, 1, 2, 2, 2};
        for (int k = 0; k < 6; ++k)
            c[k] = (effective * (s[k] / w - mean[std::size_t(row[k])] * mean[std::size_t(column[k])]) +
                    (row[k] == column[k] ? prior * h * h : 0)) /
                   (effective + prior);
        return solve(c, mean, axes);
    }
};

/// Slopes of the log-density at `p`, and how many blinks are near it.
double scores_at(const Map& map, const Place& p, int axes, double finest_nm, float apart, Scores& to) {
    struct Kernel {
        double sum = 0;
        Vec3 pull{};
    };
    std::array<Kernel, kernels> kernel;
    std::array<Window, windows> window;
    std::array<double, kernels> extra;
    for (std::size_t k = 0; k < kernels; ++k) extra[k] = kernel_nm[k] * kernel_nm[k] + finest_nm * finest_nm;
    map.around(float(p.at[0]), float(p.at[1]), [&](std::size_t j) {
        const float fx = map.nm[0][j] - float(p.at[0]), fy = map.nm[1][j] - float(p.at[1]);
        const float fz = map.nm[2][j] - float(p.at[2]);
        const float r2 = fx * fx + fy * fy + fz * fz;
        if (r2 > float(reach_nm * reach_nm) || std::abs(map.frame[j] - float(p.frame)) < apart) return;
        const double d[3] = {fx, fy, fz};
        const double wide = double(weight_exp(-0.5f * r2 / float(window_nm[2] * window_nm[2])));
        window[2].add(wide, d[0], d[1], d[2]);
        if (r2 < float(9 * window_nm[1] * window_nm[1])) {
            const double middle = wide * wide * wide * wide;
            window[1].add(middle, d[0], d[1], d[2]);
            if (r2 < float(9 * window_nm[0] * window_nm[0])) {
                const double small = middle * middle * middle * middle;
                window[0].add(small, d[0], d[1], d[2]);
            }
        }
        if (fx * fx + fy * fy > float(kernel_reach_nm * kernel_reach_nm)) return;
        for (std::size_t k = 0; k < kernels; ++k) {
            double square = 0, root = 1;
            Vec3 pull{};
            for (std::size_t a = 0; a < std::size_t(axes); ++a) {
                const double v = p.variance[a] + map.variance[a][j] + extra[k];
                pull[a] = d[a] / v;
                square += d[a] * pull[a];
                root *= v;
            }
            if (square > 20) continue;
            const double weight = double(weight_exp(float(-0.5 * square)) / std::sqrt(float(root)));
            kernel[k].sum += weight;
            for (std::size_t a = 0; a < std::size_t(axes); ++a) kernel[k].pull[a] += weight * pull[a];
        }
    });
    // A share of all that is around, evenly spread: single molecules without neighbours pull at nobody.
    const double volume = axes == 2 ? window_nm[1] * window_nm[1] : window_nm[1] * window_nm[1] * window_nm[1];
    const double background = (background_share * window[1].w + 0.02) / volume;
    for (std::size_t k = 0; k < kernels; ++k)
        for (std::size_t a = 0; a < 3; ++a) to[k][a] = kernel[k].pull[a] / (kernel[k].sum + background);
    for (std::size_t k = 0; k < windows; ++k) to[kernels + k] = window[k].score(window_nm[k], axes);
    return window[0].w;
}

using Square = std::array<std::array<double, kinds>, kinds>;

/// Solves C a = h with Gauss' elimination; C is positive, its diagonal raised a little.
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

}  // namespace

Pulls pulls(const Blinks& blinks, const Points& points, int axes, double finest_nm, int frames) {
    const std::size_t n = points.size();
    const Map map(points, blinks);
    const float apart = float(std::min(100, std::max(2, frames / 50)));
    std::vector<Scores> scores(n);
    std::vector<float> near(n);
    const auto place = [&](std::size_t b) {
        return Place{{points.nm[0][b], points.nm[1][b], points.nm[2][b]},
                     {points.variance[0][b], points.variance[1][b], points.variance[2][b]},
                     blinks.frame[b]};
    };
    const std::size_t probe_step = n / 20000 + 1;
    std::vector<Scores> slopes(n / probe_step + 1);  // -d score[a] / d position[a]
    tbb::parallel_for(std::size_t(0), n, [&](std::size_t b) {
        Place p = place(b);
        near[b] = float(scores_at(map, p, axes, finest_nm, apart, scores[b]));
        if (b % probe_step) return;
        for (std::size_t a = 0; a < std::size_t(axes); ++a) {
            Scores shifted;
            p.at[a] += probe_nm;
            scores_at(map, p, axes, finest_nm, apart, shifted);
            p.at[a] -= probe_nm;
            for (std::size_t k = 0; k < kinds; ++k)
                slopes[b / probe_step][k][a] = (scores[b][k][a] - shifted[k][a]) / probe_nm;
        }
    });
    // Classes by how many blinks are near.
    std::vector<float> sorted(near);
    std::sort(sorted.begin(), sorted.end());
    // Few blinks make one class: weights of many would be chosen by chance.
    const std::size_t used_classes = std::clamp<std::size_t>(n / 8000, 1, classes);
    std::array<float, classes - 1> limit{};
    for (std::size_t c = 0; c + 1 < classes; ++c)
        limit[c] = n && c + 1 < used_classes ? sorted[(c + 1) * n / used_classes] : std::numeric_limits<float>::max();
    const auto class_of = [&](std::size_t b) {
        return std::size_t(std::upper_bound(limit.begin(), limit.end(), near[b]) - limit.begin());
    };
    Pulls to;
    for (std::size_t a = 0; a < 3; ++a) to.offset_nm[a].assign(n, 0), to.information[a].assign(n, 0);
    for (std::size_t a = 0; a < std::size_t(axes); ++a) {
        std::array<Square, classes> spread{};
        std::array<std::array<double, kinds>, classes> slope{};
        std::array<double, classes> count{}, probes{};
        for (std::size_t b = 0; b < n; ++b) {
            const std::size_t c = class_of(b);
            ++count[c];
            for (std::size_t i = 0; i < kinds; ++i)
                for (std::size_t k = 0; k < kinds; ++k) spread[c][i][k] += scores[b][i][a] * scores[b][k][a];
            if (b % probe_step == 0) {
                ++probes[c];
                for (std::size_t i = 0; i < kinds; ++i) slope[c][i] += slopes[b / probe_step][i][a];
            }
        }
        std::array<std::array<double, kinds>, classes> weight{};
        std::array<double, classes> information{};
        for (std::size_t c = 0; c < classes; ++c) {
            if (count[c] < 50 || probes[c] < 10) continue;
            for (auto& row : spread[c])
                for (double& value : row) value /= count[c];
            for (double& value : slope[c]) value /= probes[c];
            weight[c] = weights(spread[c], slope[c]);
            for (std::size_t k = 0; k < kinds; ++k) information[c] += weight[c][k] * slope[c][k];
        }
        for (std::size_t b = 0; b < n; ++b) {
            const std::size_t c = class_of(b);
            if (!(information[c] > 0)) continue;
            double score = 0;
            for (std::size_t k = 0; k < kinds; ++k) score += weight[c][k] * scores[b][k][a];
            to.offset_nm[a][b] = float(-score / information[c]);
            to.information[a][b] = float(information[c]);
        }
    }
    return to;
}

}  // namespace glint::drift
