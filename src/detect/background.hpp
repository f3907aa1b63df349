// The local background of a frame: a clipped mean per tile, interpolated in between.
// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <vector>

#include "detect/frame_math.hpp"
#include "glint/camera.hpp"

namespace glint {

/// Tiles of at least 16 px and 12 sigma, so that a few spots never fill one.
TileGrid tile_grid(int width, int height, double sigma_px);

class Background {
  public:
    Background(const CameraView& camera, double sigma_px);

    /// The clipped mean of each tile. Starting from the plain mean, pixels more than three standard
    /// deviations (of the camera model) above are left out until the mean stands still.
    void measure(const float* photoelectrons);

    /// f bg (+ nothing else) of one row, f = CameraView::shot_noise(), or 1 / sqrt(f bg + v) with the scalar variance.
    void shot_noise_row(int y, float* out) { interpolate(shot_, y, out); }
    void inverse_sigma_row(int y, float* out) { interpolate(inverse_sigma_, y, out); }

    /// Variance f bg + v of the tile that a pixel lies in, e-^2; v is the mean of the map when there is
    /// one.
    float variance_at(int x, int y) const;

  private:
    float clipped_mean(const float* photoelectrons, int column, int row) const;
    void interpolate(const std::vector<float>& nodes, int y, float* out);

    const CameraView* camera_;
    TileGrid grid_;
    std::vector<float> shot_, inverse_sigma_;  ///< per tile, rows * columns
    std::vector<float> blended_;
};

}  // namespace glint
