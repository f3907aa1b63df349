// Finds a fixed pattern by the signs of the differences between neighbouring pixels, which agree between frames.
// SPDX-License-Identifier: MIT
#include "pipeline/frame_checks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <numeric>
#include <utility>
#include <vector>

#include "base/aligned.hpp"
#include "base/median.hpp"
#include "data/highest_counts.hpp"
#include "detect/score_rows.hpp"
#include "glint/detect.hpp"
#include "glint/error.hpp"

namespace glint {
namespace {

constexpr std::int64_t checked_frames = 4;
constexpr std::int64_t shortest_movie_with_background = 32;
constexpr int checked_edge = 256;  // edge of the part of a frame that is checked for a pattern, px
constexpr double min_pattern_part = 0.1, pattern_errors = 5;
constexpr double min_saturated = 0.03, min_below = 0.005;  // shares of the pixels

/// Tiles of a frame that are searched for a pattern. A camera's pattern is in most tiles, an edge or a bead in few.
constexpr int tiles_along = 4, tile_count = tiles_along * tiles_along;

/// Differences of a frame's pixels from their left and right neighbours, by tile. A slope does not change them. `light`
/// is the light around each pixel, whose noise is independent of the difference.
struct Differences {
    std::array<std::vector<float>, tile_count> values, light, noise;  // noise: according to the camera's values
};

Differences differences_of(const AlignedFloats& photoelectrons, const CameraView& camera) {
    const std::size_t width = std::size_t(camera.width());
    const int columns = std::min(camera.width(), checked_edge), rows = std::min(camera.height(), checked_edge);
    Differences to;
    for (int y = 1; y + 1 < rows; ++y)
        for (int x = 1; x + 1 < columns; ++x) {
            const std::size_t k = std::size_t(y) * width + std::size_t(x);
            const auto tile = std::size_t(y * tiles_along / rows * tiles_along + x * tiles_along / columns);
            float sum = 0, read = 0;
            bool is_masked = false;
            for (const std::size_t row : {k - width, k, k + width})
                for (const std::size_t at : {row - 1, row, row + 1}) {
                    sum += photoelectrons[at];
                    read += camera.pixel(at).variance_e2 / 9;
                    is_masked = is_masked || camera.pixel(at).variance_e2 >= masked_variance_e2;
                }
            if (is_masked || !std::isfinite(sum)) sum = std::nanf("");
            to.values[tile].push_back(photoelectrons[k] - 0.5f * (photoelectrons[k - 1] + photoelectrons[k + 1]));
            to.light[tile].push_back(sum);
            const float shot = camera.excess_noise() / camera.pixel(k).qe * std::max(sum / 9, 0.0f);
            to.noise[tile].push_back(std::sqrt(shot + read));
        }
    return to;
}

/// How often the signs of differences agree between two frames, minus how often they disagree. Uses the darker half of
/// each tile's pixels, which contains no spots.
class Agreement {
  public:
    void add(const Differences& one, const Differences& other) {
        for (std::size_t tile = 0; tile < tile_count; ++tile) {
            std::vector<float> light;
            for (std::size_t k = 0; k < one.light[tile].size(); ++k)
                light.push_back(one.light[tile][k] + other.light[tile][k]);
            std::vector<float> known = light;
            std::erase_if(known, [](float value) { return !std::isfinite(value); });
            if (known.empty()) continue;
            const double middle = median(known);
            double of_one = 0, of_other = 0, here = 0;
            for (std::size_t k = 0; k < light.size(); ++k) {
                const float a = one.values[tile][k], b = other.values[tile][k];
                if (!(light[k] <= middle) || a == 0 || b == 0) continue;
                sum_[tile] += (a > 0) == (b > 0) ? 1 : -1, ++count_[tile];
                of_one += a > 0 ? 1 : -1, of_other += b > 0 ? 1 : -1, ++here;
                sizes_.push_back(std::abs(a));
                const float pull = a * a / (1.5f * one.noise[tile][k] * one.noise[tile][k]);
                if (pull < outlier) pulls_ += pull, ++pull_count_;
            }
            // In crowds, dark pixels are darker than their neighbours in any frame. This agreement is subtracted.
            if (here > 0) sum_[tile] -= of_one * of_other / here;
        }
    }
    /// Returns the correlation between frames in the median tile, assuming normally distributed differences; 0 if it
    /// may be chance.
    double correlation() const {
        // factors of the variance: differences of neighbouring pixels share noise; the error of a median
        constexpr double enough = 500, alike = 2, of_median = 1.6;
        std::vector<double> shares;
        double all = 0;
        for (std::size_t tile = 0; tile < tile_count; ++tile)
            if (count_[tile] > 0) shares.push_back(sum_[tile] / count_[tile]), all += count_[tile];
        if (all < enough || 2 * shares.size() < tile_count) return 0;
        const double share = median(shares);
        if (share < pattern_errors * std::sqrt(alike * of_median / all)) return 0;
        return std::sin(0.5 * std::numbers::pi * share);
    }
    /// Returns the standard deviation of a pixel; that of a difference is sqrt(1.5) times as large.
    double deviation() const { return sizes_.empty() ? 0 : 1.4826 * median(sizes_) / std::sqrt(1.5); }
    /// Returns the ratio of the standard deviation to the one that the camera's values predict.
    double ratio() const { return pull_count_ > 0 ? std::sqrt(pulls_ / pull_count_ / within_outliers) : 0; }

  private:
    /// Within 4 standard deviations (`outlier` is the square), a normal distribution has this part of its variance.
    static constexpr float outlier = 16, within_outliers = 0.9989f;
    std::array<double, tile_count> sum_{}, count_{};
    double pulls_ = 0, pull_count_ = 0;
    std::vector<float> sizes_;
};

/// Returns the detection scores of all pixels of a frame.
std::vector<float> frame_scores(const AlignedFloats& photoelectrons, const LocalizeJob& job) {
    const int width = job.camera.width();
    const auto rows = make_score_rows(job.camera, detect_options(job).filter);
    PaddedRow narrow(width);
    std::vector<int> columns(static_cast<std::size_t>(width));
    std::iota(columns.begin(), columns.end(), 0);
    std::vector<float> scores(photoelectrons.size());
    rows->begin(photoelectrons.data());
    for (int y = 0; y < job.camera.height(); ++y) {
        rows->row(y, narrow.data());
        rows->scores(y, columns, scores.data() + std::size_t(y) * std::size_t(width));
    }
    return scores;
}

/// Calls `use` with the photoelectrons of up to 4 frames, one after another.
template <class Use>
int for_frames(Movie& movie, const LocalizeJob& job, std::int64_t frames, const Use& use) {
    const std::int64_t count = std::min(checked_frames, frames);
    const bool is_pipe = movie.info().files.empty();  // a pipe keeps only its first frames
    AlignedFloats photoelectrons;                     // sized by each frame read: a pipe's announced size may be wrong
    FrameBlock block;
    int read = 0;
    for (std::int64_t n = 0; n < count; ++n) {
        try {
            movie.read(job.frames.begin + (is_pipe ? n : n * frames / count), 1, block);
        } catch (const Error&) {
            continue;
        }
        photoelectrons.resize(std::size_t(job.camera.width()) * std::size_t(job.camera.height()));
        job.camera.to_photoelectrons(block.frame(0), block.type, photoelectrons);
        use(block, photoelectrons), ++read;
    }
    return read;
}

void add_counts(const FrameBlock& block, std::size_t pixels, HighestCounts& to) {
    const auto add = [&](auto count) { to.add(reinterpret_cast<const decltype(count)*>(block.frame(0)), pixels); };
    switch (block.type) {
        case PixelType::uint8: return add(std::uint8_t());
        case PixelType::uint16: return add(std::uint16_t());
        case PixelType::float32: return add(float());
    }
}

constexpr double exact_counts = 1 << 24;  ///< float32 represents whole numbers exactly up to this

/// Returns the largest finite count; NaN if any count has a fraction.
double largest_whole(const FrameBlock& block, std::size_t pixels) {
    if (block.type != PixelType::float32) return 0;
    const auto* counts = reinterpret_cast<const float*>(block.frame(0));
    float largest = 0;
    for (std::size_t k = 0; k < pixels; ++k) {
        if (!std::isfinite(counts[k])) continue;
        if (counts[k] != std::floor(counts[k])) return std::nan("");
        largest = std::max(largest, std::abs(counts[k]));
    }
    return double(largest);
}

double saturation_of(const HighestCounts& counts, PixelType type) {
    switch (type) {
        case PixelType::uint8: return saturation_of<std::uint8_t>(counts);
        case PixelType::uint16: return saturation_of<std::uint16_t>(counts);
        case PixelType::float32: return saturation_of<float>(counts);
    }
    return 0;
}

}  // namespace

bool FrameChecks::is_saturated() const { return !std::isnan(only_adu) || saturated_share > min_saturated; }

double FrameChecks::pattern_part() const {
    const double pattern = pattern_e * pattern_e;
    return pattern > 0 ? pattern / (pattern + noise_e * noise_e) : 0;
}

FrameChecks check_frames(Movie& movie, const LocalizeJob& job, std::int64_t frames) {
    constexpr double below_noises = 6;
    const std::size_t pixels = std::size_t(job.camera.width()) * std::size_t(job.camera.height());
    FrameChecks to;
    HighestCounts counts;
    Differences before;
    Agreement agreement;
    double below = 0, largest = 0;
    to.frames = for_frames(movie, job, frames, [&](const FrameBlock& block, const AlignedFloats& photoelectrons) {
        add_counts(block, pixels, counts);
        const double whole = largest_whole(block, pixels);
        largest = whole >= largest ? whole : std::isnan(whole) ? whole : largest;
        for (std::size_t k = 0; k < pixels; ++k)
            if (const double e = photoelectrons[k]; e < -below_noises)
                below += e * e > below_noises * below_noises * (1 + double(job.camera.pixel(k).variance_e2));
        Differences now = differences_of(photoelectrons, job.camera);
        agreement.add(before, now);
        before = std::move(now);
    });
    if (to.frames == 0) return to;
    if (largest > exact_counts) to.rounded_adu = largest;
    const double all = double(pixels) * to.frames, part = agreement.correlation();
    to.below_offset_share = below / all;
    to.pattern_e = part >= min_pattern_part ? agreement.deviation() * std::sqrt(part) : 0;
    to.noise_ratio = agreement.ratio();
    to.noise_e = agreement.deviation() * std::sqrt(1 - part);
    to.saturation_adu =
        job.pixels.saturation_adu > 0 ? job.pixels.saturation_adu : saturation_of(counts, movie.info().type);
    if (to.saturation_adu > 0) to.saturated_share = double(counts.pixels_from(to.saturation_adu)) / all;
    if (double(counts.pixels_with_highest()) == all) to.only_adu = counts.highest();
    return to;
}

double static_spots(Movie& movie, const LocalizeJob& job, std::int64_t frames) {
    constexpr float like_spot = 4, seen_again = 2.5;
    if (job.known_light) return 0;  // static light is already subtracted
    std::vector<float> before;
    double spots = 0, again = 0, bright = 0, all = 0;
    for_frames(movie, job, frames, [&](const FrameBlock&, const AlignedFloats& photoelectrons) {
        std::vector<float> now = frame_scores(photoelectrons, job);
        for (std::size_t k = 0; k < before.size(); ++k) {
            ++all, bright += now[k] > seen_again;
            if (before[k] > like_spot) ++spots, again += now[k] > seen_again;
        }
        before = std::move(now);
    });
    return spots > 0 ? std::max(again / spots - bright / all, 0.0) : 0;
}

std::string static_spots_warning(double share, std::int64_t frames) {
    // Molecules that blink reappear in the same places.
    const double min_share = frames < shortest_movie_with_background ? 0.5 : 0.8;
    if (share < min_share) return "";
    return fmt::format(
        "{:.0f} % of the pixels that look like spots also do so in other frames: static light such as sharp edges, "
        "strips or texture is taken for crowded molecules, and most localizations there are false. {}",
        100 * share,
        frames < shortest_movie_with_background
            ? fmt::format("glint subtracts static light in movies of at least {} frames: record more, or cut these "
                          "areas away",
                          shortest_movie_with_background)
            : std::string("glint could not subtract it in this movie: check the offset, or cut these areas away"));
}

std::string pattern_warning(const FrameChecks& checks) {
    if (!(checks.pattern_e > 0)) return "";
    return fmt::format(
        "pixels differ from their neighbours by {:.3g} e- (standard deviation) in the same way in all frames, in "
        "addition to {:.3g} e- of noise: a fixed pattern of the camera, or a fine structure that emits light in all "
        "frames. It shifts localizations by more than their stated errors, and causes false ones if it is strong. "
        "Measure offset and gain of each pixel with `glint calibrate camera`, and give the result with `camera`{}",
        checks.pattern_e, checks.noise_e,
        checks.is_patterned() ? ". Noise, p values and crowding can only be assessed after that" : "");
}

std::string saturation_warning(const FrameChecks& checks) {
    constexpr const char* remedy = "Record with less light, a shorter exposure or a lower gain";
    if (!std::isnan(checks.only_adu))
        return fmt::format("all pixels of the checked frames have the count {:g}: {}", checks.only_adu,
                           checks.only_adu > 0 ? fmt::format("they are saturated, or blank. {}", remedy)
                                               : std::string("the frames are blank"));
    if (!(checks.saturated_share > 0)) return "";
    return fmt::format(
        "{:.3g} % of the pixels are saturated, at {:g} ADU: molecules there are missed, or their positions and photons "
        "are uncertain. {}",
        100 * checks.saturated_share, checks.saturation_adu, remedy);
}

std::string offset_warning(const FrameChecks& checks) {
    constexpr double a_part = 0.5;  // of all pixels; above this, the noise check already reports a wrong offset
    if (checks.below_offset_share < min_below || checks.below_offset_share > a_part || checks.is_patterned()) return "";
    return fmt::format(
        "{:.2g} % of the pixels have counts below the camera's offset, by more than their read noise: was a part of "
        "the frames cut out, or a background subtracted? The edges of such areas cause false localizations. Cut the "
        "areas away (save the movie as 32-bit floating-point TIFF with NaN there), or give the right `offset`",
        100 * checks.below_offset_share);
}

std::string rounded_counts_warning(const FrameChecks& checks) {
    if (!(checks.rounded_adu > 0)) return "";
    return fmt::format(
        "counts reach {:.0f}, but glint computes in single precision and rounds counts above {:.0f} to multiples of "
        "up to {:.0f}. Subtract the constant part of the counts first (a large offset), and save the movie as uint16 "
        "if the rest fits",
        checks.rounded_adu, exact_counts, std::exp2(std::ceil(std::log2(checks.rounded_adu)) - 24));
}

}  // namespace glint
