// The default size of a ROI.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>

#include "glint/localize.hpp"

namespace glint {
namespace {

constexpr double half_edge_sigmas = 2.3;  // holds 96 % of the light of a centred spot, and few neighbours
constexpr int smallest_default = 7;

}  // namespace

int default_roi_size(const Psf& psf, double pixel_size_nm) {
    const double half = half_edge_sigmas * psf.detection_sigma_um() * 1000 / pixel_size_nm;
    const int size = 2 * int(std::ceil(std::min(half, 100.0))) + 1;
    return std::clamp(size, smallest_default, max_roi_size);
}

}  // namespace glint
