// Bindings of GPU inventory, diagnosis and memory (glint/gpu.py).
// SPDX-License-Identifier: MIT
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include <new>

#include "bindings.hpp"
#include "cli/commands/doctor_report.hpp"
#include "glint/gpu/advice.hpp"
#include "glint/gpu/lease.hpp"
#include "glint/gpu_fit.hpp"
#include "running.hpp"
#include "text.hpp"

namespace glint::python {
namespace {

using Words = std::pair<std::string, std::string>;  // message, suggestion

Words words_of(const gpu::FriendlyError& error) { return {in_python(error.message), in_python(error.suggestion)}; }

template <class Error, class... Arguments>
Words explained(Arguments... arguments) {
    return words_of(gpu::explain_error(Error(arguments...)));
}

/// Returns the explanation of an exception of glint/errors.py, by its class name.
Words explain(const std::string& type, const std::string& message, int code, std::uint64_t asked, std::uint64_t free,
              bool beyond_limit) {
    if (type == "LeaseTimeout") return explained<gpu::LeaseTimeout>(message, asked, free);
    if (type == "OutOfMemory") return explained<gpu::OutOfMemory>(code, message, asked, beyond_limit, free);
    if (type == "NoGpu") return explained<gpu::NoGpu>(code, message);
    if (type == "DeviceLost") return explained<gpu::DeviceLost>(code, message);
    if (type == "GpuError" || type == "LibraryMissing") return explained<gpu::GpuError>(code, message);
    if (type == "OptionError") return explained<OptionError>(message);
    if (type == "InputError") return explained<InputError>(message);
    if (type == "OutputError") return explained<OutputError>(message);
    if (type == "MemoryError")
        return {message.empty() ? "memory ran out" : message, explained<std::bad_alloc>().second};
    return explained<std::runtime_error>(message);
}

nb::list memory() {
    nb::list all;
    for (const gpu::Context& context : gpu::open_contexts()) {
        const gpu::MemoryStatistics s = context.statistics();
        nb::dict of;
        of["ordinal"] = context.ordinal(), of["name"] = context.name();
        of["live_bytes"] = s.live_bytes, of["peak_bytes"] = s.peak_bytes;
        of["reserved_bytes"] = s.reserved_bytes, of["limit_bytes"] = s.limit_bytes;
        of["pinned_bytes"] = s.pinned_bytes, of["allocations"] = s.allocations;
        of["event_waits"] = s.event_waits, of["host_blocks"] = s.host_blocks;
        of["early_reclaims"] = s.early_reclaims, of["early_reclaimed_bytes"] = s.early_reclaimed_bytes;
        of["retries"] = s.retries, of["trims"] = s.trims;
        all.append(of);
    }
    return all;
}

void bind_devices(nb::module_& m) {
    nb::class_<gpu::DeviceProcess>(m, "DeviceProcess")
        .def_ro("pid", &gpu::DeviceProcess::pid)
        .def_ro("used_bytes", &gpu::DeviceProcess::used_bytes);
    nb::class_<gpu::Device>(m, "Device")
        .def_ro("ordinal", &gpu::Device::ordinal)
        .def_ro("name", &gpu::Device::name)
        .def_ro("uuid", &gpu::Device::uuid)
        .def_ro("pci_bus", &gpu::Device::pci_bus)
        .def_ro("mig", &gpu::Device::mig)
        .def_ro("instances", &gpu::Device::instances)
        .def_ro("total_bytes", &gpu::Device::total_bytes)
        .def_ro("free_bytes", &gpu::Device::free_bytes)
        .def_ro("utilization_percent", &gpu::Device::utilization_percent)
        .def_ro("capability_major", &gpu::Device::capability_major)
        .def_ro("capability_minor", &gpu::Device::capability_minor)
        .def_ro("pcie_generation", &gpu::Device::pcie_generation)
        .def_ro("pcie_width", &gpu::Device::pcie_width)
        .def_ro("compute_mode", &gpu::Device::compute_mode)
        .def_ro("processes", &gpu::Device::processes)
        .def_ro("why_not", &gpu::Device::why_not)
        .def_ro("occupied", &gpu::Device::occupied);
    nb::class_<gpu::Inventory>(m, "Inventory")
        .def_ro("driver_version", &gpu::Inventory::driver_version)
        .def_ro("cuda_version", &gpu::Inventory::cuda_version)
        .def_ro("devices", &gpu::Inventory::devices)
        .def_ro("why_no_nvml", &gpu::Inventory::why_no_nvml)
        .def_ro("why_none", &gpu::Inventory::why_none);
    m.def("inventory", &gpu::inventory, nb::call_guard<nb::gil_scoped_release>());
}

void bind_doctor(nb::module_& m) {
    nb::class_<gpu::Finding>(m, "Finding")
        .def_prop_ro("health", [](const gpu::Finding& finding) { return gpu::to_name(finding.health); })
        .def_ro("check", &gpu::Finding::check)
        .def_ro("gpu", &gpu::Finding::gpu)
        .def_prop_ro("found", [](const gpu::Finding& finding) { return in_python(finding.found); })
        .def_prop_ro("remedy", [](const gpu::Finding& finding) { return in_python(finding.remedy); });
    nb::class_<gpu::Diagnosis>(m, "Diagnosis")
        .def_ro("findings", &gpu::Diagnosis::findings)
        .def_prop_ro("health", [](const gpu::Diagnosis& all) { return gpu::to_name(all.health()); })
        .def_prop_ro("overall", &gpu::Diagnosis::overall)
        .def(
            "text", [](const gpu::Diagnosis& all, bool verbose) { return in_python(all.text(verbose)); }, "verbose"_a)
        .def("to_json", [](const gpu::Diagnosis& all) { return all.to_json(); });
    m.def(
        "examine",
        [](bool test, bool calibrate) {
            Running running;
            return running.run([&] { return cli::examine({test, calibrate, running.stop()}); });
        },
        "test"_a, "calibrate"_a);
    m.def("installation_guide", [] { return gpu::installation_guide(has_gpu_kernels()); });
}

/// Collects Python's garbage, which may hold GPU memory. The caller does not hold the GIL.
bool collect_garbage() {
    if (!Py_IsInitialized()) return false;
    const nb::gil_scoped_acquire acquire;
    try {
        return nb::cast<long>(nb::module_::import_("gc").attr("collect")()) > 0;
    } catch (nb::python_error& error) {
        error.discard_as_unraisable("gc.collect() before the GPU's memory runs out");
        return false;
    }
}

}  // namespace

void bind_gpu(nb::module_& m) {
    gpu::on_pressure(&collect_garbage);
    bind_devices(m);
    bind_doctor(m);
    m.def("explain_error", &explain, "type"_a, "message"_a, "code"_a, "asked"_a, "free"_a, "beyond_limit"_a);
    m.def(
        "explain_cuda_code", [](int code) { return words_of(gpu::explain_cuda_code(code)); }, "code"_a);
    m.def(
        "explain_nvml_code", [](int code) { return words_of(gpu::explain_nvml_code(code)); }, "code"_a);
    m.def("memory", &memory);
    m.def("set_early_reclaim", &gpu::set_early_reclaim, "on"_a);
    m.def("early_reclaim", &gpu::early_reclaim);
    m.def(
        "trim_all",
        [] {
            for (const gpu::Context& context : gpu::open_contexts()) context.trim();
        },
        nb::call_guard<nb::gil_scoped_release>());
}

}  // namespace glint::python
