// The misfit of the PSF in crowded frames, where no spot is lone.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <optional>

#include "glint/movie.hpp"
#include "pipeline/localize_job.hpp"
#include "pipeline/psf_misfit.hpp"

namespace glint {

struct CrowdMisfit {
    double width = 0;                                 ///< PsfMisfit::width
    std::array<float, satellite_steps> satellites{};  ///< JointOptions::satellites
    /// The ratio of the PSF's width to the model's, from the second moments, and its standard error.
    double relative_width = 1, relative_width_error = 0;
    bool knows_satellites = false;  ///< false if there are too few bright molecules
    int molecules = 0;              ///< number of molecules from which the width was measured
};

/// Fits some frames jointly with the smallest misfit, then measures the residuals of molecules without a comparable
/// molecule nearby. The light of all comparable molecules is known by then (theory.md, section 10). For models with a
/// given width. Returns nullopt if there are too few such molecules, or if too many look like pairs.
std::optional<CrowdMisfit> measure_crowd_misfit(Movie& movie, const LocalizeJob& job, const PsfInDouble& psf);

}  // namespace glint
