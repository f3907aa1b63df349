// Compares low temporal quantiles of pixels, which blinking molecules do not change, with those of their neighbours.
// SPDX-License-Identifier: MIT
#include "detect/pixel_survey.hpp"

#include <tbb/enumerable_thread_specific.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <numbers>
#include <utility>

#include "base/arena.hpp"
#include "base/isa.hpp"
#include "base/median.hpp"
#include "data/highest_counts.hpp"
#include "detect/lowest_rows.hpp"
#include "glint/error.hpp"

namespace glint {
namespace {

constexpr std::int64_t max_surveyed = 32, min_surveyed = 8, max_surveyed_pixels = std::int64_t(1) << 22;
constexpr std::size_t bytes_at_once = std::size_t(64) << 20;
constexpr double max_deviations = 8;  // of good pixels: chance would exceed it once in 10^15
constexpr std::size_t strip = 1024;   // pixels whose lowest counts fit into a core's nearest cache

std::int64_t frames_to_read(const MovieInfo& movie, const FrameRange& range) {
    const std::int64_t pixels = std::int64_t(movie.width) * movie.height;
    return std::min(range.end - range.begin, std::clamp(max_surveyed_pixels / pixels, min_surveyed, max_surveyed));
}

/// The lowest counts of each pixel so far, in ascending order.
template <class Count>
class LowestCounts {
  public:
    LowestCounts(std::size_t pixels, std::size_t kept)
        : pixels_(pixels), kept_(kept), lowest_(pixels * kept, std::numeric_limits<Count>::max()) {
        if constexpr (std::is_same_v<Count, float>)
            std::fill(lowest_.begin(), lowest_.end(), std::numeric_limits<float>::infinity());
    }
    /// Adds pixels [first, end), at most `strip`. NaN counts as higher than all.
    void add(const Count* frame, std::size_t first, std::size_t end) {
        std::array<Count, strip> more;
        std::copy(frame + first, frame + end, more.begin());
        for (std::size_t k = 0; k < kept_; ++k) {
            Count* low = &lowest_[k * pixels_ + first];
            const int count = int(end - first);
            if constexpr (std::is_same_v<Count, std::uint8_t>)
                GLINT_PICK(part_uint8)(low, more.data(), count);
            else if constexpr (std::is_same_v<Count, std::uint16_t>)
                GLINT_PICK(part_uint16)(low, more.data(), count);
            else
                GLINT_PICK(part_float32)(low, more.data(), count);
        }
    }
    /// Returns the k-th lowest count, from 0, of each pixel.
    std::vector<float> get(std::size_t k) const {
        const auto from = lowest_.begin() + std::ptrdiff_t(k * pixels_);
        return std::vector<float>(from, from + std::ptrdiff_t(pixels_));
    }

  private:
    std::size_t pixels_, kept_;
    std::vector<Count> lowest_;
};

/// What a scan collects from the frames' counts.
struct PixelScan {
    int frames = 0;
    double saturation_adu = 0;
    std::vector<float> low_adu;  ///< the count below which a quarter of a pixel's frames are
};

template <class Count>
PixelScan gather(Movie& movie, const FrameRange& range) {
    const MovieInfo& info = movie.info();
    const std::size_t pixels = std::size_t(info.width) * std::size_t(info.height), bytes = pixels * sizeof(Count);
    const std::int64_t frames = frames_to_read(info, range), length = range.end - range.begin;
    const auto at_once = std::int64_t(std::clamp<std::size_t>(bytes_at_once / bytes, 1, std::size_t(frames)));
    std::vector<FrameBlock> blocks(static_cast<std::size_t>(at_once));
    std::vector<char> is_read(std::size_t(at_once), 0);
    LowestCounts<Count> lowest(pixels, std::size_t(frames / 4 + 1));
    tbb::enumerable_thread_specific<HighestCounts> of_threads;
    const auto frame_of = [&](std::int64_t k) {
        return reinterpret_cast<const Count*>(blocks[std::size_t(k)].frame(0));
    };
    PixelScan to;
    for (std::int64_t done = 0; done < frames; done += at_once) {
        const std::int64_t now = std::min(at_once, frames - done);
        tbb::parallel_for(std::int64_t(0), now, [&](std::int64_t k) {
            try {  // not read_to(), which would remove the frame from a pipe
                movie.read(range.begin + (done + k) * length / frames, 1, blocks[std::size_t(k)]);
                of_threads.local().add(frame_of(k), pixels);
                is_read[std::size_t(k)] = 1;
            } catch (const InputError&) {
                is_read[std::size_t(k)] = 0;  // the run itself reports unreadable frames
            }
        });
        to.frames += int(std::count(is_read.begin(), is_read.begin() + now, 1));
        tbb::parallel_for(std::size_t(0), (pixels + strip - 1) / strip, [&](std::size_t s) {
            for (std::int64_t k = 0; k < now; ++k)
                if (is_read[std::size_t(k)]) lowest.add(frame_of(k), s * strip, std::min(pixels, (s + 1) * strip));
        });
    }
    HighestCounts highest;
    for (const HighestCounts& one : of_threads) highest.add(one);
    to.saturation_adu = saturation_of<Count>(highest);
    to.low_adu = lowest.get(std::size_t(to.frames / 4));
    return to;
}

/// Appends the known pixels within `reach` px of a pixel, in ascending order and without the pixel itself.
void take_around(const std::vector<float>& low, const CameraView& camera, int x, int y, int reach,
                 std::vector<float>& to) {
    to.clear();
    for (int v = std::max(y - reach, 0); v <= std::min(y + reach, camera.height() - 1); ++v)
        for (int u = std::max(x - reach, 0); u <= std::min(x + reach, camera.width() - 1); ++u) {
            const float e = low[std::size_t(v) * std::size_t(camera.width()) + std::size_t(u)];
            if ((u != x || v != y) && std::isfinite(e)) to.push_back(e);
        }
    std::sort(to.begin(), to.end());
}

double middle_of(const std::vector<float>& sorted) {
    return 0.5 * (double(sorted[(sorted.size() - 1) / 2]) + double(sorted[sorted.size() / 2]));
}

/// Returns the median of the eight pixels around a pixel that is not at the frame's edge; NaN if one is not finite.
double middle_of_eight(const float* at, std::size_t width) {
    std::array<float, 8> e{*(at - width - 1), *(at - width),     *(at - width + 1), *(at - 1),
                           *(at + 1),         *(at + width - 1), *(at + width),     *(at + width + 1)};
    float sum = 0;
    for (const float one : e) sum += one;
    if (!std::isfinite(sum)) return std::numeric_limits<double>::quiet_NaN();
    // Batcher's network; the last comparisons only order the middle.
    // clang-format off
    constexpr std::array<std::array<std::size_t, 2>, 17> pairs{{
        {0, 1}, {2, 3}, {4, 5}, {6, 7}, {0, 2}, {1, 3}, {4, 6}, {5, 7}, {1, 2}, {5, 6},
        {0, 4}, {1, 5}, {2, 6}, {3, 7}, {2, 4}, {3, 5}, {3, 4}}};
    // clang-format on
    for (const auto& [a, b] : pairs) {
        const float low = std::min(e[a], e[b]);
        e[b] = std::max(e[a], e[b]), e[a] = low;
    }
    return 0.5 * (double(e[3]) + double(e[4]));
}

/// Returns the noise of a pixel in one frame, for at least one photoelectron. Low quantiles of less light are 0, and so
/// would be the noise.
double noise_of(const CameraView& camera, double light_e) {
    return std::sqrt(double(camera.shot_noise()) * std::max(light_e, 1.0) + double(camera.variance_scalar()));
}

/// Returns the median deviation of pixels from the median of their neighbours, in standard deviations of a pixel in one
/// frame.
double typical_deviation(const std::vector<float>& low, const CameraView& camera) {
    constexpr std::size_t enough = 1 << 14;
    const auto width = std::size_t(camera.width());
    std::vector<double> deviations;
    std::vector<float> around;
    for (std::size_t at = 0; at < low.size(); at += low.size() / enough + 1) {
        const std::size_t x = at % width, y = at / width;
        if (!std::isfinite(low[at])) continue;
        double middle = std::numeric_limits<double>::quiet_NaN();
        if (x > 0 && x + 1 < width && y > 0 && y + 1 < std::size_t(camera.height()))
            middle = middle_of_eight(low.data() + at, width);
        if (std::isnan(middle)) {
            take_around(low, camera, int(x), int(y), 1, around);
            if (around.size() < 3) continue;
            middle = middle_of(around);
        }
        deviations.push_back(std::abs(double(low[at]) - middle) / noise_of(camera, middle));
    }
    return deviations.empty() ? 0 : median(std::move(deviations));
}

/// Returns true if no lens can make a pixel so much brighter or darker than its neighbours. `far`: the minimum
/// difference, in standard deviations of a pixel in one frame. Up to two of its neighbours may be defective, too.
bool is_defective(const std::vector<float>& low, const CameraView& camera, int x, int y, double far,
                  double light_beside, std::vector<float>& around) {
    constexpr int reach = 3;  // far enough for background beside a spot
    constexpr std::size_t others = 3;
    const double e = double(low[std::size_t(y) * std::size_t(camera.width()) + std::size_t(x)]);
    take_around(low, camera, x, y, reach, around);
    if (!std::isfinite(e) || around.size() < others) return false;
    const double background = double(around[others - 1]);
    // Darker than all background: a lens cannot darken a pixel.
    if (background - e > far * noise_of(camera, background)) return true;
    take_around(low, camera, x, y, 1, around);
    if (around.size() < others) return false;
    const double middle = middle_of(around), third = double(around[around.size() - others]);
    if (!(e - middle > far * noise_of(camera, middle))) return false;
    // Less light beside it than the narrowest spot would have, by more than three errors.
    const double expected = light_beside * (e - background), error = 3 * far / max_deviations;
    const double noise = std::hypot(noise_of(camera, background + expected), light_beside * noise_of(camera, e));
    return third - background < expected - error * noise;
}

/// Appends the defective pixels of a row.
void find_in_row(const std::vector<float>& low, const CameraView& camera, int y, double far, double light_beside,
                 std::vector<std::uint32_t>& to) {
    const int width = camera.width();
    const auto row = [&](int v) {
        return low.data() + std::size_t(std::clamp(v, 0, camera.height() - 1)) * std::size_t(width);
    };
    const float *above = row(y - 1), *here = row(y), *below = row(y + 1);
    // Four neighbours suffice to show that most pixels are close to their surroundings.
    const float shot = camera.shot_noise(), read = camera.variance_scalar(), least_square = float(far * far);
    const auto is_far = [&](int x, int before, int after) {
        const float e = here[x], left = here[before], right = here[after], up = above[x], down = below[x];
        const float least = std::min(std::min(left, right), std::min(up, down)),
                    most = std::max(std::max(left, right), std::max(up, down));
        const float nearest = std::max(e - least, most - e), light = std::max(std::min(e, least), 1.0f);
        return !(nearest * nearest < least_square * (shot * light + read));
    };
    std::vector<std::uint8_t> far_ones(static_cast<std::size_t>(width));
    for (int x = 1; x + 1 < width; ++x) far_ones[std::size_t(x)] = is_far(x, x - 1, x + 1);
    far_ones.front() = is_far(0, 0, std::min(1, width - 1));
    far_ones.back() = is_far(width - 1, std::max(width - 2, 0), width - 1);
    std::vector<float> around;
    for (int x = 0; x < width; ++x)
        if (far_ones[std::size_t(x)] && is_defective(low, camera, x, y, far, light_beside, around))
            to.push_back(std::uint32_t(y) * std::uint32_t(width) + std::uint32_t(x));
}

void find_defective(const std::vector<float>& low, const CameraView& camera, const MatchedFilter& filter,
                    PixelSurvey& to) {
    // of the difference between a lower quartile and the median of eight, times sqrt(frames)
    constexpr double quantile_error = 1.5;
    constexpr double max_share = 0.05;
    // The median absolute deviation is larger with a wrong gain, or if offsets differ between pixels.
    const double limit = max_deviations * std::max(1.4826 * typical_deviation(low, camera),
                                                   quantile_error / std::sqrt(double(to.frames)));
    const double light_beside = min_light_beside(narrowest_width_px(filter));
    std::vector<std::vector<std::uint32_t>> rows(std::size_t(camera.height()));
    tbb::parallel_for(0, camera.height(),
                      [&](int y) { find_in_row(low, camera, y, limit, light_beside, rows[std::size_t(y)]); });
    for (const auto& row : rows) to.defective.insert(to.defective.end(), row.begin(), row.end());
    if (camera.maps())
        std::erase_if(to.defective,
                      [&](std::uint32_t at) { return camera.pixel(at).variance_e2 >= masked_variance_e2; });
    const double share = double(to.defective.size()) / double(low.size());
    if (share > max_share) to.patterned_share = share, to.defective.clear();
}

}  // namespace

double narrowest_width_px(const MatchedFilter& filter) {
    constexpr double part = 0.6, max_px = 0.8;
    return std::min(part * filter.width_px, max_px);
}

double min_light_beside(double width_px) {
    constexpr std::size_t steps = 16;  // of the position in the pixel, from its centre to its edge
    // along an axis: light in the previous pixel, the pixel, and the next
    std::array<std::array<double, 3>, steps + 1> parts;
    for (std::size_t i = 0; i <= steps; ++i)
        for (int u = -1; u <= 1; ++u) {
            const double from_centre = u - 0.5 * double(i) / steps, to_edge = std::numbers::sqrt2 * width_px;
            parts[i][std::size_t(u + 1)] =
                std::erf((from_centre + 0.5) / to_edge) - std::erf((from_centre - 0.5) / to_edge);
        }
    double least = 1;
    for (const auto& down : parts)
        for (const auto& along : parts) {
            std::array<double, 9> light;
            for (std::size_t p = 0; p < 9; ++p) light[p] = down[p / 3] * along[p % 3];
            const double middle = light[4];
            light[4] = 0;
            std::nth_element(light.begin(), light.begin() + 2, light.end(), std::greater<>());
            least = std::min(least, light[2] / middle);
        }
    return least;
}

PixelSurvey survey_pixels(Movie& movie, const FrameRange& frames, const CameraView& camera, const MatchedFilter& filter,
                          int threads) {
    PixelSurvey to;
    in_arena_of(threads, [&] {
        PixelScan found;
        switch (movie.info().type) {
            case PixelType::uint8: found = gather<std::uint8_t>(movie, frames); break;
            case PixelType::uint16: found = gather<std::uint16_t>(movie, frames); break;
            case PixelType::float32: found = gather<float>(movie, frames); break;
        }
        to.frames = found.frames, to.saturation_adu = found.saturation_adu;
        if (to.frames < min_surveyed) return;
        std::vector<float> low(found.low_adu.size());
        camera.to_photoelectrons(reinterpret_cast<const std::byte*>(found.low_adu.data()), PixelType::float32, low);
        find_defective(low, camera, filter, to);
    });
    return to;
}

Camera with_masked(Camera camera, const std::vector<std::uint32_t>& pixels, int width, int height) {
    if (pixels.empty()) return camera;
    if (!camera.has_maps()) camera.sensor_width = width, camera.sensor_height = height;
    if (camera.masked.empty())
        camera.masked.assign(std::size_t(camera.sensor_width) * std::size_t(camera.sensor_height), 0);
    for (const std::uint32_t at : pixels) {
        const std::size_t x = at % std::uint32_t(width) + std::size_t(camera.roi_x),
                          y = at / std::uint32_t(width) + std::size_t(camera.roi_y);
        camera.masked[y * std::size_t(camera.sensor_width) + x] = 1;
    }
    return camera;
}

}  // namespace glint
