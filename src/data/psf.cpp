// Names and parameters of the PSF models.
// SPDX-License-Identifier: MIT
#include "glint/psf.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "glint/error.hpp"

namespace glint {
namespace {

constexpr PsfModel all_models[] = {PsfModel::GaussianXYNB, PsfModel::GaussianXYNBS, PsfModel::GaussianXYNBSXSY,
                                   PsfModel::AstigmaticXYZNB};

double width_at(double s0, double u, double a, double b) {
    return s0 * std::sqrt(std::max(1 + u * u * (1 + u * (a + b * u)), 0.05));
}

}  // namespace

double AstigmaticCurve::sigma_x_um(double z_um) const { return width_at(sx0_um, (z_um - gamma_um) / d_um, ax, bx); }
double AstigmaticCurve::sigma_y_um(double z_um) const { return width_at(sy0_um, (z_um + gamma_um) / d_um, ay, by); }

double Psf::detection_sigma_um() const {
    if (model != PsfModel::AstigmaticXYZNB) return sigma_um;
    return std::sqrt(curve.sigma_x_um(0) * curve.sigma_y_um(0));
}

std::string_view name_of(PsfModel model) {
    switch (model) {
        case PsfModel::GaussianXYNB: return "GaussianXYNB";
        case PsfModel::GaussianXYNBS: return "GaussianXYNBS";
        case PsfModel::GaussianXYNBSXSY: return "GaussianXYNBSXSY";
        case PsfModel::AstigmaticXYZNB: return "AstigmaticXYZNB";
    }
    return "";
}

PsfModel parse_psf_model(std::string_view name) {
    for (PsfModel model : all_models)
        if (name == name_of(model)) return model;
    throw OptionError(
        fmt::format("no PSF model {}: there are GaussianXYNB (width given), GaussianXYNBS (one free "
                    "width), GaussianXYNBSXSY (two free widths), AstigmaticXYZNB (z)",
                    name));
}

int parameter_count(PsfModel model) {
    return model == PsfModel::GaussianXYNB ? 4 : model == PsfModel::GaussianXYNBSXSY ? 6 : 5;
}

std::vector<std::string_view> parameter_names(PsfModel model) {
    switch (model) {
        case PsfModel::GaussianXYNB: return {"x", "y", "photons", "bg"};
        case PsfModel::GaussianXYNBS: return {"x", "y", "photons", "bg", "sigma"};
        case PsfModel::GaussianXYNBSXSY: return {"x", "y", "photons", "bg", "sigma_x", "sigma_y"};
        case PsfModel::AstigmaticXYZNB: return {"x", "y", "photons", "bg", "z"};
    }
    return {};
}

}  // namespace glint
