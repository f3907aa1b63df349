// Sums over blocks of frames. All threads read a block, then each thread adds up its own pixels.
// SPDX-License-Identifier: MIT
#include "analysis/frame_statistics.hpp"

#include <fmt/format.h>
#include <tbb/blocked_range.h>
#include <tbb/enumerable_thread_specific.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <type_traits>

#include "base/arena.hpp"
#include "base/median.hpp"
#include "data/highest_counts.hpp"
#include "data/joined_movie.hpp"
#include "glint/error.hpp"

namespace glint {
namespace {

constexpr std::size_t statistics_bytes = std::size_t(32) << 20;
constexpr std::size_t pixels_per_task = 4096;  // their sums stay in a cache for all frames of a block

/// Sums over frames. Each pixel is summed in the order of frames, so the result does not depend on the threads.
template <class Count>
class PixelSums {
  public:
    using Sum = std::conditional_t<std::is_same_v<Count, float>, double, std::uint64_t>;
    using Wide = std::conditional_t<std::is_same_v<Count, float>, double, unsigned __int128>;
    using Step = std::conditional_t<std::is_same_v<Count, float>, double, std::uint32_t>;  // 65,535^2 fits

    explicit PixelSums(std::size_t pixels)
        : sum_(pixels), squares_(pixels), steps_(pixels), origin_(pixels), most_(pixels), last_(pixels) {}

    void add(const FrameBlock& block, bool is_first_block, std::size_t first, std::size_t end) {
        for (int i = 0; i < block.count; ++i) {
            const Count* counts = reinterpret_cast<const Count*>(block.frame(i));
            if (is_first_block && i == 0) {
                std::copy(counts + first, counts + end, last_.begin() + std::ptrdiff_t(first));
                if (std::is_same_v<Count, float>)
                    std::copy(counts + first, counts + end, origin_.begin() + std::ptrdiff_t(first));
            }
            const Count* before = i == 0 ? last_.data() : reinterpret_cast<const Count*>(block.frame(i - 1));
            for (std::size_t k = first; k < end; ++k) {
                const Sum x = Sum(counts[k]) - Sum(origin_[k]);
                const Step step = Step(std::max(counts[k], before[k])) - Step(std::min(counts[k], before[k]));
                sum_[k] += x, squares_[k] += x * x, steps_[k] += step * step;
                most_[k] = std::max(most_[k], counts[k]);
            }
        }
        const Count* counts = reinterpret_cast<const Count*>(block.frame(block.count - 1));
        std::copy(counts + first, counts + end, last_.begin() + std::ptrdiff_t(first));
    }
    float mean(std::size_t k, std::int64_t n) const { return float(double(origin_[k]) + double(sum_[k]) / double(n)); }
    float variance(std::size_t k, std::int64_t n) const {
        const Wide numerator = Wide(n) * squares_[k] - Wide(sum_[k]) * sum_[k];
        return float(double(numerator) / (double(n) * double(n - 1)));
    }

    float step_variance(std::size_t k, std::int64_t n) const { return float(double(steps_[k]) / (2 * double(n - 1))); }

    /// Returns whether the pixel ever reached `limit`, a whole count.
    bool reaches(double limit, std::size_t k) const { return std::round(double(most_[k])) >= limit; }

  private:
    std::vector<Sum> sum_, squares_, steps_;
    std::vector<Count> origin_;  ///< 0 for whole counts
    std::vector<Count> most_, last_;
};

template <class Count>
double mean_of(const std::byte* frame, std::size_t pixels) {
    const Count* counts = reinterpret_cast<const Count*>(frame);
    std::conditional_t<std::is_same_v<Count, float>, double, std::uint64_t> sum = 0;
    for (std::size_t k = 0; k < pixels; ++k) sum += counts[k];
    return double(sum) / double(pixels);
}

template <class Count>
FrameStatistics statistics_of(Movie& movie, std::int64_t begin, std::int64_t count,
                              const std::function<void(std::int64_t)>& finished) {
    const MovieInfo& info = movie.info();
    const std::size_t pixels = std::size_t(info.width) * info.height, frame_bytes = pixels * sizeof(Count);
    FrameStatistics result{count,
                           std::vector<float>(pixels),
                           std::vector<float>(pixels),
                           std::vector<float>(pixels),
                           std::vector<double>(std::size_t(count)),
                           0,
                           std::vector<std::uint8_t>(pixels)};
    PixelSums<Count> sums(pixels);
    tbb::enumerable_thread_specific<HighestCounts> of_threads;
    FrameBlock block{0, 0, info.width, info.height, info.type, {}};
    const auto step = std::int64_t(std::clamp<std::size_t>(statistics_bytes / frame_bytes, 1, 4096));
    for (std::int64_t done = 0; done < count; done += step) {
        block.first_frame = begin + done, block.count = int(std::min(step, count - done));
        block.bytes.resize(std::size_t(block.count) * frame_bytes);
        tbb::parallel_for(0, block.count, [&](int i) {
            std::byte* frame = block.bytes.data() + std::size_t(i) * frame_bytes;
            movie.read_to(block.first_frame + i, 1, frame);
            result.frame_mean[std::size_t(done + i)] = mean_of<Count>(frame, pixels);
            of_threads.local().add(reinterpret_cast<const Count*>(frame), pixels);
        });
        tbb::parallel_for(tbb::blocked_range<std::size_t>(0, pixels, pixels_per_task),
                          [&](const auto& range) { sums.add(block, done == 0, range.begin(), range.end()); });
        finished(block.count);
    }
    HighestCounts highest;
    for (const HighestCounts& one : of_threads) highest.add(one);
    const double limit = result.saturation_adu = saturation_of<Count>(highest);
    for (std::size_t k = 0; k < pixels; ++k) {
        result.mean[k] = sums.mean(k, count), result.variance[k] = sums.variance(k, count);
        result.step_variance[k] = sums.step_variance(k, count);
        result.saturated[k] = limit > 0 && sums.reaches(limit, k);
    }
    return result;
}

constexpr std::int64_t frames_of_a_stretch = 50, max_stretches = 10;
constexpr double significant_change = 5;             // standard errors
constexpr double min_step_variance_adu2 = 1.0 / 12;  // variance of rounding

std::vector<JoinedPart> stretches_of(const Movie& movie) {
    std::vector<JoinedPart> parts = parts_of(movie);
    if (parts.size() > 1) return parts;
    const MovieInfo& info = movie.info();
    const std::int64_t count = std::clamp<std::int64_t>(info.frames / frames_of_a_stretch, 1, max_stretches);
    parts.clear();
    for (std::int64_t k = 0; k < count; ++k) {
        const std::int64_t first = info.frames * k / count, end = info.frames * (k + 1) / count;
        parts.push_back({fmt::format("{}, frames {}:{}", info.name, first, end), first, end - first});
    }
    return parts;
}

}  // namespace

FrameStatistics frame_statistics(Movie& movie, std::int64_t first, std::int64_t count,
                                 const std::function<void(std::int64_t)>& finished) {
    FrameStatistics result;
    in_own_arena([&] {
        switch (movie.info().type) {
            case PixelType::uint8: result = statistics_of<std::uint8_t>(movie, first, count, finished); break;
            case PixelType::uint16: result = statistics_of<std::uint16_t>(movie, first, count, finished); break;
            case PixelType::float32: result = statistics_of<float>(movie, first, count, finished); break;
        }
    });
    return result;
}

DarkChange dark_change(const Movie& movie, const FrameStatistics& dark) {
    const double read = std::max(median(dark.step_variance), min_step_variance_adu2), pixels = double(dark.mean.size());
    const std::vector<JoinedPart> parts = stretches_of(movie);
    std::vector<double> means;
    double mean = 0, between = 0;
    for (const JoinedPart& part : parts) {
        const auto first = dark.frame_mean.begin() + part.first;
        means.push_back(std::accumulate(first, first + part.frames, 0.0) / double(part.frames));
        mean += means.back() * double(part.frames) / double(dark.frames);
    }
    for (std::size_t k = 0; k < parts.size(); ++k)
        between += std::pow(means[k] - mean, 2) * double(parts[k].frames) / double(dark.frames);
    const auto [low, high] = std::minmax_element(means.begin(), means.end());
    const JoinedPart &lowest = parts[std::size_t(low - means.begin())],
                     &highest = parts[std::size_t(high - means.begin())];
    const double chance = std::sqrt(read / pixels * (1 / double(lowest.frames) + 1 / double(highest.frames)));
    if (!(*high - *low > significant_change * chance)) between = 0;
    if (dark.frames >= frames_of_a_stretch) {  // differences from pixel to pixel do not change the means
        std::vector<float> slow = dark.variance;
        for (std::size_t k = 0; k < slow.size(); ++k) slow[k] -= dark.step_variance[k];
        between = std::max(between, median(std::move(slow)));
    }
    const DarkChange change{lowest.name, highest.name, *low, *high, between / read};
    if (change.share > 1)
        throw InputError(fmt::format(
            "dark frames: their offset changes, from {:.2f} ADU ({}) to {:.2f} ADU ({}), and by more in some pixels. "
            "Counts therefore vary {:.3g} times as much as by read noise: give dark frames of one camera setting, "
            "recorded at a steady sensor temperature",
            *low, lowest.name, *high, highest.name, std::sqrt(change.share)));
    return change;
}

}  // namespace glint
