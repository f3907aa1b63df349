// Finds dim rows that reappear at the same positions in much of the movie, as static light causes them.
// SPDX-License-Identifier: MIT
#include "run/row_checks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

namespace glint {
namespace {

constexpr int cell_px = 4;
/// A blinking molecule is at one position in at most a few per cent of the frames. Many molecules at one position are
/// bright as often as dim.
constexpr double min_share_of_frames = 0.25;
constexpr std::int64_t min_frames = 20, min_repeated = 20;
/// Fewer rows change the precision by less than that.
constexpr double min_share_of_rows = 0.01;

std::size_t octave_of(float photons, std::size_t octaves) {
    return photons > 1 ? std::min(std::size_t(std::ilogb(photons)), octaves - 1) : 0;
}

}  // namespace

RepeatedRows::RepeatedRows(int width, int height)
    : cells_along_(std::size_t((width + cell_px - 1) / cell_px)),
      cells_down_(std::size_t((height + cell_px - 1) / cell_px)) {}

void RepeatedRows::add(const Localizations& rows) {
    if (rows.photons.empty() || cells_along_ * cells_down_ == 0) return;
    // Pixel centres are whole numbers.
    const auto cell_of = [](float position, std::size_t cells) {
        const double cell = (double(position) + 0.5) / cell_px;
        return cell > 0 ? std::min(std::size_t(cell), cells - 1) : 0;
    };
    for (std::size_t k = 0; k < rows.size(); ++k) {
        const std::size_t octave = octave_of(rows.photons[k], octaves);
        Cells& cells = cells_[octave];
        if (cells.empty()) cells.resize(cells_along_ * cells_down_);
        ++cells[cell_of(rows.y_px[k], cells_down_) * cells_along_ + cell_of(rows.x_px[k], cells_along_)];
        ++rows_[octave];
    }
}

std::string RepeatedRows::warning(std::int64_t frames) const {
    const std::int64_t all = std::accumulate(rows_.begin(), rows_.end(), std::int64_t(0));
    if (frames < min_frames || all == 0) return "";
    int of_median = 0;
    for (std::int64_t below = rows_[0]; 2 * below < all; below += rows_[std::size_t(of_median)]) ++of_median;
    // Rows are dim below half of the median, which is rounded down to a power of two.
    Cells dim(cells_along_ * cells_down_), bright(dim.size());
    for (int octave = 0; octave < octaves; ++octave) {
        if (octave + 1 == of_median) continue;
        const Cells& cells = cells_[std::size_t(octave)];
        Cells& to = octave < of_median ? dim : bright;
        for (std::size_t k = 0; k < cells.size(); ++k) to[k] += cells[k];
    }
    std::int64_t repeated = 0, places = 0;
    for (std::size_t k = 0; k < dim.size(); ++k)
        if (dim[k] >= min_share_of_frames * double(frames) && dim[k] > bright[k]) repeated += dim[k], ++places;
    if (repeated < min_repeated || double(repeated) < min_share_of_rows * double(all)) return "";
    return fmt::format(
        "{} localizations ({:.1f} %) lie in {} places of {} x {} px where dim ones, with fewer than {} photons, come "
        "back in a quarter of the frames and more. If remaining static light (an edge, dust, a bead out of focus) is "
        "the cause, they are false. If blinking molecules are not that dim, `filter_where=photons >= {}` leaves them "
        "out; a longer movie lets glint measure static light better",
        repeated, 100 * double(repeated) / double(all), places, cell_px, cell_px, 1 << (of_median - 1),
        1 << (of_median - 1));
}

}  // namespace glint
