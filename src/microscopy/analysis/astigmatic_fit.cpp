// Levenberg-Marquardt fit of the nine parameters of an astigmatic curve (docs/explanation/theory.md, eq. 9.1).
// SPDX-License-Identifier: MIT
#include "analysis/astigmatic_lens.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace glint {
namespace {

enum Parameter { sx0, sy0, focus_x, focus_y, depth, ax, bx, ay, by, parameters };
using Vector = std::array<double, parameters>;
using Matrix = std::array<Vector, parameters>;

constexpr int max_steps = 300;
constexpr double min_q = 0.05;  // as in CurveInUm: keeps the squared width positive
constexpr std::size_t slices_for_asymmetry = 7;
constexpr double depth_factor = 3;

/// Indices of the parameters of one axis.
struct Axis {
    Parameter s0, focus, a, b;
};
constexpr Axis x_axis{sx0, focus_x, ax, bx}, y_axis{sy0, focus_y, ay, by};

/// Returns the width at z and sets `slope` to its derivatives with respect to the parameters.
double width(const Vector& p, const Axis& axis, double z, Vector& slope) {
    const double u = (z - p[axis.focus]) / p[depth];
    const double q = 1 + u * u * (1 + u * (p[axis.a] + p[axis.b] * u));
    const double root = std::sqrt(std::max(q, min_q));
    slope = {};
    slope[axis.s0] = root;
    if (q > min_q) {
        const double scale = p[axis.s0] / (2 * root), by_u = scale * u * (2 + u * (3 * p[axis.a] + 4 * p[axis.b] * u));
        slope[axis.a] = scale * u * u * u;
        slope[axis.b] = scale * u * u * u * u;
        slope[axis.focus] = -by_u / p[depth];
        slope[depth] = -by_u * u / p[depth];
    }
    return p[axis.s0] * root;
}

struct Normal {
    double chi_squared = 0;
    Vector gradient{};
    Matrix curvature{};
};

void add(Normal& to, double residual, double uncertainty, const Vector& slope) {
    const double weight = 1 / (uncertainty * uncertainty);
    to.chi_squared += weight * residual * residual;
    for (int k = 0; k < parameters; ++k) {
        to.gradient[k] += weight * residual * slope[k];
        for (int l = 0; l < parameters; ++l) to.curvature[k][l] += weight * slope[k] * slope[l];
    }
}

Normal normal_at(const Vector& p, const WidthsOverZ& data) {
    Normal normal;
    Vector slope;
    for (std::size_t i = 0; i < data.z.size(); ++i) {
        const double x = width(p, x_axis, data.z[i], slope);
        add(normal, data.sigma_x[i] - x, data.sigma_x_unc[i], slope);
        const double y = width(p, y_axis, data.z[i], slope);
        add(normal, data.sigma_y[i] - y, data.sigma_y_unc[i], slope);
    }
    return normal;
}

/// Solves (H + damping * diag H) step = g for the first `free` parameters by Cholesky. Returns false if singular.
bool solve(const Normal& normal, double damping, int free, Vector& step) {
    Matrix lower{};
    step = {};
    for (int i = 0; i < free; ++i) {
        for (int j = 0; j <= i; ++j) {
            double sum = normal.curvature[i][j] * (i == j ? 1 + damping : 1);
            for (int k = 0; k < j; ++k) sum -= lower[i][k] * lower[j][k];
            if (i == j && !(sum > 1e-12 * normal.curvature[i][i])) return false;
            lower[i][j] = i == j ? std::sqrt(sum) : sum / lower[j][j];
        }
        double sum = normal.gradient[i];
        for (int k = 0; k < i; ++k) sum -= lower[i][k] * step[k];
        step[i] = sum / lower[i][i];
    }
    for (int i = free - 1; i >= 0; --i) {
        for (int k = i + 1; k < free; ++k) step[i] -= lower[k][i] * step[k];
        step[i] /= lower[i][i];
    }
    return true;
}

struct Bounds {
    double min = 0, max = std::numeric_limits<double>::infinity();
};

/// Minimises over the first `free` parameters and keeps the rest fixed. The depth stays within its bounds.
void minimise(Vector& p, const WidthsOverZ& data, int free, const Bounds& of_depth) {
    Normal here = normal_at(p, data);
    double damping = 1e-3;
    for (int k = 0; k < max_steps && damping < 1e12; ++k) {
        Vector step, there = p;
        Normal normal = here;
        const double slope = here.gradient[depth];
        if ((p[depth] <= of_depth.min && slope < 0) || (p[depth] >= of_depth.max && slope > 0)) {  // stays at the bound
            for (int i = 0; i < parameters; ++i)
                if (i != depth) normal.curvature[i][depth] = normal.curvature[depth][i] = 0;
            normal.gradient[depth] = 0;
        }
        if (!solve(normal, damping, free, step)) {
            damping *= 10;
            continue;
        }
        for (int i = 0; i < free; ++i) there[i] += step[i];
        there[depth] = std::clamp(there[depth], of_depth.min, of_depth.max);
        if (!(there[sx0] > 0 && there[sy0] > 0 && there[depth] > 0)) {
            damping *= 10;
            continue;
        }
        const Normal next = normal_at(there, data);
        if (!(next.chi_squared <= here.chi_squared)) {
            damping *= 10;
            continue;
        }
        const bool is_done = here.chi_squared - next.chi_squared <= 1e-12 * here.chi_squared;
        p = there, here = next, damping = std::max(damping / 10, 1e-12);
        if (is_done) return;
    }
}

/// Start values of one axis, from a parabola in z through the squared widths: s^2 = s0^2 (1 + (z - f)^2 / d^2).
struct Parabola {
    double focus, s0, depth;
};

Parabola parabola(const std::vector<double>& z, const std::vector<double>& sigma) {
    const auto least = std::min_element(sigma.begin(), sigma.end()) - sigma.begin();
    const double focus = z[std::size_t(least)], s0 = sigma[std::size_t(least)];
    double above = 0, below = 0;
    for (std::size_t k = 0; k < z.size(); ++k) {
        const double distance = z[k] - focus, excess = sigma[k] * sigma[k] / (s0 * s0) - 1;
        above += distance * distance * excess;
        below += distance * distance * distance * distance;
    }
    return {focus, s0, below > 0 && above > 0 ? std::sqrt(below / above) : 1};
}

}  // namespace

AstigmaticFit fit_astigmatic_curve(const WidthsOverZ& widths, const AstigmaticFit* start) {
    AstigmaticFit fit;
    Vector p{};
    if (start) {
        const CurveInUm& c = start->curve;
        p = {c.sx0_um, c.sy0_um, start->z_middle_um + c.gamma_um, start->z_middle_um - c.gamma_um, c.d_um, c.ax, c.bx,
             c.ay,     c.by};
        fit.parabola_depth_um = start->parabola_depth_um;
    } else {
        const Parabola x = parabola(widths.z, widths.sigma_x), y = parabola(widths.z, widths.sigma_y);
        p[sx0] = x.s0, p[sy0] = y.s0, p[focus_x] = x.focus, p[focus_y] = y.focus;
        p[depth] = 0.5 * (x.depth + y.depth);
        minimise(p, widths, ax, {});
        fit.parabola_depth_um = p[depth];
    }
    if (widths.z.size() >= slices_for_asymmetry)
        minimise(p, widths, parameters, {fit.parabola_depth_um / depth_factor, fit.parabola_depth_um * depth_factor});

    fit.z_middle_um = 0.5 * (p[focus_x] + p[focus_y]);
    const auto [low, high] = std::minmax_element(widths.z.begin(), widths.z.end());
    fit.curve = {p[sx0],
                 p[sy0],
                 0.5 * (p[focus_x] - p[focus_y]),
                 p[depth],
                 p[ax],
                 p[bx],
                 p[ay],
                 p[by],
                 *low - fit.z_middle_um,
                 *high - fit.z_middle_um};
    double squares = 0;
    for (std::size_t k = 0; k < widths.z.size(); ++k) {
        const double z = widths.z[k] - fit.z_middle_um;
        squares += std::pow(widths.sigma_x[k] - fit.curve.sigma_x_um(z), 2) +
                   std::pow(widths.sigma_y[k] - fit.curve.sigma_y_um(z), 2);
    }
    fit.rms_residual_um = std::sqrt(squares / (2 * double(widths.z.size())));
    return fit;
}

}  // namespace glint
