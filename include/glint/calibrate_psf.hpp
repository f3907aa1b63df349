// Calibration of a measured PSF from z-stacks of beads: a spline that contains any shape of the spots.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "glint/camera.hpp"
#include "glint/movie.hpp"
#include "glint/progress.hpp"
#include "glint/psf.hpp"

namespace glint {

/// The stage's movement and the window. Lengths are in the sample.
struct CalibratePsfOptions {
    double pixel_size_nm = 0;  ///< in the sample
    double z_step_nm = 0;      ///< distance between slices; the sign is the direction of the stage
    double z_center_nm = 0;    ///< stage position of each stack's middle slice
    int roi_size = 0;          ///< window of the PSF, px, odd; 0: chosen from the extent of the spots
    double z_scale = 1;        ///< index mismatch: z of the table = stage position times this
    /// Also measure how the PSF changes over the field: the table then has several cells, unless one PSF describes
    /// beads that were left out as well. Needs at least `min_field_beads` beads, all over the field.
    bool field = false;
    static constexpr int min_field_beads = 12;
    /// The place of the stacks' pixel (0, 0) in the coordinates of the PsfField, px: the sensor's pixel, or the first
    /// one of a region of the frames.
    double field_x_px = 0, field_y_px = 0;
    Progress progress = {};  ///< steps of the calibration
    const StopFlag* stop = nullptr;
};

/// Images of a bead through its middle, beside those of the PSF. Each array contains three images: data and model in
/// photoelectrons, and their difference in units of the standard deviation of the pixel's noise (eq. 2.2). The model is
/// the PSF at the place of the bead, with one number of photons for all slices, and a background for each slice.
struct PsfBeadSections {
    int size = 0;               ///< edge of the window, px
    std::vector<double> z_nm;   ///< z of the PSF in each slice, in the order of the stack
    double xy_z_nm = 0;         ///< z of xy: the slice nearest to the middle of the usable range
    std::vector<float> xy;      ///< 3 x size x size, x fastest
    std::vector<float> xz, yz;  ///< 3 x slices x size: the row and the column of pixels through the bead
};

/// A bright spot of a stack.
struct PsfBead {
    std::size_t file = 0;           ///< index of the stack
    double x_px = 0, y_px = 0;      ///< in the movie
    double z_nm = 0;                ///< the image at the stage position z is that of a molecule at z + z_nm
    double photons = 0;             ///< a slice, in the window
    double misfit = 0;              ///< chi-squared a degree of freedom of all its slices; 0 if rejected
    std::string rejected = {};      ///< why the bead is not used; empty if it is
    PsfBeadSections sections = {};  ///< empty if rejected
};

/// Errors of fits to slices that the PSF was not estimated from, in a bin of z.
struct PsfSliceError {
    double z_nm = 0;                                     ///< middle of the bin
    int fits = 0;                                        ///< slices of all beads
    double wrong = 0;                                    ///< share of fits that fail, or are off by 150 nm
    double z_bias_nm = 0, z_rms_nm = 0;                  ///< mean and rms error of the others
    double x_bias_nm = 0, y_bias_nm = 0;                 ///< about the mean of each bead
    double x_crlb_nm = 0, y_crlb_nm = 0, z_crlb_nm = 0;  ///< medians
    double deviance = 0;                                 ///< a degree of freedom, mean
    double good_p = 0;                                   ///< share with p > 0.01
};

/// What the Gaussian of calibrate_astigmatism() reaches: its fits to the slices of `PsfCalibration::slices` in the
/// usable range, in the same window. Its curve is estimated from the other half of the beads, as the measured PSF is.
struct PsfGaussianErrors {
    int fits = 0;  ///< slices that both models fit
    double wrong =
        0;  ///< share of the Gaussian's fits that fail, or are off by 150 nm, if the measured PSF's are right
    double z_rms_nm = 0, deviance = 0, good_p = 0;  ///< as in PsfCalibration
    /// Mean of the deviance of the Gaussian minus that of the measured PSF, a slice, and its standard error.
    double added_deviance = 0, added_deviance_error = 0;
    /// Whether the Gaussian is as good, so that calibrate_astigmatism() suffices. Within two standard errors,
    ///
    /// - its deviance and its z error are not larger than those of the measured PSF;
    /// - 99 % of its fits have p > 0.01, as for an exact model;
    /// - at most 1 % of its fits are wrong.
    bool suffices = false;
};

/// How the PSF changes over the field. The coefficients are polynomials of the place. Those of the table's cells are
/// the polynomials' values at the middle of each cell. `gain` and shares of fits are those of beads that were left out.
struct PsfFieldFit {
    /// Degree of the polynomials, 1 or 2. 0: one PSF describes the beads as well, and the table has one cell.
    int degree = 0;
    double gain = 0, gain_error = 0;       ///< decrease of the deviance a slice, and its standard error over the beads
    double good_p_of_one = 0, good_p = 0;  ///< share of fits with p > 0.01, with one PSF and with that of `degree`
    /// The largest error of x and y by the nearest cell, nm, of molecules with 2,000 photons on a background of 10.
    double cell_error_nm = 0;
};

/// The PSF. The coefficients c[nz][ny][nx] of a tensor product of cubic B-splines B, with s = samples:
///
///     h(i, j) = sum c[k][j'][i'] B(u - i') B(v - j') B(w - k)
///     u = s (i - x) + (nx - 1) / 2,  v = s (j - y) + (ny - 1) / 2,  w = 1 + (z - z_min) (nz - 3) / (z_max - z_min)
///
/// is the part of the light of a molecule at (x, y, z) in the pixel whose centre is at (i, j). Its conventions:
///
/// - The sum of h over the window around a molecule in the middle of a pixel is 1 at the z of its maximum.
/// - The mean of h over the border of that window is 0 at each z, since a background absorbs a constant.
/// - (x, y) is the centroid of max(h, 0)^1.5 over all z.
/// - z = 0 is the mean of the beads when the stage is at 0.
///
/// If the PSF changes over the field, each cell has its coefficients, and the conventions hold in each of them. A
/// distortion, by which a lens moves images sideways, looks like other places of the beads: it is not in the PSF.
struct PsfCalibration {
    std::shared_ptr<const PsfTable>
        table;             ///< shape (nz, ny, nx, 1); its range of z, the bounds of fits, is the usable one up to knots
    int roi_size = 0;      ///< window that the PSF covers, px
    int fit_roi_size = 0;  ///< window of the fits in `slices`, px: contains 85 % of light
    double knot_nm = 0;    ///< distance of coefficients along z

    /// The usable range: the longest run of bins of `slices` around the one with the smallest CRLB in which
    ///
    /// - the z bias is at most 20 nm, or twice its standard error if that is larger;
    /// - z of fits changes by 0.8 to 1.2 times the true z, over 200 nm;
    /// - at most a tenth of fits are wrong.
    double z_min_nm = 0, z_max_nm = 0;

    std::vector<PsfBead> beads;         ///< used and rejected
    std::vector<PsfSliceError> slices;  ///< in order of z
    /// Over the usable range: the slope of fitted z, the rms errors and CRLB of z, the deviance a degree of freedom,
    /// and the share with p > 0.01. Without fits within 3 CRLB of the ends of the table, which cut off their errors.
    double z_slope = 0, z_rms_nm = 0, z_crlb_nm = 0, deviance = 0, good_p = 0;
    /// The motion of the centre of light with z, nm per nm, over the usable range: the tilt of the PSF, and any drift
    /// that all beads have in common.
    double x_tilt = 0, y_tilt = 0;
    std::optional<PsfFieldFit> field;           ///< empty without CalibratePsfOptions::field
    std::optional<PsfGaussianErrors> gaussian;  ///< empty if no astigmatic curve describes the widths of the spots
    bool judged_by_slices = false;              ///< the only bead: every second slice was left out, instead of beads
    std::vector<std::string> warnings;          ///< complete sentences
};

/// Returns a PSF estimated from stacks of beads, which share the camera, the step and the middle. All beads lie on one
/// surface, such as a coverslip.
///
/// Beads are the maxima of each stack's mean projection after a wide filter, so that lobes which turn or separate
/// with z count as one. Coefficients are estimated by penalised least squares over all pixels, alternating with the
/// position of each bead (docs/explanation/theory.md, section 16). Knots and samples are those with the highest
/// likelihood of beads that were left out, or of every second slice of a single bead.
///
/// With `field`, the degree of the polynomials over the field is the one with the highest likelihood of beads that were
/// left out. Cells are so small that the nearest one moves x and y by less than 1 nm, within PsfTable::max_field_bytes.
///
/// A stack that was recorded in the opposite direction cannot be recognised: z is then mirrored. Check the sign of
/// z_step_nm.
///
/// Throws OptionError for implausible options; InputError, which names the stack, for too few slices, for stacks
/// without usable beads (with the reasons) or too few for `field`, and for a PSF that does not determine z; Cancelled.
/// The result does not depend on the number of threads.
PsfCalibration calibrate_psf(std::span<Movie* const> stacks, const Camera& camera, const CalibratePsfOptions& options);

}  // namespace glint
