// A bead's window through a stack, and what describes the bead in it.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <vector>

namespace glint::lens {

/// The pixels of a bead: the same square of the movie in all slices.
struct BeadWindow {
    std::size_t file = 0;
    int left = 0, top = 0, size = 0;    ///< first pixel in the movie, and the edge; px, odd
    std::vector<double> z_nm;           ///< of each slice
    std::vector<float> photoelectrons;  ///< slices x size x size, C order
    std::vector<float> shot_noise;      ///< f = F^2 / q of eq. 2.2, size x size
    std::vector<float> read_variance;   ///< v, e-^2, size x size

    std::size_t pixels() const { return std::size_t(size) * std::size_t(size); }
    std::size_t slices() const { return z_nm.size(); }
    const float* slice(std::size_t k) const { return photoelectrons.data() + k * pixels(); }
};

/// Slices `first`, `first` + `stride`, ... of a window.
BeadWindow take_slices(const BeadWindow& window, std::size_t first, std::size_t stride);

/// The middle part of a window, `size` px wide (odd).
BeadWindow crop(const BeadWindow& window, int size);

/// A bead's position and light. Its slice at z shows the PSF at z + z_nm.
struct BeadPlace {
    double x_px = 0, y_px = 0;  ///< from the middle of the window
    double z_nm = 0;
    double photons = 0;  ///< a slice
};

}  // namespace glint::lens
