// Finds neighbours by sweeps along x through pairs of frames. Pairs are independent and searched in parallel.
// SPDX-License-Identifier: MIT
#include "analysis/frame_neighbors.hpp"

#include <fmt/format.h>
#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_sort.h>

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>
#include <vector>

#include "base/arena.hpp"
#include "base/median.hpp"
#include "glint/error.hpp"

namespace glint {
namespace {

using TablePlace = FrameNeighbors::FramePosition;

constexpr std::size_t frames_per_task = 64;

/// Returns the place in [begin, end) that is nearest to `to`, or `end` if none is within the radius. All places lie at
/// or right of the radius' left end.
const TablePlace* nearest_of(const TablePlace& to, const TablePlace* begin, const TablePlace* end, float radius_px,
                             float& distance_px) {
    const TablePlace* best = end;
    float best_squared = radius_px * radius_px;
    for (const TablePlace* p = begin; p != end && p->x_px <= to.x_px + radius_px; ++p) {
        const float x = p->x_px - to.x_px, y = p->y_px - to.y_px, squared = x * x + y * y;
        if (squared <= best_squared && (best == end || squared < best_squared)) best = p, best_squared = squared;
    }
    distance_px = std::sqrt(best_squared);
    return best;
}

std::pair<double, double> ends_of_most(std::vector<float> values) {
    constexpr double share = 0.99, times = 20, min_px = 10000;
    const double middle = median(values);
    for (float& value : values) value = float(std::abs(double(value) - middle));
    const auto at = values.begin() + std::ptrdiff_t(share * double(values.size() - 1));
    std::nth_element(values.begin(), at, values.end());
    const double reach = std::max(times * double(*at), min_px);
    return {middle - reach, middle + reach};
}

}  // namespace

FrameNeighbors::FrameNeighbors(const Localizations& table) {
    if (table.size() >= std::numeric_limits<std::uint32_t>::max())
        throw OptionError(
            fmt::format("a table of {} localizations: at most {} can be compared: use a part of its frames",
                        table.size(), std::numeric_limits<std::uint32_t>::max() - 1));
    places_.reserve(table.size());
    for (std::size_t k = 0; k < table.size(); ++k)
        if (std::isfinite(table.x_px[k]) && std::isfinite(table.y_px[k]))
            places_.push_back({table.frame[k], table.x_px[k], table.y_px[k], std::uint32_t(k)});
    in_own_arena([&] {
        tbb::parallel_sort(places_.begin(), places_.end(), [](const TablePlace& a, const TablePlace& b) {
            return std::tie(a.frame, a.x_px, a.row) < std::tie(b.frame, b.x_px, b.row);
        });
    });
    for (std::size_t k = 0; k < places_.size(); ++k)
        if (k == 0 || places_[k].frame != places_[k - 1].frame) begin_.push_back(std::uint32_t(k));
    begin_.push_back(std::uint32_t(places_.size()));
}

std::vector<FramePair> FrameNeighbors::nearest(std::uint32_t lag, double radius_px) const {
    const std::size_t frames = begin_.size() - 1, tasks = (frames + frames_per_task - 1) / frames_per_task;
    std::vector<std::vector<FramePair>> found(tasks);
    const TablePlace* all = places_.data();
    const auto radius = float(radius_px);
    const auto search = [&](std::size_t from, std::size_t to, std::vector<FramePair>& pairs) {
        const TablePlace* later = all + begin_[to];
        const std::uint64_t wanted = std::uint64_t(all[begin_[from]].frame) + lag;
        if (to >= frames || later->frame != wanted) return;
        const TablePlace* later_end = all + begin_[to + 1];
        for (std::uint32_t k = begin_[from]; k < begin_[from + 1]; ++k) {
            while (later != later_end && later->x_px < all[k].x_px - radius) ++later;
            float distance = 0;
            const TablePlace* best = nearest_of(all[k], later, later_end, radius, distance);
            if (best != later_end) pairs.push_back({k, std::uint32_t(best - all), distance});
        }
    };
    in_own_arena([&] {
        tbb::parallel_for(std::size_t{0}, tasks, [&](std::size_t task) {
            std::size_t to = task * frames_per_task;
            for (std::size_t from = to; from < std::min(frames, (task + 1) * frames_per_task); ++from) {
                const std::uint64_t wanted = std::uint64_t(all[begin_[from]].frame) + lag;
                while (to < frames && all[begin_[to]].frame < wanted) ++to;
                if (to < frames) search(from, to, found[task]);
            }
        });
    });
    std::vector<FramePair> pairs;
    std::size_t count = 0;
    for (const auto& some : found) count += some.size();
    pairs.reserve(count);
    for (const auto& some : found) pairs.insert(pairs.end(), some.begin(), some.end());
    return pairs;
}

Field::Field(const FrameNeighbors& neighbors) {
    if (neighbors.places().empty()) return;
    std::vector<float> x, y;
    for (const FrameNeighbors::FramePosition& p : neighbors.places()) x.push_back(p.x_px), y.push_back(p.y_px);
    std::tie(left_px, right_px) = ends_of_most(std::move(x));
    std::tie(top_px, bottom_px) = ends_of_most(std::move(y));
}

}  // namespace glint
