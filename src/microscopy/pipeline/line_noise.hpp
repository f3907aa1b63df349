// Noise that whole columns or rows of a frame share, as some cameras' readout adds it.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "glint/movie.hpp"
#include "pipeline/localize_job.hpp"

namespace glint {

/// Variances, e-^2 per px.
struct LineNoise {
    double columns = 0, columns_error = 0;  ///< shared by the pixels of a column; standard error
    double rows = 0, rows_error = 0;
    double pixels = 0;  ///< of single pixels, without the shared noise
};

/// Accumulates frames of width x height photoelectrons, at least 32 px in both directions. Ignores NaN.
class LineNoiseSum {
  public:
    LineNoiseSum(int width, int height) : width_(width), height_(height) {}
    void add(std::span<const float> photoelectrons);
    LineNoise result() const;

  private:
    struct Products {
        double sum = 0, squares = 0, count = 0;
    };
    int width_, height_;
    Products columns_, rows_;
    double pixels_ = 0, frames_ = 0;
};

/// Measures up to 4 of the movie's `frames` localized frames, from the first on. Skips unreadable frames, including
/// those a pipe no longer holds.
LineNoise measure_line_noise(Movie& movie, const LocalizeJob& job, std::int64_t frames);

/// Returns a warning with the size of the shared noise and its effect on the precision. Empty if the effect is small.
std::string line_noise_warning(const LineNoise& noise, double spot_width_px);

}  // namespace glint
