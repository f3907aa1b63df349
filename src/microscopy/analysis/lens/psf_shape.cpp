// Centroids and maxima of sections.
// SPDX-License-Identifier: MIT
#include "analysis/lens/psf_shape.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "analysis/lens/bead_model.hpp"

namespace glint::lens {
namespace {

constexpr int shape_sections = 41;
constexpr double min_lobe = 0.25;         // of the highest maximum
constexpr double max_valley = 0.95;       // of the lower maximum, on the line between both
constexpr double min_lobe_distance = 2;   // px
constexpr double max_lobe_motion = 0.35;  // px rms, of the two against each other
constexpr int valley_points = 9;
constexpr std::size_t min_part_split = 8;  // an eighth of the sections
constexpr float near_highest = 0.9f;       // of the highest maximum over z: in focus, a lens has one maximum

/// Images of a molecule in the middle of the window, in equal steps of z.
struct Sections {
    std::vector<double> z_nm;
    std::vector<float> h;
};

Sections take_sections(const Spline& spline, double z_min_nm, double z_max_nm) {
    Sections out;
    for (int k = 0; k < shape_sections; ++k)
        out.z_nm.push_back(z_min_nm + (z_max_nm - z_min_nm) * k / (shape_sections - 1));
    out.h = BeadModel(spline.grid, out.z_nm, spline.grid.window, {}).images(spline.coefficients);
    return out;
}

struct Maximum {
    double x_px = 0, y_px = 0, h = 0;
};

/// How far the vertex of the parabola through three values lies from the middle one.
double find_vertex(double before, double middle, double after) {
    const double bend = before - 2 * middle + after;
    return bend < 0 ? std::clamp(0.5 * (before - after) / bend, -0.5, 0.5) : 0;
}

/// Local maxima inside of an image, the highest first.
std::vector<Maximum> find_maxima(const float* h, int edge) {
    std::vector<Maximum> found;
    for (int y = 1; y + 1 < edge; ++y)
        for (int x = 1; x + 1 < edge; ++x) {
            const float* at = h + y * edge + x;
            bool is_highest = *at > 0;
            for (const int other : {-edge - 1, -edge, -edge + 1, -1, 1, edge - 1, edge, edge + 1})
                is_highest &= at[other] < *at || (at[other] == *at && other > 0);
            if (is_highest)
                found.push_back(
                    {x + find_vertex(at[-1], at[0], at[1]), y + find_vertex(at[-edge], at[0], at[edge]), *at});
        }
    std::sort(found.begin(), found.end(), [](const Maximum& a, const Maximum& b) { return a.h > b.h; });
    return found;
}

double interpolate(const float* h, int edge, double x, double y) {
    const int i = std::clamp(int(x), 0, edge - 2), j = std::clamp(int(y), 0, edge - 2);
    const double u = x - i, v = y - j;
    const float* at = h + j * edge + i;
    return (1 - v) * ((1 - u) * at[0] + u * at[1]) + v * ((1 - u) * at[edge] + u * at[edge + 1]);
}

/// The vector between two separate maxima.
struct Lobes {
    double dx_px = 0, dy_px = 0;
};

std::optional<Lobes> find_lobes(const float* h, int edge) {
    const std::vector<Maximum> maxima = find_maxima(h, edge);
    for (std::size_t k = 1; k < maxima.size(); ++k) {
        const Maximum &a = maxima[0], &b = maxima[k];
        const Lobes lobes{b.x_px - a.x_px, b.y_px - a.y_px};
        if (b.h < min_lobe * a.h) break;
        double valley = b.h;
        for (int step = 1; step < valley_points; ++step) {
            const double part = double(step) / valley_points;
            valley = std::min(valley, interpolate(h, edge, a.x_px + part * lobes.dx_px, a.y_px + part * lobes.dy_px));
        }
        if (std::hypot(lobes.dx_px, lobes.dy_px) >= min_lobe_distance && valley < max_valley * b.h) return lobes;
    }
    return std::nullopt;
}

}  // namespace

LateralShift measure_shift(const Spline& spline, double z_min_nm, double z_max_nm) {
    const Sections sections = take_sections(spline, z_min_nm, z_max_nm);
    const std::size_t edge = std::size_t(spline.grid.window), pixels = edge * edge;
    const double middle_nm = 0.5 * (z_min_nm + z_max_nm);
    double squares = 0;
    LateralShift shift;
    for (std::size_t k = 0; k < sections.z_nm.size(); ++k) {
        double total = 0, x = 0, y = 0;
        for (std::size_t p = 0; p < pixels; ++p) {
            const double h = sections.h[k * pixels + p], share = h > 0 ? h * std::sqrt(h) : 0;
            total += share, x += share * double(p % edge), y += share * double(p / edge);
        }
        if (!(total > 0)) continue;
        const double z_um = (sections.z_nm[k] - middle_nm) / 1000;
        squares += z_um * z_um, shift.x_px_per_um += z_um * x / total, shift.y_px_per_um += z_um * y / total;
    }
    if (!(squares > 0)) return {};
    shift.x_px_per_um /= squares, shift.y_px_per_um /= squares;
    return shift;
}

double find_fixed_lobes(const Spline& spline, double z_min_nm, double z_max_nm) {
    const Sections sections = take_sections(spline, z_min_nm, z_max_nm);
    const int edge = spline.grid.window;
    const std::size_t pixels = std::size_t(edge) * std::size_t(edge);
    std::vector<Lobes> found;
    float highest = 0, highest_split = 0;
    for (std::size_t k = 0; k < sections.z_nm.size(); ++k) {
        const float* h = sections.h.data() + k * pixels;
        std::optional<Lobes> lobes = find_lobes(h, edge);
        const float peak = *std::max_element(h, h + pixels);
        highest = std::max(highest, peak);
        if (!lobes) continue;
        highest_split = std::max(highest_split, peak);
        if (!found.empty() && lobes->dx_px * found[0].dx_px + lobes->dy_px * found[0].dy_px < 0)
            lobes->dx_px *= -1, lobes->dy_px *= -1;  // which of the two is higher may change
        found.push_back(*lobes);
    }
    if (found.size() < sections.z_nm.size() / min_part_split || highest_split < near_highest * highest) return 0;
    double x = 0, y = 0, squares = 0;
    const double n = double(found.size());
    for (const Lobes& lobes : found) x += lobes.dx_px / n, y += lobes.dy_px / n;
    for (const Lobes& lobes : found) squares += std::pow(lobes.dx_px - x, 2) + std::pow(lobes.dy_px - y, 2);
    return std::sqrt(squares / n) <= max_lobe_motion ? std::hypot(x, y) : 0;
}

}  // namespace glint::lens
