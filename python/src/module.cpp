// glint._core: the compiled part of the Python package. Users see python/glint/*.py.
// SPDX-License-Identifier: MIT
#include <nanobind/stl/vector.h>

#include "bindings.hpp"
#include "glint/gpu_fit.hpp"
#include "glint/isa.hpp"
#include "glint/version.hpp"
#include "text.hpp"

NB_MODULE(_core, m) {
    using namespace glint::python;
    m.def("version", &glint::version);
    m.def("active_isa", &glint::active_isa);
    m.def("available_isas", &glint::available_isas);
    m.def("has_gpu_kernels", &glint::has_gpu_kernels);
    bind_errors();
    bind_spelling(m);
    bind_psf(m);
    bind_camera(m);
    bind_fit(m);
    bind_localizations(m);
    bind_movie(m);
    bind_localize(m);
    bind_simulate(m);
    bind_picture(m);
    bind_analysis(m);
    bind_calibrate_camera(m);
    bind_lens(m);
    bind_inspect(m);
    bind_drift(m);
    bind_link(m);
    bind_resolution(m);
    bind_report(m);
    bind_run(m);
    bind_gpu(m);
    bind_leases(m);
    bind_offload(m);
    bind_device_arrays(m);
    bind_expressions(m);
    bind_operations(m);
    bind_random(m);
    bind_kernels(m);
}
