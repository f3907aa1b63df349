// Shared by all parts of the compiled module: the functions that add them, in the order in which module.cpp calls them,
// and the spelling of options in messages.
// SPDX-License-Identifier: MIT
#pragma once

#include <nanobind/nanobind.h>

#include <string>
#include <string_view>
#include <vector>

namespace glint::python {

namespace nb = nanobind;
using namespace nb::literals;

void bind_errors();
void bind_spelling(nb::module_& m);
void bind_psf(nb::module_& m);
void bind_camera(nb::module_& m);
void bind_fit(nb::module_& m);
void bind_localizations(nb::module_& m);
void bind_movie(nb::module_& m);
void bind_localize(nb::module_& m);
void bind_simulate(nb::module_& m);
void bind_picture(nb::module_& m);
void bind_analysis(nb::module_& m);
void bind_calibrate_camera(nb::module_& m);
void bind_lens(nb::module_& m);
void bind_inspect(nb::module_& m);
void bind_drift(nb::module_& m);
void bind_link(nb::module_& m);
void bind_resolution(nb::module_& m);
void bind_report(nb::module_& m);
void bind_run(nb::module_& m);
void bind_gpu(nb::module_& m);
void bind_leases(nb::module_& m);
void bind_offload(nb::module_& m);
void bind_device_arrays(nb::module_& m);
void bind_expressions(nb::module_& m);
void bind_operations(nb::module_& m);
void bind_random(nb::module_& m);
void bind_kernels(nb::module_& m);

/// Spells options as arguments: "give `gain=0.5`, or `overwrite`" becomes "give gain=0.5, or overwrite=True".
std::string in_python(std::string_view message);
std::vector<std::string> in_python(const std::vector<std::string>& messages);

}  // namespace glint::python
