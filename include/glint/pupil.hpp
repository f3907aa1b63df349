// A PSF computed from the optics: the image of a point emitter by scalar diffraction (docs/explanation/theory.md,
// section 7).
//
//     glint::Pupil pupil{.na = 1.4, .wavelength_nm = 670};
//     pupil.zernike = {{glint::parse_zernike("astigmatism"), 0.5}};
//     glint::SimulateOptions options;
//     options.psf = glint::compute_psf(pupil, {.pixel_size_nm = 100, .z_min_nm = -600, .z_max_nm = 600}).psf;
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "glint/progress.hpp"
#include "glint/psf.hpp"

namespace glint {

/// An aberration: a Zernike polynomial in the numbering and normalisation of Noll, J. Opt. Soc. Am. 66, 207 (1976).
struct ZernikeTerm {
    int noll = 0;        ///< 4 to 66
    double rad_rms = 0;  ///< root mean square of the phase over the pupil, rad; -max_zernike_rad to max_zernike_rad
};
constexpr int min_zernike_noll = 4, max_zernike_noll = 66;
constexpr double max_zernike_rad = 100;

/// Returns Noll's number of a polynomial: a name such as "coma_x", or the number itself, "8". Throws OptionError, with
/// the list of names, for other texts.
int parse_zernike(std::string_view name);
/// Returns the names of polynomials, "defocus", "astigmatism", ...
std::vector<std::string_view> zernike_names();

/// An objective and what it looks through.
///
/// A molecule at the height z above the plane that is in focus has the phase
///
///     k0 (depth + z) sqrt(ns^2 - NA^2 r^2) - k0 f sqrt(ni^2 - NA^2 r^2) + sum a_j Z_j(r, theta)
///
/// at the radius r = 0 to 1 of the pupil, with k0 = 2 pi / wavelength (Gibson & Lanni, J. Opt. Soc. Am. A 8, 1601
/// (1991), for a stage that moves the focus by f from the coverslip into the sample). The amplitude is 1. f is that
/// for which the phase at z = 0 without aberrations has the smallest rms: z = 0 is in focus. theta counts from x
/// towards y. A positive `astigmatism` makes spots narrow along x at z > 0, as a positive AstigmaticCurve::gamma_nm.
struct Pupil {
    double na = 0;                   ///< numerical aperture, below both indices
    double wavelength_nm = 0;        ///< of the light, in vacuum: 200 to 2000
    double immersion_index = 1.518;  ///< ni
    double sample_index = 1.518;     ///< ns
    double depth_nm = 0;             ///< height of the molecule at z = 0 above the coverslip; no effect if ni = ns
    std::vector<ZernikeTerm> zernike = {};
};

/// What changes with z.
enum class PupilZ {
    molecule,  ///< the height of the molecule above the coverslip
    stage,     ///< the stage under a molecule that stays on its coverslip, as in stacks of beads: z has the index ni
};

/// The table of a computed PSF.
struct PupilGrid {
    double pixel_size_nm = 0;
    double z_min_nm = 0, z_max_nm = 0;  ///< range of the table; contains z = 0
    PupilZ moving = PupilZ::molecule;
    double knot_nm = 0;       ///< the maximum distance of coefficients along z; 0: 1/16 of the shortest period
    int window_px = 0;        ///< edge of the window, odd, 5 to 201; 0: chosen so that it contains the light
    int samples_per_px = 2;   ///< 1 or 2
    double node_density = 1;  ///< points of the pupil per unit length, over the number that suffices
    const StopFlag* stop = nullptr;
};

/// A computed PSF and its light.
struct ComputedPsf {
    /// SplineXYZNB, for molecules of N photons at any z of the grid. N counts the light in the whole plane: the sum of
    /// h over infinitely many pixels is 1 at each z, as for the Gaussian models. The window of the table contains a
    /// part of it, and what lies outside is not drawn. A PSF measured by calibrate_psf() has the sum 1 in its window
    /// instead. Photons found with such a PSF are therefore lower by the light outside its window.
    Psf psf;
    int window_px = 0;
    double max_light = 0, min_light = 0;  ///< the largest and the smallest part of the light in the window, over z
    double darkest_z_nm = 0;              ///< z of min_light
    std::vector<std::string> warnings;    ///< complete sentences: the window loses more than a tenth of the light
};

/// Returns the PSF, integrated over the pixels. The image of an isotropic point emitter is the squared modulus of the
/// pupil's Fourier transform (Goodman, Introduction to Fourier Optics). The pupil is sampled so densely that the
/// result changes by less than 1e-4 of its peak if the density doubles. Uses all threads; the result does not depend
/// on their number.
///
/// Throws OptionError for values out of range, and if the light does not fit:
/// - na of the sample's or the immersion's index or more: light at such angles is evanescent, which scalar diffraction
///   does not describe;
/// - z below the coverslip, if the indices differ;
/// - a window, the largest if none is given, with less than half of the light at the brightest z, or less than a fifth
///   at any z.
/// Throws Cancelled.
ComputedPsf compute_psf(const Pupil& pupil, const PupilGrid& grid);

}  // namespace glint
