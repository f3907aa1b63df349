// Errors of matched rows along one axis, in nm and in units of their stated precision.
// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

#include "base/median.hpp"

namespace glint {

/// Collects errors along one axis. Statistics without data are NaN.
class AxisErrors {
  public:
    /// Adds an error (localization minus truth). A precision is unknown unless it is positive and finite.
    void add(double error_nm, double precision_nm) {
        sum_ += error_nm, squares_ += error_nm * error_nm, ++n_;
        if (precision_nm > 0 && std::isfinite(precision_nm)) pulls_.push_back(error_nm / precision_nm);
    }
    double bias_nm() const { return n_ ? sum_ / double(n_) : unknown; }
    double mean_square_nm2() const { return n_ ? squares_ / double(n_) : unknown; }

    double std_of_pulls() const {
        if (pulls_.size() < 2) return unknown;
        double mean = 0, squares = 0;
        for (const double pull : pulls_) mean += pull / double(pulls_.size());
        for (const double pull : pulls_) squares += (pull - mean) * (pull - mean);
        return std::sqrt(squares / double(pulls_.size()));
    }
    /// Returns the median absolute deviation, scaled to the standard deviation of a normal distribution.
    double mad_of_pulls() const {
        if (pulls_.size() < 2) return unknown;
        std::vector<double> deviations = pulls_;
        const double middle = median(pulls_);
        for (double& pull : deviations) pull = std::abs(pull - middle);
        return 1.4826 * median(std::move(deviations));
    }

  private:
    static constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
    double sum_ = 0, squares_ = 0;
    std::size_t n_ = 0;
    std::vector<double> pulls_;
};

}  // namespace glint
