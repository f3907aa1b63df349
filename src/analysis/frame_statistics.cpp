// Sums over blocks of frames: blocks are read by all threads, then each thread adds up pixels of its own.
// SPDX-License-Identifier: MIT
#include "analysis/frame_statistics.hpp"

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <limits>
#include <type_traits>

#include "base/arena.hpp"

namespace glint {
namespace {

constexpr std::size_t block_bytes = std::size_t(32) << 20;
constexpr std::size_t pixels_per_task = 4096;  // whose sums stay in a cache while the block's frames go by

/// Sums over frames; each pixel's in the order of frames, so that threads do not change the result.
template <class Count>
class PixelSums {
  public:
    using Sum = std::conditional_t<std::is_same_v<Count, float>, double, std::uint64_t>;
    using Wide = std::conditional_t<std::is_same_v<Count, float>, double, unsigned __int128>;

    explicit PixelSums(std::size_t pixels) : sum_(pixels), squares_(pixels), origin_(pixels), most_(pixels) {}

    void add(const FrameBlock& block, std::size_t first, std::size_t end) {
        for (int i = 0; i < block.count; ++i) {
            const Count* counts = reinterpret_cast<const Count*>(block.frame(i));
            if (std::is_same_v<Count, float> && block.first_frame == 0 && i == 0)
                std::copy(counts + first, counts + end, origin_.begin() + std::ptrdiff_t(first));
            for (std::size_t k = first; k < end; ++k) {
                const Sum x = Sum(counts[k]) - Sum(origin_[k]);
                sum_[k] += x, squares_[k] += x * x;
                most_[k] = std::max(most_[k], counts[k]);
            }
        }
    }
    float mean(std::size_t k, std::int64_t n) const { return float(double(origin_[k]) + double(sum_[k]) / double(n)); }
    float variance(std::size_t k, std::int64_t n) const {
        const Wide numerator = Wide(n) * squares_[k] - Wide(sum_[k]) * sum_[k];
        return float(double(numerator) / (double(n) * double(n - 1)));
    }

    bool saturated(std::size_t k) const {
        return !std::is_same_v<Count, float> && most_[k] == std::numeric_limits<Count>::max();
    }

  private:
    std::vector<Sum> sum_, squares_;
    std::vector<Count> origin_;  ///< 0 for whole counts
    std::vector<Count> most_;
};

template <class Count>
double mean_of(const std::byte* frame, std::size_t pixels) {
    const Count* counts = reinterpret_cast<const Count*>(frame);
    std::conditional_t<std::is_same_v<Count, float>, double, std::uint64_t> sum = 0;
    for (std::size_t k = 0; k < pixels; ++k) sum += counts[k];
    return double(sum) / double(pixels);
}

template <class Count>
FrameStatistics statistics_of(Movie& movie, const std::function<void(std::int64_t)>& finished) {
    const MovieInfo& info = movie.info();
    const std::size_t pixels = std::size_t(info.width) * info.height, frame_bytes = pixels * sizeof(Count);
    FrameStatistics result{info.frames, std::vector<float>(pixels), std::vector<float>(pixels),
                           std::vector<double>(std::size_t(info.frames)), std::vector<std::uint8_t>(pixels)};
    PixelSums<Count> sums(pixels);
    FrameBlock block{0, 0, info.width, info.height, info.type, {}};
    const auto step = std::int64_t(std::clamp<std::size_t>(block_bytes / frame_bytes, 1, 4096));
    for (std::int64_t first = 0; first < info.frames; first += step) {
        block.first_frame = first, block.count = int(std::min(step, info.frames - first));
        block.bytes.resize(std::size_t(block.count) * frame_bytes);
        tbb::parallel_for(0, block.count, [&](int i) {
            std::byte* frame = block.bytes.data() + std::size_t(i) * frame_bytes;
            movie.read_to(first + i, 1, frame);
            result.frame_mean[std::size_t(first + i)] = mean_of<Count>(frame, pixels);
        });
        tbb::parallel_for(tbb::blocked_range<std::size_t>(0, pixels, pixels_per_task),
                          [&](const auto& range) { sums.add(block, range.begin(), range.end()); });
        finished(block.count);
    }
    for (std::size_t k = 0; k < pixels; ++k)
        result.mean[k] = sums.mean(k, info.frames), result.variance[k] = sums.variance(k, info.frames),
        result.saturated[k] = sums.saturated(k);
    return result;
}

}  // namespace

FrameStatistics frame_statistics(Movie& movie, const std::function<void(std::int64_t)>& finished) {
    FrameStatistics result;
    in_own_arena([&] {
        switch (movie.info().type) {
            case PixelType::uint8: result = statistics_of<std::uint8_t>(movie, finished); break;
            case PixelType::uint16: result = statistics_of<std::uint16_t>(movie, finished); break;
            case PixelType::float32: result = statistics_of<float>(movie, finished); break;
        }
    });
    return result;
}

}  // namespace glint
