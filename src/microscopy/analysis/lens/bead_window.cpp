// Parts of a bead's window: some of its slices, or its middle.
// SPDX-License-Identifier: MIT
#include "analysis/lens/bead_window.hpp"

#include <cstddef>

namespace glint::lens {
namespace {

void append_middle(const float* image, int size, int margin, std::vector<float>& out) {
    for (int j = margin; j < size - margin; ++j)
        out.insert(out.end(), image + std::ptrdiff_t(j) * size + margin,
                   image + std::ptrdiff_t(j) * size + size - margin);
}

}  // namespace

BeadWindow take_slices(const BeadWindow& window, std::size_t first, std::size_t stride) {
    BeadWindow taken = window;
    taken.z_nm.clear(), taken.photoelectrons.clear();
    for (std::size_t k = first; k < window.slices(); k += stride) {
        taken.z_nm.push_back(window.z_nm[k]);
        taken.photoelectrons.insert(taken.photoelectrons.end(), window.slice(k), window.slice(k) + window.pixels());
    }
    return taken;
}

BeadWindow crop(const BeadWindow& window, int size) {
    const int margin = (window.size - size) / 2;
    BeadWindow middle{.file = window.file,
                      .left = window.left + margin,
                      .top = window.top + margin,
                      .size = window.size - 2 * margin,
                      .z_nm = window.z_nm,
                      .photoelectrons = {},
                      .shot_noise = {},
                      .read_variance = {}};
    append_middle(window.shot_noise.data(), window.size, margin, middle.shot_noise);
    append_middle(window.read_variance.data(), window.size, margin, middle.read_variance);
    for (std::size_t k = 0; k < window.slices(); ++k)
        append_middle(window.slice(k), window.size, margin, middle.photoelectrons);
    return middle;
}

}  // namespace glint::lens
