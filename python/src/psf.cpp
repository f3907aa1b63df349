// Bindings of the PSF; users see glint/psf.py.
// SPDX-License-Identifier: MIT
#include "glint/psf.hpp"

#include <fmt/format.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include "bindings.hpp"
#include "glint/error.hpp"
#include "text.hpp"

namespace glint::python {

void bind_psf(nb::module_& m) {
    nb::class_<AstigmaticCurve>(m, "AstigmaticCurve")
        .def(nb::init<>())
        .def_rw("sx0_nm", &AstigmaticCurve::sx0_nm)
        .def_rw("sy0_nm", &AstigmaticCurve::sy0_nm)
        .def_rw("gamma_nm", &AstigmaticCurve::gamma_nm)
        .def_rw("d_nm", &AstigmaticCurve::d_nm)
        .def_rw("ax", &AstigmaticCurve::ax)
        .def_rw("bx", &AstigmaticCurve::bx)
        .def_rw("ay", &AstigmaticCurve::ay)
        .def_rw("by", &AstigmaticCurve::by)
        .def_rw("z_min_nm", &AstigmaticCurve::z_min_nm)
        .def_rw("z_max_nm", &AstigmaticCurve::z_max_nm)
        .def_rw("roi_size", &AstigmaticCurve::roi_size)
        .def_rw("pixel_size_nm", &AstigmaticCurve::pixel_size_nm)
        .def("sigma_x_nm", &AstigmaticCurve::sigma_x_nm, "z_nm"_a)
        .def("sigma_y_nm", &AstigmaticCurve::sigma_y_nm, "z_nm"_a);
    nb::class_<PsfTable>(m, "PsfTable")
        .def(
            "__init__",
            [](PsfTable* table, const nb::ndarray<const float, nb::c_contig, nb::device::cpu>& values,
               double pixel_size_nm, double z_min_nm, double z_max_nm, int samples_per_px,
               const std::optional<std::tuple<double, double, double>>& place) {
                PsfTable::Shape shape{1, 1, 1, 1};
                PsfField field;
                const std::size_t cells = place ? 2 : 0;  // dimensions
                if (place && values.ndim() != 5)
                    throw OptionError(
                        fmt::format("a PSF's table of {} dimensions with a field: five are taken, rows and columns of "
                                    "cells, then z, "
                                    "y, x",
                                    values.ndim()));
                if (values.ndim() < 1 || values.ndim() > shape.size() + (place ? 1 : 0))
                    throw OptionError(fmt::format(
                        "a PSF's table of {} dimensions: one to four are taken, or five with field=(left_px, top_px, "
                        "cell_px)",
                        values.ndim()));
                const std::size_t most = (place ? PsfTable::max_field_bytes : PsfTable::max_bytes) / sizeof(float);
                const auto edge = [&](std::size_t k) { return int(std::min(std::size_t(values.shape(k)), most + 1)); };
                if (place) {
                    field.cells_y = edge(0), field.cells_x = edge(1);
                    std::tie(field.left_px, field.top_px, field.cell_px) = *place;
                }
                for (std::size_t k = cells; k < values.ndim(); ++k) shape[k - cells] = edge(k);
                std::vector<float> copy;
                if (values.size() <= most) copy.assign(values.data(), values.data() + values.size());
                new (table)
                    PsfTable(shape, std::move(copy), {pixel_size_nm, z_min_nm, z_max_nm, samples_per_px}, field);
            },
            "values"_a, "pixel_size_nm"_a, "z_min_nm"_a, "z_max_nm"_a, "samples_per_px"_a,
            "field"_a.none() = nb::none())
        .def_prop_ro("hash", &PsfTable::hash);
    nb::class_<Psf>(m, "Psf")
        .def(
            "__init__",
            [](Psf* psf, const std::string& model, double sigma_nm, const AstigmaticCurve& curve,
               std::vector<double> numbers, std::shared_ptr<const PsfTable> table) {
                new (psf) Psf{parse_psf_model(model), sigma_nm, curve, std::move(numbers), std::move(table)};
            },
            "model"_a, "sigma_nm"_a, "curve"_a, "numbers"_a, "table"_a.none() = nb::none())
        .def_prop_ro("model", [](const Psf& psf) { return to_name(psf.model); })
        .def("filter_width_px",
             [](const Psf& psf, double pixel_size_nm) { return psf.matched_filter(pixel_size_nm).width_px; });
    nb::class_<ModelParameter>(m, "ModelParameter")
        .def_ro("name", &ModelParameter::name)
        .def_ro("default_value", &ModelParameter::default_value)
        .def_ro("min", &ModelParameter::min)
        .def_ro("max", &ModelParameter::max)
        .def_ro("description", &ModelParameter::description);
    nb::class_<PsfDescription>(m, "PsfDescription")
        .def_ro("name", &PsfDescription::name)
        .def_ro("about", &PsfDescription::about)
        .def_ro("calibrated", &PsfDescription::calibrated)
        .def_ro("has_table", &PsfDescription::has_table)
        .def_ro("parameters", &PsfDescription::parameters)
        .def_ro("units", &PsfDescription::units)
        .def_ro("numbers", &PsfDescription::numbers);
    m.def("psf_models", [] {
        std::vector<PsfDescription> all;
        for (const PsfModel model : psf_models()) all.push_back(describe(model));
        return all;
    });
}

}  // namespace glint::python
