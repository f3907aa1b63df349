// Samples the noise of a movie at spatial frequencies that no lens transmits, and fits the line of variance over mean
// count. The line determines gain and offset (theory.md, section 11).
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "glint/inspect.hpp"
#include "glint/movie.hpp"

namespace glint {

/// Maximum and minimum number of frames that are sampled together. A sample needs neighbouring frames.
constexpr int noise_frames = 8, min_noise_frames = 3;
/// Number of parts of a movie for the jackknife.
constexpr int noise_parts = 20;

/// Samples as a structure of arrays.
struct NoiseSamples {
    std::vector<float> variance;  ///< squared high-pass difference; its mean is a pixel's variance, ADU^2
    std::vector<float> mean;      ///< of the pixels, weighted by their contribution to `variance`, ADU
    /// Predictors of `mean` without its noise. `beside`: how much brighter the frames before and after are than other
    /// frames. `close`: how much brighter nearby pixels are than in other frames. `around`: the mean of the
    /// surroundings in the same frame.
    std::vector<float> beside, close, around;
    std::vector<float> highest;       ///< highest count of all contributing pixels
    std::vector<std::uint8_t> still;  ///< number of these pixels with the same count in all frames of the block
    std::vector<std::uint8_t> zero;   ///< percentage of 0 among the counts of the other pixels
    std::vector<std::uint8_t> part;   ///< 0 to noise_parts - 1
    double overlap = 1;               ///< factor on the variance of a sum, because samples share pixels

    std::size_t count() const { return mean.size(); }
    void add(std::size_t k, const NoiseSamples& from);  ///< adds sample k of `from`
};

/// Samples blocks of consecutive frames on a grid.
class NoiseSampler {
  public:
    /// For `blocks` blocks of a movie, with about two million samples at most.
    NoiseSampler(int width, int height, std::int64_t blocks);

    /// Adds samples from the frames `use` of a block, at least min_noise_frames. `block_number` is 0 to blocks - 1.
    void add(const FrameBlock& block, const std::vector<int>& use, std::int64_t block_number);

    NoiseSamples take() { return std::move(samples_); }

  private:
    template <class T>
    void add_place(const FrameBlock& block, const std::vector<int>& use, int x, int y, int part);
    int part_of(std::int64_t block_number, int y) const;

    int width_, height_, step_px_;
    std::int64_t blocks_;
    NoiseSamples samples_;
};

/// Estimates gain and offset, or the one that is unknown. Leaves out samples with a count of `saturation_adu` or more
/// (0: no limit). If `whole_counts`, rounding to whole numbers is part of the noise.
MovieNoise noise_of(NoiseSamples samples, double saturation_adu, bool whole_counts, const InspectOptions& options);

}  // namespace glint
