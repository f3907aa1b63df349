// Scores for uniform read noise (eq. 5.6): two convolutions per frame, normalised in advance.
// SPDX-License-Identifier: MIT
#include <array>

#include "detect/score_rows.hpp"

namespace glint {
namespace {

class UniformScoreRows : public ScoreRows {
  public:
    UniformScoreRows(const CameraView& camera, const MatchedFilter& filter)
        : width_(camera.width()),
          height_(camera.height()),
          filter_(filter),
          norms_(filter_, width_, height_),
          background_(camera, filter),
          outside_(std::size_t(width_), 0.0f),
          inverse_noise_(2, std::vector<float>(std::size_t(width_))),
          window_(std::size_t(2 * filter_.radius() + rows_together)),
          sums_(2 * rows_together, SumRows(width_)) {}

    void begin(const float* photoelectrons) override {
        frame_ = photoelectrons;
        background_.measure(photoelectrons);
    }

    void row(int y, float* narrow) override {
        if (y % noise_rows == 0) background_.inverse_noise_row(y + noise_rows / 2, inverse_noise(y));
        if (y % rows_together == 0) sum_columns(y);
        GLINT_PICK(uniform_narrow)
        (sums_of(y).third, filter_.kernels().narrow, norms_.narrow_norm(y), width_, narrow);
    }

    void scores(int y, std::span<const int> columns, float* out) override {
        const UniformNorms norms{norms_.box_ratio(y), norms_.norm(y), inverse_noise(y)};
        GLINT_PICK(uniform_scores)
        (sums_of(y), filter_.kernels(), norms, columns.data(), int(columns.size()), out);
    }

    const Background& background() const override { return background_; }

  private:
    void sum_columns(int y) {
        for (std::size_t k = 0; k < window_.size(); ++k) {
            const int from = y - filter_.radius() + int(k);
            window_[k] = from < 0 || from >= height_ ? outside_.data() : frame_ + std::size_t(from) * width_;
        }
        std::array<ColumnSums, rows_together> sums;
        for (int k = 0; k < rows_together; ++k) sums[std::size_t(k)] = sums_of(y + k);
        GLINT_PICK(narrow_column_sums)(window_.data(), filter_.kernels(), width_, sums.data());
    }
    ColumnSums sums_of(int y) { return sums_[std::size_t(y) % sums_.size()].sums(); }
    float* inverse_noise(int y) { return inverse_noise_[std::size_t(y / noise_rows) % 2].data(); }

    int width_, height_;
    Filter filter_;
    EdgeNorms norms_;
    Background background_;
    const float* frame_ = nullptr;
    std::vector<float> outside_;  ///< replaces rows outside the frame: zeros add nothing to a clipped window
    std::vector<std::vector<float>> inverse_noise_;  ///< of rows that share noise; even and odd groups
    std::vector<const float*> window_;
    std::vector<SumRows> sums_;  ///< of the rows computed together, and of the previous ones
};

}  // namespace

std::unique_ptr<ScoreRows> make_uniform_score_rows(const CameraView& camera, const MatchedFilter& filter) {
    return std::make_unique<UniformScoreRows>(camera, filter);
}

std::unique_ptr<ScoreRows> make_score_rows(const CameraView& camera, const MatchedFilter& filter) {
    return camera.variance_map().empty() ? make_uniform_score_rows(camera, filter)
                                         : make_weighted_score_rows(camera, filter);
}

}  // namespace glint
