// A first, rough drift: each segment of frames is placed on all segments placed before it.
// SPDX-License-Identifier: MIT
#include "analysis/drift/coarse.hpp"

#include <fmt/format.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <optional>

#include "analysis/drift/cells.hpp"
#include "base/median.hpp"

namespace glint::drift {
namespace {

constexpr double bin_nm = 10, blur_nm = 20, near_nm = 40;
constexpr std::size_t max_blinks = 60000, max_second_pass_blinks = 25000;

/// Blinks of a segment of the movie.
struct Segment {
    int number = 0;
    std::vector<Vec3> points;
};

/// The blinks that have been placed so far, in cells.
class Placed {
  public:
    Placed(const Points& all) : cells_(all.nm[0], all.nm[1], 2 * near_nm), head_(cells_.count(), -1) {}
    void add(const Vec3& at, int segment) {
        const std::size_t cell = cells_.of(float(at[0]), float(at[1]));
        points_.push_back({at, segment, head_[cell]});
        head_[cell] = int(points_.size()) - 1;
    }
    /// Calls `use(dx, dy, dz)` for each placed blink of another segment within `reach` along x and y.
    template <class Use>
    void around(const Vec3& at, int segment, double reach, Use use) const {
        cells_.around(at[0], at[1], reach, [&](std::size_t cell) {
            for (int j = head_[cell]; j >= 0; j = points_[std::size_t(j)].next) {
                const Point& p = points_[std::size_t(j)];
                const double dx = at[0] - p.at[0], dy = at[1] - p.at[1];
                if (std::abs(dx) < reach && std::abs(dy) < reach && p.segment != segment) use(dx, dy, at[2] - p.at[2]);
            }
        });
    }
    /// Returns how many points of the segment have a placed blink near them, once they are shifted back by `by`.
    int matches(const Segment& segment, const Vec3& by) const {
        return int(std::count_if(segment.points.begin(), segment.points.end(),
                                 [&](const Vec3& p) { return has_near(p[0] - by[0], p[1] - by[1], segment.number); }));
    }
    bool has_near(double x, double y, int segment) const {
        bool found = false;
        cells_.around(x, y, near_nm, [&](std::size_t cell) {
            for (int j = head_[cell]; j >= 0 && !found; j = points_[std::size_t(j)].next) {
                const Point& p = points_[std::size_t(j)];
                const double dx = x - p.at[0], dy = y - p.at[1];
                found = dx * dx + dy * dy < near_nm * near_nm && p.segment != segment;
            }
        });
        return found;
    }

  private:
    struct Point {
        Vec3 at;
        int segment, next;
    };
    Cells cells_;
    std::vector<int> head_;
    std::vector<Point> points_;
};

/// Blurs `of` along its rows of n and writes the result to `to`, transposed. A second call therefore blurs along the
/// columns.
void blur_rows(const std::vector<double>& of, int n, const std::vector<double>& kernel, std::vector<double>& to) {
    const auto width = std::size_t(n), half = kernel.size() / 2;
    std::vector<double> row(width + 2 * half, 0), sum(width);
    to.resize(of.size());
    for (std::size_t r = 0; r < of.size() / width; ++r) {
        std::copy_n(of.begin() + std::ptrdiff_t(r * width), width, row.begin() + std::ptrdiff_t(half));
        std::fill(sum.begin(), sum.end(), 0.0);
        for (std::size_t k = 0; k < kernel.size(); ++k)
            for (std::size_t c = 0; c < width; ++c) sum[c] += kernel[k] * row[c + k];
        for (std::size_t c = 0; c < width; ++c) to[c * (of.size() / width) + r] = sum[c];
    }
}

std::vector<double> blur_kernel(double sigma_bins) {
    const int half = int(std::ceil(3 * sigma_bins));
    std::vector<double> kernel;
    for (int k = -half; k <= half; ++k) kernel.push_back(std::exp(-0.5 * k * k / (sigma_bins * sigma_bins)));
    return kernel;
}

/// The shift of a segment, and the second most likely shift.
struct Match {
    Vec3 shift{}, other{};
    double wrong = 0;  ///< probability that the segment lies at `other`
};

/// Returns the highest peak of a blurred histogram. If several are about equally high, as in a structure that repeats
/// itself, returns the one with the smallest shift, because a drift is smooth.
std::optional<Match> nearest_of_equals(const std::vector<double>& histogram, int n) {
    constexpr double equal = 0.8, apart_bins = 6, max_squared = 25;
    const auto bins = std::size_t(n);
    // Ignores maxima at the rim of the window, where the blurred histogram falls off.
    const int rim = std::min(n / 4, 3);
    struct HistogramPeak {
        double height, x, y;  // x, y in bins from no shift
    };
    std::vector<HistogramPeak> maxima;
    std::vector<float> heights;
    for (int r = rim; r < n - rim; ++r)
        for (int c = rim; c < n - rim; ++c) {
            const std::size_t at = std::size_t(r) * bins + std::size_t(c);
            const double here = histogram[at];
            heights.push_back(float(here));
            if (here > 0 && here >= histogram[at - 1] && here >= histogram[at + 1] && here >= histogram[at - bins] &&
                here >= histogram[at + bins])
                maxima.push_back({here, c + 0.5 - n / 2, r + 0.5 - n / 2});
        }
    if (maxima.empty()) return std::nullopt;
    const double middle = median(std::vector<float>(heights));
    for (float& height : heights) height = std::abs(height - float(middle));
    const double noise = 1.4826 * median(std::move(heights));
    std::ranges::sort(maxima, std::greater{}, &HistogramPeak::height);
    const double highest = maxima[0].height - middle;
    HistogramPeak best = maxima[0];
    for (const HistogramPeak& place : maxima)
        if (place.height - middle > equal * highest &&
            std::hypot(place.x, place.y) + apart_bins < std::hypot(best.x, best.y))
            best = place;
    Match to{{best.x * bin_nm, best.y * bin_nm, 0}, {}, 0};
    for (const HistogramPeak& place : maxima)
        if (std::hypot(place.x - best.x, place.y - best.y) > apart_bins) {  // the highest of the other peaks
            const double squared = noise > 0 ? std::min(max_squared, highest * highest / (noise * noise)) : max_squared;
            to.wrong = 1 / (1 + std::exp(squared * (best.height - place.height) / highest));
            to.other = {place.x * bin_nm, place.y * bin_nm, 0};
            break;
        }
    return to;
}

/// Finds the highest peak of the blurred histogram of differences. Returns false if there is none. `doubt` gets the
/// second peak and the probability of an error.
bool highest_shift(const Placed& placed, const Segment& segment, double reach, Vec3& shift, Match* doubt = nullptr) {
    const int n = 2 * int(std::ceil(reach / bin_nm));
    const auto bins = std::size_t(n);
    std::vector<double> histogram(bins * bins, 0);
    std::vector<std::size_t> hits;
    for (const Vec3& p : segment.points) {
        hits.clear();
        placed.around(p, segment.number, reach, [&](double dx, double dy, double) {
            const int cx = int((dx + reach) / bin_nm), cy = int((dy + reach) / bin_nm);
            if (cx >= 0 && cx < n && cy >= 0 && cy < n) hits.push_back(std::size_t(cy) * bins + std::size_t(cx));
        });
        // A blink with m neighbours counts 1 / sqrt(m) for each, because repeats are not independent.
        const double each = 1 / std::sqrt(double(hits.size()));
        for (const std::size_t at : hits) histogram[at] += each;
    }
    const std::vector<double> kernel = blur_kernel(blur_nm / bin_nm);
    std::vector<double> transposed;
    blur_rows(histogram, n, kernel, transposed);
    blur_rows(transposed, n, kernel, histogram);
    const std::optional<Match> match = nearest_of_equals(histogram, n);
    if (!match) return false;
    shift[0] = match->shift[0], shift[1] = match->shift[1];
    if (doubt) *doubt = *match;
    return true;
}

/// Returns whether more blinks have a neighbour after that shift than after others, beyond chance.
bool stands_out(const Placed& placed, const Segment& segment, double reach, const Vec3& shift) {
    const int here = placed.matches(segment, shift);
    double elsewhere = 0;
    constexpr int controls = 12;
    for (int k = 0; k < controls; ++k) {
        const double angle = 2 * 3.14159265358979 * k / controls, far = 2.5 * near_nm + (k % 3) * 60;
        elsewhere += placed.matches(segment, {shift[0] + far * std::cos(angle), shift[1] + far * std::sin(angle), 0});
    }
    elsewhere /= controls;
    const double excess = (here - elsewhere) / std::sqrt(std::max(elsewhere, 0.5));
    const double cells = std::max(1.0, reach * reach / (near_nm * near_nm));
    return here >= 8 && excess > 3 + std::sqrt(2 * std::log(cells));
}

/// Returns the most frequent difference in z of the pairs that agree in x and y.
double find_z(const Placed& placed, const Segment& segment, const Vec3& shift) {
    constexpr double reach = 1000;
    const int n = int(2 * reach / bin_nm);
    std::vector<double> histogram(std::size_t(n), 0), blurred;
    for (const Vec3& p : segment.points)
        placed.around({p[0] - shift[0], p[1] - shift[1], p[2]}, segment.number, near_nm,
                      [&](double, double, double dz) {
                          const int c = int((dz + reach) / bin_nm);
                          if (c >= 0 && c < n) ++histogram[std::size_t(c)];
                      });
    blur_rows(histogram, n, blur_kernel(4), blurred);
    const auto at = std::max_element(blurred.begin(), blurred.end()) - blurred.begin();
    return (double(at) + 0.5) * bin_nm - reach;
}

/// The reach of a search, and the number of segments whose blinks it needs. The wider the search, the more often chance
/// resembles a shift.
struct Search {
    double reach_nm;
    std::size_t segments;
};

/// Blinks with their positions, frames and segments. `order` sorts them by frame.
struct Placeable {
    const Points& raw;
    const std::vector<std::uint32_t>& order;
    const std::vector<float>& frame;
    std::vector<int> segment;  ///< of each element of `order`
};

/// Decides whether the sample moved evenly or jumped between two segments that are far apart. The answer is the motion
/// that brings more blinks near others. A jump becomes two places one frame apart.
void find_steps(const Placed& all, const Placeable& blinks, std::vector<double>& at, std::vector<Vec3>& values) {
    std::vector<double> to_at;
    std::vector<Vec3> to_values;
    for (std::size_t k = 0; k < at.size(); ++k) {
        to_at.push_back(at[k]), to_values.push_back(values[k]);
        if (k + 1 == at.size() ||
            std::hypot(values[k + 1][0] - values[k][0], values[k + 1][1] - values[k][1]) < near_nm)
            continue;
        const auto first =
            std::ranges::lower_bound(blinks.order, at[k], {}, [&](std::uint32_t b) { return blinks.frame[b]; });
        std::vector<std::array<int, 2>> near;  // whether near others with the shift before, and after
        std::vector<double> when;
        int evenly = 0, after = 0;
        for (auto i = first; i != blinks.order.end() && blinks.frame[*i] < at[k + 1]; ++i) {
            const double x = blinks.raw.nm[0][*i], y = blinks.raw.nm[1][*i];
            const int segment = blinks.segment[std::size_t(i - blinks.order.begin())];
            const auto by = [&](const Vec3& v) { return int(all.has_near(x - v[0], y - v[1], segment)); };
            const double part = (blinks.frame[*i] - at[k]) / (at[k + 1] - at[k]);
            evenly += by({values[k][0] + part * (values[k + 1][0] - values[k][0]),
                          values[k][1] + part * (values[k + 1][1] - values[k][1]), 0});
            near.push_back({by(values[k]), by(values[k + 1])});
            when.push_back(blinks.frame[*i]);
            after += near.back()[1];
        }
        int best = evenly, before = 0;
        double jump = -1;
        for (std::size_t i = 0; i <= near.size(); ++i) {  // between blinks i - 1 and i
            if (before + after > best) {
                best = before + after;
                jump = 0.5 * ((i ? when[i - 1] : at[k]) + (i < near.size() ? when[i] : at[k + 1]));
            }
            if (i < near.size()) before += near[i][0], after -= near[i][1];
        }
        if (jump < 0) continue;
        const double first_after = std::ceil(jump);
        to_at.push_back(std::max(at[k], first_after - 1)), to_values.push_back(values[k]);
        to_at.push_back(std::min(at[k + 1], first_after)), to_values.push_back(values[k + 1]);
    }
    at = std::move(to_at), values = std::move(to_values);
}

/// Returns the drift from the steps within blinks alone, if the sample moves more than 40 nm in `segment_frames`,
/// beyond five standard errors. Otherwise returns zeros.
FrameDrift drift_of_steps(const Table& t, const Blinks& blinks, int segment_frames) {
    constexpr double min_steps = 1000, sure = 5;
    const auto frames = std::size_t(t.frames);
    FrameDrift to;
    for (auto& axis : to) axis.assign(frames, 0);
    const std::size_t windows =
        std::clamp<std::size_t>(std::size_t(double(t.size() - blinks.size()) / min_steps), 1, frames);
    std::array<std::vector<double>, 3> step;
    std::vector<double> weight(windows, 0);
    for (auto& axis : step) axis.assign(windows, 0);
    for (std::size_t b = 0; b < blinks.size(); ++b)
        for (std::uint32_t k = blinks.begin[b] + 1; k < blinks.begin[b + 1]; ++k) {
            const std::uint32_t i = blinks.members[k], before = blinks.members[k - 1];
            if (t.frame[i] != t.frame[before] + 1) continue;
            const double variance = double(t.precision_nm[0][i]) * t.precision_nm[0][i] +
                                    double(t.precision_nm[0][before]) * t.precision_nm[0][before];
            const std::size_t window = std::size_t(t.frame[i]) * windows / frames;
            weight[window] += 1 / variance;
            for (std::size_t a = 0; a < 3; ++a) step[a][window] += (t.nm[a][i] - t.nm[a][before]) / variance;
        }
    double squares = 0, over_errors = 0;
    for (std::size_t w = 0; w < windows; ++w) {
        if (!(weight[w] > 0)) return to;
        for (std::size_t a = 0; a < 3; ++a) step[a][w] /= weight[w];
        const double square = step[0][w] * step[0][w] + step[1][w] * step[1][w];
        squares += square / double(windows), over_errors += square * weight[w] / double(windows);
    }
    if (std::sqrt(squares) * segment_frames < near_nm || over_errors < 2 * sure * sure) return to;
    for (std::size_t a = 0; a < 3; ++a)
        for (std::size_t f = 1; f < frames; ++f) to[a][f] = to[a][f - 1] + step[a][f * windows / frames];
    return to;
}

Coarse coarse_drift_of(const Table& table, const Blinks& blinks, std::size_t in_segment, bool last_try,
                       const std::function<void()>& stopped) {
    Coarse to;
    for (auto& axis : to.drift) axis.assign(std::size_t(table.frames), 0);
    const std::size_t step = blinks.size() / max_blinks + 1, used = blinks.size() / step;
    const int segments = int(std::clamp<std::size_t>(used / in_segment, 1, 400));
    to.segment_frames = std::max(1, table.frames / segments);
    const FrameDrift by_steps = drift_of_steps(table, blinks, to.segment_frames);
    const Points raw = points_of(table, blinks, by_steps);
    std::vector<std::uint32_t> order;
    for (std::size_t b = 0; b < blinks.size(); b += step) order.push_back(std::uint32_t(b));
    std::stable_sort(order.begin(), order.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return blinks.frame[a] < blinks.frame[b]; });
    Placed placed(raw);
    Vec3 now{};
    std::vector<double> at;
    std::vector<Vec3> values;
    std::vector<Segment> segments_placed;
    Segment segment;
    double frame_sum = 0;
    std::size_t i = 0, unplaced = 0;
    std::vector<int> segment_of;
    constexpr std::size_t wait_segments = 8;
    constexpr double min_of_typical = 0.7;
    double typical_match = 0;  // share of a segment's blinks that have a neighbour
    for (int end = to.segment_frames; i < order.size(); end += to.segment_frames) {
        stopped();
        std::vector<Vec3>& points = segment.points;
        const bool last = end + to.segment_frames > table.frames;
        for (; i < order.size() && (last || blinks.frame[order[i]] < float(end)); ++i) {
            const std::uint32_t b = order[i];
            points.push_back({raw.nm[0][b] - now[0], raw.nm[1][b] - now[1], raw.nm[2][b] - now[2]});
            frame_sum += blinks.frame[b];
        }
        if (points.empty()) continue;
        Vec3 shift{};
        bool found = at.empty();
        // A segment that did not stand out is tried again with half as many blinks more.
        if (!found && 2 * points.size() >= 3 * unplaced)
            for (const auto [reach, segments_long] : {Search{160, 0}, Search{640, 4}, Search{2560, 8}}) {
                if (points.size() < segments_long * in_segment) break;
                found = highest_shift(placed, segment, reach, shift) && stands_out(placed, segment, reach, shift);
                // If far fewer match than before, part of the segment may be from after a jump. Once placed, these
                // blinks would attract later ones.
                const double matched = double(placed.matches(segment, shift)) / double(points.size());
                if (found && points.size() < wait_segments * in_segment && matched < min_of_typical * typical_match)
                    found = false;
                if (found) {
                    typical_match += (matched - typical_match) / std::min(10.0, double(at.size()));
                    to.searched_nm = std::max(to.searched_nm, reach);
                    break;
                }
            }
        if (!found) {
            if (2 * points.size() >= 3 * unplaced) unplaced = points.size();
            // A first segment of few blinks shows too little of the structure, however many blinks are compared with
            // it.
            const bool first_too_short = at.size() == 1 && points.size() > 6 * in_segment && !last_try;
            if (points.size() > used / 4 || first_too_short) break;
            continue;  // combine it with the next segment
        }
        unplaced = 0;
        segment_of.resize(i, segment.number);
        if (table.axes == 3 && !at.empty()) shift[2] = find_z(placed, segment, shift);
        for (std::size_t a = 0; a < 3; ++a) now[a] += shift[a];
        for (Vec3& p : points) {
            for (std::size_t a = 0; a < 3; ++a) p[a] -= shift[a];
            placed.add(p, segment.number);
        }
        at.push_back(frame_sum / double(points.size()));
        values.push_back(now);
        segments_placed.push_back(std::move(segment));
        segment = {int(segments_placed.size()), {}};
        frame_sum = 0;
    }
    // The first segments had few blinks to be placed on. Place each segment again, on all others.
    constexpr double reach_again = 320;
    Placed all(raw);
    std::vector<Match> matches(values.size());
    const std::size_t step_again = used / max_second_pass_blinks + 1;
    double max_wrong_match = 0;
    std::size_t count = 0;
    for (const Segment& s : segments_placed)
        for (const Vec3& p : s.points)
            if (count++ % step_again == 0) all.add(p, s.number);
    tbb::parallel_for(std::size_t(0), values.size(), [&](std::size_t k) {
        Vec3 shift{};
        const Segment& again = segments_placed[k];
        if (!highest_shift(all, again, reach_again, shift, &matches[k]) || std::hypot(shift[0], shift[1]) < near_nm ||
            !stands_out(all, again, reach_again, shift))
            return;
        if (table.axes == 3) shift[2] = find_z(all, again, shift);
        for (std::size_t a = 0; a < 3; ++a) values[k][a] += shift[a];
    });
    for (const Match& match : matches) {
        to.wrong_match += match.wrong / double(matches.size());
        if (match.wrong > max_wrong_match)
            max_wrong_match = match.wrong,
            to.wrong_by_nm = std::hypot(match.other[0] - match.shift[0], match.other[1] - match.shift[1]);
    }
    if (at.size() < 4 || unplaced > used / 4)
        to.why = fmt::format(
            "no shift between segments of the movie stands out from chance ({} blinks in {} frames): molecules blink "
            "too seldom, or are not seen again",
            blinks.size(), table.frames);
    else {
        segment_of.resize(order.size(), -1);  // blinks of waiting segments
        find_steps(all, {raw, order, blinks.frame, std::move(segment_of)}, at, values);
        interpolate(at, values, to.drift, table.frames);
        for (std::size_t a = 0; a < 3; ++a)
            for (std::size_t f = 0; f < by_steps[a].size(); ++f) to.drift[a][f] += by_steps[a][f];
    }
    return to;
}

}  // namespace

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

Coarse coarse_drift(const Table& table, const Blinks& blinks, const std::function<void()>& stopped) {
    Coarse to;
    for (const std::size_t in_segment : {100u, 250u, 600u, 1500u}) {
        to = coarse_drift_of(table, blinks, in_segment, in_segment == 1500, stopped);
        if (to.why.empty()) break;
    }
    return to;
}

}  // namespace glint::drift
