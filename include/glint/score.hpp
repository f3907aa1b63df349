// Scores localizations against ground truth (docs/explanation/theory.md, section 8).
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <limits>
#include <string>

#include "glint/localizations.hpp"

namespace glint {

struct ScoreOptions {
    double radius_nm = 100;      ///< lateral matching radius (the tolerance); the SMLM challenge used 250
    double axial_radius_nm = 0;  ///< 0: no limit in z
    std::string localizations_name = "the localizations", truth_name = "the true positions";  ///< in errors
};

/// Truths whose nearest other truth of their frame is at least `from_px` and less than `to_px` away in x, y.
struct NeighborBin {
    double from_px = 0, to_px = 0;
    std::size_t truths = 0, matched = 0;
    double recall() const {
        return truths ? double(matched) / double(truths) : std::numeric_limits<double>::quiet_NaN();
    }
};

/// The result of matching. Lengths in nm, biases are localization minus truth over the matched pairs. A figure of which
/// there is no instance (a recall without truths, an error without pairs, a pull without stated precisions) is NaN.
struct Score {
    static constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

    double radius_nm = 0, axial_radius_nm = 0;  ///< as asked for
    bool has_z = false;                         ///< both tables have z

    std::size_t truths = 0, localizations = 0, matched = 0;
    double recall = unknown, precision = unknown, jaccard = unknown;  ///< eq. 8.2, from 0 to 1
    double rmse_nm = unknown;  ///< lateral, sqrt(mean(dx^2 + dy^2)) over pairs (eq. 8.3)
    double rmse_x_nm = unknown, rmse_y_nm = unknown, rmse_z_nm = unknown;
    double bias_x_nm = unknown, bias_y_nm = unknown, bias_z_nm = unknown;

    /// Efficiency of the SMLM challenge (eq. 8.4; Sage et al., Nat. Methods 16, 387 (2019)) at the radius above: 100
    /// if every molecule is found at its place. `efficiency_3d` is the mean of the other two.
    double efficiency_lateral = unknown, efficiency_axial = unknown, efficiency_3d = unknown;

    /// Root mean square minimum distance within frames (eq. 8.5; Sun, Sci. Rep. 8, 17211 (2018)), in x, y and, if both
    /// tables have it, z: of both ways together, and of each. Frames that only one table has are left out.
    double rmsmd_nm = unknown;
    double rmsmd_truths_nm = unknown;         ///< of truths to their nearest localization
    double rmsmd_localizations_nm = unknown;  ///< of localizations to their nearest truth

    /// The same between the emitters and all localizations, whatever their frames. Emitters are the distinct true
    /// positions.
    std::size_t emitters = 0;
    double rmsmd_map_nm = unknown;
    double rmsmd_map_emitters_nm = unknown;
    double rmsmd_map_localizations_nm = unknown;

    /// Pulls, that is errors of matched rows over their stated precisions (eq. 8.7): standard deviation, and median
    /// absolute deviation times 1.4826. Both are 1 if errors are normal and as large as stated; a few gross errors
    /// raise the first only. At least two rows with a precision.
    double std_over_crlb_x = unknown, std_over_crlb_y = unknown, std_over_crlb_z = unknown;
    double mad_over_crlb_x = unknown, mad_over_crlb_y = unknown, mad_over_crlb_z = unknown;

    /// Recall by the distance of the nearest neighbour, in pixels of the localizations. Molecules that are alone in
    /// their frame are in the last bin, whose end is infinity.
    std::array<NeighborBin, 7> recall_by_neighbor{
        {{0, 1}, {1, 1.5}, {1.5, 2}, {2, 2.5}, {2.5, 3}, {3, 4}, {4, std::numeric_limits<double>::infinity()}}};
};

/// One-to-one matching per frame: the largest number of pairs within the radius and, among such matchings, the smallest
/// total lateral distance. Rows in frames that only one table has count as missed or false. Time and memory are those
/// of sorting the rows and of the pairs within the radius. Throws OptionError unless both tables have one pixel size,
/// columns as long as the table, and the radii are finite. Thread-safe.
Score score(const Localizations& localizations, const Localizations& truth, const ScoreOptions& options = {});

/// For a person: that the two tables seem to be swapped, since the truth has stated precisions and the localizations have
/// none. Else empty.
std::string order_warning(const Localizations& localizations, const Localizations& truth);

/// For a person: that far more would be found with all frames of the localizations one less or one greater. `recall`: of score() with the same
/// options. Else empty. Takes two more scores where the recall is below 0.9.
std::string frames_warning(const Localizations& localizations, const Localizations& truth, const ScoreOptions& options,
                           double recall);

}  // namespace glint
