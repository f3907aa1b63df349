// Estimates the covariance of the medians of the two halves of each column, and of each row.
// SPDX-License-Identifier: MIT
#include "pipeline/line_noise.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <vector>

#include "base/aligned.hpp"
#include "base/median.hpp"
#include "glint/error.hpp"

namespace glint {
namespace {

constexpr int min_edge = 32, max_edge = 128;  // part of a frame that is used, px
constexpr std::int64_t max_line_frames = 4;
constexpr double min_factor = 1.05, standard_errors = 5;
constexpr double variance_factor = 6;  // the sum of the squares of 1, -2 and 1

/// Returns the median of the finite values; NaN if most are not finite.
double median_of_finite(std::vector<float>& values) {
    const std::size_t all = values.size();
    std::erase_if(values, [](float value) { return !std::isfinite(value); });
    return 2 * values.size() < all || values.empty() ? std::nan("") : median(values);
}

double difference(const std::vector<double>& values, std::size_t k) {
    return values[k - 1] - 2 * values[k] + values[k + 1];
}

}  // namespace

void LineNoiseSum::add(std::span<const float> photoelectrons) {
    const int columns = std::min(width_, max_edge), rows = std::min(height_, max_edge);
    if (columns < min_edge || rows < min_edge) return;
    const auto at = [&](int x, int y) { return photoelectrons[std::size_t(y) * std::size_t(width_) + std::size_t(x)]; };
    std::vector<float> values;
    // A spot lies in only one half, so spots and pixel noise of the two halves are independent.
    const auto add_lines = [&](int lines, int along, const auto& pixel, Products& to) {
        std::vector<double> halves[2];
        for (int half = 0; half < 2; ++half)
            for (int line = 0; line < lines; ++line) {
                values.clear();
                for (int k = half * (along / 2); k < (half + 1) * (along / 2); ++k) values.push_back(pixel(line, k));
                halves[half].push_back(median_of_finite(values));
            }
        for (std::size_t k = 1; k + 1 < halves[0].size(); ++k) {
            const double product = difference(halves[0], k) * difference(halves[1], k) / variance_factor;
            if (std::isfinite(product)) to.sum += product, to.squares += product * product, ++to.count;
        }
    };
    add_lines(
        columns, rows, [&](int line, int k) { return at(line, k); }, columns_);
    add_lines(
        rows, columns, [&](int line, int k) { return at(k, line); }, rows_);
    values.clear();
    for (int y = 0; y < rows; y += 2)
        for (int x = 1; x + 1 < columns; x += 3) values.push_back(std::abs(at(x - 1, y) - 2 * at(x, y) + at(x + 1, y)));
    if (const double typical = 1.4826 * median_of_finite(values); std::isfinite(typical))
        pixels_ += typical * typical / variance_factor, ++frames_;
}

LineNoise LineNoiseSum::result() const {
    LineNoise noise;
    if (frames_ == 0 || columns_.count < min_edge || rows_.count < min_edge) return noise;
    const auto mean = [](const Products& of) { return of.sum / of.count; };
    // Neighbouring differences share values, so their products count half.
    const auto error = [](const Products& of) {
        const double middle = of.sum / of.count;
        return std::sqrt(std::max(of.squares / of.count - middle * middle, 0.0) / (of.count / 2));
    };
    noise.columns = mean(columns_), noise.columns_error = error(columns_);
    noise.rows = mean(rows_), noise.rows_error = error(rows_);
    noise.pixels = std::max(pixels_ / frames_ - std::max(noise.columns, 0.0), 0.0);
    return noise;
}

LineNoise measure_line_noise(Movie& movie, const LocalizeJob& job, std::int64_t frames) {
    if (frames <= 0) return {};
    const int width = job.camera.width(), height = job.camera.height();
    LineNoiseSum sum(width, height);
    AlignedFloats photoelectrons(std::size_t(width) * std::size_t(height));
    FrameBlock block;
    // A pipe keeps only its first frames.
    const std::int64_t count = std::min(max_line_frames, frames);
    const bool is_pipe = movie.info().files.empty();
    for (std::int64_t n = 0; n < count; ++n) {
        try {
            movie.read(job.frames.begin + (is_pipe ? n : n * frames / count), 1, block);
        } catch (const Error&) {
            continue;
        }
        job.camera.to_photoelectrons(block.frame(0), block.type, photoelectrons);
        sum.add(photoelectrons);
    }
    return sum.result();
}

std::string line_noise_warning(const LineNoise& noise, double spot_width_px) {
    // On high background, a spot is weighted by its image, which is equivalent to 2 sqrt(pi) widths of equally weighted
    // rows. The shared noise does not average out.
    const double rows_of_spot = 2 * std::sqrt(std::numbers::pi) * spot_width_px;
    const auto factor = [&](double shared, double error) {
        if (!(shared > standard_errors * error) || !(noise.pixels > 0)) return 1.0;
        return std::sqrt(1 + rows_of_spot * shared / noise.pixels);
    };
    const double along_x = factor(noise.columns, noise.columns_error), along_y = factor(noise.rows, noise.rows_error);
    if (std::max(along_x, along_y) < min_factor) return "";
    const bool is_x = along_x >= along_y;
    return fmt::format(
        "the pixels of a {} share noise of {:.2g} e- (standard deviation) in addition to their own of {:.2g} e-. The "
        "noise check of single pixels cannot detect it: errors along {} are up to {:.1f} times those stated. If the "
        "pattern is the same in all frames, maps of `glint calibrate camera` remove it",
        is_x ? "column" : "row", std::sqrt(is_x ? noise.columns : noise.rows), std::sqrt(noise.pixels),
        is_x ? "x" : "y", is_x ? along_x : along_y);
}

}  // namespace glint
