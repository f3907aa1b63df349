// The list of PSF models and their descriptions.
// SPDX-License-Identifier: MIT
#include "glint/psf.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "glint/error.hpp"
#include "psf/in_double.hpp"

namespace glint {
namespace {

constexpr PsfModel all_models[] = {
#define GLINT_PSF_MODEL(name) PsfModel::name,
#include "glint/psf_models.inc"
#undef GLINT_PSF_MODEL
};

constexpr std::string_view names[] = {
#define GLINT_PSF_MODEL(name) #name,
#include "glint/psf_models.inc"
#undef GLINT_PSF_MODEL
};

double width_at(double s0, double u, double a, double b) {
    return s0 * std::sqrt(std::max(1 + u * u * (1 + u * (a + b * u)), 0.05));
}

PsfDescription description_of(PsfModel model) {
    const PsfFacts& facts = psf_facts(model);
    PsfDescription d{names[std::size_t(model)],
                     facts.about,
                     facts.source == PsfSource::calibration,
                     false,
                     {"x", "y", "photons", "bg"},
                     {"px", "px", "", ""},
                     {}};
    for (const ShapeParameter& parameter : shape_parameters_of(model)) {
        d.parameters.push_back(parameter.name), d.units.push_back(parameter.unit);
        d.has_z |= parameter.column == PsfColumn::z;
    }
    for (int k = 0; k < count_of(facts.numbers); ++k) {
        const OwnNumber& n = facts.numbers[k];
        d.numbers.push_back({n.name, n.usual, n.low, n.high, n.meaning});
    }
    return d;
}

}  // namespace

double AstigmaticCurve::sigma_x_um(double z_um) const { return width_at(sx0_um, (z_um - gamma_um) / d_um, ax, bx); }
double AstigmaticCurve::sigma_y_um(double z_um) const { return width_at(sy0_um, (z_um + gamma_um) / d_um, ay, by); }

double Psf::detection_sigma_um() const {
    if (!describe(model).calibrated) return sigma_um;
    return std::sqrt(curve.sigma_x_um(0) * curve.sigma_y_um(0));
}

MatchedFilter Psf::matched_filter(double pixel_size_um) const { return {detection_sigma_um() / pixel_size_um}; }

std::span<const PsfModel> psf_models() { return all_models; }

const PsfDescription& describe(PsfModel model) {
    static const std::vector<PsfDescription> all = [] {
        std::vector<PsfDescription> made;
        for (const PsfModel each : all_models) made.push_back(description_of(each));
        return made;
    }();
    return all.at(std::size_t(model));
}

std::string_view name_of(PsfModel model) { return describe(model).name; }

PsfModel parse_psf_model(std::string_view name) {
    std::string known;
    for (const PsfModel model : all_models) {
        if (name == name_of(model)) return model;
        known += fmt::format("{}{} ({})", known.empty() ? "" : ", ", name_of(model), describe(model).about);
    }
    throw OptionError(fmt::format("no PSF model {}: there are {}", name, known));
}

const std::vector<std::string_view>& parameter_names(PsfModel model) { return describe(model).parameters; }

int parameter_count(PsfModel model) { return int(describe(model).parameters.size()); }

}  // namespace glint
