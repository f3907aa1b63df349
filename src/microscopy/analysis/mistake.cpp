// Finds the camera value that is most likely wrong. Changes one value at a time, and compares the resulting noise with
// the measured line.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "glint/inspect.hpp"

namespace glint {
namespace {

constexpr double rounding_adu2 = 1.0 / 12;
constexpr double known_part = 0.03;            // relative error of the variance at the typical mean
constexpr double em_gains[] = {10, 5000};      // of cameras in use
constexpr double readnoises_e[] = {0.7, 2.5};  // of scientific CMOS cameras

/// The noise of a camera: variance = slope (mean - offset) + dark.
struct NoiseModel {
    double offset = 0, gain = 1, readnoise = 0, em_gain = 1, excess = 1;

    double slope() const { return excess * em_gain / gain; }
    double variance(double mean) const {
        return slope() * (mean - offset) + std::pow(readnoise / gain, 2) + rounding_adu2;
    }
};

/// A camera that differs from the given one in one value.
struct LikelyMistake {
    NoiseModel model;
    std::string words;
    double cost = 0;        ///< 1 for a fitted value, which can be anything
    bool is_slope = false;  ///< changes how noise grows with light; only the likeliest of these is reported
};

/// Returns the squared deviations relative to their errors: of the variance at the typical mean, and of the slope if
/// known.
double misfit(const NoiseModel& model, const MovieNoise& noise) {
    const double variance = model.variance(noise.mean_adu);
    if (!(variance > 0)) return 1e9;
    double sum = std::pow(std::log(noise.variance_adu2 / variance) / known_part, 2);
    if (const auto& gain = noise.gain_e_per_adu) {
        const double slope = 1 / gain->value, error = slope * gain->error / gain->value;
        sum += std::pow((model.slope() - slope) / error, 2);
    }
    return sum;
}

void add_reciprocal_gain(const NoiseModel& given, std::vector<LikelyMistake>& to) {
    if (std::abs(std::log(given.gain)) < known_part) return;
    LikelyMistake one{given, fmt::format("the gain, which is upside down ({:.3g} e-/ADU would fit)", 1 / given.gain), 0,
                      true};
    one.model.gain = 1 / given.gain;
    to.push_back(one);
}

void add_excess_noise(const NoiseModel& given, std::vector<LikelyMistake>& to) {
    LikelyMistake one{given,
                      given.excess > 1 ? "the EM gain, since this camera has no excess noise"
                                       : "the excess noise of an EM register, which is missing (`em_gain`)",
                      0, true};
    one.model.excess = given.excess > 1 ? 1 : 2;
    to.push_back(one);
}

/// The EM gain was given for a camera without one, or the movie was recorded without it.
void add_no_em_gain(const NoiseModel& given, std::vector<LikelyMistake>& to) {
    if (given.em_gain == 1) return;
    LikelyMistake one{given, "", 0, true};
    one.words = fmt::format("the EM gain of {:g}, which was off, or the camera has none (`em_gain=1` would fit)",
                            given.em_gain);
    one.model.em_gain = 1, one.model.excess = given.excess / 2;
    to.push_back(one);
}

/// Both the multiplication and the excess noise are missing, and the gain in e-/ADU is the gain without them. Another
/// gain would explain the same slope, but is rarely wrong by such a factor.
void add_em_gain(const NoiseModel& given, const MovieNoise& noise, std::vector<LikelyMistake>& to) {
    if (given.em_gain > 1 || given.excess > 1.5 || !(noise.mean_adu > given.offset)) return;
    LikelyMistake one{given, "", 0};
    one.model.excess = 2 * given.excess;
    const double dark = std::pow(given.readnoise / given.gain, 2) + rounding_adu2;
    one.model.em_gain = (noise.variance_adu2 - dark) / (one.model.slope() * (noise.mean_adu - given.offset));
    if (!(one.model.em_gain >= em_gains[0] && one.model.em_gain <= em_gains[1])) return;
    one.words = fmt::format("the EM gain, which is missing (`em_gain={:.3g}` would fit)", one.model.em_gain);
    to.push_back(one);
}

/// The read noise in ADU depends on the gain. The gain is therefore found by bisection on a logarithmic scale; a higher
/// gain means less variance.
void add_other_gain(const NoiseModel& given, const MovieNoise& noise, std::vector<LikelyMistake>& to) {
    if (!(noise.mean_adu > given.offset)) return;
    LikelyMistake one{given, "", 1, true};
    double low = 1e-6, high = 1e6;
    for (int pass = 0; pass < 60; ++pass) {
        one.model.gain = std::sqrt(low * high);
        (one.model.variance(noise.mean_adu) > noise.variance_adu2 ? low : high) = one.model.gain;
    }
    one.words = fmt::format("the gain ({:.3g} e-/ADU would fit)", one.model.gain);
    to.push_back(one);
}

void add_other_offset(const NoiseModel& given, const MovieNoise& noise, std::vector<LikelyMistake>& to) {
    const double shift = (given.variance(noise.mean_adu) - noise.variance_adu2) / given.slope();
    LikelyMistake one{given, "", 1};
    one.model.offset += shift;
    if (one.model.offset < 0) return;
    one.words =
        fmt::format("the offset, which is too {} ({:.4g} ADU would fit)", shift < 0 ? "high" : "low", one.model.offset);
    to.push_back(one);
}

/// Considers only read noises that cameras have.
void add_read_noise(const NoiseModel& given, const MovieNoise& noise, std::vector<LikelyMistake>& to) {
    constexpr double max_e = 20;
    const double more = noise.variance_adu2 - given.variance(noise.mean_adu);
    const double square = std::pow(given.readnoise, 2) + more * given.gain * given.gain;
    if (!(square >= 0 && square < std::pow(max_e * given.em_gain, 2)) || !(noise.mean_adu > given.offset)) return;
    LikelyMistake one{given, "", 1};
    one.model.readnoise = std::sqrt(square);
    const bool is_forgotten = given.readnoise == 0 && given.em_gain == 1;
    if (is_forgotten && one.model.readnoise >= readnoises_e[0] && one.model.readnoise <= readnoises_e[1]) one.cost = 0;
    one.words =
        fmt::format("the read noise, which is {} ({:.3g} e- rms would fit)",
                    given.readnoise > 0 ? (more > 0 ? "too small" : "too large") : "missing", one.model.readnoise);
    to.push_back(one);
}

NoiseModel model_of(const Camera& camera) {
    return {camera.offset_adu.scalar, camera.gain_e_per_adu.scalar, camera.readnoise_e.scalar, camera.em_gain,
            camera.excess_noise() / camera.relative_qe.scalar};
}

}  // namespace

std::string find_wrong_camera_value(const MovieNoise& noise, const Camera& camera) {
    constexpr double significant = 16, nearly_as_likely = 4, explained = 16;
    if (camera.has_maps() || !(noise.variance_adu2 > 0)) return "";
    const NoiseModel given = model_of(camera);
    if (misfit(given, noise) < significant) return "";
    std::vector<LikelyMistake> all;
    add_reciprocal_gain(given, all), add_excess_noise(given, all), add_no_em_gain(given, all);
    add_em_gain(given, noise, all);
    add_other_gain(given, noise, all);
    add_other_offset(given, noise, all), add_read_noise(given, noise, all);
    const auto badness = [&](const LikelyMistake& one) { return misfit(one.model, noise) + one.cost; };
    double best = badness(all.front());
    for (const LikelyMistake& one : all) best = std::min(best, badness(one));
    if (best > explained) return "no single value of the camera explains the noise: several are wrong";
    std::stable_sort(all.begin(), all.end(), [&](const auto& a, const auto& b) { return badness(a) < badness(b); });
    std::string text = "likeliest wrong: ";
    bool told = false, slope_told = false;
    for (const LikelyMistake& one : all) {
        if (badness(one) > best + nearly_as_likely || (one.is_slope && slope_told)) continue;
        if (told) text += "; or ";
        text += one.words;
        told = true, slope_told = slope_told || one.is_slope;
    }
    return text;
}

}  // namespace glint
