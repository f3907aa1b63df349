// The list of PSF models and their descriptions.
// SPDX-License-Identifier: MIT
#include "glint/psf.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/hash.hpp"
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
                     facts.source != PsfSource::sigma,
                     facts.source == PsfSource::table,
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

PsfTable::PsfTable(const Shape& shape, std::vector<float> values, const Scale& scale)
    : shape_(shape), values_(std::move(values)), scale_(scale) {
    constexpr std::size_t most = most_bytes / sizeof(float);
    std::size_t count = 1;
    for (const int n : shape) {
        if (n < 1 || std::size_t(n) > most / count)
            throw OptionError(
                fmt::format("a PSF's table of {} coefficients: each edge has 1 or more, and all are at most {}",
                            fmt::join(shape, " x "), most));
        count *= std::size_t(n);
    }
    if (values_.size() != count)
        throw OptionError(fmt::format("a PSF's table of {} has {} coefficients, not {}", fmt::join(shape, " x "), count,
                                      values_.size()));
    for (std::size_t k = 0; k < count; ++k)
        if (!std::isfinite(values_[k]))
            throw OptionError(fmt::format("coefficient {} of a PSF's table is {}: all must be finite", k, values_[k]));
    if (!(scale.pixel_size_um > 0 && std::isfinite(scale.pixel_size_um)))
        throw OptionError(fmt::format("a PSF's table for pixels of {} um: give more than 0", scale.pixel_size_um));
    if (!(scale.z_min_um < scale.z_max_um && std::isfinite(scale.z_min_um) && std::isfinite(scale.z_max_um)))
        throw OptionError(
            fmt::format("a PSF's table from z = {} to {} um: give a range", scale.z_min_um, scale.z_max_um));
    Hash hash;
    hash.add(&shape_, sizeof shape_), hash.add(&scale_, sizeof scale_);
    hash.add(values_.data(), values_.size() * sizeof(float));
    hash_ = hash.value();
}

double AstigmaticCurve::sigma_x_um(double z_um) const { return width_at(sx0_um, (z_um - gamma_um) / d_um, ax, bx); }
double AstigmaticCurve::sigma_y_um(double z_um) const { return width_at(sy0_um, (z_um + gamma_um) / d_um, ay, by); }

double Psf::detection_sigma_um() const {
    if (!describe(model).calibrated) return sigma_um;
    if (describe(model).has_table) {
        double shape[most_shape_parameters] = {};
        require_table(*this);
        const double pixel_size_um = table->scale().pixel_size_um;
        const PsfInDouble psf(*this, pixel_size_um);
        psf.typical_shape(0, shape);
        const PsfWidths widths = psf.widths(shape);
        return std::sqrt(widths.x_px * widths.y_px) * pixel_size_um;
    }
    return std::sqrt(curve.sigma_x_um(0) * curve.sigma_y_um(0));
}

ZRange Psf::z_range() const {
    if (table) return {table->scale().z_min_um, table->scale().z_max_um};
    return {curve.z_min_um, curve.z_max_um};
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
