// The image of a point emitter: the Fourier transform of a pupil, integrated over square cells
// (docs/explanation/theory.md, section 7).
// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "glint/pupil.hpp"
#include "psf/zernike.hpp"

namespace glint {

/// The phase of the light in the pupil.
class PupilPhase {
  public:
    PupilPhase(const Pupil& pupil, PupilZ moving);
    /// Returns the phase at a point of the unit disk, rad.
    double at(double x, double y, double z_nm) const;
    /// Returns the maximum of the gradient over the disk at one z, rad per pupil radius. Light leaves a point of the
    /// pupil towards the place in the image that is proportional to the gradient.
    double max_gradient(double z_nm) const;
    /// Returns the phase of a point of the image at 1 nm from its centre and at the edge of the pupil, rad.
    double per_nm() const { return per_nm_; }

  private:
    struct Term {
        Zernike polynomial;
        double rad_rms;
    };
    double per_nm_, wave_number_, na_, sample_index_, immersion_index_, moving_index_, depth_nm_, focus_nm_ = 0;
    std::vector<Term> terms_;
};

/// Square cells, whose grid has the emitter in its middle.
struct ImageCells {
    double edge_nm = 0;
    int count = 0;  ///< along an edge of the grid
};

/// A pupil and a grid of cells, prepared for any z. Safe to share between threads.
class PupilImage {
  public:
    /// `max_gradient`: the largest of PupilPhase::max_gradient() at the z of interest.
    PupilImage(const PupilPhase& phase, const ImageCells& cells, double max_gradient, double node_density);
    /// Returns the number of points along the radius of the pupil, times 2, that such an image needs.
    static int count_nodes(const PupilPhase& phase, const ImageCells& cells, double max_gradient, double node_density);
    /// Returns the part of the light in each cell, rows of x.
    std::vector<double> integrate(double z_nm) const;

  private:
    const PupilPhase& phase_;
    ImageCells cells_;
    std::vector<double> node_y_, node_y_weights_;  ///< rows of the pupil
    std::vector<double> chord_, chord_weights_;    ///< points of a row, as fractions of half its length
    std::vector<double> sub_, sub_weights_;        ///< points of a cell, -1 to 1
    std::vector<double> cos_y_, sin_y_;            ///< of each row of points in the image, for each row of the pupil
};

}  // namespace glint
