// A PSF measured from beads, corrected for the sample by a movie's own lone spots.
//
//     const glint::Lens beads = glint::read_lens("lens.h5");
//     const auto movie = glint::open_movie("movie.tif");
//     const glint::RefinedPsf found =
//         glint::refine_psf(*movie, camera, *beads.table, {.na = 1.27, .wavelength_nm = 670, .sample_index = 1.33});
//     const glint::Psf psf = glint::measured_psf(found.table);  // SplineXYZNB
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "glint/camera.hpp"
#include "glint/estimate_psf.hpp"
#include "glint/movie.hpp"
#include "glint/progress.hpp"
#include "glint/psf.hpp"

namespace glint {

/// Options of refine_psf().
struct RefinePsfOptions {
    double na = 0;                   ///< numerical aperture, below both indices
    double wavelength_nm = 0;        ///< of the light, in vacuum
    double immersion_index = 1.518;  ///< refractive index of the immersion medium
    /// Refractive index of the sample; 0: that of the immersion medium. If it differs, z of the beads must be the
    /// position of the stage, and z of the result is the height of the molecule.
    double sample_index = 0;
    double pixel_size_nm = 0;  ///< of the movie, in the sample; 0: that of the PSF. Others are an error
    FrameRange frames{0, -1};  ///< frames to use; end < 0: to the last
    Progress progress = {};    ///< steps of the estimation
    const StopFlag* stop = nullptr;
};

/// An aberration, or the depth, that the sample adds to the lens, and its standard error.
struct SampleAberration {
    std::string name;  ///< "depth", "spherical", "spherical growth", or that of a Zernike polynomial
    std::string unit;  ///< "nm"; "rad", rms over the pupil; "rad/um"
    double value = 0, error = 0;
};

/// A lone spot with both PSFs.
struct RefinedSpot {
    double beads_z_nm = 0, z_nm = 0;  ///< z by the PSF of the beads, and by the refined one
};

/// The refined PSF. h is the beads' h plus the difference of two computed PSFs, with and without the sample's
/// aberrations: what Zernike polynomials do not describe remains as measured.
struct RefinedPsf {
    std::shared_ptr<const PsfTable> table;      ///< with the shape and the scale of the beads' table
    std::vector<SampleAberration> aberrations;  ///< all that were fitted
    /// The left-out spots are more likely, by 2.5 each and by three standard errors, and half of them have p > 0.01.
    /// False: `table` is that of the beads.
    bool is_better = false;
    double added_likelihood = 0;        ///< trimmed mean of the increase of the log-likelihood of a left-out spot
    double added_likelihood_error = 0;  ///< its standard error
    double unexplained = 0;  ///< the part of the beads' PSF that the computed PSF does not describe, sum |difference|
    /// Height of a molecule over the z of the stage that defocuses a bead as much: 1, or about
    /// (ni - sqrt(ni^2 - NA^2)) / (ns - sqrt(ns^2 - NA^2)) if `table` is for a sample of another index.
    double height_per_stage = 1;
    double z_factor = 1;  ///< z of the stage over z of the table, by the defocus of the beads' PSF
    std::int64_t frames = 0, spots = 0, lone = 0;  ///< read; found; alone in their window
    std::int64_t used = 0;                         ///< from which the aberrations were estimated
    int roi_size = 0;                              ///< window of the fits, px
    SpotFits refined, beads;                       ///< of the left-out spots
    std::vector<RefinedSpot> left_out;             ///< those that both PSFs fit
    std::vector<std::string> warnings;             ///< complete sentences
};

/// Returns the PSF of the molecules of a movie, from that of beads on the coverslip. Molecules deep in a sample have
/// another PSF, mostly because of spherical aberration, so that z by the beads' PSF is wrong (Xu et al., Nat. Methods
/// 17, 531 (2020), for the problem; docs/explanation/theory.md, section 16, for this method):
///
/// 1. Optics (focus, Zernike polynomials) are fitted to the beads' table.
/// 2. Lone spots of the movie are fitted by maximum likelihood. The sample's aberrations are those with the largest
///    likelihood of all spots together: astigmatism, coma, trefoil, secondary spherical aberration, and either
///    spherical aberration and its growth with z, or, if sample_index is given, the depth of the plane z = 0, which
///    then determines both.
/// 3. A fifth of the spots is left out of this. If these do not become clearly more likely, the beads' PSF is returned.
///
/// z = 0 is in focus: it is not known how far the focus is from the coverslip, except by the depth of step 2.
///
/// Throws OptionError for implausible options, and for a PSF without z; InputError if the movie is still being written
/// or has too few lone spots, or if the optics do not describe the PSF, such as that of a double helix; Cancelled. The
/// result does not depend on the number of threads.
RefinedPsf refine_psf(Movie& movie, const Camera& camera, const PsfTable& beads, const RefinePsfOptions& options);

}  // namespace glint
