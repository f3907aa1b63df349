// Scores localizations against ground truth (docs/explanation/theory.md, section 8).
//
//     const glint::Localizations truth = glint::read_truth("truth.csv", 100);  // pixels of 100 nm
//     const glint::Localizations table = glint::read_localizations("movie.hdf5");
//     const glint::Score score = glint::score(table, truth, {.radius_nm = 100});
//     std::printf("recall %.2f, precision %.2f, RMSE %.1f nm\n", score.recall, score.precision, score.rmse_nm);
//     std::printf("errors over stated precisions: %.2f in x\n", score.std_over_crlb_x);
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <limits>
#include <string>

#include "glint/localizations.hpp"

namespace glint {

/// Options of score().
struct ScoreOptions {
    double radius_nm = 100;      ///< lateral matching radius (the tolerance); the SMLM challenge used 250
    double axial_radius_nm = 0;  ///< axial matching radius; 0: no limit in z
    /// Names of the tables in error messages.
    std::string localizations_name = "the localizations", truth_name = "the true positions";
};

/// True positions whose nearest true neighbour in the same frame is at least `from_px` and less than `to_px` away in
/// x, y.
struct NeighborBin {
    double from_px = 0, to_px = 0;
    std::size_t truths = 0, matched = 0;
    /// Returns the matched share of the true positions, 0 to 1; NaN if there are none.
    double recall() const {
        return truths ? double(matched) / double(truths) : std::numeric_limits<double>::quiet_NaN();
    }
};

/// The result of matching. Lengths are in nm. A bias is localization minus truth, over the matched pairs. A statistic
/// without data is NaN: a recall without truths, an error without pairs, a pull without stated precisions.
struct Score {
    static constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

    double radius_nm = 0, axial_radius_nm = 0;  ///< from ScoreOptions
    bool has_z = false;                         ///< both tables have z

    std::size_t truths = 0, localizations = 0, matched = 0;
    double recall = unknown, precision = unknown, jaccard = unknown;  ///< eq. 8.2, from 0 to 1
    double rmse_nm = unknown;  ///< lateral, sqrt(mean(dx^2 + dy^2)) over pairs (eq. 8.3)
    double rmse_x_nm = unknown, rmse_y_nm = unknown, rmse_z_nm = unknown;
    double bias_x_nm = unknown, bias_y_nm = unknown, bias_z_nm = unknown;

    /// Efficiency of the SMLM challenge (eq. 8.4; Sage et al., Nat. Methods 16, 387 (2019)) at the radius above: 100
    /// if every molecule is found at its true position. `efficiency_3d` is the mean of the lateral and the axial
    /// efficiency.
    double efficiency_lateral = unknown, efficiency_axial = unknown, efficiency_3d = unknown;

    /// Root mean square minimum distance within frames (eq. 8.5; Sun, Sci. Rep. 8, 17211 (2018)), in x, y and, if both
    /// tables have it, z. Frames that occur in only one table are excluded.
    double rmsmd_nm = unknown;                ///< of both directions together
    double rmsmd_truths_nm = unknown;         ///< from truths to their nearest localization
    double rmsmd_localizations_nm = unknown;  ///< from localizations to their nearest truth

    /// The same distances between all emitters and all localizations of the movie, without regard to frames. Emitters
    /// are the distinct true positions.
    std::size_t emitters = 0;
    double rmsmd_map_nm = unknown;
    double rmsmd_map_emitters_nm = unknown;
    double rmsmd_map_localizations_nm = unknown;

    /// Pulls: errors of matched rows over their stated precisions (eq. 8.7). `std`: standard deviation. `mad`: median
    /// absolute deviation times 1.4826. Both are 1 if errors are normal and the stated precisions correct. A few gross
    /// errors raise `std` only. NaN with fewer than two rows with a precision.
    double std_over_crlb_x = unknown, std_over_crlb_y = unknown, std_over_crlb_z = unknown;
    double mad_over_crlb_x = unknown, mad_over_crlb_y = unknown, mad_over_crlb_z = unknown;

    /// Recall by the distance of the nearest neighbour, in pixels of the localizations. The last bin has no upper end,
    /// and includes molecules that are alone in their frame.
    std::array<NeighborBin, 7> recall_by_neighbor{
        {{0, 1}, {1, 1.5}, {1.5, 2}, {2, 2.5}, {2.5, 3}, {3, 4}, {4, std::numeric_limits<double>::infinity()}}};
};

/// Matches localizations to true positions one to one, frame by frame. The matching has the maximum number of pairs
/// within the radius and, among such matchings, the minimum total lateral distance. Rows in frames that occur in only
/// one table count as missed or false.
///
/// Returns the score. Throws OptionError if
/// - a table has no pixel size, or the two pixel sizes differ,
/// - a column of positions or precisions is not as long as its table, or
/// - the radius is not above 0, or one of the radii is not finite.
///
/// Time and memory: sorting the rows, and the pairs within the radius. Thread-safe.
Score score(const Localizations& localizations, const Localizations& truth, const ScoreOptions& options = {});

/// Returns a warning that the tables seem to be swapped: only the truth has stated precisions. Else empty.
std::string order_warning(const Localizations& localizations, const Localizations& truth);

/// Returns a warning if the recall would be far higher with all frames of the localizations one less or one greater.
/// Else empty. `recall`: the result of score() with the same options. If it is below 0.9, computes up to two more
/// scores. Throws as score().
std::string frames_warning(const Localizations& localizations, const Localizations& truth, const ScoreOptions& options,
                           double recall);

}  // namespace glint
