// The optics behind a measured PSF: aberrations of the pupil that explain it (docs/explanation/theory.md, section 16).
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <vector>

#include "glint/progress.hpp"
#include "glint/psf.hpp"
#include "glint/pupil.hpp"

namespace glint::lens {

/// An objective, and how its images lie in a table of a PSF.
struct LensOptics {
    Pupil pupil;  ///< Noll's numbers 2 and 3 are positions: here x_nm and y_nm instead
    PupilZ moving = PupilZ::stage;
    double z_factor = 1;  ///< z of the pupil = focus_nm + z_factor * z of the table
    double focus_nm = 0;
    double x_nm = 0, y_nm = 0;        ///< position of the molecule at z = 0 of the table
    double x_tilt = 0, y_tilt = 0;    ///< its motion with z, nm per nm
    double spherical_rad_per_nm = 0;  ///< increase of Noll's term 11 with z of the table
    double light = 1;                 ///< sum of h over the whole plane
    double blur_nm = 0;               ///< standard deviation of a Gaussian: beads have a size, and stages tremble
};

/// The points at which a PSF is drawn: a square grid around the molecule, for each z.
struct VolumeGrid {
    double pixel_size_nm = 0;
    int samples = 1;           ///< points a pixel
    int points = 0;            ///< along an edge, odd
    std::vector<double> z_nm;  ///< of the table

    std::size_t plane() const { return std::size_t(points) * std::size_t(points); }
};

/// Returns the light of the pixel around each point, z, y, x in C order, minus the mean of the border of each plane, as
/// PsfCalibration's h. Uses all threads; the result does not depend on their number. Throws Cancelled.
std::vector<double> draw_volume(const LensOptics& optics, const VolumeGrid& grid, const StopFlag* stop);

/// A description of a measured PSF by optics.
struct FoundOptics {
    LensOptics optics;
    double unexplained = 0;  ///< sum |h - model| over sum |h|
};

/// Returns the optics whose images are most similar to a table of SplineXYZNB, by weighted least squares
/// (Levenberg-Marquardt): Zernike polynomials 5 to 22, focus, positions, tilts, light, blur and z_factor. `pupil`: its
/// numerical aperture, wavelength and immersion index are used. Throws Cancelled.
FoundOptics find_optics(const PsfTable& table, const Pupil& pupil, const StopFlag* stop);

}  // namespace glint::lens
