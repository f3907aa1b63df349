// The PSF models, compiled for double precision, and a table of their functions by PsfModel.
// SPDX-License-Identifier: MIT
#define GLINT_ISA in_double
#define GLINT_DOUBLE_LANE 1
#include "psf/in_double.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <tuple>
#include <vector>

#include "base/micrometres.hpp"
#include "glint/error.hpp"
#include "glint/units.hpp"
#include "psf/axis.hpp"
#include "psf/curve_in_um.hpp"
#include "psf/models.hpp"

namespace glint {
namespace {

using in_double::Widths;

struct Functions {
    const PsfFacts* facts;
    bool separable;
    Widths (*widths)(const PsfNumbers<double>&, const double* shape);
    void (*typical)(const PsfNumbers<double>&, double z_um, double* shape);
    PsfExtent (*extent)(const PsfNumbers<double>&, const double* shape, PsfPart part);
    double (*reach_px)(const PsfNumbers<double>&);
    PsfBounds (*bounds)(const PsfNumbers<double>&, int k);
    void (*add_photons)(const PsfNumbers<double>&, const double* theta, int width, int height, double* image);
};

template <class Model>
void add_photons(const PsfNumbers<double>& numbers, const double* theta, int width, int height, double* image) {
    const Model psf{numbers};
    if constexpr (Model::separable) {
        const Widths w = psf.widths(theta + 4);
        in_double::AxisProfile<false> along(theta[0], w.x), down(theta[1], w.y);
        std::vector<double> a(std::size_t(width), 0.0);
        double c, none;
        for (int i = 0; i < width; ++i) along.next(i, a[std::size_t(i)], none, none);
        for (int j = 0; j < height; ++j) {
            down.next(j, c, none, none);
            for (int i = 0; i < width; ++i) image[j * width + i] += theta[2] * (a[std::size_t(i)] * c);
        }
    } else {
        double slopes[2 + max_shape_parameters];
        for (int j = 0; j < height; ++j) {
            auto row = psf.row(theta, j);
            for (int i = 0; i < width; ++i) image[j * width + i] += theta[2] * row.at(i, slopes);
        }
    }
}

/// Returns the extent from the model's widths, unless the model defines its own extent.
template <class Model>
PsfExtent extent(const PsfNumbers<double>& numbers, const double* shape, PsfPart part) {
    const Model psf{numbers};
    if constexpr (requires { psf.extent(shape, part); }) {
        const Widths extent = psf.extent(shape, part);
        return {extent.x, extent.y};
    } else {
        const Widths widths = psf.widths(shape);
        return {gaussian_extent(part) * widths.x, gaussian_extent(part) * widths.y};
    }
}

template <class Model>
double reach_px(const PsfNumbers<double>& numbers) {
    const Model psf{numbers};
    if constexpr (requires { psf.reach_px(); })
        return psf.reach_px();
    else
        return 0;
}

template <class Model>
constexpr Functions functions_of = {
    &Model::facts,
    Model::separable,
    [](const PsfNumbers<double>& numbers, const double* shape) { return Model{numbers}.widths(shape); },
    [](const PsfNumbers<double>& numbers, double z_um, double* shape) { Model{numbers}.typical(z_um, shape); },
    &extent<Model>,
    &reach_px<Model>,
    [](const PsfNumbers<double>& numbers, int k) {
        const in_double::Interval bounds = Model{numbers}.bounds(k);
        return PsfBounds{bounds.low, bounds.high};
    },
    &add_photons<Model>};

const Functions& of(PsfModel model) {
    static constexpr const Functions* all[] = {
#define GLINT_PSF_MODEL(name) &functions_of<in_double::name>,
#include "glint/psf_models.inc"
#undef GLINT_PSF_MODEL
    };
    if (std::size_t(model) >= std::size(all)) throw OptionError(fmt::format("there is no PSF model {}", int(model)));
    return *all[std::size_t(model)];
}

bool positive(double value) { return value > 0 && std::isfinite(value); }

}  // namespace

const PsfFacts& psf_facts(PsfModel model) { return *of(model).facts; }

std::span<const ShapeParameter> shape_parameters_of(PsfModel model) {
    const PsfFacts& facts = psf_facts(model);
    return {facts.shape, std::size_t(count_of(facts.shape))};
}

template <class Scalar>
PsfNumbers<Scalar> numbers_of(const Psf& psf, double pixel_size_nm, const WidthLimits& limits) {
    const bool has_curve = psf_facts(psf.model).source == PsfSource::calibration;
    const CurveInUm c = has_curve ? in_um(psf.curve) : CurveInUm{};
    const auto px = [pixel_size_um = um_of(pixel_size_nm)](double um) { return Scalar(um / pixel_size_um); };
    PsfNumbers<Scalar> numbers{px(um_of(psf.sigma_nm)),
                               Scalar(limits.min_px),
                               Scalar(limits.max_px),
                               px(c.sx0_um),
                               px(c.sy0_um),
                               Scalar(c.gamma_um),
                               Scalar(c.d_um),
                               Scalar(c.ax),
                               Scalar(c.bx),
                               Scalar(c.ay),
                               Scalar(c.by),
                               Scalar(c.z_min_um),
                               Scalar(c.z_max_um),
                               {},
                               {}};
    const OwnNumber* own = psf_facts(psf.model).numbers;
    for (int k = 0; k < max_own_numbers; ++k)
        numbers.own[k] =
            Scalar(std::size_t(k) < psf.numbers.size() ? psf.numbers[std::size_t(k)] : own[k].default_value);
    if (psf.table) {
        numbers.z_min_um = Scalar(nm_to_um(psf.table->scale().z_min_nm));
        numbers.z_max_um = Scalar(nm_to_um(psf.table->scale().z_max_nm));
        numbers.table.values = psf.table->values().data();
        std::copy_n(psf.table->shape().data(), psf.table->shape().size(), numbers.table.shape);
        numbers.table.samples = psf.table->scale().samples_per_px;
        numbers.table.width_px = float(psf.table->filter_width_px());
        const PsfField& field = psf.table->field();
        numbers.table.cells_x = field.cells_x, numbers.table.cells_y = field.cells_y;
        if (psf.has_field()) {
            numbers.table.left_px = float(field.left_px - psf.field_x_px);
            numbers.table.top_px = float(field.top_px - psf.field_y_px);
            numbers.table.cells_per_px = float(1 / field.cell_px);
        }
    }
    return numbers;
}
template PsfNumbers<float> numbers_of(const Psf&, double, const WidthLimits&);
template PsfNumbers<double> numbers_of(const Psf&, double, const WidthLimits&);

template <class Scalar>
void move_to_cell(double x_px, double y_px, PsfNumbers<Scalar>& numbers) {
    PsfTableView& table = numbers.table;
    if (table.cells_x * table.cells_y <= 1) return;
    // In single precision, so that the cell is the one that the kernels choose.
    const auto along = [&](double at, float first, int cells) {
        const float cell = (float(at) - first) * table.cells_per_px;
        return cell > 0 ? int(std::min(cell, float(cells - 1))) : 0;
    };
    const int cell =
        along(y_px, table.top_px, table.cells_y) * table.cells_x + along(x_px, table.left_px, table.cells_x);
    table.values += std::size_t(cell) * cell_size(table);
    table.cells_x = table.cells_y = 1;
}
template void move_to_cell(double, double, PsfNumbers<float>&);
template void move_to_cell(double, double, PsfNumbers<double>&);

std::size_t cell_size(const PsfTableView& table) {
    std::size_t size = 1;
    for (const int edge : table.shape) size *= std::size_t(edge);
    return size;
}

void require_table(const Psf& psf) {
    if (!describe(psf.model).has_table) return;
    if (!psf.table)
        throw OptionError(fmt::format("{} needs its table of coefficients: `calibration=FILE`", to_name(psf.model)));
    const auto& [min, max] = std::tie(psf_facts(psf.model).min_edges, psf_facts(psf.model).max_edges);
    for (std::size_t k = 0; k < psf.table->shape().size(); ++k) {
        const int edge = psf.table->shape()[k];
        if (edge >= min[k] && edge <= max[k]) continue;
        const bool is_small = edge < min[k];
        throw OptionError(fmt::format("a table of {} for {}, which takes one of at {} {}",
                                      fmt::join(psf.table->shape(), " x "), to_name(psf.model),
                                      is_small ? "least" : "most", fmt::join(is_small ? min : max, " x ")));
    }
}

bool is_measured(PsfModel model) { return model == PsfModel::SplineXYZNB || model == PsfModel::SplineXYNB; }

int covered_window_px(const Psf& psf) {
    if (!is_measured(psf.model) || !psf.table) return 0;
    const auto& shape = psf.table->shape();
    return (std::min(shape[1], shape[2]) - 4) / psf.table->scale().samples_per_px + 1;
}

void check_pixel_size(double nm) {
    if (!(nm >= smallest_pixel_nm && nm <= largest_pixel_nm))
        throw OptionError(fmt::format("a pixel size of {} nm: give nanometres, {:g} to {:g}, as in `pixel_size=100nm`",
                                      nm, smallest_pixel_nm, largest_pixel_nm));
}

void check_psf(const Psf& psf, double pixel_size_nm) {
    check_pixel_size(pixel_size_nm);
    const PsfDescription& model = describe(psf.model);
    const AstigmaticCurve& c = psf.curve;
    require_table(psf);
    if (psf.table && !model.has_table)
        throw OptionError(fmt::format("{} has no use for a table: leave it out, or choose another `psf`", model.name));
    if (psf.has_field() && !is_measured(psf.model))
        throw OptionError(fmt::format("{} reads a table of one cell, not of {}: choose another `psf`", model.name,
                                      psf.table->field().cells()));
    if (psf.table && std::abs(psf.table->scale().pixel_size_nm / pixel_size_nm - 1) > 1e-3)
        throw OptionError(
            fmt::format("the table of {0} is for pixels of {1:g} nm, not of {2:g} nm: measure one with this "
                        "camera, or give `pixel_size={1:g}nm` if that is what its pixels are",
                        model.name, psf.table->scale().pixel_size_nm, pixel_size_nm));
    const bool has_curve = model.calibrated && !model.has_table;
    if (has_curve && !(positive(c.sx0_nm) && positive(c.sy0_nm) && positive(c.d_nm) && c.z_min_nm < c.z_max_nm))
        throw OptionError(fmt::format(
            "{} needs its calibration, with sx0, sy0 and d greater than 0 and a range of z: `calibration=FILE`",
            model.name));
    if (has_curve && (std::min({c.sx0_nm, c.sy0_nm, c.d_nm}) < min_width_nm || c.z_max_nm - c.z_min_nm < min_depth_nm))
        throw OptionError(fmt::format(
            "a calibration with sx0 = {} nm, sy0 = {} nm, d = {} nm and z from {} to {} nm: give nanometres, as in "
            "sx0 = 140; lengths are at least {:g} nm, and the range of z {:g} nm",
            c.sx0_nm, c.sy0_nm, c.d_nm, c.z_min_nm, c.z_max_nm, min_width_nm, min_depth_nm));
    if (!model.calibrated && !positive(psf.sigma_nm))
        throw OptionError(fmt::format("{} needs a width: `sigma=130nm`", model.name));
    if (!model.calibrated && psf.sigma_nm < min_width_nm)
        throw OptionError(fmt::format("a PSF width of {} nm: give nanometres, at least {:g}, as in `sigma=130nm`",
                                      psf.sigma_nm, min_width_nm));
    if (psf.numbers.size() > model.numbers.size())
        throw OptionError(
            fmt::format("{} numbers for {}, which has {}", psf.numbers.size(), model.name, model.numbers.size()));
    for (std::size_t k = 0; k < psf.numbers.size(); ++k) {
        const ModelParameter& number = model.numbers[k];
        if (!(psf.numbers[k] >= number.min && psf.numbers[k] <= number.max))
            throw OptionError(fmt::format("`psf_number={}={}`: {} takes {} to {}, and {} unless given ({})",
                                          number.name, psf.numbers[k], model.name, number.min, number.max,
                                          number.default_value, number.description));
    }
}

void check_psf_of_fit(const Psf& psf, double pixel_size_nm) {
    check_psf(psf, pixel_size_nm);
    if (describe(psf.model).calibrated) return;
    const double sigma_px = um_of(psf.sigma_nm) / um_of(pixel_size_nm);
    if (!(sigma_px >= 0.2 && sigma_px <= 15))
        throw OptionError(
            fmt::format("a PSF width of {:.3g} pixels is outside 0.2 to 15: give it with `sigma=130nm`, and check the "
                        "pixel size",
                        sigma_px));
}

double detection_sigma_um(const Psf& psf) {
    const PsfDescription& model = describe(psf.model);
    if (!model.calibrated) return um_of(psf.sigma_nm);
    if (model.has_table) {
        double shape[max_shape_parameters] = {};
        require_table(psf);
        const double pixel_size_nm = psf.table->scale().pixel_size_nm;
        const PsfInDouble in_double(psf, pixel_size_nm);
        in_double.typical_shape(0, shape);
        const PsfWidths widths = in_double.widths(shape);
        return std::sqrt(widths.x_px * widths.y_px) * um_of(pixel_size_nm);
    }
    const CurveInUm curve = in_um(psf.curve);
    return std::sqrt(curve.sigma_x_um(0) * curve.sigma_y_um(0));
}

double extent_nm(const Psf& psf, PsfPart part) { return gaussian_extent(part) * detection_sigma_um(psf) * 1000; }

double width_in_focus_um(const Psf& psf) {
    const PsfDescription& model = describe(psf.model);
    if (!model.calibrated || model.has_table) return detection_sigma_um(psf);
    const CurveInUm curve = in_um(psf.curve);
    return std::sqrt(curve.sx0_um * curve.sy0_um);
}

PsfInDouble::PsfInDouble(const Psf& psf, double pixel_size_nm)
    : model_(psf.model), table_(psf.table), numbers_(numbers_of<double>(psf, pixel_size_nm)) {}

PsfInDouble PsfInDouble::at(double x_px, double y_px) const {
    if (numbers_.table.cells_x * numbers_.table.cells_y <= 1) return *this;
    PsfInDouble one = *this;
    move_to_cell(x_px, y_px, one.numbers_);
    return one;
}

PsfWidths PsfInDouble::widths(const double* shape) const {
    const Widths w = of(model_).widths(numbers_, shape);
    return {w.x, w.y};
}

void PsfInDouble::typical_shape(double z_um, double* shape) const { of(model_).typical(numbers_, z_um, shape); }

PsfExtent PsfInDouble::extent(const double* shape, PsfPart part) const {
    return of(model_).extent(numbers_, shape, part);
}

double PsfInDouble::reach_px() const { return of(model_).reach_px(numbers_); }

PsfBounds PsfInDouble::bounds(int k, const WidthLimits& limits) const {
    PsfNumbers<double> numbers = numbers_;
    numbers.min_sigma_px = limits.min_px, numbers.max_sigma_px = limits.max_px;
    return of(model_).bounds(numbers, k);
}

bool PsfInDouble::allows(const double* shape, const WidthLimits& limits) const {
    for (int k = 0; k < int(shape_parameters_of(model_).size()); ++k) {
        const PsfBounds allowed = bounds(k, limits);
        if (!(shape[k] >= allowed.low && shape[k] <= allowed.high)) return false;
    }
    return true;
}

bool PsfInDouble::separable() const { return of(model_).separable; }

void PsfInDouble::add_photons(const double* theta, int left, int top, int width, int height, double* image) const {
    double moved[4 + max_shape_parameters];
    std::copy_n(theta, 4 + shape_parameters_of(model_).size(), moved);
    moved[0] -= left, moved[1] -= top;
    PsfNumbers<double> numbers = numbers_;
    move_to_cell(theta[0], theta[1], numbers);
    of(model_).add_photons(numbers, moved, width, height, image);
}

}  // namespace glint
