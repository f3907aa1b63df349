// Links the localizations of one molecule in successive frames to blinks.
// SPDX-License-Identifier: MIT
#include "analysis/drift/blinks.hpp"

#include <fmt/format.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

#include "analysis/require_table.hpp"
#include "base/median.hpp"
#include "glint/error.hpp"

namespace glint::drift {
namespace {

constexpr float default_precision_nm = 10;
constexpr float min_precision_nm = 0.5f;
constexpr std::int64_t max_frames = 1 << 24;  // a drift has values for each frame; float counts up to here

const std::vector<float>* axis_precision(const Localizations& from, int axis) {
    if (axis == 2) return has_axial_precision(from) ? &from.lpz_nm : nullptr;
    const std::vector<float>& precision = axis == 0 ? from.lpx_px : from.lpy_px;
    return precision.size() == from.size() ? &precision : nullptr;
}

/// Returns whether the position is finite and within a metre, so that it has a place in a grid of cells.
bool has_place(const Localizations& from, std::uint32_t row) {
    constexpr double max_nm = 1e9;
    return std::abs(from.x_px[row]) * from.pixel_size_nm < max_nm &&
           std::abs(from.y_px[row]) * from.pixel_size_nm < max_nm &&
           (from.z_nm.empty() || std::abs(from.z_nm[row]) < max_nm);
}

}  // namespace

Table table_of(const Localizations& from) {
    if (!(from.pixel_size_nm > 0))
        throw InputError("drift: the table does not say how large a camera pixel is; give the pixel size");
    Table to;
    std::vector<std::uint32_t> order(from.size());
    std::iota(order.begin(), order.end(), 0u);
    std::erase_if(order, [&](std::uint32_t row) { return !has_place(from, row); });
    const std::size_t n = order.size();
    std::stable_sort(order.begin(), order.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return from.frame[a] < from.frame[b]; });
    to.axes = !from.z_nm.empty() && n > 0 &&
                      std::any_of(from.z_nm.begin(), from.z_nm.end(), [&](float z) { return z != from.z_nm[0]; })
                  ? 3
                  : 2;
    const std::int64_t frames = std::max<std::int64_t>(from.frames, n ? std::int64_t(from.frame[order.back()]) + 1 : 0);
    if (frames > max_frames)
        throw InputError(
            fmt::format("drift: the table has {} frames (its last row is in frame {}); the maximum is {}. If a frame "
                        "number is damaged, `filter_where=frame < N` leaves out such rows",
                        frames, n ? from.frame[order.back()] : 0, max_frames));
    to.movie_frames = int(frames);
    to.first_frame = n ? int(from.frame[order.front()]) : 0;
    to.frame.resize(n);
    for (std::size_t i = 0; i < n; ++i) to.frame[i] = int(from.frame[order[i]]) - to.first_frame;
    to.frames = n ? to.frame.back() + 1 : to.movie_frames;
    const std::vector<float>* position[] = {&from.x_px, &from.y_px, &from.z_nm};
    for (int a = 0; a < 3; ++a) {
        const double unit = a < 2 ? from.pixel_size_nm : 1;
        to.nm[a].assign(n, 0);
        to.precision_nm[a].assign(n, 1);
        if (a >= to.axes) continue;
        const std::vector<float>* precision = axis_precision(from, a);
        double precision_unit = unit;
        if (a == 2 && !precision) precision = axis_precision(from, 0), precision_unit = 2.5 * from.pixel_size_nm;
        for (std::size_t i = 0; i < n; ++i) {
            to.nm[a][i] = float((*position[a])[order[i]] * unit);
            const double p = precision ? (*precision)[order[i]] * precision_unit : default_precision_nm;
            to.precision_nm[a][i] =
                std::isfinite(p) ? std::clamp(float(p), min_precision_nm, 1000.0f) : default_precision_nm;
        }
    }
    return to;
}

Table rows_of(const Table& t, const std::vector<char>& keep) {
    Table to;
    to.frames = t.frames, to.axes = t.axes;
    to.movie_frames = t.movie_frames, to.first_frame = t.first_frame;
    for (std::size_t row = 0; row < t.size(); ++row) {
        if (!keep[row]) continue;
        to.frame.push_back(t.frame[row]);
        for (std::size_t a = 0; a < 3; ++a) {
            to.nm[a].push_back(t.nm[a][row]);
            to.precision_nm[a].push_back(t.precision_nm[a][row]);
        }
    }
    return to;
}

namespace {

/// Two rows that may be one molecule, at most one dark frame apart. `distance` is squared, in standard errors.
struct Candidate {
    double distance;
    std::uint32_t from, to;
};

/// Adds the candidates of one frame, nearest first. Its rows are begin to end; rows from `open_from` to begin are those
/// of the two frames before.
void add_candidates(const Table& t, std::size_t open_from, std::size_t begin, std::size_t end, float reach_nm,
                    std::vector<std::pair<float, std::uint32_t>>& open, std::vector<Candidate>& to) {
    constexpr double gate = 25;  // five standard errors, squared
    open.clear();
    for (std::size_t j = open_from; j < begin; ++j) open.emplace_back(t.nm[0][j], std::uint32_t(j));
    std::sort(open.begin(), open.end());
    const auto first = std::ptrdiff_t(to.size());
    for (std::size_t i = begin; i < end; ++i) {
        auto at = std::lower_bound(open.begin(), open.end(), std::pair{t.nm[0][i] - reach_nm, std::uint32_t(0)});
        for (; at != open.end() && at->first <= t.nm[0][i] + reach_nm; ++at) {
            if (std::abs(t.nm[1][at->second] - t.nm[1][i]) > reach_nm) continue;
            double d = 0;
            for (int a = 0; a < t.axes; ++a) {
                const double by = t.nm[a][i] - t.nm[a][at->second];
                d += by * by /
                     (double(t.precision_nm[a][i]) * t.precision_nm[a][i] +
                      double(t.precision_nm[a][at->second]) * t.precision_nm[a][at->second]);
            }
            if (d < gate) to.push_back({d, at->second, std::uint32_t(i)});
        }
    }
    std::sort(to.begin() + first, to.end(), [](const Candidate& a, const Candidate& b) {
        return std::tie(a.distance, a.from, a.to) < std::tie(b.distance, b.from, b.to);
    });
}

/// Returns the candidates of all frames, frame by frame, in parts of many frames.
std::vector<std::vector<Candidate>> candidates_of(const Table& t) {
    constexpr std::size_t rows_at_once = 20000;
    const std::size_t n = t.size();
    const float typical = n ? float(median(std::vector<float>(t.precision_nm[0]))) : 1;
    const float reach_nm = 12 * std::max(typical, 1.0f);
    std::vector<std::vector<Candidate>> parts((n + rows_at_once - 1) / rows_at_once);
    const auto first_of_frame = [&](std::size_t row) {  // the first row of the first frame that begins there or later
        while (row > 0 && row < n && t.frame[row] == t.frame[row - 1]) ++row;
        return std::min(row, n);
    };
    tbb::parallel_for(std::size_t(0), parts.size(), [&](std::size_t part) {
        std::vector<std::pair<float, std::uint32_t>> open;
        std::size_t begin = first_of_frame(part * rows_at_once), open_from = begin;
        while (open_from > 0 && begin < n && t.frame[open_from - 1] >= t.frame[begin] - 2) --open_from;
        for (const std::size_t last = first_of_frame((part + 1) * rows_at_once); begin < last;) {
            std::size_t end = begin;
            while (end < n && t.frame[end] == t.frame[begin]) ++end;
            while (open_from < begin && t.frame[open_from] < t.frame[begin] - 2) ++open_from;
            add_candidates(t, open_from, begin, end, reach_nm, open, parts[part]);
            begin = end;
        }
    });
    return parts;
}

}  // namespace

Blinks link(const Table& t, int longest) {
    constexpr std::uint32_t none = ~0u;
    const std::size_t n = t.size();
    std::vector<std::uint32_t> blink(n, none);
    std::vector<std::uint32_t> last;  // last row of each blink
    std::vector<int> first_frame;     // of each blink
    std::size_t row = 0;
    const auto begin_blinks = [&](std::size_t end) {  // of rows before `end` that continue no blink
        for (; row < end; ++row)
            if (blink[row] == none) {
                blink[row] = std::uint32_t(last.size());
                last.push_back(std::uint32_t(row));
                first_frame.push_back(t.frame[row]);
            }
    };
    for (const std::vector<Candidate>& part : candidates_of(t))
        for (const Candidate& c : part) {
            while (row < n && t.frame[row] < t.frame[c.to]) begin_blinks(row + 1);
            const std::uint32_t b = blink[c.from];
            if (blink[c.to] != none || last[b] != c.from || t.frame[c.to] - first_frame[b] >= longest) continue;
            blink[c.to] = b;
            last[b] = c.to;
        }
    begin_blinks(n);
    Blinks to;
    const std::size_t count = last.size();
    to.begin.assign(count + 1, 0);
    for (const std::uint32_t b : blink) ++to.begin[b + 1];
    std::partial_sum(to.begin.begin(), to.begin.end(), to.begin.begin());
    to.members.resize(n);
    to.frame.assign(count, 0);
    std::vector<std::uint32_t> at(to.begin.begin(), to.begin.end() - 1);
    for (std::size_t i = 0; i < n; ++i) {
        to.members[at[blink[i]]++] = std::uint32_t(i);
        to.frame[blink[i]] += float(t.frame[i]);
    }
    for (std::size_t b = 0; b < count; ++b) to.frame[b] /= float(to.begin[b + 1] - to.begin[b]);
    return to;
}

Points points_of(const Table& t, const Blinks& blinks, const FrameDrift& drift) {
    Points to;
    for (int a = 0; a < 3; ++a) {
        to.nm[a].assign(blinks.size(), 0);
        to.variance[a].assign(blinks.size(), 1);
        if (a >= t.axes) continue;
        for (std::size_t b = 0; b < blinks.size(); ++b) {
            double sum = 0, weights = 0;
            for (std::uint32_t k = blinks.begin[b]; k < blinks.begin[b + 1]; ++k) {
                const std::uint32_t i = blinks.members[k];
                const double weight = 1 / (double(t.precision_nm[a][i]) * t.precision_nm[a][i]);
                sum += weight * (t.nm[a][i] - drift[a][std::size_t(t.frame[i])]);
                weights += weight;
            }
            to.nm[a][b] = float(sum / weights);
            to.variance[a][b] = float(1 / weights);
        }
    }
    return to;
}

}  // namespace glint::drift
