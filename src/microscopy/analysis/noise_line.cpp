// Bins samples by their predicted mean and fits the line. Repeats this without each part of the movie.
// SPDX-License-Identifier: MIT
#include "analysis/noise_line.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <numeric>
#include <utility>
#include <vector>

#include "base/median.hpp"

namespace glint {
namespace {

constexpr std::size_t min_samples = 2000;
constexpr double min_in_bin = 30, max_relative_error = 0.2;
constexpr double median_of_square = 0.4549;  // of a standard normal number
constexpr double outlier_squared = 49;       // seven standard deviations
/// Starts of bins as shares of all samples. Molecules have most of the light, but few samples.
constexpr std::array<double, 16> bin_starts{0,   0.1, 0.2,  0.3,  0.4,  0.5,   0.6,   0.7,
                                            0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.998, 0.999};
constexpr std::size_t bin_count = bin_starts.size();

bool is_number(const NoiseSamples& s, std::size_t k) {
    return std::isfinite(s.variance[k]) && std::isfinite(s.mean[k]) && std::isfinite(s.beside[k]) &&
           std::isfinite(s.around[k]);
}

/// Removes saturated and constant areas. If noise is more than one count, few pixels are the same in eight frames by
/// chance. Four such pixels among 81 are even rarer.
NoiseSamples without_dead_areas(const NoiseSamples& from, double saturation_adu) {
    constexpr int max_still_frames = 3;
    NoiseSamples moving, to;
    moving.overlap = to.overlap = from.overlap;
    for (std::size_t k = 0; k < from.count(); ++k)
        if (is_number(from, k) && (saturation_adu == 0 || from.highest[k] < saturation_adu)) moving.add(k, from);
    if (moving.count() == 0 || median(moving.variance) / median_of_square < 1) {
        for (std::size_t k = 0; k < moving.count(); ++k)
            if (moving.still[k] < 81) to.add(k, moving);
        return to;
    }
    for (std::size_t k = 0; k < moving.count(); ++k)
        if (moving.still[k] <= max_still_frames) to.add(k, moving);
    return to;
}

/// Returns whether noise is clipped at 0, for example by an offset of 0 or a subtracted background.
bool is_cut_off(const NoiseSamples& s) {
    constexpr double max_percent = 0.5;
    double percent = 0;
    for (const std::uint8_t one : s.zero) percent += one;
    return percent > max_percent * double(s.count());
}

/// Solves positive definite equations by Gauss-Jordan elimination. A redundant variable gets a weight of 0.
template <std::size_t n>
std::array<double, n> solved(std::array<std::array<double, n + 1>, n> a) {
    std::array<double, n> scale{};
    for (std::size_t i = 0; i < n; ++i) scale[i] = a[i][i];
    std::array<double, n> to{};
    std::array<bool, n> used{};
    for (std::size_t i = 0; i < n; ++i) {
        if (!(a[i][i] > 1e-9 * scale[i])) continue;
        used[i] = true;
        for (std::size_t row = 0; row < n; ++row) {
            if (row == i) continue;
            const double times = a[row][i] / a[i][i];
            for (std::size_t j = i; j <= n; ++j) a[row][j] -= times * a[i][j];
        }
    }
    for (std::size_t i = 0; i < n; ++i)
        if (used[i]) to[i] = a[i][n] / a[i][i];
    return to;
}

/// Returns the best linear prediction of the mean from values that do not share its noise (eq. 11.4). Binned by the
/// prediction, no sample is selected by its own noise.
std::vector<float> predicted_means(const NoiseSamples& s) {
    constexpr std::size_t n = 3;
    const std::array<const std::vector<float>*, n> from{&s.beside, &s.close, &s.around};
    const auto mean_of = [](const std::vector<float>& x) {
        return std::accumulate(x.begin(), x.end(), 0.0) / double(x.size());
    };
    const double mean = mean_of(s.mean);
    std::array<double, n> means{};
    for (std::size_t i = 0; i < n; ++i) means[i] = mean_of(*from[i]);
    std::array<std::array<double, n + 1>, n> equations{};  // normal equations, their right side last
    for (std::size_t k = 0; k < s.count(); ++k) {
        std::array<double, n + 1> d{};
        for (std::size_t i = 0; i < n; ++i) d[i] = (*from[i])[k] - means[i];
        d[n] = s.mean[k] - mean;
        for (std::size_t i = 0; i < n; ++i)
            for (std::size_t j = 0; j <= n; ++j) equations[i][j] += d[i] * d[j];
    }
    const std::array<double, n> weight = solved(equations);
    std::vector<float> predicted(s.count());
    for (std::size_t k = 0; k < s.count(); ++k) {
        double sum = 0;
        for (std::size_t i = 0; i < n; ++i) sum += weight[i] * ((*from[i])[k] - means[i]);
        predicted[k] = float(sum);
    }
    return predicted;
}

std::vector<std::size_t> bins_of(const std::vector<float>& predicted) {
    std::vector<float> sorted = predicted, starts;
    std::sort(sorted.begin(), sorted.end());
    for (const double part : bin_starts) starts.push_back(sorted[std::size_t(part * double(sorted.size()))]);
    std::vector<std::size_t> bin(predicted.size());
    for (std::size_t k = 0; k < predicted.size(); ++k)
        bin[k] = std::size_t(std::upper_bound(starts.begin() + 1, starts.end(), predicted[k]) - starts.begin()) - 1;
    return bin;
}

struct Bin {
    double count = 0, mean = 0, variance = 0;  // sums

    void add(const Bin& more, double times = 1) {
        count += times * more.count, mean += times * more.mean, variance += times * more.variance;
    }
};
using Bins = std::array<Bin, bin_count>;

struct Line {
    double slope = 0, zero_adu = 0;              // variance = slope (mean - zero)
    double mean_adu = 0, variance_adu2 = 0;      // a point on the line: the weighted centre
    double slope_error = 0, variance_error = 0;  // in theory, for samples that share no pixels
};

/// Fits by least squares. The variance of a bin's variance is the square of the line's value there. The noise itself
/// therefore does not affect the weights (eq. 11.5). `zero` is the count without noise, if known.
Line fitted(const Bins& all, const double* zero = nullptr) {
    Line line;
    std::array<double, bin_count> weight{};
    for (std::size_t i = 0; i < bin_count; ++i)
        if (all[i].count >= min_in_bin) weight[i] = all[i].count / std::pow(all[i].variance / all[i].count + 1e-6, 2);
    constexpr int passes = 5;
    for (int pass = 0; pass < passes; ++pass) {
        double w = 0, m = 0, v = 0, mm = 0, mv = 0;
        for (std::size_t i = 0; i < bin_count; ++i)
            if (weight[i] > 0)
                w += weight[i], m += weight[i] * all[i].mean / all[i].count,
                    v += weight[i] * all[i].variance / all[i].count;
        m /= w, v /= w;
        const double from = zero ? *zero : m, level = zero ? 0 : v;
        for (std::size_t i = 0; i < bin_count; ++i) {
            if (!(weight[i] > 0)) continue;
            const double dm = all[i].mean / all[i].count - from, dv = all[i].variance / all[i].count - level;
            mm += weight[i] * dm * dm, mv += weight[i] * dm * dv;
        }
        line = {mv / mm, zero ? *zero : m - v * mm / mv, m, v, std::sqrt(2 / mm), std::sqrt(2 / w)};
        for (std::size_t i = 0; i < bin_count; ++i) {
            if (!(weight[i] > 0)) continue;
            const double expected = line.slope * (all[i].mean / all[i].count - line.zero_adu);
            weight[i] = all[i].count / std::pow(std::max(expected, 0.05 * v), 2);
        }
    }
    return line;
}

/// Sums the samples of each part of the movie. Leaves out a sample if its variance exceeds two limits: the limit of its
/// bin, and seven standard deviations for its own light. The limit of the bin alone would remove the brightest
/// molecules from bins with many dim places. The variance of the remaining samples would then be too small for their
/// mean.
std::array<Bins, noise_parts> summed(const NoiseSamples& s, const std::vector<std::size_t>& bin,
                                     const std::array<double, bin_count>& of_bin, const Line& line) {
    std::array<Bins, noise_parts> parts{};
    for (std::size_t k = 0; k < s.count(); ++k) {
        const double limit = std::max(of_bin[bin[k]], outlier_squared * line.slope * (s.mean[k] - line.zero_adu));
        if (s.variance[k] <= limit) parts[s.part[k]][bin[k]].add({1, s.mean[k], s.variance[k]});
    }
    return parts;
}

Bins sum_of(const std::array<Bins, noise_parts>& parts) {
    Bins all{};
    for (const Bins& part : parts)
        for (std::size_t i = 0; i < bin_count; ++i) all[i].add(part[i]);
    return all;
}

std::array<double, bin_count> limits_of_bins(const NoiseSamples& s, const std::vector<std::size_t>& bin) {
    std::array<std::vector<float>, bin_count> of_bin;
    for (std::size_t k = 0; k < s.count(); ++k) of_bin[bin[k]].push_back(s.variance[k]);
    std::array<double, bin_count> limit{};
    for (std::size_t i = 0; i < bin_count; ++i)
        if (!of_bin[i].empty()) limit[i] = outlier_squared * std::max(median(of_bin[i]) / median_of_square, 1e-3);
    return limit;
}

/// Sums without outliers such as hot pixels and cosmic rays. Iterates, because outliers depend on the line and the line
/// depends on outliers.
std::array<Bins, noise_parts> without_outliers(const NoiseSamples& s, const std::vector<std::size_t>& bin) {
    constexpr int passes = 3;
    const std::array<double, bin_count> limits = limits_of_bins(s, bin);
    std::array<Bins, noise_parts> parts = summed(s, bin, limits, {});
    for (int pass = 0; pass < passes; ++pass) parts = summed(s, bin, limits, fitted(sum_of(parts)));
    return parts;
}

/// Gain and offset.
struct Found {
    double gain = 0, offset = 0;
};

/// Computes gain and offset from lines. Known values are kept.
class Reading {
  public:
    Reading(const InspectOptions& known, bool whole_counts)
        : known_(&known), excess_(known.em_gain > 1 ? 2 : 1), rounding_adu2_(whole_counts ? 1.0 / 12 : 0) {}

    Found of(const Bins& all) const {
        if (gain_is_known() && offset_is_known()) return {*known_->gain_e_per_adu, *known_->offset_adu};
        if (gain_is_known()) {
            const Line line = fitted(all);
            const double gain = *known_->gain_e_per_adu;
            return {gain, line.mean_adu - line.variance_adu2 / slope_of(gain) + shift(gain)};
        }
        if (offset_is_known()) return {gain_with_offset(all, *known_->offset_adu), *known_->offset_adu};
        const Line line = fitted(all);
        const double gain = gain_of(line.slope);
        return {gain, line.zero_adu + shift(gain)};
    }

    bool gain_is_known() const { return known_->gain_e_per_adu.has_value(); }
    bool offset_is_known() const { return known_->offset_adu.has_value(); }
    bool fits_both() const { return !gain_is_known() && !offset_is_known(); }
    /// Returns how much of the regularity of rounding remains. Read noise blurs it like a wave with a period of 1 ADU.
    double rounding_left(double gain) const {
        const double blur_adu = known_->readnoise_e / gain;
        return rounding_adu2_ > 0 ? std::exp(-2 * std::pow(std::numbers::pi * blur_adu, 2)) : 0;
    }
    double slope_of(double gain) const { return excess_ * known_->em_gain / gain; }
    /// Returns the squared read noise with which an offset higher by `higher_adu` fits the same line. Negative if there
    /// is none.
    double readnoise_e2(double gain, double higher_adu) const {
        return std::pow(known_->readnoise_e, 2) + gain * gain * slope_of(gain) * higher_adu;
    }

  private:
    double gain_of(double slope) const { return excess_ * known_->em_gain / slope; }
    /// Returns how far the offset is above the zero of the line. The difference is the noise without light.
    double shift(double gain) const {
        return (std::pow(known_->readnoise_e / gain, 2) + rounding_adu2_) / slope_of(gain);
    }
    double gain_with_offset(const Bins& all, double offset) const {
        constexpr int passes = 20;  // the read noise in ADU depends on the gain
        double gain = gain_of(fitted(all, &offset).slope);
        for (int pass = 0; pass < passes; ++pass) {
            const double zero = offset - shift(gain);
            gain = gain_of(fitted(all, &zero).slope);
        }
        return gain;
    }

    const InspectOptions* known_;
    double excess_, rounding_adu2_;
};

/// Estimates the standard errors by leaving out one part after the other.
Found jackknife(const Reading& reading, const std::array<Bins, noise_parts>& parts, const Bins& all) {
    std::vector<Found> without;
    for (const Bins& part : parts) {
        Bins rest = all;
        for (std::size_t i = 0; i < bin_count; ++i) rest[i].add(part[i], -1);
        without.push_back(reading.of(rest));
    }
    const double n = double(without.size());
    Found mean, error;
    for (const Found& one : without) mean.gain += one.gain / n, mean.offset += one.offset / n;
    for (const Found& one : without) {
        error.gain += std::pow(one.gain - mean.gain, 2) * (n - 1) / n;
        error.offset += std::pow(one.offset - mean.offset, 2) * (n - 1) / n;
    }
    return {std::sqrt(error.gain), std::sqrt(error.offset)};
}

/// Combines two estimates of one standard error. Neither is exact: the jackknife with 20 parts scatters by a sixth, and
/// theory assumes that all samples of a bin are equal.
double rms_of(double jackknife, double theory) { return std::sqrt(0.5 * (jackknife * jackknife + theory * theory)); }

/// Returns the standard error, including two contributions that more frames do not reduce (eq. 11.6). Cameras are not
/// exactly linear, and rounding is not independent noise in low light.
Found error_of(const Reading& reading, const std::array<Bins, noise_parts>& parts, const Bins& all, double overlap) {
    constexpr double linear_part = 0.005, rounding_adu = 0.25, rounding_adu2 = 1.0 / 24;
    Found error = jackknife(reading, parts, all);
    const Line line = fitted(all);
    const Found value = reading.of(all);
    const double slope = reading.slope_of(value.gain), light_adu = line.variance_adu2 / slope;
    const double root = std::sqrt(overlap) / slope;
    if (reading.fits_both()) {
        error.gain = rms_of(error.gain, root * line.slope_error * value.gain);
        error.offset = rms_of(error.offset, root * std::hypot(line.slope_error * light_adu, line.variance_error));
    }
    const double rounding = reading.rounding_left(value.gain);
    const double of_slope = rounding * rounding_adu2 / line.variance_adu2;
    error.gain = reading.gain_is_known() ? 0 : std::hypot(error.gain, linear_part * value.gain, of_slope * value.gain);
    if (reading.offset_is_known())
        error.offset = 0;
    else
        error.offset = std::hypot(error.offset, linear_part * light_adu, rounding * rounding_adu);
    return error;
}

/// Returns whether the gain is known well enough to report it. Comparisons with NaN are false.
bool is_told(const Found& value, const Found& error) {
    return value.gain > 0 && error.gain < max_relative_error * value.gain && std::isfinite(value.offset) &&
           std::isfinite(error.offset);
}

/// Describes the contradiction if only the offset is given and the movie's own offset differs. Adds the resulting
/// change of the gain to its error.
std::string offset_contradiction(const InspectOptions& options, const Reading& own,
                                 const std::array<Bins, noise_parts>& parts, const Bins& all, double overlap,
                                 Estimate& gain) {
    constexpr double sure = 3;
    const Found value = own.of(all), error = error_of(own, parts, all, overlap);
    const double offset = *options.offset_adu, higher = offset - value.offset;
    if (!is_told(value, error) || std::abs(higher) <= sure * error.offset) return {};
    gain.error = std::hypot(gain.error, gain.value - value.gain);
    const double readnoise_e2 = own.readnoise_e2(value.gain, higher);
    return fmt::format(
        "the given offset of {:g} ADU is not the movie's own, which is {:.1f} +- {:.1f} ADU with a read noise of {:g} "
        "e-. The gain is then {:.3g} +- {:.2g} e-/ADU: {}",
        offset, value.offset, error.offset, options.readnoise_e, value.gain, error.gain,
        readnoise_e2 >= 0 ? fmt::format("a read noise of {:.2g} e- would explain it; give it, or leave the offset out",
                                        std::sqrt(readnoise_e2))
                          : "no read noise makes it so low; leave it out, or measure it in dark frames");
}

std::string no_range(const MovieNoise& noise) {
    return fmt::format(
        "the mean counts of its pixels, {:.0f} to {:.0f} ADU, differ too little, or there are too few frames, to show "
        "how noise grows with light",
        noise.min_mean_adu, noise.max_mean_adu);
}

}  // namespace

MovieNoise noise_of(NoiseSamples samples, double saturation_adu, bool whole_counts, const InspectOptions& options) {
    samples = without_dead_areas(samples, saturation_adu);
    MovieNoise noise;
    noise.samples = std::int64_t(samples.count());
    if (samples.count() < min_samples) {
        noise.why_not = fmt::format("only {} places of its frames have noise that is not cut off, but {} are needed",
                                    samples.count(), min_samples);
        return noise;
    }
    const std::array<Bins, noise_parts> parts = without_outliers(samples, bins_of(predicted_means(samples)));
    const Bins all = sum_of(parts);
    const auto in_line = [](const Bin& bin) { return bin.count >= min_in_bin; };
    const Line line = fitted(all);
    noise.mean_adu = line.mean_adu, noise.variance_adu2 = line.variance_adu2;
    const Bin &first = *std::find_if(all.begin(), all.end(), in_line),
              &last = *std::find_if(all.rbegin(), all.rend(), in_line);
    noise.min_mean_adu = first.mean / first.count, noise.max_mean_adu = last.mean / last.count;
    if (is_cut_off(samples)) {
        noise.why_not = "its counts and part of their noise are cut off at 0: was a background subtracted?";
        return noise;
    }
    if (options.offset_adu && !options.gain_e_per_adu && *options.offset_adu >= noise.mean_adu) {
        noise.why_not =
            fmt::format("the given offset of {:g} ADU is not below the counts of a typical pixel, {:.1f} ADU",
                        *options.offset_adu, noise.mean_adu);
        return noise;
    }
    const Reading reading(options, whole_counts);
    const Found value = reading.of(all), error = error_of(reading, parts, all, samples.overlap);
    if (!is_told(value, error)) {
        noise.why_not = no_range(noise);
        return noise;
    }
    noise.gain_e_per_adu = {value.gain, error.gain};
    noise.offset_adu = {value.offset, error.offset};
    if (options.offset_adu && !options.gain_e_per_adu) {
        InspectOptions without_offset = options;
        without_offset.offset_adu.reset();
        noise.contradiction = offset_contradiction(options, Reading(without_offset, whole_counts), parts, all,
                                                   samples.overlap, *noise.gain_e_per_adu);
    }
    return noise;
}

}  // namespace glint
