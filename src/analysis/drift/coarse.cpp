// A first, rough drift: each segment of frames is placed on all those placed before it.
// SPDX-License-Identifier: MIT
#include "analysis/drift/coarse.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "analysis/drift/cells.hpp"

namespace glint::drift {
namespace {

constexpr double bin_nm = 10, blur_nm = 20, near_nm = 40;
constexpr std::size_t most_blinks = 60000;

/// Blinks that have been placed, in cells that grow.
class Placed {
  public:
    Placed(const Points& all) : cells_(all.nm[0], all.nm[1], 200), head_(cells_.count(), -1) {}
    void add(const Vec3& at) {
        const std::size_t cell = cells_.of(float(at[0]), float(at[1]));
        next_.push_back(head_[cell]);
        head_[cell] = int(points_.size());
        points_.push_back(at);
    }
    template <class Use>
    void around(const Vec3& at, double reach, Use use) const {
        cells_.around(at[0], at[1], reach, [&](std::size_t cell) {
            for (int j = head_[cell]; j >= 0; j = next_[std::size_t(j)]) {
                const Vec3& p = points_[std::size_t(j)];
                const double dx = at[0] - p[0], dy = at[1] - p[1];
                if (std::abs(dx) < reach && std::abs(dy) < reach) use(dx, dy, at[2] - p[2]);
            }
        });
    }
    /// How many of the points have a placed blink near them, once they are shifted back by `by`.
    int matches(const std::vector<Vec3>& points, const Vec3& by) const {
        int count = 0;
        for (const Vec3& p : points) {
            bool found = false;
            around({p[0] - by[0], p[1] - by[1], 0}, near_nm,
                   [&](double dx, double dy, double) { found |= dx * dx + dy * dy < near_nm * near_nm; });
            count += found;
        }
        return count;
    }

  private:
    Cells cells_;
    std::vector<int> head_, next_;
    std::vector<Vec3> points_;
};

void blur_line(double* line, std::size_t stride, int n, const std::vector<double>& kernel, std::vector<double>& copy) {
    const int half = int(kernel.size() / 2);
    copy.assign(std::size_t(n), 0);
    for (int i = 0; i < n; ++i)
        for (int k = -half; k <= half; ++k)
            if (i + k >= 0 && i + k < n)
                copy[std::size_t(i)] += kernel[std::size_t(k + half)] * line[std::size_t(i + k) * stride];
    for (int i = 0; i < n; ++i) line[std::size_t(i) * stride] = copy[std::size_t(i)];
}

std::vector<double> blur_kernel(double sigma_bins) {
    const int half = int(std::ceil(3 * sigma_bins));
    std::vector<double> kernel;
    for (int k = -half; k <= half; ++k) kernel.push_back(std::exp(-0.5 * k * k / (sigma_bins * sigma_bins)));
    return kernel;
}

/// The highest place of the blurred histogram of differences, and whether it stands out.
bool find_shift(const Placed& placed, const std::vector<Vec3>& points, double reach, Vec3& shift) {
    const int n = 2 * int(std::ceil(reach / bin_nm));
    const auto bins = std::size_t(n);
    std::vector<double> histogram(bins * bins, 0);
    std::vector<std::size_t> hits;
    for (const Vec3& p : points) {
        hits.clear();
        placed.around(p, reach, [&](double dx, double dy, double) {
            const int cx = int((dx + reach) / bin_nm), cy = int((dy + reach) / bin_nm);
            if (cx >= 0 && cx < n && cy >= 0 && cy < n) hits.push_back(std::size_t(cy) * bins + std::size_t(cx));
        });
        // A blink counts once, however many are near it: repeats are no independent witnesses.
        for (const std::size_t at : hits) histogram[at] += 1 / std::sqrt(double(hits.size()));
    }
    const std::vector<double> kernel = blur_kernel(blur_nm / bin_nm);
    std::vector<double> copy;
    for (std::size_t r = 0; r < bins; ++r) blur_line(&histogram[r * bins], 1, n, kernel, copy);
    for (std::size_t c = 0; c < bins; ++c) blur_line(&histogram[c], bins, n, kernel, copy);
    // The blurred histogram falls off at the window's rim: a maximum there is none.
    const int rim = std::min(n / 4, 3);
    std::size_t best = 0;
    double highest = 0;
    for (int r = rim; r < n - rim; ++r)
        for (int c = rim; c < n - rim; ++c)
            if (const std::size_t at = std::size_t(r) * bins + std::size_t(c); histogram[at] > highest)
                highest = histogram[at], best = at;
    if (!(highest > 0)) return false;
    shift[0] = (double(best % bins) + 0.5) * bin_nm - reach;
    shift[1] = (double(best / bins) + 0.5) * bin_nm - reach;
    const int here = placed.matches(points, shift);
    double elsewhere = 0;
    constexpr int controls = 12;
    for (int k = 0; k < controls; ++k) {
        const double angle = 2 * 3.14159265358979 * k / controls, far = 2.5 * near_nm + (k % 3) * 60;
        elsewhere += placed.matches(points, {shift[0] + far * std::cos(angle), shift[1] + far * std::sin(angle), 0});
    }
    elsewhere /= controls;
    const double excess = (here - elsewhere) / std::sqrt(std::max(elsewhere, 0.5));
    const double cells = std::max(1.0, reach * reach / (near_nm * near_nm));
    return here >= 8 && excess > 3 + std::sqrt(2 * std::log(cells));
}

/// Median of the differences in z of the pairs that agree in x and y, around their densest place.
double find_z(const Placed& placed, const std::vector<Vec3>& points, const Vec3& shift) {
    constexpr double reach = 1000;
    const int n = int(2 * reach / bin_nm);
    std::vector<double> histogram(std::size_t(n), 0), copy;
    for (const Vec3& p : points)
        placed.around({p[0] - shift[0], p[1] - shift[1], p[2]}, near_nm, [&](double, double, double dz) {
            const int c = int((dz + reach) / bin_nm);
            if (c >= 0 && c < n) ++histogram[std::size_t(c)];
        });
    blur_line(histogram.data(), 1, n, blur_kernel(4), copy);
    const auto at = std::max_element(histogram.begin(), histogram.end()) - histogram.begin();
    return (double(at) + 0.5) * bin_nm - reach;
}

/// Straight lines between the segments; constant before the first and after the last.
void interpolate(const std::vector<double>& at, const std::vector<Vec3>& values, FrameDrift& drift, int frames) {
    std::size_t k = 0;
    for (int f = 0; f < frames; ++f) {
        while (k + 1 < at.size() && at[k + 1] < f) ++k;
        const std::size_t next = std::min(k + 1, at.size() - 1);
        const double part = next == k ? 0 : std::clamp((f - at[k]) / (at[next] - at[k]), 0.0, 1.0);
        for (std::size_t a = 0; a < 3; ++a)
            drift[a][std::size_t(f)] = values[k][a] * (1 - part) + values[next][a] * part;
    }
}

Coarse coarse_drift_of(const Table& table, const Blinks& blinks, std::size_t in_segment,
                       const std::function<void()>& stopped) {
    Coarse to;
    for (auto& axis : to.drift) axis.assign(std::size_t(table.frames), 0);
    const Points raw = points_of(table, blinks, to.drift);
    const std::size_t step = blinks.size() / most_blinks + 1, used = blinks.size() / step;
    const int segments = int(std::clamp<std::size_t>(used / in_segment, 1, 400));
    to.segment_frames = std::max(1, table.frames / segments);
    std::vector<std::uint32_t> order;
    for (std::size_t b = 0; b < blinks.size(); b += step) order.push_back(std::uint32_t(b));
    std::stable_sort(order.begin(), order.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return blinks.frame[a] < blinks.frame[b]; });
    Placed placed(raw);
    Vec3 now{};
    std::vector<double> at;
    std::vector<Vec3> values;
    std::vector<Vec3> points;
    double frame_sum = 0;
    std::size_t i = 0, unplaced = 0;
    for (int end = to.segment_frames; i < order.size(); end += to.segment_frames) {
        stopped();
        const bool last = end + to.segment_frames > table.frames;
        for (; i < order.size() && (last || blinks.frame[order[i]] < float(end)); ++i) {
            const std::uint32_t b = order[i];
            points.push_back({raw.nm[0][b] - now[0], raw.nm[1][b] - now[1], raw.nm[2][b] - now[2]});
            frame_sum += blinks.frame[b];
        }
        if (points.empty()) continue;
        Vec3 shift{};
        bool found = at.empty();
        // What did not stand out with fewer blinks is tried again with half as many more.
        if (!found && 2 * points.size() >= 3 * unplaced)
            for (const double reach : {160.0, 640.0, 2560.0}) {
                found = find_shift(placed, points, reach, shift);
                if (found) {
                    to.searched_nm = std::max(to.searched_nm, reach);
                    break;
                }
            }
        if (!found) {
            if (2 * points.size() >= 3 * unplaced) unplaced = points.size();
            if (points.size() > used / 4) break;
            continue;  // together with the next segment
        }
        unplaced = 0;
        if (table.axes == 3 && !at.empty()) shift[2] = find_z(placed, points, shift);
        for (std::size_t a = 0; a < 3; ++a) now[a] += shift[a];
        for (const Vec3& p : points) placed.add({p[0] - shift[0], p[1] - shift[1], p[2] - shift[2]});
        at.push_back(frame_sum / double(points.size()));
        values.push_back(now);
        points.clear();
        frame_sum = 0;
    }
    if (at.size() < 4 || unplaced > used / 4)
        to.why = fmt::format(
            "no shift between segments of the movie stands out from chance ({} blinks in {} frames): molecules blink "
            "too seldom, or are not seen again",
            blinks.size(), table.frames);
    else
        interpolate(at, values, to.drift, table.frames);
    return to;
}

}  // namespace

Coarse coarse_drift(const Table& table, const Blinks& blinks, const std::function<void()>& stopped) {
    Coarse to;
    for (const std::size_t in_segment : {100u, 250u, 600u}) {
        to = coarse_drift_of(table, blinks, in_segment, stopped);
        if (to.why.empty()) break;
    }
    return to;
}

}  // namespace glint::drift
