// Uniform, normal, Poisson, gamma and geometric variates from Philox bits.
// SPDX-License-Identifier: MIT
#include "simulate/random.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace glint {
namespace {

/// Values of 1/k, so that the inner loop of the inversion multiplies.
constexpr auto reciprocals = [] {
    std::array<double, 128> table{};
    for (std::size_t k = 1; k < table.size(); ++k) table[k] = 1.0 / double(k);
    return table;
}();

/// Returns log(k!), by Stirling's series (error below 1e-13 from k = 10) or a table. std::lgamma is not thread-safe.
double log_factorial(double k) {
    constexpr double table[] = {0,
                                0,
                                0.6931471805599453,
                                1.791759469228055,
                                3.1780538303479458,
                                4.787491742782046,
                                6.579251212010101,
                                8.525161361065415,
                                10.60460290274525,
                                12.801827480081469};
    if (k < 10) return table[int(k)];
    const double r = 1 / k, r2 = r * r;
    const double tail = r * (1.0 / 12 - r2 * (1.0 / 360 - r2 * (1.0 / 1260 - r2 * (1.0 / 1680))));
    return (k + 0.5) * std::log(k) - k + 0.5 * std::log(2 * std::numbers::pi) + tail;
}

}  // namespace

Random::Random(std::uint64_t seed, Stream stream, std::uint64_t index, std::uint32_t sub)
    : counter_{0, std::uint32_t(stream) << 24 | (sub & 0xFFFFFFu), std::uint32_t(index), std::uint32_t(index >> 32)},
      key_{std::uint32_t(seed), std::uint32_t(seed >> 32)} {}

void Random::refill() {
    for (int b = 0; b < blocks; ++b) {
        const PhiloxCounter word = philox(counter_, key_);
        ++counter_[0];
        buffer_[2 * b] = std::uint64_t(word[1]) << 32 | word[0];
        buffer_[2 * b + 1] = std::uint64_t(word[3]) << 32 | word[2];
    }
    next_ = 0;
}

std::uint64_t Random::bits() {
    if (next_ == int(buffer_.size())) refill();
    return buffer_[next_++];
}

double Random::uniform() { return (double(bits() >> 12) + 0.5) * 0x1p-52; }

double Random::normal() {
    if (has_spare_) {
        has_spare_ = false;
        return spare_normal_;
    }
    const double radius = std::sqrt(-2 * std::log(uniform()));
    const double angle = 2 * std::numbers::pi * uniform();
    spare_normal_ = radius * std::sin(angle);
    has_spare_ = true;
    return radius * std::cos(angle);
}

double Random::poisson(double mean) {
    if (!(mean > 0)) return 0;
    return mean < 10 ? small_poisson(mean) : large_poisson(mean);
}

double Random::small_poisson(double mean) {
    double probability = std::exp(-mean), sum = probability;
    const double u = uniform();
    std::size_t k = 0;
    while (u > sum && k + 1 < reciprocals.size()) {
        ++k;
        probability *= mean * reciprocals[k];
        sum += probability;
    }
    return double(k);
}

double Random::large_poisson(double mean) {
    const double b = 0.931 + 2.53 * std::sqrt(mean);
    const double a = -0.059 + 0.02483 * b;
    const double quick = 0.9277 - 3.6224 / (b - 2);
    for (;;) {
        const double u = uniform() - 0.5, v = uniform();
        const double edge = 0.5 - std::abs(u);
        const double k = std::floor((2 * a / edge + b) * u + mean + 0.43);
        if (edge >= 0.07 && v <= quick) return k;
        if (k < 0 || (edge < 0.013 && v > edge)) continue;
        const double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4);
        if (std::log(v * inverse_alpha / (a / (edge * edge) + b)) <= k * std::log(mean) - mean - log_factorial(k))
            return k;
    }
}

double Random::gamma(double shape) {
    if (!(shape > 0)) return 0;
    const double d = shape - 1.0 / 3, c = 1 / std::sqrt(9 * d);
    for (;;) {
        const double x = normal(), t = 1 + c * x;
        if (t <= 0) continue;
        const double v = t * t * t, u = uniform(), x2 = x * x;
        if (u < 1 - 0.0331 * x2 * x2 || std::log(u) < 0.5 * x2 + d * (1 - v + std::log(v))) return d * v;
    }
}

double Random::geometric(double mean) {
    if (!(mean > 1)) return 1;
    return 1 + std::floor(std::log(uniform()) / std::log1p(-1 / mean));
}

}  // namespace glint
