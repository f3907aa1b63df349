// Compares each slice with the others of its stack.
// SPDX-License-Identifier: MIT
#include "analysis/lens/faulty_slices.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "base/median.hpp"
#include "glint/error.hpp"

namespace glint::lens {
namespace {

constexpr double max_missing = 0.01;      // of the pixels, beyond those of the median slice
constexpr double max_left_out = 0.1;      // of the slices
constexpr double min_light = 0.1;         // of the median over the stack
constexpr double min_light_beside = 0.6;  // of the darker side; 1 / 0.6 of the brighter one
constexpr std::size_t slices_beside = 3;
constexpr double min_difference = 5;  // standard errors
constexpr std::size_t max_listed = 10;

/// The light of all beads in a slice above their backgrounds, and its standard error.
struct SliceLight {
    double light = 0, error = 0;
};

SliceLight measure_light(const std::vector<BeadWindow>& windows, std::size_t slice) {
    SliceLight out;
    double variance = 0;
    for (const BeadWindow& window : windows) {
        const std::size_t edge = std::size_t(window.size), pixels = window.pixels();
        std::vector<float> border;
        double sum = 0, border_variance = 0;
        for (std::size_t p = 0; p < pixels; ++p) {
            const float value = window.slice(slice)[p];
            const double noise = window.shot_noise[p] * std::max(value, 0.0f) + window.read_variance[p];
            const std::size_t x = p % edge, y = p / edge;
            sum += value, variance += noise;
            if (x == 0 || y == 0 || x + 1 == edge || y + 1 == edge) border.push_back(value), border_variance += noise;
        }
        const double count = double(border.size());
        out.light += sum - double(pixels) * median(border);
        // A median's variance is pi / 2 times the mean's.
        variance += std::pow(double(pixels) / count, 2) * 1.5708 * border_variance;
    }
    out.error = std::sqrt(variance);
    return out;
}

bool is_below(const SliceLight& slice, double limit) {
    return slice.light < limit && limit - slice.light > min_difference * slice.error;
}

/// The median light of up to slices_beside slices on one side of a slice; 0 slices: there is no such side.
double light_beside(const std::vector<SliceLight>& lights, std::size_t first, std::size_t last) {
    std::vector<double> values;
    for (std::size_t k = first; k < last; ++k) values.push_back(lights[k].light);
    return median(std::move(values));
}

void add_fault(std::string reason, std::vector<std::int64_t> slices, std::vector<FaultySlices>& out) {
    if (!slices.empty()) out.push_back({std::move(reason), std::move(slices)});
}

std::string list_slices(const std::vector<std::int64_t>& slices) {
    const std::size_t listed = std::min(slices.size(), max_listed);
    const std::string more = slices.size() > listed ? fmt::format(" and {} more", slices.size() - listed) : "";
    return fmt::format("slice{} {}{} (from 0)", slices.size() == 1 ? "" : "s",
                       fmt::join(std::span(slices).first(listed), ", "), more);
}

}  // namespace

std::vector<FaultySlices> find_empty_slices(const Projection& projection, const std::vector<std::int64_t>& slices) {
    std::vector<double> missing(projection.missing_in_slice.begin(), projection.missing_in_slice.end());
    const double limit = median(missing) + max_missing * double(projection.mean.size());
    std::vector<std::int64_t> constant, incomplete;
    for (std::size_t k = 0; k < slices.size(); ++k)
        if (missing[k] > limit)
            incomplete.push_back(slices[k]);
        else if (projection.constant_slice[k])
            constant.push_back(slices[k]);
    std::vector<FaultySlices> faults;
    add_fault("pixels are missing (NaN)", std::move(incomplete), faults);
    add_fault("all pixels have the same value, as in a dropped frame", std::move(constant), faults);
    return faults;
}

std::vector<FaultySlices> find_dark_slices(const std::vector<BeadWindow>& windows,
                                           const std::vector<std::int64_t>& slices) {
    std::vector<SliceLight> lights, lit;
    std::vector<double> all;
    for (std::size_t k = 0; k < slices.size(); ++k) {
        lights.push_back(measure_light(windows, k));
        all.push_back(lights.back().light);
    }
    const double typical = median(all);
    std::vector<std::int64_t> dark, dim, bright, others;
    for (std::size_t k = 0; k < slices.size(); ++k)
        if (lights[k].light < min_light * typical && is_below(lights[k], typical))
            dark.push_back(slices[k]);
        else
            others.push_back(slices[k]), lit.push_back(lights[k]);
    for (std::size_t k = 1; k + 1 < lit.size(); ++k) {
        const double before = light_beside(lit, k - std::min(k, slices_beside), k);
        const double after = light_beside(lit, k + 1, std::min(k + 1 + slices_beside, lit.size()));
        if (is_below(lit[k], min_light_beside * std::min(before, after)))
            dim.push_back(others[k]);
        else if (lit[k].light > std::max(before, after) / min_light_beside &&
                 is_below({-lit[k].light, lit[k].error}, -std::max(before, after)))
            bright.push_back(others[k]);
    }
    std::vector<FaultySlices> faults;
    add_fault("the beads are dark, as with the lamp off", std::move(dark), faults);
    add_fault("the beads are much dimmer than before and after", std::move(dim), faults);
    add_fault("the beads are much brighter than before and after", std::move(bright), faults);
    return faults;
}

std::vector<std::string> leave_out(const std::vector<FaultySlices>& faults, const std::string& stack, std::int64_t all,
                                   std::vector<std::int64_t>& slices) {
    std::vector<std::string> found, warnings;
    for (const FaultySlices& fault : faults) {
        std::erase_if(slices, [&](std::int64_t slice) {
            return std::find(fault.slices.begin(), fault.slices.end(), slice) != fault.slices.end();
        });
        found.push_back(fmt::format("{}: {}", list_slices(fault.slices), fault.reason));
        warnings.push_back(fmt::format("{}: {} {} not used: {}", stack, list_slices(fault.slices),
                                       fault.slices.size() == 1 ? "is" : "are", fault.reason));
    }
    const std::int64_t allowed = std::max<std::int64_t>(1, std::int64_t(max_left_out * double(all)));
    if (all - std::int64_t(slices.size()) > allowed)
        throw InputError(
            fmt::format("{}: {} of {} slices are not usable, and at most {} may be missing. {}. Record the stack "
                        "again, with a constant lamp and without dropped frames",
                        stack, all - std::int64_t(slices.size()), all, allowed, fmt::join(found, "; ")));
    return warnings;
}

}  // namespace glint::lens
