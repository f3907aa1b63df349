// The statistics of a score, under their names in JSON and in Python.
// SPDX-License-Identifier: MIT
#pragma once

#include "glint/score.hpp"

namespace glint {

/// Calls put(name, value) for each number of the score except the bins. Includes statistics of z only if z was scored.
template <class Put>
void put_figures(const Score& s, Put&& put) {
    put("radius_nm", s.radius_nm);
    put("truths", s.truths), put("localizations", s.localizations), put("matched", s.matched);
    put("recall", s.recall), put("precision", s.precision), put("jaccard", s.jaccard);
    put("rmse_nm", s.rmse_nm), put("rmse_x_nm", s.rmse_x_nm), put("rmse_y_nm", s.rmse_y_nm);
    put("bias_x_nm", s.bias_x_nm), put("bias_y_nm", s.bias_y_nm);
    put("efficiency_lateral", s.efficiency_lateral);
    put("rmsmd_nm", s.rmsmd_nm);
    put("rmsmd_truths_nm", s.rmsmd_truths_nm), put("rmsmd_localizations_nm", s.rmsmd_localizations_nm);
    put("emitters", s.emitters);
    put("rmsmd_map_nm", s.rmsmd_map_nm);
    put("rmsmd_map_emitters_nm", s.rmsmd_map_emitters_nm);
    put("rmsmd_map_localizations_nm", s.rmsmd_map_localizations_nm);
    put("std_over_crlb_x", s.std_over_crlb_x), put("std_over_crlb_y", s.std_over_crlb_y);
    put("mad_over_crlb_x", s.mad_over_crlb_x), put("mad_over_crlb_y", s.mad_over_crlb_y);
    if (!s.has_z) return;
    put("axial_radius_nm", s.axial_radius_nm);
    put("rmse_z_nm", s.rmse_z_nm), put("bias_z_nm", s.bias_z_nm);
    put("efficiency_axial", s.efficiency_axial), put("efficiency_3d", s.efficiency_3d);
    put("std_over_crlb_z", s.std_over_crlb_z), put("mad_over_crlb_z", s.mad_over_crlb_z);
}

}  // namespace glint
