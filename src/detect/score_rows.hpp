// The score z = N / sigma(N) of a spot at each pixel, row by row (docs/theory.md, section 5).
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "detect/background.hpp"
#include "detect/filter.hpp"

namespace glint {

/// A row of floats with readable margins on both sides that keep what they were filled with.
class PaddedRow {
  public:
    explicit PaddedRow(int width, float margin = 0) : values_(std::size_t(width) + 2 * row_margin, margin) {}
    float* data() { return values_.data() + row_margin; }
    const float* data() const { return values_.data() + row_margin; }

  private:
    std::vector<float> values_;
};

/// Scores of one frame after another. Rows must be asked for in order, from 0.
class ScoreRows {
  public:
    virtual ~ScoreRows() = default;
    /// Measures the background; the pixels must stay until the last row was asked for.
    virtual void begin(const float* photoelectrons) = 0;
    /// Score and narrow-filtered row y; true when any score reaches the threshold.
    virtual bool row(int y, float threshold, float* score, float* narrow) = 0;
    virtual const Background& background() const = 0;
};

/// The fast one where the read noise is the same for all pixels, the full one where it is a map.
std::unique_ptr<ScoreRows> make_score_rows(const CameraView& camera, double sigma_px);
std::unique_ptr<ScoreRows> make_uniform_score_rows(const CameraView& camera, double sigma_px);
std::unique_ptr<ScoreRows> make_weighted_score_rows(const CameraView& camera, double sigma_px);

}  // namespace glint
