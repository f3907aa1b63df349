// Means of a sample's pixels from their low level upwards (docs/theory.md, section 5, Static background).
// SPDX-License-Identifier: MIT
#include "pipeline/temporal_means.hpp"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>
#include <utility>

#include "base/aligned.hpp"
#include "base/median.hpp"
#include "detect/frame_math.hpp"
#include "glint/error.hpp"

namespace glint {
namespace {

constexpr std::size_t sample_values = std::size_t(1) << 25;  // of the sample held at once
constexpr std::size_t pixels_together = 512;                 // their values stay in a core's cache
constexpr int least_rows = 32, band_rows = 16, passes = 4;
constexpr float beyond_any = std::numeric_limits<float>::infinity();

/// Whole rows of all frames of the sample, frame by frame.
struct Strip {
    int width, first_row, rows;
    std::size_t frames;
    std::vector<float> values;  // over the frame's level
    std::vector<float> levels;  // of the frames, whose mean is 1
    std::size_t pixels() const { return std::size_t(width) * std::size_t(rows); }
    float* frame(std::size_t k) { return values.data() + k * pixels(); }
    const float* frame(std::size_t k) const { return values.data() + k * pixels(); }
};

/// What pixels [begin, end) of a strip do not exceed at their low level, as (5.8), which is found from their least values upwards.
void find_limits(const Strip& strip, const CameraView& camera, std::size_t begin, std::size_t end, float* limits) {
    std::array<float, pixels_together> shot, read, mean, limit, sum, count;
    const std::size_t n = end - begin;
    const float dimmest = *std::min_element(strip.levels.begin(), strip.levels.end());  // has the most noise
    for (std::size_t i = 0; i < n; ++i) {
        const auto pixel = camera.pixel(std::size_t(strip.first_row) * std::size_t(strip.width) + begin + i);
        shot[i] = camera.excess_noise() / pixel.qe / dimmest, read[i] = pixel.variance_e2 / (dimmest * dimmest);
        mean[i] = beyond_any;
    }
    for (std::size_t k = 0; k < strip.frames; ++k) {
        const float* values = strip.frame(k) + begin;
        for (std::size_t i = 0; i < n; ++i) mean[i] = values[i] < mean[i] ? values[i] : mean[i];  // false for NaN
    }
    // The least of 16 to 256 values lies 1.8 to 2.8 standard deviations below their mean.
    for (std::size_t i = 0; i < n; ++i)
        mean[i] += 1.5f * std::sqrt(shot_noise(std::max(mean[i], shot[i]), shot[i]) + read[i]);
    for (int pass = 0; pass <= passes; ++pass) {
        for (std::size_t i = 0; i < n; ++i)
            limit[i] = mean[i] + 3 * std::sqrt(shot_noise(mean[i], shot[i]) + read[i]) + 2 * shot[i];
        if (pass == passes) break;
        sum.fill(0), count.fill(0);
        for (std::size_t k = 0; k < strip.frames; ++k) {
            const float* values = strip.frame(k) + begin;
            for (std::size_t i = 0; i < n; ++i) {
                sum[i] += values[i] <= limit[i] ? values[i] : 0.0f;
                count[i] += values[i] <= limit[i] ? 1.0f : 0.0f;
            }
        }
        for (std::size_t i = 0; i < n; ++i) mean[i] = sum[i] / count[i];
    }
    std::copy_n(limit.begin(), n, limits + begin);
}

/// Pixels of a frame that are above their limits, or near one that is.
class Bright {
  public:
    Bright(int width, int reach_px) : width_(width), reach_(reach_px), padded_(std::size_t(width + 2 * reach_px)) {}

    /// Marks rows [begin, end) of a frame of the strip.
    void find(const Strip& strip, std::size_t frame, const std::vector<float>& limits, int begin, int end) {
        const int from = std::max(begin - reach_, 0), to = std::min(end + reach_, strip.rows);
        rows_.assign(std::size_t(to - from) * std::size_t(width_), 0);
        marks_.assign(std::size_t(end - begin) * std::size_t(width_), 0);
        for (int y = from; y < to; ++y) {
            const std::size_t at = std::size_t(y) * std::size_t(width_);
            const float *values = strip.frame(frame) + at, *limit = limits.data() + at;
            for (int x = 0; x < width_; ++x) padded_[std::size_t(x + reach_)] = values[x] > limit[x];
            std::uint8_t* row = rows_.data() + std::size_t(y - from) * std::size_t(width_);
            for (int k = 0; k <= 2 * reach_; ++k)
                for (int x = 0; x < width_; ++x) row[x] |= padded_[std::size_t(x + k)];
            for (int v = std::max(y - reach_, begin); v < std::min(y + reach_ + 1, end); ++v) {
                std::uint8_t* marks = marks_.data() + std::size_t(v - begin) * std::size_t(width_);
                for (int x = 0; x < width_; ++x) marks[x] |= row[x];
            }
        }
    }
    const std::uint8_t* marks() const { return marks_.data(); }

  private:
    int width_, reach_;
    std::vector<std::uint8_t> padded_, rows_, marks_;
};

/// Means of rows [begin, end) of a strip.
void take_means(const Strip& strip, const std::vector<float>& limits, int reach_px, int begin, int end,
                TemporalMeans& to) {
    constexpr std::size_t groups = 4;  // (k % 2) + 2 (k in the second half)
    const std::size_t n = std::size_t(end - begin) * std::size_t(strip.width),
                      first = std::size_t(begin) * std::size_t(strip.width);
    std::array<std::vector<float>, groups> sums, counts;
    std::array<float, 2> level_of_half{}, frames_of_half{};
    std::vector<float> all(n, 0), present(n, 0);
    for (std::size_t g = 0; g < groups; ++g) sums[g].assign(n, 0), counts[g].assign(n, 0);
    Bright bright(strip.width, reach_px);
    for (std::size_t k = 0; k < strip.frames; ++k) {
        bright.find(strip, k, limits, begin, end);
        const std::size_t group = k % 2 + 2 * (2 * k >= strip.frames);
        level_of_half[group / 2] += strip.levels[k], ++frames_of_half[group / 2];
        const float* values = strip.frame(k) + first;
        float *sum = sums[group].data(), *count = counts[group].data();
        for (std::size_t i = 0; i < n; ++i) {
            const bool is_kept = !bright.marks()[i] && values[i] < beyond_any;  // false for NaN
            sum[i] += is_kept ? values[i] : 0.0f;
            count[i] += is_kept ? 1.0f : 0.0f;
            all[i] += values[i] < beyond_any ? values[i] : 0.0f, present[i] += values[i] < beyond_any ? 1.0f : 0.0f;
        }
    }
    for (std::size_t i = 0; i < n; ++i) {
        const std::size_t k = std::size_t(strip.first_row) * std::size_t(strip.width) + first + i;
        float kept = 0, sum = 0;
        for (std::size_t g = 0; g < groups; ++g) kept += counts[g][i], sum += sums[g][i];
        const auto mean_of = [&](std::size_t a, std::size_t b) {
            return (sums[a][i] + sums[b][i]) / (counts[a][i] + counts[b][i]);
        };
        const float even = mean_of(0, 2), odd = mean_of(1, 3), early = mean_of(0, 1), late = mean_of(2, 3);
        to.plain[k] = present[i] > 0 ? all[i] / present[i] : 0;
        to.unsteady[k] = 4 * kept < float(strip.frames) || !std::isfinite(even + odd);
        if (to.unsteady[k]) continue;
        to.all[k] = sum / kept, to.even[k] = even, to.odd[k] = odd;
        const bool has_both = std::isfinite(early + late);  // else a molecule is on in one half
        to.early[k] = (has_both ? early : to.all[k]) * level_of_half[0] / frames_of_half[0];
        to.late[k] = (has_both ? late : to.all[k]) * level_of_half[1] / frames_of_half[1];
    }
}

/// A frame's light, e-, and its standard error.
struct Level {
    float e = 0, error = 0;
};

/// The mean of the middle half of about 1,000 pixels: a median would be a whole count, and may jump between two.
Level level_of(std::span<const float> frame, const CameraView& camera) {
    std::vector<float> values;
    for (std::size_t k = 0; k < frame.size(); k += frame.size() / 1021 + 1)
        if (frame[k] < beyond_any) values.push_back(frame[k]);
    if (values.empty()) return {};
    std::sort(values.begin(), values.end());
    const std::size_t first = values.size() / 4, end = std::max(3 * values.size() / 4, first + 1);
    float sum = 0, variances = 0;
    for (std::size_t k = first; k < end; ++k) {
        sum += values[k];
        variances += shot_noise(std::max(values[k], 1.0f), camera.excess_noise()) + camera.variance_scalar();
    }
    const float n = float(end - first);
    return {sum / n, std::sqrt(variances) / n};
}

/// Levels of frames over their mean; 1 for all if they are the same within errors or a tenth, or there is too little light to tell.
std::vector<float> relative(std::vector<float> levels, float error) {
    constexpr float same = 0.1f, errors = 8, least_e = 1;  // 256 frames are within 6 errors
    const float mean =
        std::accumulate(levels.begin(), levels.end(), 0.0f) / float(std::max<std::size_t>(levels.size(), 1));
    const auto [low, high] = std::minmax_element(levels.begin(), levels.end());
    const bool is_steady = levels.empty() || *low < least_e || *high - *low < std::max(same * mean, errors * error);
    for (float& level : levels) level = is_steady ? 1 : level / mean;
    return levels;
}

/// Frames before the shutter opens or the laser is on: with far less light than most. A movie that fades has many of them, and keeps
/// all.
void leave_out_dark_frames(Strip& strip) {
    constexpr float dark = 0.5f, least_e = 1;  // of the median level
    const float typical = float(median(strip.levels));
    const auto is_dark = [&](float level) { return level < dark * typical; };
    const auto few = std::ptrdiff_t(strip.frames / 4);
    if (typical < least_e || std::count_if(strip.levels.begin(), strip.levels.end(), is_dark) > few) return;
    std::size_t kept = 0;
    for (std::size_t k = 0; k < strip.frames; ++k) {
        if (is_dark(strip.levels[k])) continue;
        if (kept != k) std::copy_n(strip.frame(k), strip.pixels(), strip.frame(kept));
        strip.levels[kept++] = strip.levels[k];
    }
    strip.levels.resize(kept), strip.frames = kept;
}

}  // namespace

TemporalMeans temporal_means(Movie& movie, const Job& job, std::int64_t frames, int reach_px) {
    const int width = job.camera.width(), height = job.camera.height();
    const std::size_t pixels = std::size_t(width) * std::size_t(height);
    TemporalMeans means;
    for (auto* map : {&means.all, &means.odd, &means.even, &means.early, &means.late, &means.plain})
        map->resize(pixels);
    means.unsteady.resize(pixels);
    const int rows =
        std::max(int(sample_values / (std::size_t(frames) * std::size_t(width))) - 2 * reach_px, least_rows);
    AlignedFloats frame(pixels);
    FrameBlock block;
    for (int top = 0; top < height; top += rows) {
        const int bottom = std::min(top + rows, height), first = std::max(top - reach_px, 0);
        Strip strip{width, first, std::min(bottom + reach_px, height) - first, 0, {}, {}};
        strip.values.resize(strip.pixels() * std::size_t(frames));
        float error = 0;  // of levels
        for (std::int64_t k = 0; k < frames; ++k) {
            try {
                movie.read(job.frames.begin + k * (job.frames.end - job.frames.begin) / frames, 1, block);
            } catch (const InputError&) {
                continue;
            }
            job.camera.to_photoelectrons(block.frame(0), block.type, frame);
            std::copy_n(frame.begin() + std::ptrdiff_t(first) * width, strip.pixels(), strip.frame(strip.frames++));
            const Level level = level_of(frame, job.camera);
            strip.levels.push_back(level.e), error = std::max(error, level.error);
        }
        if (strip.frames == 0) break;
        leave_out_dark_frames(strip);
        strip.levels = relative(std::move(strip.levels), error);
        for (std::size_t k = 0; k < strip.frames; ++k)
            if (strip.levels[k] != 1)
                for (std::size_t i = 0; i < strip.pixels(); ++i) strip.frame(k)[i] /= strip.levels[k];
        std::vector<float> limits(strip.pixels());
        tbb::parallel_for(std::size_t(0), (limits.size() + pixels_together - 1) / pixels_together, [&](auto part) {
            const std::size_t from = part * pixels_together;
            find_limits(strip, job.camera, from, std::min(from + pixels_together, limits.size()), limits.data());
        });
        tbb::parallel_for(0, (bottom - top + band_rows - 1) / band_rows, [&](int band) {
            const int begin = top - first + band * band_rows;
            take_means(strip, limits, reach_px, begin, std::min(begin + band_rows, bottom - first), means);
        });
    }
    return means;
}

}  // namespace glint
