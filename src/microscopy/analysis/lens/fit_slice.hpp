// The reference fit of a B-spline PSF to one slice of a bead: maximum likelihood in double precision.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "analysis/lens/bead_window.hpp"
#include "analysis/lens/spline_grid.hpp"

namespace glint::lens {

/// The parameters in the order of SliceFit's arrays.
enum SliceParameter { fit_x, fit_y, fit_z, fit_photons, fit_background };
inline constexpr int slice_parameters = 5;

struct SliceFit {
    /// x, y (px from the window's middle), z (nm), photons, background (photoelectrons a pixel).
    std::array<double, slice_parameters> theta{};
    std::array<double, slice_parameters> crlb{};  ///< standard deviations
    double deviance = 0, degrees_of_freedom = 0;  ///< the deviance's expectation, eq. 4.2
    double p_value = 0;
    bool converged = false;  ///< not if z is at the end of the grid's range
};

/// Fits slices of windows of one size. Starts from templates over z and the sub-pixel position, and keeps the better
/// of the two best starts that are at least 250 nm apart. The noise is that of eq. 2.2. Safe to share between
/// threads.
class SliceFitter {
  public:
    /// `window`: the edge of the fitted window, px, odd, at most spline.grid.window. Borrows the spline.
    SliceFitter(const Spline& spline, int window);

    /// Fits the middle part of the bead's slice.
    SliceFit fit(const BeadWindow& bead, std::size_t slice) const;

  private:
    struct Pixels;
    struct Evaluation;
    struct Template {
        double x_px, y_px, z_nm;
        std::vector<double> values;  ///< mean 0, length 1
    };

    void evaluate(const Pixels& pixels, const std::array<double, slice_parameters>& theta, Evaluation& out) const;
    SliceFit fit_from(const Pixels& pixels, const Template& start) const;
    /// h and its derivatives by x, y and z.
    void images(double x_px, double y_px, double z_nm, std::array<std::vector<double>, 4>& out) const;

    const Spline& spline_;
    int window_;
    std::vector<Template> templates_;
};

}  // namespace glint::lens
