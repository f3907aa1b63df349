// Counts of rows by their photons, eight bins an octave.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace glint {

using PhotonBins = std::array<std::int64_t, 2048>;

/// A bin is a sign, an exponent and three bits of the fraction. Photons are positive.
constexpr int photon_bin_shift = 20;
inline std::size_t photon_bin(float photons) {
    return photons > 0 ? std::bit_cast<std::uint32_t>(photons) >> photon_bin_shift : 0;
}
inline float end_of_photon_bin(std::size_t bin) {
    return std::bit_cast<float>(std::uint32_t(bin + 1) << photon_bin_shift);
}

}  // namespace glint
