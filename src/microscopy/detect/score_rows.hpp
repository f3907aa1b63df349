// The score z of a spot, which is N divided by its standard deviation (theory.md, eq. 5.5 and 5.6), row by row at the
// narrow filter's maxima.
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "base/aligned.hpp"
#include "detect/background.hpp"
#include "detect/filter.hpp"

namespace glint {

/// A row with readable margins on both sides that keep their initial value. Each column has `floats` floats, by default
/// one.
class PaddedRow {
  public:
    explicit PaddedRow(int width, float margin = 0, int floats = 1)
        : before_(std::size_t(floats) * row_margin), values_(std::size_t(floats) * width + 2 * before_, margin) {}
    float* data() { return values_.data() + before_; }
    const float* data() const { return values_.data() + before_; }

  private:
    std::size_t before_;
    AlignedFloats values_;
};

/// The column sums of one row.
struct SumRows {
    explicit SumRows(int width) : pairs(width, 0, 2), third(width) {}
    ColumnSums sums() { return {pairs.data(), third.data()}; }
    PaddedRow pairs, third;
};

/// Filters frames. Rows must be requested in order, from 0. Only maxima of the narrow filter can be spots, one pixel in
/// 20, so only these are scored.
class ScoreRows {
  public:
    virtual ~ScoreRows() = default;
    /// Measures the background of a frame, whose pixels must stay valid until the last row is requested. In the general
    /// version, missing pixels (Background::has_missing) have no weight. The fast version does not accept frames with
    /// missing pixels.
    virtual void begin(const float* photoelectrons) = 0;
    /// Computes the narrow filter of row y.
    virtual void row(int y, float* narrow) = 0;
    /// Computes scores at `columns` of row y, which is the last requested row or the one before.
    virtual void scores(int y, std::span<const int> columns, float* out) = 0;
    virtual const Background& background() const = 0;
};

/// Returns the fast version for uniform read noise (eq. 5.6), or the general one for maps (eq. 5.5).
std::unique_ptr<ScoreRows> make_score_rows(const CameraView& camera, const MatchedFilter& filter);
std::unique_ptr<ScoreRows> make_uniform_score_rows(const CameraView& camera, const MatchedFilter& filter);
std::unique_ptr<ScoreRows> make_weighted_score_rows(const CameraView& camera, const MatchedFilter& filter);

}  // namespace glint
