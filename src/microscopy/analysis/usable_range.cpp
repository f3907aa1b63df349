// Extends a range of slices outwards from the foci, and fits the curve at each step.
// SPDX-License-Identifier: MIT
#include "analysis/astigmatic_lens.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/median.hpp"

namespace glint {
namespace {

constexpr std::size_t half_window = 2;  // of running medians, on which two outliers in five slices have no effect
constexpr std::size_t start_slices = 9;
constexpr std::size_t steps_ahead = 3;  // so that an outlying slice does not end the range

WidthsOverZ slices_of(const WidthsOverZ& widths, std::size_t first, std::size_t last) {
    const auto part = [&](const std::vector<double>& all) {
        return std::vector<double>(all.begin() + std::ptrdiff_t(first), all.begin() + std::ptrdiff_t(last + 1));
    };
    return {part(widths.z), part(widths.sigma_x), part(widths.sigma_y), part(widths.sigma_x_unc),
            part(widths.sigma_y_unc)};
}

std::vector<double> running_median(const std::vector<double>& values) {
    std::vector<double> medians;
    for (std::size_t k = 0; k < values.size(); ++k) {
        const std::size_t first = k > half_window ? k - half_window : 0,
                          end = std::min(k + half_window + 1, values.size());
        medians.push_back(
            median(std::vector<double>(values.begin() + std::ptrdiff_t(first), values.begin() + std::ptrdiff_t(end))));
    }
    return medians;
}

/// The shift of z from a slice's misfit, and its standard error from the errors of the widths (eq. 9.5).
struct Bias {
    double um = 0, error_um = 0;
};

Bias bias_of(const AstigmaticFit& fit, const WidthsOverZ& data, std::size_t k) {
    constexpr double step = 5e-4;
    const double z = data.z[k] - fit.z_middle_um;
    const auto slope = [&](auto width) { return std::log(width(z + step) / width(z - step)) / (2 * step); };
    const double x = fit.curve.sigma_x_um(z), y = fit.curve.sigma_y_um(z);
    const double slope_x = slope([&](double at) { return fit.curve.sigma_x_um(at); }),
                 slope_y = slope([&](double at) { return fit.curve.sigma_y_um(at); });
    const double information = slope_x * slope_x + slope_y * slope_y + 1e-9;
    return {
        (slope_x * std::log(data.sigma_x[k] / x) + slope_y * std::log(data.sigma_y[k] / y)) / information,
        std::hypot(slope_x * data.sigma_x_unc[k] / data.sigma_x[k], slope_y * data.sigma_y_unc[k] / data.sigma_y[k]) /
            information};
}

/// The fit to a range of slices, and how much its bias exceeds the errors of the widths.
struct Trial {
    UsableRange range;
    double excess_um = 0;
};

Trial try_range(const WidthsOverZ& widths, std::size_t first, std::size_t last, const AstigmaticFit* start) {
    const WidthsOverZ data = slices_of(widths, first, last);
    Trial trial;
    trial.range.first = first, trial.range.last = last, trial.range.fit = fit_astigmatic_curve(data, start);
    std::vector<double> biases, errors;
    double squares = 0;
    for (std::size_t k = 0; k < data.z.size(); ++k) {
        const Bias bias = bias_of(trial.range.fit, data, k);
        biases.push_back(bias.um), errors.push_back(bias.error_um);
        squares += bias.um * bias.um;
    }
    const std::vector<double> smooth = running_median(biases), error = running_median(errors);
    for (std::size_t k = 0; k < smooth.size(); ++k) {
        trial.range.max_bias_um = std::max(trial.range.max_bias_um, std::abs(smooth[k]));
        trial.excess_um = std::max(trial.excess_um, std::abs(smooth[k]) - error[k]);
    }
    for (std::size_t end : {std::size_t{0}, biases.size() - 1})  // where a running median would hide an outlier
        trial.excess_um = std::max(trial.excess_um, std::abs(biases[end]) - 2 * errors[end]);
    trial.range.rms_bias_um = std::sqrt(squares / double(data.z.size()));
    return trial;
}

std::size_t narrowest(const std::vector<double>& sigma, const InFocus& in_focus) {
    const auto begin = sigma.begin();
    return std::size_t(
        std::min_element(begin + std::ptrdiff_t(in_focus.first), begin + std::ptrdiff_t(in_focus.last + 1)) - begin);
}

/// Returns the slices from one focus to the other, one more on either side, and at least `start_slices`.
std::pair<std::size_t, std::size_t> slices_between_foci(const WidthsOverZ& widths, const InFocus& in_focus) {
    const std::size_t x = narrowest(running_median(widths.sigma_x), in_focus),
                      y = narrowest(running_median(widths.sigma_y), in_focus);
    std::size_t first = std::min(x, y), last = std::max(x, y);
    const std::size_t wanted = std::min(std::max(start_slices, last - first + 3), widths.z.size());
    while (last - first + 1 < wanted) {
        if (first > 0) --first;
        if (last + 1 < widths.z.size() && last - first + 1 < wanted) ++last;
    }
    return {first, last};
}

}  // namespace

UsableRange find_usable_range(const WidthsOverZ& widths, const InFocus& in_focus, const std::vector<double>& detected) {
    const auto [first, last] = slices_between_foci(widths, in_focus);
    Trial best = try_range(widths, first, last, nullptr);
    const std::size_t slices = widths.z.size();
    const std::vector<double> share = detected.empty() ? std::vector<double>(slices, 1.0) : running_median(detected);
    const auto grown = [&](bool down) -> std::optional<Trial> {
        for (std::size_t step = 1; step <= steps_ahead; ++step) {
            const UsableRange& range = best.range;
            if (down ? range.first < step : range.last + step >= slices) return {};
            const std::size_t end = down ? range.first - step : range.last + step;
            if (share[end] < min_detected) return {};
            if (!detected.empty() && detected[end] < min_detected) continue;
            Trial trial =
                try_range(widths, range.first - (down ? step : 0), range.last + (down ? 0 : step), &range.fit);
            if (trial.excess_um <= max_z_bias_um) return trial;
        }
        return {};
    };
    const auto why_ended = [&](bool down) {
        const std::size_t at = down ? best.range.first : best.range.last;
        if (down ? at == 0 : at + 1 == slices) return RangeEnd::stack;
        for (std::size_t step = 1; step <= steps_ahead && (down ? at >= step : at + step < slices); ++step)
            if (const std::size_t next = down ? at - step : at + step;
                share[next] < min_detected || (!detected.empty() && detected[next] < min_detected))
                return RangeEnd::detection;
        return RangeEnd::misfit;
    };
    for (bool down = true, may_grow = true; may_grow;) {
        may_grow = false;
        for (int side = 0; side < 2; ++side, down = !down)
            if (auto trial = grown(down)) best = *std::move(trial), may_grow = true;
    }
    best.range.first_end = why_ended(true), best.range.last_end = why_ended(false);
    return best.range;
}

}  // namespace glint
