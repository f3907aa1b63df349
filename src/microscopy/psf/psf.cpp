// The list of PSF models and their descriptions.
// SPDX-License-Identifier: MIT
#include "glint/psf.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/hash.hpp"
#include "base/micrometres.hpp"
#include "glint/error.hpp"
#include "glint/units.hpp"
#include "psf/in_double.hpp"
#include "psf/table_extent.hpp"

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
        d.numbers.push_back({n.name, n.default_value, n.min, n.max, n.description});
    }
    return d;
}

constexpr double min_cell_px = 1, max_field_px = 1e6;

/// Throws OptionError.
void check_field(const PsfField& field) {
    if (field.cells_x < 1 || field.cells_y < 1 || field.cells_x > PsfField::max_cells / field.cells_y)
        throw OptionError(fmt::format("a PSF's field of {} x {} cells: give 1 or more along x and y, at most {} in all",
                                      field.cells_x, field.cells_y, PsfField::max_cells));
    if (field.cells() == 1) return;
    const double max_cell_px = max_field_px / std::max(field.cells_x, field.cells_y);
    if (!(field.cell_px >= min_cell_px && field.cell_px <= max_cell_px))
        throw OptionError(fmt::format("{} x {} cells of a PSF's field with an edge of {} px: give {:g} to {:g}",
                                      field.cells_x, field.cells_y, field.cell_px, min_cell_px, max_cell_px));
    if (!(std::abs(field.left_px) <= max_field_px && std::abs(field.top_px) <= max_field_px))
        throw OptionError(fmt::format("a PSF's field that begins at ({}, {}) px: give -{:g} to {:g}", field.left_px,
                                      field.top_px, max_field_px, max_field_px));
}

std::vector<float> mean_of_cells(const std::vector<float>& values, std::size_t cell_size) {
    std::vector<double> sums(cell_size);
    for (std::size_t first = 0; first < values.size(); first += cell_size)
        for (std::size_t k = 0; k < cell_size; ++k) sums[k] += double(values[first + k]);
    std::vector<float> mean(cell_size);
    for (std::size_t k = 0; k < cell_size; ++k) mean[k] = float(sums[k] * double(cell_size) / double(values.size()));
    return mean;
}

}  // namespace

int PsfField::cell_at(double x_px, double y_px) const {
    if (cells() == 1) return 0;
    const auto along = [this](double from_first_px, int cells) {
        const double at = from_first_px / cell_px;  // not above 0 if it is NaN
        return at > 0 ? int(std::min(at, double(cells - 1))) : 0;
    };
    return along(y_px - top_px, cells_y) * cells_x + along(x_px - left_px, cells_x);
}

PsfTable::PsfTable(const Shape& shape, std::vector<float> values, const Scale& scale, const PsfField& field)
    : shape_(shape), values_(std::move(values)), scale_(scale), field_(field) {
    check_field(field_);
    if (field_.cells() == 1) field_ = {};
    const bool has_cells = field_.cells() > 1;
    constexpr std::size_t most = max_bytes / sizeof(float);
    std::size_t count = 1;
    for (const int n : shape) {
        if (n < 1 || std::size_t(n) > most / count)
            throw OptionError(
                fmt::format("a PSF's table of {} coefficients: each edge has 1 or more, and all are at most {}",
                            fmt::join(shape, " x "), most));
        count *= std::size_t(n);
    }
    if (has_cells && count > max_field_bytes / sizeof(float) / std::size_t(field_.cells()))
        throw OptionError(
            fmt::format("a PSF's table of {} coefficients in each of {} x {} cells of the field: all are at most {}; "
                        "use fewer cells",
                        fmt::join(shape, " x "), field_.cells_x, field_.cells_y, max_field_bytes / sizeof(float)));
    const std::size_t all = count * std::size_t(field_.cells());
    if (values_.size() != all)
        throw OptionError(fmt::format("a PSF's table of {}{} has {} coefficients, not {}", fmt::join(shape, " x "),
                                      has_cells ? fmt::format(" in {} x {} cells", field_.cells_x, field_.cells_y) : "",
                                      all, values_.size()));
    for (std::size_t k = 0; k < all; ++k)
        if (!std::isfinite(values_[k]))
            throw OptionError(fmt::format("coefficient {} of a PSF's table is {}: all must be finite", k, values_[k]));
    if (!(scale.pixel_size_nm >= smallest_pixel_nm && std::isfinite(scale.pixel_size_nm)))
        throw OptionError(
            fmt::format("a PSF's table for pixels of {} nm: give nanometres, at least {:g}, as in pixel_size_nm=100",
                        scale.pixel_size_nm, smallest_pixel_nm));
    const bool is_flat = shape[0] == 1 && scale.z_min_nm == 0 && scale.z_max_nm == 0;
    if (!is_flat && !(scale.z_max_nm - scale.z_min_nm >= min_depth_nm && std::isfinite(scale.z_min_nm) &&
                      std::isfinite(scale.z_max_nm)))
        throw OptionError(
            fmt::format("a PSF's table from z = {} to {} nm: give nanometres, a range of at least {:g}, as in "
                        "z_min_nm=-600, z_max_nm=600",
                        scale.z_min_nm, scale.z_max_nm, min_depth_nm));
    if (scale.samples_per_px < 1 || scale.samples_per_px > max_samples_per_px)
        throw OptionError(fmt::format("a PSF's table of {} coefficients a pixel: give 1 to {}", scale.samples_per_px,
                                      max_samples_per_px));
    filter_width_px_ = has_cells ? find_filter_width_px(shape_, mean_of_cells(values_, count), scale_.samples_per_px)
                                 : find_filter_width_px(shape_, values_, scale_.samples_per_px);
    // Hashes micrometres, the unit of files, because files of runs contain the hash.
    const double scale_um[] = {nm_to_um(scale_.pixel_size_nm), nm_to_um(scale_.z_min_nm), nm_to_um(scale_.z_max_nm)};
    Hash hash;
    hash.add(&shape_, sizeof shape_), hash.add(scale_um, sizeof scale_um);
    if (scale_.samples_per_px != 1) hash.add(&scale_.samples_per_px, sizeof scale_.samples_per_px);
    if (has_cells) {
        const double field_numbers[] = {double(field_.cells_x), double(field_.cells_y), field_.left_px, field_.top_px,
                                        field_.cell_px};
        hash.add(field_numbers, sizeof field_numbers);
    }
    hash.add(values_.data(), values_.size() * sizeof(float));
    hash_ = hash.value();
}

std::shared_ptr<const PsfTable> PsfTable::one_cell(int k) const {
    const auto values = cell(k);
    return std::make_shared<const PsfTable>(shape_, std::vector<float>(values.begin(), values.end()), scale_);
}

Psf measured_psf(std::shared_ptr<const PsfTable> table) {
    Psf psf{table->shape()[0] == 1 ? PsfModel::SplineXYNB : PsfModel::SplineXYZNB};
    psf.table = std::move(table);
    return psf;
}

double Psf::detection_sigma_nm() const {
    return describe(model).calibrated ? 1000 * glint::detection_sigma_um(*this) : sigma_nm;
}

ZRange Psf::z_range() const {
    if (table) return {table->scale().z_min_nm, table->scale().z_max_nm};
    return {curve.z_min_nm, curve.z_max_nm};
}

MatchedFilter Psf::matched_filter(double pixel_size_nm) const {
    check_psf(*this, pixel_size_nm);
    return {glint::detection_sigma_um(*this) / um_of(pixel_size_nm)};
}

std::span<const PsfModel> psf_models() { return all_models; }

const PsfDescription& describe(PsfModel model) {
    static const std::vector<PsfDescription> all = [] {
        std::vector<PsfDescription> made;
        for (const PsfModel each : all_models) made.push_back(description_of(each));
        return made;
    }();
    return all.at(std::size_t(model));
}

std::string_view to_name(PsfModel model) { return describe(model).name; }

PsfModel parse_psf_model(std::string_view name) {
    std::string known;
    for (const PsfModel model : all_models) {
        if (name == to_name(model)) return model;
        known += fmt::format("{}{} ({})", known.empty() ? "" : ", ", to_name(model), describe(model).about);
    }
    throw OptionError(fmt::format(
        "no PSF model {}: there are {}; or give the file of a measured PSF, as in `psf=lens.h5`, or `psf=auto`", name,
        known));
}

const std::vector<std::string_view>& parameter_names(PsfModel model) { return describe(model).parameters; }

int parameter_count(PsfModel model) { return int(describe(model).parameters.size()); }

}  // namespace glint
