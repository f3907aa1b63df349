// The local background of a frame: a mean per tile without outliers, interpolated between tiles (theory.md, eq. 5.8).
// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <vector>

#include "detect/frame_math.hpp"
#include "glint/camera.hpp"
#include "glint/psf.hpp"

namespace glint {

/// Returns tiles with an edge of at least 16 px and 12 spot widths, so that a few spots cannot fill a tile.
TileGrid tile_grid(int width, int height, const MatchedFilter& filter);

/// The background of one frame at a time. It only determines the noise of the score test. The score fits its own
/// background (eq. 5.4), so interpolation errors do not bias it.
class Background {
  public:
    Background(const CameraView& camera, const MatchedFilter& filter);

    /// Computes the clipped mean of each tile. Starts from the plain mean and excludes pixels that exceed it by more
    /// than three standard deviations of the camera model and 2 f, until the mean no longer decreases.
    void measure(const float* photoelectrons);

    /// Returns true if the measured frame has missing pixels (NaN), which the means exclude.
    bool has_missing() const { return has_missing_; }

    /// Interpolates one row: the shot noise variance f bg, with f = CameraView::shot_noise(); or 1 / sqrt(f bg + v),
    /// for a uniform read variance v. The reciprocal is interpolated directly, which saves a root and a division per
    /// pixel.
    void shot_noise_row(int y, float* out) { interpolate(shot_, y, out); }
    void inverse_noise_row(int y, float* out) { interpolate(inverse_noise_, y, out); }

    /// Returns the variance f bg + v of the tile that contains the pixel, e-^2. With a map, v is the tile's mean.
    float variance_at(int x, int y) const;

  private:
    float clipped_mean(const float* photoelectrons, int column, int row);
    void interpolate(const std::vector<float>& nodes, int y, float* out);

    const CameraView* camera_;
    TileGrid grid_;
    std::vector<float> shot_, inverse_noise_;  ///< per tile, rows * columns
    std::vector<float> blended_;
    bool has_missing_ = false;
};

}  // namespace glint
