// Localizations against truth (Sage et al., Nat. Methods 16, 387 (2019); RMSMD: Sun, Sci. Rep. 8, 17211 (2018)).
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include "glint/localizations.hpp"

namespace glint {

struct ScoreOptions {
    double radius_nm = 100;      ///< lateral matching radius
    double axial_radius_nm = 0;  ///< 0: no limit in z
};

struct Score {
    std::size_t truths = 0, localizations = 0, matched = 0;
    double recall = 0, precision = 0, jaccard = 0;
    double rmse_nm = 0;  ///< lateral, sqrt(mean(dx^2 + dy^2)) over matches
    double rmse_x_nm = 0, rmse_y_nm = 0;
    double rmse_z_nm = 0;  ///< 0 without z
    double bias_x_nm = 0, bias_y_nm = 0, bias_z_nm = 0;
    double rmsmd_nm = 0;  ///< root mean square minimum distance, both directions, per frame
    double std_over_crlb_x = 0, std_over_crlb_y = 0, std_over_crlb_z = 0;  ///< 0 without the precision
    bool has_z = false;
};

/// One-to-one matching per frame: as many pairs within the radius as possible and, among those choices, the smallest
/// total lateral distance (docs/theory.md, section 8). Frames of either table alone count as missed or false. Both
/// tables need a pixel size; throws OptionError otherwise. Thread-safe.
Score score(const Localizations& localizations, const Localizations& truth, const ScoreOptions& options = {});

}  // namespace glint
