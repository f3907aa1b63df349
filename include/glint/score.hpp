// Scores localizations against ground truth (docs/theory.md, section 8; Sage et al., Nat. Methods 16, 387 (2019);
// RMSMD: Sun, Sci. Rep. 8, 17211 (2018)).
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include "glint/localizations.hpp"

namespace glint {

struct ScoreOptions {
    double radius_nm = 100;      ///< lateral matching radius
    double axial_radius_nm = 0;  ///< 0: no limit in z
};

/// The result of matching. Lengths in nm, biases are localization minus truth over the matched pairs.
struct Score {
    std::size_t truths = 0, localizations = 0, matched = 0;
    double recall = 0, precision = 0, jaccard = 0;
    double rmse_nm = 0;  ///< lateral, sqrt(mean(dx^2 + dy^2)) over pairs (eq. 8.3)
    double rmse_x_nm = 0, rmse_y_nm = 0;
    double rmse_z_nm = 0;  ///< 0 without z
    double bias_x_nm = 0, bias_y_nm = 0, bias_z_nm = 0;
    double rmsmd_nm = 0;  ///< root mean square minimum distance (eq. 8.4)
    double std_over_crlb_x = 0, std_over_crlb_y = 0,
           std_over_crlb_z = 0;  ///< standard deviation over stated precision; 0 if that is unknown
    bool has_z = false;
};

/// One-to-one matching per frame: the largest number of pairs within the radius and, among such matchings, the smallest
/// total lateral distance. Rows in frames that only one table has count as missed or false. Throws OptionError unless
/// both tables have a pixel size. Thread-safe.
Score score(const Localizations& localizations, const Localizations& truth, const ScoreOptions& options = {});

}  // namespace glint
