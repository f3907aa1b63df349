// High-pass differences on a grid of places, block by block.
// SPDX-License-Identifier: MIT
#include "analysis/noise_line.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <cstring>

namespace glint {
namespace {

// The kernel is (1 - s)^6 of the shift s. It passes only spatial frequencies near 1/2 per pixel on both axes, where the
// image of a molecule has almost no power (eq. 11.1).
constexpr std::array<double, 7> kernel{1, -6, 15, -20, 15, -6, 1};
constexpr double kernel_norm = 924;  // sum of its squares
constexpr int reach = 3, ring_reach = 4, ring_edge = 2 * ring_reach + 1;
constexpr double ring_pixels = ring_edge * ring_edge - 7 * 7;
// Nearby pixels: the 7x7 without its 3x3, minus a share of the 3x3 that makes their noise uncorrelated with the noise
// of the weighted mean.
constexpr int core_reach = 1;
constexpr double core_pixels = 3 * 3, close_pixels = 7 * 7 - core_pixels;
constexpr double core_share = 850.0 / 924 * 850.0 / 924;  // of the squared weights
constexpr double core_less = (1 - core_share) / close_pixels / (core_share / core_pixels);
constexpr double wanted_noise_samples = 2e6;
constexpr int min_step_px = 2;  // closer differences add no information

/// Linear functions of the pixels around a place in one frame.
struct Response {
    double difference = 0, mean = 0, close = 0, ring = 0;
};

template <class T>
double count_of(const std::byte* frame, std::size_t at) {
    T value;
    std::memcpy(&value, frame + at * sizeof(T), sizeof(T));
    return double(value);
}

/// The counts in a square around a place, in the frames of a block.
struct NoiseWindows {
    int frames = 0;
    std::array<std::array<double, ring_edge * ring_edge>, noise_frames> counts{};

    template <class T>
    void read(const FrameBlock& block, const std::vector<int>& use, int x, int y) {
        frames = int(use.size());
        for (int t = 0; t < frames; ++t)
            for (int row = 0, k = 0; row < ring_edge; ++row)
                for (int column = 0; column < ring_edge; ++column, ++k)
                    counts[std::size_t(t)][std::size_t(k)] = count_of<T>(
                        block.frame(use[std::size_t(t)]), std::size_t(y + row - ring_reach) * std::size_t(block.width) +
                                                              std::size_t(x + column - ring_reach));
    }
    Response response(int t) const;
    double highest() const;
    std::array<bool, ring_edge * ring_edge> is_still() const;
    double zero_share(const std::array<bool, ring_edge * ring_edge>& still) const;
};

Response NoiseWindows::response(int t) const {
    const auto& pixels = counts[std::size_t(t)];
    Response to;
    double all = 0, inside = 0, core = 0;
    for (const double pixel : pixels) all += pixel;
    for (int row = -reach; row <= reach; ++row) {
        double difference = 0, mean = 0;
        for (int column = -reach; column <= reach; ++column) {
            const double pixel = pixels[std::size_t((row + ring_reach) * ring_edge + column + ring_reach)];
            const double weight = kernel[std::size_t(column + reach)];
            difference += weight * pixel, mean += weight * weight * pixel, inside += pixel;
            if (std::abs(row) <= core_reach && std::abs(column) <= core_reach) core += pixel;
        }
        const double weight = kernel[std::size_t(row + reach)];
        to.difference += weight * difference, to.mean += weight * weight * mean;
    }
    to.difference /= kernel_norm, to.mean /= kernel_norm * kernel_norm;
    to.close = (inside - core) / close_pixels - core_less * core / core_pixels;
    to.ring = (all - inside) / ring_pixels;
    return to;
}

double NoiseWindows::highest() const {
    double most = counts[0][0];
    for (int t = 0; t < frames; ++t)
        most = std::max(most, *std::max_element(counts[std::size_t(t)].begin(), counts[std::size_t(t)].end()));
    return most;
}

std::array<bool, ring_edge * ring_edge> NoiseWindows::is_still() const {
    std::array<bool, ring_edge * ring_edge> still{};
    for (std::size_t k = 0; k < still.size(); ++k) {
        still[k] = true;
        for (int t = 1; t < frames && still[k]; ++t) still[k] = counts[std::size_t(t)][k] == counts[0][k];
    }
    return still;
}

/// Returns the share of zeros among the counts of pixels that change.
double NoiseWindows::zero_share(const std::array<bool, ring_edge * ring_edge>& still) const {
    int zeros = 0, all = 0;
    for (std::size_t k = 0; k < still.size(); ++k)
        for (int t = 0; t < frames && !still[k]; ++t) ++all, zeros += counts[std::size_t(t)][k] == 0;
    return all > 0 ? double(zeros) / all : 0;
}

/// Returns the squared correlation of differences, summed over shifts by multiples of `step_px` along an axis (eq.
/// 11.3).
double overlap_along_axis(int step_px) {
    double sum = 0;
    for (int shift = -2 * reach; shift <= 2 * reach; ++shift) {
        if (shift % step_px != 0) continue;
        double product = 0;
        for (int k = 0; k <= 2 * reach; ++k)
            if (k + shift >= 0 && k + shift <= 2 * reach)
                product += kernel[std::size_t(k)] * kernel[std::size_t(k + shift)];
        sum += product / kernel_norm * product / kernel_norm;
    }
    return sum;
}

/// Returns how much brighter the frames before and after are than the more distant frames. Patterns of the sensor,
/// which are not light, cancel.
double change_beside(const std::array<Response, noise_frames>& at, int frames, int t) {
    double near = 0, far = 0;
    int nears = 0, fars = 0;
    for (int other = 0; other < frames; ++other) {
        if (other == t) continue;
        const bool is_near = std::abs(other - t) == 1;
        (is_near ? near : far) += at[std::size_t(other)].mean;
        ++(is_near ? nears : fars);
    }
    return fars > 0 ? near / nears - far / fars : 0;
}

}  // namespace

void NoiseSamples::add(std::size_t k, const NoiseSamples& from) {
    variance.push_back(from.variance[k]), mean.push_back(from.mean[k]);
    beside.push_back(from.beside[k]), close.push_back(from.close[k]), around.push_back(from.around[k]);
    highest.push_back(from.highest[k]), still.push_back(from.still[k]), zero.push_back(from.zero[k]),
        part.push_back(from.part[k]);
}

NoiseSampler::NoiseSampler(int width, int height, std::int64_t blocks)
    : width_(width), height_(height), blocks_(std::max<std::int64_t>(blocks, 1)) {
    const double pixels = double(width) * height * double(blocks_) * noise_frames;
    step_px_ = std::max(min_step_px, int(std::ceil(std::sqrt(pixels / wanted_noise_samples))));
    const double along = overlap_along_axis(step_px_);
    samples_.overlap = along * along;
}

/// Returns the part of a sample. Parts are periods of time, and in movies of few blocks also stripes of the frame.
int NoiseSampler::part_of(std::int64_t block_number, int y) const {
    if (blocks_ >= noise_parts) return int(block_number * noise_parts / blocks_);
    const int stripes = noise_parts / int(blocks_);
    return int(block_number) * stripes + std::min(y * stripes / height_, stripes - 1);
}

template <class T>
void NoiseSampler::add_place(const FrameBlock& block, const std::vector<int>& use, int x, int y, int part) {
    NoiseWindows windows;
    windows.read<T>(block, use, x, y);
    const int frames = windows.frames;
    std::array<Response, noise_frames> at;
    double difference = 0, mean = 0, close = 0;
    for (int t = 0; t < frames; ++t) {
        at[std::size_t(t)] = windows.response(t);
        difference += at[std::size_t(t)].difference / frames, mean += at[std::size_t(t)].mean / frames;
        close += at[std::size_t(t)].close / frames;
    }
    const float highest = float(windows.highest());
    const auto is_still = windows.is_still();
    const auto still = std::count(is_still.begin(), is_still.end(), true);
    const double zero_percent = 100 * windows.zero_share(is_still);
    for (int t = 0; t < frames; ++t) {
        const Response& here = at[std::size_t(t)];
        // Subtracting the mean over the frames removes everything static, and 1 / frames of the noise (eq. 11.2).
        const double noise = here.difference - difference;
        samples_.variance.push_back(float(noise * noise * frames / (frames - 1)));
        samples_.mean.push_back(float(((frames - 2) * here.mean + mean) / (frames - 1)));
        samples_.beside.push_back(float(change_beside(at, frames, t)));
        samples_.close.push_back(float(here.close - close));
        samples_.around.push_back(float(here.ring));
        samples_.highest.push_back(highest);
        samples_.still.push_back(std::uint8_t(still));
        samples_.zero.push_back(std::uint8_t(std::lround(zero_percent)));
        samples_.part.push_back(std::uint8_t(part));
    }
}

void NoiseSampler::add(const FrameBlock& block, const std::vector<int>& use, std::int64_t block_number) {
    for (int y = ring_reach; y + ring_reach < height_; y += step_px_)
        for (int x = ring_reach; x + ring_reach < width_; x += step_px_) {
            const int part = part_of(block_number, y);
            if (block.type == PixelType::uint8)
                add_place<std::uint8_t>(block, use, x, y, part);
            else if (block.type == PixelType::uint16)
                add_place<std::uint16_t>(block, use, x, y, part);
            else
                add_place<float>(block, use, x, y, part);
        }
}

}  // namespace glint
