// A movie's noise (theory.md, section 11): samples of it at spatial frequencies that no lens transmits, with the
// mean counts that they belong to, and the line of variance over mean count, which says what camera it is.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "glint/inspect.hpp"
#include "glint/movie.hpp"

namespace glint {

/// Most frames that are sampled together, and fewest: a sample needs its frame's neighbours.
constexpr int noise_frames = 8, least_noise_frames = 3;
/// Parts of a movie for the jackknife.
constexpr int noise_parts = 20;

/// Structure of arrays.
struct NoiseSamples {
    std::vector<float> variance;  ///< squared high-pass difference, whose mean is a pixel's variance, ADU^2
    std::vector<float> mean;      ///< of the pixels, weighted as they contribute to `variance`, ADU
    /// Predict `mean` without its noise: by how much the frames before and after are brighter than others there, by how much the
    /// pixels close by are brighter than in other frames, and the mean around in the same frame.
    std::vector<float> beside, close, around;
    std::vector<float> highest;       ///< count of all pixels that contribute in any way
    std::vector<std::uint8_t> still;  ///< of these, pixels with the same count in all frames of the block
    std::vector<std::uint8_t> zero;   ///< per cent of the others that are 0
    std::vector<std::uint8_t> part;   ///< 0 to noise_parts - 1
    double overlap = 1;               ///< by how much the variance of a sum is greater than if samples shared no pixels

    std::size_t count() const { return mean.size(); }
    void add(std::size_t k, const NoiseSamples& from);  ///< the k-th sample of `from`
};

/// Samples blocks of consecutive frames on a grid.
class NoiseSampler {
  public:
    /// For `blocks` blocks of a movie, and no more than about two million samples of them.
    NoiseSampler(int width, int height, std::int64_t blocks);

    /// Adds the samples of the block's frames `use`, at least least_noise_frames; `block_number`: 0 to blocks - 1.
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

/// Estimates gain and offset, or one of them where the other is known. Samples with a count of `saturation_adu` or more (0: none)
/// are left out. `whole_counts`: rounding to whole numbers is part of the noise. `samples` is used up.
MovieNoise noise_of(NoiseSamples samples, double saturation_adu, bool whole_counts, const InspectOptions& options);

}  // namespace glint
