// Scores for uniform read noise (eq. 5.6): two convolutions per frame, with normalisations computed in advance.
// SPDX-License-Identifier: MIT
#include "detect/score_rows.hpp"

namespace glint {
namespace {

class UniformScoreRows : public ScoreRows {
  public:
    UniformScoreRows(const CameraView& camera, double sigma_px)
        : width_(camera.width()),
          height_(camera.height()),
          filter_(sigma_px),
          norms_(filter_, width_, height_),
          background_(camera, sigma_px),
          outside_(std::size_t(width_), 0.0f),
          inverse_sigma_(std::size_t(width_)),
          window_(std::size_t(2 * filter_.radius() + 1)),
          wide_(width_),
          box_(width_),
          narrow_(width_) {}

    void begin(const float* photoelectrons) override {
        frame_ = photoelectrons;
        background_.measure(photoelectrons);
    }

    bool row(int y, float threshold, float* score, float* narrow) override {
        if (y % noise_rows == 0) background_.inverse_sigma_row(y + noise_rows / 2, inverse_sigma_.data());
        for (std::size_t k = 0; k < window_.size(); ++k) {
            const int from = y - filter_.radius() + int(k);
            window_[k] = from < 0 || from >= height_ ? outside_.data() : frame_ + std::size_t(from) * width_;
        }
        const ColumnSums sums{wide_.data(), box_.data(), narrow_.data()};
        const UniformNorms norms{norms_.box_ratio(y), norms_.norm(y), inverse_sigma_.data(), norms_.narrow_norm(y)};
        GLINT_PICK(narrow_column_sums)(window_.data(), filter_.kernels(), width_, sums);
        return GLINT_PICK(uniform_scores)(sums, filter_.kernels(), norms, width_, threshold, score, narrow);
    }

    const Background& background() const override { return background_; }

  private:
    int width_, height_;
    Filter filter_;
    EdgeNorms norms_;
    Background background_;
    const float* frame_ = nullptr;
    std::vector<float> outside_;  ///< stands for rows outside the frame: zeros add nothing to a clipped window
    std::vector<float> inverse_sigma_;
    std::vector<const float*> window_;
    PaddedRow wide_, box_, narrow_;
};

}  // namespace

std::unique_ptr<ScoreRows> make_uniform_score_rows(const CameraView& camera, double sigma_px) {
    return std::make_unique<UniformScoreRows>(camera, sigma_px);
}

std::unique_ptr<ScoreRows> make_score_rows(const CameraView& camera, double sigma_px) {
    return camera.variance_map().empty() ? make_uniform_score_rows(camera, sigma_px)
                                         : make_weighted_score_rows(camera, sigma_px);
}

}  // namespace glint
