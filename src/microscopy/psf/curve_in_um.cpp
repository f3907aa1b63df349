// The only conversion between a curve's nanometres and micrometres.
// SPDX-License-Identifier: MIT
#include "psf/curve_in_um.hpp"

#include <algorithm>
#include <cmath>

#include "base/micrometres.hpp"

namespace glint {
namespace {

double width_at(double s0, double u, double a, double b) {
    return s0 * std::sqrt(std::max(1 + u * u * (1 + u * (a + b * u)), 0.05));
}

struct CurveLength {
    double AstigmaticCurve::*nm;
    double CurveInUm::*um;
};
constexpr CurveLength curve_lengths[] = {
    {&AstigmaticCurve::sx0_nm, &CurveInUm::sx0_um},
    {&AstigmaticCurve::sy0_nm, &CurveInUm::sy0_um},
    {&AstigmaticCurve::gamma_nm, &CurveInUm::gamma_um},
    {&AstigmaticCurve::d_nm, &CurveInUm::d_um},
    {&AstigmaticCurve::z_min_nm, &CurveInUm::z_min_um},
    {&AstigmaticCurve::z_max_nm, &CurveInUm::z_max_um},
    {&AstigmaticCurve::pixel_size_nm, &CurveInUm::pixel_size_um},
};

}  // namespace

double AstigmaticCurve::sigma_x_nm(double z_nm) const { return width_at(sx0_nm, (z_nm - gamma_nm) / d_nm, ax, bx); }
double AstigmaticCurve::sigma_y_nm(double z_nm) const { return width_at(sy0_nm, (z_nm + gamma_nm) / d_nm, ay, by); }

double CurveInUm::sigma_x_um(double z_um) const { return width_at(sx0_um, (z_um - gamma_um) / d_um, ax, bx); }
double CurveInUm::sigma_y_um(double z_um) const { return width_at(sy0_um, (z_um + gamma_um) / d_um, ay, by); }

CurveInUm in_um(const AstigmaticCurve& curve) {
    CurveInUm to;
    for (const CurveLength& length : curve_lengths) to.*length.um = nm_to_um(curve.*length.nm);
    to.ax = curve.ax, to.bx = curve.bx, to.ay = curve.ay, to.by = curve.by, to.roi_size = curve.roi_size;
    return to;
}

AstigmaticCurve in_nm(const CurveInUm& curve) {
    AstigmaticCurve to;
    for (const CurveLength& length : curve_lengths) to.*length.nm = um_to_nm(curve.*length.um);
    to.ax = curve.ax, to.bx = curve.bx, to.ay = curve.ay, to.by = curve.by, to.roi_size = curve.roi_size;
    return to;
}

}  // namespace glint
