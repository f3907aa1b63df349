// The score z = N / sigma(N) of a spot at each pixel, row by row (docs/theory.md, eq. 5.5 and 5.6).
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "detect/background.hpp"
#include "detect/filter.hpp"

namespace glint {

/// A row of floats with readable margins on both sides that keep their initial value.
class PaddedRow {
  public:
    explicit PaddedRow(int width, float margin = 0) : values_(std::size_t(width) + 2 * row_margin, margin) {}
    float* data() { return values_.data() + row_margin; }
    const float* data() const { return values_.data() + row_margin; }

  private:
    std::vector<float> values_;
};

/// Computes the scores of frames. Rows must be requested in order, from 0.
class ScoreRows {
  public:
    virtual ~ScoreRows() = default;
    /// Measures the background of a frame; its pixels must stay valid until the last row has been requested.
    virtual void begin(const float* photoelectrons) = 0;
    /// Scores and narrow filter of row y; true if any score reaches the threshold.
    virtual bool row(int y, float threshold, float* score, float* narrow) = 0;
    virtual const Background& background() const = 0;
};

/// The fast version for uniform read noise (eq. 5.6), or the general one for maps (eq. 5.5).
std::unique_ptr<ScoreRows> make_score_rows(const CameraView& camera, double sigma_px);
std::unique_ptr<ScoreRows> make_uniform_score_rows(const CameraView& camera, double sigma_px);
std::unique_ptr<ScoreRows> make_weighted_score_rows(const CameraView& camera, double sigma_px);

}  // namespace glint
