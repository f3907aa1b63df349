// Detection, distances to the nearest other spot, and the choice of the window.
// SPDX-License-Identifier: MIT
#include "analysis/lens/lone_windows.hpp"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>
#include <numeric>
#include <utility>
#include <vector>

#include "base/arena.hpp"
#include "glint/detect.hpp"

namespace glint::lens {
namespace {

constexpr std::array<int, 4> window_sizes{25, 21, 17, 13};  // px; light beyond is unknown, so large ones come first
constexpr std::size_t enough_windows = 4000, many_windows = 1000;
constexpr std::size_t max_at_one_place = 10;  // in one pixel: beads repeat one sub-pixel position
constexpr std::int64_t max_pixels_read = std::int64_t(1) << 30;
constexpr std::int64_t lone_frames_at_once = 32;
constexpr double beside_sigmas = 2;  // distance of another spot from the window

/// A spot that is alone in a window of size window_sizes[widest] and in all smaller ones.
struct LoneCandidate {
    std::size_t widest = 0;
    std::int32_t x = 0, y = 0;
    float score = 0;
    std::vector<float> pixels, variance, qe;  ///< of the widest window
};

struct FrameSpots {
    std::int64_t found = 0;
    std::vector<LoneCandidate> lone;
};

/// Frames in an order whose beginnings are spread over the whole range.
class SpreadFrames {
  public:
    SpreadFrames(std::int64_t begin, std::int64_t count) : begin_(begin), count_(count) {
        step_ = std::max<std::int64_t>(1, std::llround(0.618 * double(count)));
        while (std::gcd(step_, count) != 1) ++step_;
    }
    std::int64_t operator[](std::int64_t k) const {
        return begin_ + std::int64_t((unsigned __int128)(k)*std::uint64_t(step_) % std::uint64_t(count_));
    }

  private:
    std::int64_t begin_, count_, step_;
};

/// Distance of the nearest other spot or of the frame's edge, as a number of whole pixels beside the spot's. Spots are
/// in order of y, so that only those of near rows are compared.
int find_room(const Spots& spots, std::size_t k, int beside_px, const CameraView& camera) {
    int room = std::min({spots.x[k], spots.y[k], camera.width() - 1 - spots.x[k], camera.height() - 1 - spots.y[k]});
    const int reach_px = window_sizes.front() / 2 + 1 + beside_px;
    const auto is_near = [&](std::size_t other) { return std::abs(spots.y[other] - spots.y[k]) <= reach_px; };
    const auto keep_apart = [&](std::size_t other) {
        const int apart = std::max(std::abs(spots.x[other] - spots.x[k]), std::abs(spots.y[other] - spots.y[k]));
        room = std::min(room, apart - 1 - beside_px);
    };
    for (std::size_t other = k; other-- > 0 && is_near(other);) keep_apart(other);
    for (std::size_t other = k + 1; other < spots.count() && is_near(other); ++other) keep_apart(other);
    return room;
}

FrameSpots find_in_frame(const std::vector<float>& photoelectrons, const CameraView& camera, double sigma_px) {
    Detector detector(camera, {.filter = {sigma_px}});
    Spots spots;
    detector.find(photoelectrons, spots);
    FrameSpots to{std::int64_t(spots.count()), {}};
    const int beside_px = int(std::ceil(beside_sigmas * sigma_px));
    for (std::size_t k = 0; k < spots.count(); ++k) {
        const int room = find_room(spots, k, beside_px, camera);
        std::size_t widest = 0;
        while (widest < window_sizes.size() && window_sizes[widest] / 2 > room) ++widest;
        if (widest == window_sizes.size()) continue;
        Rois one = make_rois(camera, window_sizes[widest]);
        cut_rois(photoelectrons, camera, {{spots.x[k]}, {spots.y[k]}, {spots.score[k]}}, 0, one);
        const bool is_complete =
            std::all_of(one.pixels.begin(), one.pixels.end(), [](float v) { return std::isfinite(v); });
        if (is_complete)
            to.lone.push_back({widest, spots.x[k], spots.y[k], spots.score[k], std::move(one.pixels),
                               std::move(one.variance), std::move(one.qe)});
    }
    return to;
}

/// The middle of a square of `from` pixels.
std::vector<float> crop_square(const std::vector<float>& values, int from, int size) {
    if (values.empty() || from == size) return values;
    std::vector<float> out;
    const int margin = (from - size) / 2;
    for (int y = 0; y < size; ++y) {
        const float* row = values.data() + (y + margin) * from + margin;
        out.insert(out.end(), row, row + size);
    }
    return out;
}

/// Marks saturated pixels as missing.
void remove_saturated(const CameraView& camera, double saturation_adu, std::vector<float>& photoelectrons) {
    constexpr float rounding = 1e-5f;
    for (std::size_t k = 0; k < photoelectrons.size(); ++k) {
        const CameraView::Pixel pixel = camera.pixel(k);
        const float limit = (float(saturation_adu) - pixel.offset_adu) * pixel.factor_e_per_adu;
        if (photoelectrons[k] >= limit * (1 - rounding)) photoelectrons[k] = std::numeric_limits<float>::quiet_NaN();
    }
}

/// The index of the window size to use.
std::size_t choose_lone_window(const std::vector<LoneCandidate>& lone) {
    std::array<std::size_t, window_sizes.size()> count{};
    for (const LoneCandidate& spot : lone)
        for (std::size_t k = spot.widest; k < count.size(); ++k) ++count[k];
    for (const std::size_t needed : {many_windows, many_windows / 3})
        for (std::size_t k = 0; k < count.size(); ++k)
            if (count[k] >= needed) return k;
    return window_sizes.size() - 1;
}

/// Keeps the brighter half of many spots.
void keep_bright(std::vector<LoneCandidate>& lone) {
    if (lone.size() < 2 * many_windows) return;
    std::vector<float> scores;
    for (const LoneCandidate& spot : lone) scores.push_back(spot.score);
    const auto middle = scores.begin() + std::ptrdiff_t(scores.size() / 2);
    std::nth_element(scores.begin(), middle, scores.end());
    std::erase_if(lone, [limit = *middle](const LoneCandidate& spot) { return spot.score < limit; });
}

}  // namespace

LoneWindows find_lone_windows(Movie& movie, const CameraView& camera, const FrameRange& range, double sigma_px,
                              double saturation_adu, const std::function<void(std::int64_t)>& read_frame) {
    const std::int64_t pixels = std::int64_t(camera.width()) * camera.height();
    const std::int64_t count = range.end - range.begin;
    const std::int64_t most = std::min(count, std::max(max_pixels_read / pixels, lone_frames_at_once));
    const SpreadFrames order(range.begin, count);
    LoneWindows to;
    std::vector<LoneCandidate> lone;
    std::map<std::pair<int, int>, std::size_t> at_place;
    FrameBlock block;
    while (to.frames < most && lone.size() < enough_windows) {
        std::vector<std::vector<float>> frames;
        for (; std::int64_t(frames.size()) < lone_frames_at_once && to.frames < most; ++to.frames) {
            movie.read(order[to.frames], 1, block);
            frames.emplace_back(std::size_t(pixels));
            camera.to_photoelectrons(block.frame(0), block.type, frames.back());
            if (saturation_adu > 0) remove_saturated(camera, saturation_adu, frames.back());
            read_frame(to.frames + 1);
        }
        std::vector<FrameSpots> found(frames.size());
        in_arena_of(own_threads(), [&] {
            tbb::parallel_for(std::size_t(0), frames.size(),
                              [&](std::size_t k) { found[k] = find_in_frame(frames[k], camera, sigma_px); });
        });
        for (FrameSpots& one : found) {
            to.spots += one.found;
            for (LoneCandidate& spot : one.lone)
                if (++at_place[{spot.x, spot.y}] <= max_at_one_place) lone.push_back(std::move(spot));
        }
    }
    const std::size_t window = choose_lone_window(lone);
    std::erase_if(lone, [window](const LoneCandidate& spot) { return spot.widest > window; });
    keep_bright(lone);
    to.rois = make_rois(camera, window_sizes[window]);
    const auto append = [](std::vector<float>& values, const std::vector<float>& more) {
        values.insert(values.end(), more.begin(), more.end());
    };
    for (const LoneCandidate& spot : lone) {
        const int from = window_sizes[spot.widest], size = window_sizes[window];
        append(to.rois.pixels, crop_square(spot.pixels, from, size));
        append(to.rois.variance, crop_square(spot.variance, from, size));
        append(to.rois.qe, crop_square(spot.qe, from, size));
    }
    return to;
}

void crop_rois(Rois& rois, int size) {
    const std::size_t pixels = std::size_t(rois.size) * std::size_t(rois.size), count = rois.count();
    for (std::vector<float>* values : {&rois.pixels, &rois.variance, &rois.qe}) {
        if (values->empty()) continue;
        std::vector<float> out;
        for (std::size_t k = 0; k < count; ++k) {
            const auto begin = values->begin() + std::ptrdiff_t(k * pixels);
            const std::vector<float> part = crop_square({begin, begin + std::ptrdiff_t(pixels)}, rois.size, size);
            out.insert(out.end(), part.begin(), part.end());
        }
        *values = std::move(out);
    }
    rois.size = size;
}

void keep_rois(Rois& rois, const std::function<bool(std::size_t)>& keeps) {
    const std::size_t pixels = std::size_t(rois.size) * std::size_t(rois.size), count = rois.count();
    const auto keep = [&](std::vector<float>& values) {
        if (values.empty()) return;
        std::size_t to = 0;
        for (std::size_t k = 0; k < count; ++k)
            if (keeps(k))
                std::copy_n(values.begin() + std::ptrdiff_t(k * pixels), pixels,
                            values.begin() + std::ptrdiff_t(pixels * to++));
        values.resize(to * pixels);
    };
    keep(rois.variance), keep(rois.qe), keep(rois.pixels);
}

}  // namespace glint::lens
