// Low quantiles of pixels over time, which blinking molecules do not change, compared with those of their neighbours.
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
#include <optional>
#include <utility>

#include "base/arena.hpp"
#include "base/median.hpp"
#include "data/count_histogram.hpp"
#include "glint/error.hpp"

namespace glint {
namespace {

constexpr std::int64_t most_frames = 32, least_frames = 8, most_pixels = std::int64_t(1) << 25;
constexpr std::size_t bytes_at_once = std::size_t(64) << 20;
constexpr std::size_t strip = 1024;  // pixels whose lowest counts stay in a core's nearest cache

std::int64_t frames_to_read(const MovieInfo& movie, const FrameRange& range) {
    const std::int64_t pixels = std::int64_t(movie.width) * movie.height;
    return std::min(range.end - range.begin, std::clamp(most_pixels / pixels, least_frames, most_frames));
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
    /// Of pixels [first, end), at most `strip`. NaN counts as higher than all.
    void add(const Count* frame, std::size_t first, std::size_t end) {
        std::array<Count, strip> more;
        std::copy(frame + first, frame + end, more.begin());
        for (std::size_t k = 0; k < kept_; ++k) {
            Count* low = &lowest_[k * pixels_ + first];
            for (std::size_t p = 0; p < end - first; ++p) {
                const Count a = low[p], b = more[p];
                low[p] = b < a ? b : a, more[p] = b < a ? a : b;
            }
        }
    }
    /// The k-th lowest, from 0, of each pixel.
    std::vector<float> get(std::size_t k) const {
        const auto from = lowest_.begin() + std::ptrdiff_t(k * pixels_);
        return std::vector<float>(from, from + std::ptrdiff_t(pixels_));
    }

  private:
    std::size_t pixels_, kept_;
    std::vector<Count> lowest_;
};

/// What is gathered of the frames' counts.
struct Survey {
    int frames = 0;
    double saturation_adu = 0;
    std::vector<float> low_adu;  ///< the count that a quarter of a pixel's frames are below
};

template <class Count>
Survey gather(Movie& movie, const FrameRange& range) {
    const MovieInfo& info = movie.info();
    const std::size_t pixels = std::size_t(info.width) * std::size_t(info.height), bytes = pixels * sizeof(Count);
    const std::int64_t frames = frames_to_read(info, range), length = range.end - range.begin;
    const auto at_once = std::int64_t(std::clamp<std::size_t>(bytes_at_once / bytes, 1, std::size_t(frames)));
    std::vector<Count> counts(pixels * std::size_t(at_once));
    std::vector<char> is_read(std::size_t(at_once), 0);
    LowestCounts<Count> lowest(pixels, std::size_t(frames / 4 + 1));
    tbb::enumerable_thread_specific<CountHistogram> histograms;
    Survey to;
    for (std::int64_t done = 0; done < frames; done += at_once) {
        const std::int64_t now = std::min(at_once, frames - done);
        tbb::parallel_for(std::int64_t(0), now, [&](std::int64_t k) {
            Count* frame = &counts[std::size_t(k) * pixels];
            try {
                movie.read_to(range.begin + (done + k) * length / frames, 1, reinterpret_cast<std::byte*>(frame));
                histograms.local().add(frame, pixels);
                is_read[std::size_t(k)] = 1;
            } catch (const InputError&) {
                is_read[std::size_t(k)] = 0;  // the run itself reports it
            }
        });
        to.frames += int(std::count(is_read.begin(), is_read.begin() + now, 1));
        tbb::parallel_for(std::size_t(0), (pixels + strip - 1) / strip, [&](std::size_t s) {
            for (std::int64_t k = 0; k < now; ++k)
                if (is_read[std::size_t(k)])
                    lowest.add(&counts[std::size_t(k) * pixels], s * strip, std::min(pixels, (s + 1) * strip));
        });
    }
    CountHistogram histogram;
    for (const CountHistogram& one : histograms) histogram.add(one);
    to.saturation_adu = saturation_of<Count>(histogram);
    to.low_adu = lowest.get(std::size_t(to.frames / 4));
    return to;
}

/// A pixel beside those around it, in photoelectrons.
struct Beside {
    double middle = 0;       ///< their median
    double excess = 0;       ///< of the pixel over it
    double third_above = 0;  ///< the third highest of them over it
    double third_below = 0;  ///< it over the third lowest
};

/// Nothing if the pixel or most of those around it are missing.
std::optional<Beside> beside(const std::vector<float>& low, const CameraView& camera, int x, int y) {
    const int width = camera.width(), height = camera.height();
    const std::size_t at = std::size_t(y) * std::size_t(width) + std::size_t(x);
    if (!std::isfinite(low[at])) return {};
    std::array<float, 8> around;
    std::size_t n = 0;
    for (int v = std::max(y - 1, 0); v <= std::min(y + 1, height - 1); ++v)
        for (int u = std::max(x - 1, 0); u <= std::min(x + 1, width - 1); ++u) {
            const float e = low[std::size_t(v) * std::size_t(width) + std::size_t(u)];
            if ((u != x || v != y) && std::isfinite(e)) around[n++] = e;
        }
    if (n < 3) return {};
    std::sort(around.begin(), around.begin() + std::ptrdiff_t(n));
    const double middle = 0.5 * (double(around[(n - 1) / 2]) + double(around[n / 2]));
    return Beside{middle, double(low[at]) - middle, double(around[n - 3]) - middle, middle - double(around[2])};
}

/// Noise of a pixel of a frame. Not of less than a photoelectron: low quantiles of so little light are 0, as is their noise.
double noise_of(const CameraView& camera, double light_e) {
    return std::sqrt(double(camera.shot_noise()) * std::max(light_e, 1.0) + double(camera.variance_scalar()));
}

/// How far pixels are from their neighbours' median, in standard deviations of a frame's pixel: half of them are nearer.
double typical_deviation(const std::vector<float>& low, const CameraView& camera) {
    constexpr std::size_t enough = 1 << 14;
    const auto width = std::size_t(camera.width());
    std::vector<double> deviations;
    for (std::size_t at = 0; at < low.size(); at += low.size() / enough + 1)
        if (const auto pixel = beside(low, camera, int(at % width), int(at / width)))
            deviations.push_back(std::abs(pixel->excess) / noise_of(camera, pixel->middle));
    return deviations.empty() ? 0 : median(std::move(deviations));
}

/// The defective pixels of a row, appended. `limit`: standard deviations of a frame's pixel.
void find_in_row(const std::vector<float>& low, const CameraView& camera, int y, double limit, double light_beside,
                 std::vector<std::uint32_t>& to) {
    const int width = camera.width(), above = std::max(y - 1, 0), below = std::min(y + 1, camera.height() - 1);
    const auto row = [&](int v) { return low.data() + std::size_t(v) * std::size_t(width); };
    for (int x = 0; x < width; ++x) {
        // Most pixels are near those around them, of which four tell that.
        const float e = row(y)[x], left = row(y)[std::max(x - 1, 0)], right = row(y)[std::min(x + 1, width - 1)],
                    up = row(above)[x], down = row(below)[x];
        const float least = std::min(std::min(left, right), std::min(up, down)),
                    most = std::max(std::max(left, right), std::max(up, down));
        const double nearest = std::max(double(e) - double(least), double(most) - double(e));
        if (nearest < limit * noise_of(camera, std::min(e, least))) continue;
        const auto pixel = beside(low, camera, x, y);
        if (!pixel) continue;
        const double far = limit * noise_of(camera, pixel->middle);
        const bool is_hot = pixel->excess > far && pixel->third_above < light_beside * pixel->excess;
        const bool is_dead = pixel->excess < -far && pixel->third_below < -0.5 * pixel->excess;
        if (is_hot || is_dead) to.push_back(std::uint32_t(y) * std::uint32_t(width) + std::uint32_t(x));
    }
}

void find_defective(const std::vector<float>& low, const CameraView& camera, double sigma_px, PixelSurvey& to) {
    constexpr double most_deviations = 8;   // of good pixels, chance would give one in 10^15
    constexpr double quantile_error = 1.5;  // of a lower quartile less the median of eight, times sqrt(frames)
    constexpr double most_share = 0.05;
    // By the median absolute deviation: a wrong gain, or offsets that differ, make it larger.
    const double limit = most_deviations * std::max(1.4826 * typical_deviation(low, camera),
                                                    quantile_error / std::sqrt(double(to.frames)));
    const double light_beside = least_light_beside(narrowest_sigma_px(sigma_px));
    std::vector<std::vector<std::uint32_t>> rows(std::size_t(camera.height()));
    tbb::parallel_for(0, camera.height(),
                      [&](int y) { find_in_row(low, camera, y, limit, light_beside, rows[std::size_t(y)]); });
    for (const auto& row : rows) to.defective.insert(to.defective.end(), row.begin(), row.end());
    if (camera.maps())
        std::erase_if(to.defective,
                      [&](std::uint32_t at) { return camera.pixel(at).variance_e2 >= masked_variance_e2; });
    const double share = double(to.defective.size()) / double(low.size());
    if (share > most_share) to.patterned_share = share, to.defective.clear();
}

}  // namespace

double narrowest_sigma_px(double sigma_px) {
    constexpr double part = 0.6, most_px = 0.8;
    return std::min(part * sigma_px, most_px);
}

double least_light_beside(double sigma_px) {
    constexpr int steps = 5;
    const auto in_pixel = [&](double from_centre) {
        const double to_edge = std::numbers::sqrt2 * sigma_px;
        return 0.5 * (std::erf((from_centre + 0.5) / to_edge) - std::erf((from_centre - 0.5) / to_edge));
    };
    double least = 1;
    for (int j = 0; j <= steps; ++j)
        for (int i = 0; i <= steps; ++i) {
            const double x = 0.5 * i / steps, y = 0.5 * j / steps, middle = in_pixel(x) * in_pixel(y);
            std::array<double, 8> around;
            std::size_t n = 0;
            for (int v = -1; v <= 1; ++v)
                for (int u = -1; u <= 1; ++u)
                    if (u != 0 || v != 0) around[n++] = in_pixel(u - x) * in_pixel(v - y);
            std::sort(around.begin(), around.end(), std::greater<>());
            least = std::min(least, around[2] / middle);
        }
    return least;
}

PixelSurvey survey_pixels(Movie& movie, const FrameRange& frames, const CameraView& camera, double sigma_px,
                          int threads) {
    PixelSurvey to;
    in_arena_of(threads, [&] {
        Survey found;
        switch (movie.info().type) {
            case PixelType::uint8: found = gather<std::uint8_t>(movie, frames); break;
            case PixelType::uint16: found = gather<std::uint16_t>(movie, frames); break;
            case PixelType::float32: found = gather<float>(movie, frames); break;
        }
        to.frames = found.frames, to.saturation_adu = found.saturation_adu;
        if (to.frames < least_frames) return;
        std::vector<float> low(found.low_adu.size());
        camera.to_photoelectrons(reinterpret_cast<const std::byte*>(found.low_adu.data()), PixelType::float32, low);
        find_defective(low, camera, sigma_px, to);
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
