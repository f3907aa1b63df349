// SPDX-License-Identifier: MIT
#include "workflow/to_lens.hpp"

#include <algorithm>

namespace glint {

Lens to_lens(const PsfCalibration& calibration, const std::string& origin) {
    Lens lens;
    lens.table = calibration.table, lens.origin = origin;
    lens.usable_min_nm = std::max(calibration.z_min_nm, lens.table->scale().z_min_nm);
    lens.usable_max_nm = std::min(calibration.z_max_nm, lens.table->scale().z_max_nm);
    for (const PsfSliceError& s : calibration.slices)
        lens.errors.push_back({s.z_nm, s.z_bias_nm, s.z_rms_nm, s.z_crlb_nm});
    return lens;
}

Lens to_lens(const RefinedPsf& refined, const Lens& beads, const std::string& origin) {
    Lens lens;
    lens.table = refined.table, lens.origin = origin + "; beads: " + beads.origin;
    const PsfTable::Scale& scale = refined.table->scale();
    lens.usable_min_nm = std::max(beads.usable_min_nm * refined.height_per_stage, scale.z_min_nm);
    lens.usable_max_nm = std::min(beads.usable_max_nm * refined.height_per_stage, scale.z_max_nm);
    return lens;
}

}  // namespace glint
