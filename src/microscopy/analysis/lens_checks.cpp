// Checks the lens by the elongation of the beads over z, in the slices near the focus.
// SPDX-License-Identifier: MIT
#include "analysis/astigmatic_lens.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>

#include "base/median.hpp"
#include "glint/error.hpp"

namespace glint {
namespace {

constexpr double min_elongation = 1.15;   // ratio of widths that defines the axes
constexpr double max_tilt_degrees = 15;   // reduces the elongation by a seventh
constexpr double min_crossing = 1.08;     // ratio of widths at either end of the slices
constexpr double min_focal_split = 0.25;  // distance of the foci, in depths of focus
constexpr double min_peak = 0.25;         // of the highest peak
// Of lenses with fixed axes: at most 0.02 in bead stacks of eleven lenses. Double helices have at least 0.2.
constexpr double max_turn = 0.1;
constexpr double never_round = 0.1;  // elongation of the roundest tenth of the slices

double ratio_of(double elongation) {
    const double e = std::min(std::abs(elongation), 0.99);
    return std::sqrt((1 + e) / (1 - e));
}

/// The distribution of the points (along_axes, along_diagonals) of the slices in focus.
struct Axes {
    double twice = 0;                     ///< angle of the principal axis through the origin, radians: twice the tilt
    double turn = 0;                      ///< sum of squares across that axis over the one along it
    double best_ratio = 1, xy_ratio = 1;  ///< maximum ratios of widths

    double tilt_degrees() const { return 90 * twice / std::numbers::pi; }
};

double along(const ShapesOverZ& shapes, std::size_t k, double twice) {
    return shapes.along_axes[k] * std::cos(twice) + shapes.along_diagonals[k] * std::sin(twice);
}

Axes axes_of(const ShapesOverZ& shapes, const InFocus& in_focus) {
    double aa = 0, ad = 0, dd = 0;
    for (std::size_t k = in_focus.first; k <= in_focus.last; ++k) {
        const double a = shapes.along_axes[k], d = shapes.along_diagonals[k];
        aa += a * a, ad += a * d, dd += d * d;
    }
    Axes axes;
    axes.twice = 0.5 * std::atan2(2 * ad, aa - dd);
    const double half = 0.5 * (aa + dd), root = std::hypot(0.5 * (aa - dd), ad);
    axes.turn = half + root > 0 ? (half - root) / (half + root) : 0;
    for (std::size_t k = in_focus.first; k <= in_focus.last; ++k) {
        axes.best_ratio = std::max(axes.best_ratio, ratio_of(along(shapes, k, axes.twice)));
        axes.xy_ratio = std::max(axes.xy_ratio, ratio_of(shapes.along_axes[k]));
    }
    return axes;
}

/// A parabola through squared widths around their minimum: s^2 = s0^2 (1 + ((z - focus) / depth)^2).
struct Focus {
    double z = 0, depth = 0;
};

std::optional<Focus> focus_of(const std::vector<double>& z, const std::vector<double>& squares) {
    constexpr double near_focus = 1.5;  // of the smallest squared width
    const std::size_t n = z.size(),
                      least = std::size_t(std::min_element(squares.begin(), squares.end()) - squares.begin());
    std::size_t first = least, last = least;
    while (first > 0 && (least - first < 2 || squares[first - 1] < near_focus * squares[least])) --first;
    while (last + 1 < n && (last - least < 2 || squares[last + 1] < near_focus * squares[least])) ++last;
    if (first == least || last == least) return {};  // the minimum may lie beyond the slices
    double s[5] = {}, t[3] = {};
    for (std::size_t k = first; k <= last; ++k) {
        const double u = z[k] - z[least];
        for (int i = 0; i < 5; ++i) s[i] += std::pow(u, i);
        for (int i = 0; i < 3; ++i) t[i] += std::pow(u, i) * squares[k];
    }
    const double determinant =
        s[0] * (s[2] * s[4] - s[3] * s[3]) - s[1] * (s[1] * s[4] - s[2] * s[3]) + s[2] * (s[1] * s[3] - s[2] * s[2]);
    const double c0 =
        t[0] * (s[2] * s[4] - s[3] * s[3]) - s[1] * (t[1] * s[4] - s[3] * t[2]) + s[2] * (t[1] * s[3] - s[2] * t[2]);
    const double c1 =
        s[0] * (t[1] * s[4] - s[3] * t[2]) - t[0] * (s[1] * s[4] - s[2] * s[3]) + s[2] * (s[1] * t[2] - s[2] * t[1]);
    const double c2 =
        s[0] * (s[2] * t[2] - s[3] * t[1]) - s[1] * (s[1] * t[2] - s[2] * t[1]) + t[0] * (s[1] * s[3] - s[2] * s[2]);
    if (!(determinant > 0 && c2 > 0)) return {};
    const double focus = -0.5 * c1 / c2, minimum = (c0 + 0.5 * c1 * focus) / determinant;
    if (!(minimum > 0)) return {};
    return Focus{z[least] + focus, std::sqrt(minimum * determinant / c2)};
}

void refuse_no_astigmatism(const ShapesOverZ& shapes, const InFocus& in_focus, const Axes& axes,
                           const std::string& name) {
    std::vector<double> z, first, second;  // squared widths along the principal axes
    for (std::size_t k = in_focus.first; k <= in_focus.last; ++k) {
        const double x = shapes.widths.sigma_x[k], y = shapes.widths.sigma_y[k], e = along(shapes, k, axes.twice);
        z.push_back(shapes.widths.z[k]);
        first.push_back((x * x + y * y) * (1 + e)), second.push_back((x * x + y * y) * (1 - e));
    }
    const auto one = focus_of(z, first), other = focus_of(z, second);
    if (!one || !other) return;
    const double split = std::abs(one->z - other->z), depth = 0.5 * (one->depth + other->depth);
    if (split >= min_focal_split * depth) return;
    throw InputError(fmt::format(
        "{}: the lens has no astigmatism: both widths are smallest at the same z, within {:.0f} nm at a depth of focus "
        "of {:.0f} nm, so they cannot distinguish the two sides of the focus. Is the cylindrical lens in? Without it, "
        "fit in 2D, with the `psf` that `glint inspect` recommends for a movie",
        name, 1000 * split, 1000 * depth));
}

void refuse_tilt(const Axes& axes, const std::string& name) {
    if (axes.best_ratio < min_elongation || std::abs(axes.tilt_degrees()) <= max_tilt_degrees) return;
    const double one = axes.tilt_degrees() < 0 ? axes.tilt_degrees() + 90 : axes.tilt_degrees();
    throw InputError(fmt::format(
        "{}: the lens's axes are rotated by {:.0f} degrees relative to the pixels (the other axis by {:.0f}): widths "
        "differ "
        "by up to {:.2f} times along those axes, {:.2f} times along x and y. Turn the cylindrical lens or the camera "
        "until the beads stretch along rows and columns. Otherwise fit in 2D, with the `psf` that `glint inspect` "
        "recommends for a movie",
        name, one, one - 90, axes.best_ratio, axes.xy_ratio));
}

void refuse_no_crossing(const ShapesOverZ& shapes, const InFocus& in_focus, const std::string& name) {
    const WidthsOverZ& widths = shapes.widths;
    double low = 1e9, high = 0;
    for (std::size_t k = in_focus.first; k + 2 <= in_focus.last; ++k) {  // a single slice has no effect
        std::vector<double> ratios;
        for (std::size_t i = k; i < k + 3; ++i) ratios.push_back(widths.sigma_x[i] / widths.sigma_y[i]);
        low = std::min(low, median(ratios)), high = std::max(high, median(ratios));
    }
    if (low < 1 / min_crossing && high > min_crossing) return;
    throw InputError(
        fmt::format("{}: the widths do not cross: sigma x over sigma y ranges from {:.2f} to {:.2f}, but must go from "
                    "below {:.2f} to above {:.2f}. Is the cylindrical lens in, and does the stack contain both sides "
                    "of the focus?",
                    name, low, high, 1 / min_crossing, min_crossing));
}

}  // namespace

InFocus slices_in_focus(const ShapesOverZ& shapes) {
    const std::vector<double>& peak = shapes.peak;
    InFocus found;
    found.sharpest = std::size_t(std::max_element(peak.begin(), peak.end()) - peak.begin());
    found.first = found.last = found.sharpest;
    const double enough = min_peak * peak[found.sharpest];
    while (found.first > 0 && peak[found.first - 1] >= enough) --found.first;
    while (found.last + 1 < peak.size() && peak[found.last + 1] >= enough) ++found.last;
    const std::size_t wanted = std::min<std::size_t>(5, peak.size());
    while (found.last - found.first + 1 < wanted) {
        if (found.first > 0) --found.first;
        if (found.last + 1 < peak.size()) ++found.last;
    }
    return found;
}

void refuse_double_helix(const ShapesOverZ& shapes, const std::string& name) {
    const InFocus in_focus = slices_in_focus(shapes);
    const Axes axes = axes_of(shapes, in_focus);
    std::vector<double> elongations;
    for (std::size_t k = in_focus.first; k <= in_focus.last; ++k)
        elongations.push_back(std::hypot(shapes.along_axes[k], shapes.along_diagonals[k]));
    std::sort(elongations.begin(), elongations.end());
    if (axes.turn <= max_turn || elongations[elongations.size() / 10] <= never_round) return;
    throw InputError(fmt::format(
        "{}: the beads are elongated in every slice, and the direction turns with z: this is a double helix (two "
        "lobes), not an astigmatic lens, whose beads stretch along two fixed directions. glint has no PSF model for it",
        name));
}

void refuse_other_lenses(const ShapesOverZ& shapes, const std::string& name) {
    const InFocus in_focus = slices_in_focus(shapes);
    refuse_double_helix(shapes, name);
    const Axes axes = axes_of(shapes, in_focus);
    refuse_no_astigmatism(shapes, in_focus, axes, name);
    refuse_tilt(axes, name);
    refuse_no_crossing(shapes, in_focus, name);
}

}  // namespace glint
