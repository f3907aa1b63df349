// Visits the rows from the best score down; each row that is kept removes its neighbours with lower scores.
// SPDX-License-Identifier: MIT
#include "pipeline/duplicates.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>

#include "pipeline/spot_grid.hpp"

namespace glint {
namespace {

constexpr std::size_t dropped = SIZE_MAX;

/// Returns 0 ... count - 1 sorted by `less`; equal elements stay in order.
template <class Less>
std::vector<std::size_t> ordered(std::size_t count, Less less) {
    std::vector<std::size_t> order(count);
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), less);
    return order;
}

/// Sets the duplicates among one frame's rows to `dropped`.
void mark(const Localizations& rows, float radius_px, std::span<std::size_t> keep) {
    std::vector<std::size_t> by_x(keep.begin(), keep.end());  // rows of equal score stay in this order
    std::stable_sort(by_x.begin(), by_x.end(),
                     [&](std::size_t a, std::size_t b) { return rows.x_px[a] < rows.x_px[b]; });
    const auto best_first = ordered(by_x.size(), [&](std::size_t i, std::size_t k) {
        return rows.detection_score[by_x[i]] > rows.detection_score[by_x[k]];
    });
    std::vector<GridPoint> points;
    for (std::size_t row : by_x) points.push_back({rows.x_px[row], rows.y_px[row]});
    const double box = 1.001 * radius_px;  // slightly larger than the radius, for rounding
    const SpotGrid grid(points, 2 * box);
    std::vector<char> gone(by_x.size(), 0);
    for (std::size_t i : best_first) {
        if (gone[i]) continue;
        const auto [x, y] = points[i];
        grid.visit({x - box, y - box}, {x + box, y + box}, [&](std::size_t k) {
            const float dx = rows.x_px[by_x[k]] - rows.x_px[by_x[i]], dy = rows.y_px[by_x[k]] - rows.y_px[by_x[i]];
            if (k != i && dx * dx + dy * dy < radius_px * radius_px) gone[k] = 1;
        });
    }
    std::size_t next = 0;
    for (std::size_t k = 0; k < by_x.size(); ++k)
        if (!gone[k]) keep[next++] = by_x[k];
    std::fill(keep.begin() + std::ptrdiff_t(next), keep.end(), dropped);
    std::sort(keep.begin(), keep.begin() + std::ptrdiff_t(next));
}

}  // namespace

std::size_t drop_duplicates(const Localizations& rows, double radius_px, std::vector<std::size_t>& keep) {
    for (std::size_t begin = 0, end = 0; begin < keep.size(); begin = end) {
        while (end < keep.size() && rows.frame[keep[end]] == rows.frame[keep[begin]]) ++end;
        if (end - begin > 1) mark(rows, float(radius_px), std::span(keep).subspan(begin, end - begin));
    }
    const std::size_t before = keep.size();
    std::erase(keep, dropped);
    return before - keep.size();
}

}  // namespace glint
