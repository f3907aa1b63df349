// Bias, slope and wrong fits of each bin against their limits.
// SPDX-License-Identifier: MIT
#include "analysis/lens/usable_z.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace glint::lens {
namespace {

constexpr double max_bias_nm = 20, max_wrong = 0.1, max_slope_error = 0.2, slope_reach_nm = 100;

/// Change of the bias per change of z, by least squares over the bins within slope_reach_nm.
double bias_slope(const std::vector<PsfSliceError>& bins, std::size_t at) {
    double n = 0, sz = 0, sb = 0, szz = 0, szb = 0;
    for (const PsfSliceError& bin : bins) {
        const double z = bin.z_nm - bins[at].z_nm;
        if (std::abs(z) > slope_reach_nm || bin.wrong > 0.5) continue;
        n += bin.fits, sz += bin.fits * z, sb += bin.fits * bin.z_bias_nm;
        szz += bin.fits * z * z, szb += bin.fits * z * bin.z_bias_nm;
    }
    const double spread = n * szz - sz * sz;
    return spread > 0 ? (n * szb - sz * sb) / spread : 0;
}

bool is_good(const std::vector<PsfSliceError>& bins, std::size_t k) {
    const PsfSliceError& bin = bins[k];
    if (bin.fits == 0 || bin.wrong > max_wrong || !(bin.z_crlb_nm > 0)) return false;
    const double error = bin.z_rms_nm / std::sqrt(double(bin.fits));
    return std::abs(bin.z_bias_nm) <= std::max(max_bias_nm, std::min(2 * error, 2 * max_bias_nm)) &&
           std::abs(bias_slope(bins, k)) <= max_slope_error;
}

}  // namespace

UsableBins find_usable_bins(const std::vector<PsfSliceError>& bins) {
    std::size_t best = bins.size();
    for (std::size_t k = 0; k < bins.size(); ++k)
        if (is_good(bins, k) && (best == bins.size() || bins[k].z_crlb_nm < bins[best].z_crlb_nm)) best = k;
    if (best == bins.size()) return {};
    UsableBins range{best, best};
    while (range.first > 0 && is_good(bins, range.first - 1)) --range.first;
    while (range.last + 1 < bins.size() && is_good(bins, range.last + 1)) ++range.last;
    return range;
}

}  // namespace glint::lens
