// Scores with maps of read noise or quantum efficiency (eq. 5.5). The normalisations are convolutions of the weights.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "detect/score_rows.hpp"

namespace glint {
namespace {

/// A ring buffer of the rows inside the window. Each row is computed once and kept until the window has passed it.
class RowRing {
  public:
    RowRing(int rows, int width) : rows_(std::size_t(rows), PaddedRow(width)) {}
    float* at(int y) { return rows_[std::size_t(y) % rows_.size()].data(); }

  private:
    std::vector<PaddedRow> rows_;
};

class WeightedScoreRows : public ScoreRows {
  public:
    WeightedScoreRows(const CameraView& camera, const MatchedFilter& filter)
        : width_(camera.width()),
          height_(camera.height()),
          variance_(camera.variance_map().begin(), camera.variance_map().end()),
          qe_(camera.qe_map().begin(), camera.qe_map().end()),
          filter_(filter),
          background_(camera, filter),
          outside_(std::size_t(width_), 0.0f),
          shot_noise_(std::size_t(width_)),
          weight_window_(std::size_t(2 * filter_.radius() + rows_together)),
          signal_window_(weight_window_.size()),
          weights_(int(weight_window_.size()), width_),
          signal_(int(weight_window_.size()), width_),
          weight_sums_(2 * rows_together, SumRows(width_)),
          signal_sums_(2 * rows_together, SumRows(width_)),
          narrow_weights_(width_) {
        if (variance_.empty()) variance_.assign(std::size_t(width_) * height_, camera.variance_scalar());
    }

    void begin(const float* photoelectrons) override {
        frame_ = photoelectrons;
        weighed_rows_ = 0;
        background_.measure(photoelectrons);
        variance_of_frame_ = variance_.data();
        if (background_.has_missing()) leave_out_missing();
    }

    void row(int y, float* narrow) override {
        if (y % rows_together == 0) sum_columns(y);
        const Kernels kernels = filter_.kernels();
        GLINT_PICK(narrow_column_sum)
        (weight_window_.data() + y % rows_together, kernels.radius, kernels.narrow, width_, narrow_weights_.data());
        GLINT_PICK(weighted_narrow)
        (sums_of(signal_sums_, y).third, narrow_weights_.data(), kernels.narrow, width_, narrow);
    }

    void scores(int y, std::span<const int> columns, float* out) override {
        GLINT_PICK(weighted_scores)
        (sums_of(weight_sums_, y), sums_of(signal_sums_, y), filter_.kernels(), columns.data(), int(columns.size()),
         out);
    }

    const Background& background() const override { return background_; }

  private:
    /// An infinite variance gives a pixel the weight 0.
    void leave_out_missing() {
        without_missing_.assign(frame_, frame_ + variance_.size());
        variance_if_missing_ = variance_;
        for (std::size_t k = 0; k < variance_.size(); ++k)
            if (std::isnan(without_missing_[k]))
                without_missing_[k] = 0, variance_if_missing_[k] = std::numeric_limits<float>::infinity();
        frame_ = without_missing_.data(), variance_of_frame_ = variance_if_missing_.data();
    }
    void sum_columns(int y) {
        weigh_rows_until(std::min(height_, y + filter_.radius() + rows_together));
        for (std::size_t k = 0; k < weight_window_.size(); ++k) {
            const int from = y - filter_.radius() + int(k);
            const bool is_inside = from >= 0 && from < height_;
            weight_window_[k] = is_inside ? weights_.at(from) : outside_.data();
            signal_window_[k] = is_inside ? signal_.at(from) : outside_.data();
        }
        std::array<ColumnSums, rows_together> weights, signal;
        for (int k = 0; k < rows_together; ++k) {
            weights[std::size_t(k)] = sums_of(weight_sums_, y + k);
            signal[std::size_t(k)] = sums_of(signal_sums_, y + k);
        }
        GLINT_PICK(squared_column_sums)(weight_window_.data(), filter_.kernels(), width_, weights.data());
        GLINT_PICK(narrow_column_sums)(signal_window_.data(), filter_.kernels(), width_, signal.data());
    }
    static ColumnSums sums_of(std::vector<SumRows>& rows, int y) { return rows[std::size_t(y) % rows.size()].sums(); }

    void weigh_rows_until(int end) {
        for (; weighed_rows_ < end; ++weighed_rows_) {
            const std::size_t first = std::size_t(weighed_rows_) * width_;
            background_.shot_noise_row(weighed_rows_, shot_noise_.data());
            GLINT_PICK(weigh)
            (frame_ + first, shot_noise_.data(), variance_of_frame_ + first, qe_.empty() ? nullptr : qe_.data() + first,
             min_variance, width_, weights_.at(weighed_rows_), signal_.at(weighed_rows_));
        }
    }

    int width_, height_;
    std::vector<float> variance_, qe_;
    Filter filter_;
    Background background_;
    const float *frame_ = nullptr, *variance_of_frame_ = nullptr;
    std::vector<float> without_missing_, variance_if_missing_;  ///< of a frame with missing pixels
    int weighed_rows_ = 0;
    std::vector<float> outside_, shot_noise_;
    std::vector<const float*> weight_window_, signal_window_;
    RowRing weights_, signal_;
    std::vector<SumRows> weight_sums_, signal_sums_;  ///< of the rows computed together, and of the previous ones
    PaddedRow narrow_weights_;
};

}  // namespace

std::unique_ptr<ScoreRows> make_weighted_score_rows(const CameraView& camera, const MatchedFilter& filter) {
    return std::make_unique<WeightedScoreRows>(camera, filter);
}

}  // namespace glint
