// Finds rows in pairs with a constant distance, such as the two lobes of a double helix.
// SPDX-License-Identifier: MIT
#include "run/row_checks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

namespace glint {
namespace {

constexpr std::uint32_t looked_at_each = 8;     // every eighth frame is examined
constexpr std::size_t max_rows_of_frame = 200;  // each is compared with each
constexpr double bins_per_px = 8;
/// For randomly placed molecules, with molecules within 1.5 px in one row, a window of 0.75 px contains at most 0.4 of
/// the distances.
constexpr int window_bins = 6;
constexpr double min_share_in_window = 0.7;
constexpr std::int64_t min_rows_looked_at = 40;

}  // namespace

void ConstantPairs::add(const Localizations& rows) {
    for (std::size_t begin = 0, end = 0; begin < rows.size(); begin = end) {
        while (end < rows.size() && rows.frame[end] == rows.frame[begin]) ++end;
        if (rows.frame[begin] % looked_at_each != 0 || end - begin > max_rows_of_frame) continue;
        for (std::size_t k = begin; k < end; ++k) {
            double nearest = std::numeric_limits<double>::infinity();
            for (std::size_t other = begin; other < end; ++other) {
                const double dx = double(rows.x_px[k]) - double(rows.x_px[other]),
                             dy = double(rows.y_px[k]) - double(rows.y_px[other]);
                if (other != k) nearest = std::min(nearest, dx * dx + dy * dy);
            }
            const double bin = bins_per_px * std::sqrt(nearest);
            ++rows_;
            if (bin < bins) ++at_[std::size_t(bin)];
        }
    }
}

std::string ConstantPairs::warning() const {
    if (rows_ < min_rows_looked_at) return "";
    std::int64_t most = 0;
    double middle_px = 0;
    for (int first = 0; first + window_bins <= bins; ++first) {
        std::int64_t inside = 0;
        for (int k = first; k < first + window_bins; ++k) inside += at_[std::size_t(k)];
        if (inside > most) most = inside, middle_px = (first + window_bins / 2.0) / bins_per_px;
    }
    const double share = double(most) / double(rows_);
    if (share < min_share_in_window) return "";
    return fmt::format(
        "{:.0f} % of the localizations have their nearest neighbour in the same frame {:.1f} px away, within 0.4 px: "
        "each "
        "molecule has two spots, as with a double-helix lens or a second image, and both are rows. glint has no model "
        "of "
        "such spots: neither the number of molecules nor their positions hold",
        100 * share, middle_px);
}

}  // namespace glint
