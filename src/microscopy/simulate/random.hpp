// Random streams with random access, and the distributions of a camera's noise (docs/explanation/theory.md, section 7).
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>

namespace glint {

using PhiloxCounter = std::array<std::uint32_t, 4>;
using PhiloxKey = std::array<std::uint32_t, 2>;

/// The counter-based random number generator Philox4x32-10 (Salmon et al., SC11, doi:10.1145/2063384.2063405).
/// 128 random bits as a function of counter and key: random access to any position of any stream.
constexpr PhiloxCounter philox(PhiloxCounter c, PhiloxKey key) {
    for (int round = 0; round < 10; ++round) {
        const std::uint64_t p0 = std::uint64_t{0xD2511F53} * c[0];
        const std::uint64_t p1 = std::uint64_t{0xCD9E8D57} * c[2];
        c = {std::uint32_t(p1 >> 32) ^ c[1] ^ key[0], std::uint32_t(p1), std::uint32_t(p0 >> 32) ^ c[3] ^ key[1],
             std::uint32_t(p0)};
        key[0] += 0x9E3779B9u;
        key[1] += 0xBB67AE85u;
    }
    return c;
}

/// The purpose of a stream, so that different uses of one seed are independent.
enum class Stream : std::uint32_t {
    structure,
    births,
    molecule,
    ring,
    frame_noise,
    roi_truth,
    roi_place,
    roi_noise,
    place,
    drift,
    beads
};

/// The numbers of one stream, determined only by (seed, stream, index). Cheap to construct; not thread-safe. The same
/// on any machine, except for the last bit of the C library's exp, log, sin and cos.
class Random {
  public:
    /// `sub` distinguishes up to 2^24 streams of one index.
    Random(std::uint64_t seed, Stream stream, std::uint64_t index, std::uint32_t sub = 0);

    /// Uniform in the open interval (0, 1), 52 bits.
    double uniform();
    /// Uniform in (low, high).
    double uniform(double low, double high) { return low + (high - low) * uniform(); }
    /// Standard normal (Box-Muller).
    double normal();
    /// Poisson, exact: inversion below a mean of 10, Hormann's transformed rejection PTRS (1993) above.
    double poisson(double mean);
    /// Gamma variate of scale 1 (Marsaglia and Tsang 2000); shape >= 1, or 0, which gives 0.
    double gamma(double shape);
    /// Geometric: number of trials up to the first success, 1, 2, ...; `mean` >= 1.
    double geometric(double mean);

  private:
    static constexpr int blocks = 4;
    std::uint64_t bits();
    void refill();
    double small_poisson(double mean);
    double large_poisson(double mean);

    PhiloxCounter counter_;
    PhiloxKey key_;
    std::array<std::uint64_t, 2 * blocks> buffer_;
    int next_ = 2 * blocks;
    double spare_normal_ = 0;
    bool has_spare_ = false;
};

}  // namespace glint
