// NeNA: estimates the precision from nearest neighbours in consecutive frames (theory.md, section 14.1).
// SPDX-License-Identifier: MIT
#include "analysis/nena.hpp"

#include <algorithm>
#include <cmath>

#include "analysis/frame_neighbors.hpp"
#include "analysis/require_table.hpp"
#include "base/median.hpp"
#include "glint/link.hpp"

namespace glint {
namespace {

/// Share of localizations with a neighbour in the next frame. Blinks of 1.5 frames have a share of a third.
constexpr double linked_share = 0.1;

/// Returns the median of the stated precisions over pairs of one molecule (nearly all pairs within 4 precisions).
double stated_nm(const FrameNeighbors& neighbors, std::span<const FramePair> pairs, const Localizations& table,
                 double precision_nm) {
    if (table.lpx_px.size() != table.size() || table.lpy_px.size() != table.size()) return Measured{}.nm;
    std::vector<float> stated;
    for (const FramePair& pair : pairs) {
        if (pair.distance_px * table.pixel_size_nm > 4 * precision_nm) continue;
        double squares = 0;
        for (std::uint32_t place : {pair.first, pair.second}) {
            const std::uint32_t row = neighbors.places()[place].row;
            squares += double(table.lpx_px[row]) * table.lpx_px[row] + double(table.lpy_px[row]) * table.lpy_px[row];
        }
        if (std::isfinite(squares)) stated.push_back(float(0.5 * std::sqrt(squares) * table.pixel_size_nm));
    }
    return stated.empty() ? Measured{}.nm : median(std::move(stated));
}

}  // namespace

Nena nena_of(const FrameNeighbors& neighbors, std::span<const FramePair> pairs, const Localizations& table, int lag) {
    Nena result = fit_nena(distances_nm(pairs, table.pixel_size_nm));
    result.lag = lag;
    result.stated_nm = stated_nm(neighbors, pairs, table, result.precision.nm);
    return result;
}

bool has_few_pairs(const FrameNeighbors& neighbors, const Nena& nena) {
    return double(nena.pairs) < linked_share * double(neighbors.places().size());
}

std::string linked_caveat(const Localizations& table) {
    if (!is_linked(table)) return "";
    return "blinks were linked to one row each, so neighbours in the next frame are different blinks and NeNA is not "
           "reliable: give the table from before linking";
}

double step_of_positions_nm(const FrameNeighbors& neighbors, double pixel_size_nm) {
    const Field field(neighbors);
    float farthest = 0;
    for (const auto& p : neighbors.places())
        if (field.holds(p)) farthest = std::max({farthest, std::abs(p.x_px), std::abs(p.y_px)});
    return double(std::nextafter(farthest, INFINITY) - farthest) * pixel_size_nm;
}

double precision_for_frc(const FrameNeighbors& neighbors, const Nena& nena, const Localizations& table) {
    if (nena.precision.nm > 0 && !has_few_pairs(neighbors, nena) && !is_linked(table))
        return std::max(nena.precision.nm, step_of_positions_nm(neighbors, table.pixel_size_nm));
    std::vector<float> stated;
    for (float precision_px : table.lpx_px)
        if (std::isfinite(precision_px)) stated.push_back(precision_px);
    return stated.empty() ? nena.precision.nm : median(std::move(stated)) * table.pixel_size_nm;
}

Nena nena(const Localizations& localizations, const NenaOptions& options) {
    require_positions(localizations);
    require_whole_frames(localizations, "NeNA");
    if (options.lag < 1) throw OptionError(fmt::format("a lag of {} frames: give 1 or more", options.lag));
    const FrameNeighbors neighbors(localizations);
    const std::vector<FramePair> pairs = neighbors.nearest(std::uint32_t(options.lag), nena_radius_px);
    return nena_of(neighbors, pairs, localizations, options.lag);
}

}  // namespace glint
