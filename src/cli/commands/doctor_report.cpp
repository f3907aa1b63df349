// Combines the checks of all layers.
// SPDX-License-Identifier: MIT
#include "cli/commands/doctor_report.hpp"

#include "cli/commands/doctor_arrays.hpp"
#include "cli/commands/try_gpu.hpp"
#include "glint/gpu_fit.hpp"

namespace glint::cli {
namespace {

using gpu::doctor::Finding;
using gpu::doctor::Findings;
using gpu::doctor::Health;

Finding check_kernels() {
    if (has_gpu_kernels()) return {Health::ok, "kernels", "", "built in; the CUDA toolkit is not needed", ""};
    if (!gpu::doctor::machine_has_gpu())
        return {Health::ok, "kernels", "", "this glint was built without CUDA, which nothing here needs", ""};
    return {Health::problem, "kernels", "", "this glint was built without CUDA: it fits on the CPU only",
            "build it where nvcc is found (./dev setup gpu)"};
}

}  // namespace

gpu::Diagnosis examine(const DoctorOptions& options) {
    gpu::Diagnosis diagnosis = gpu::diagnose();
    Findings& findings = diagnosis.findings;
    findings.insert(findings.begin() + 1, check_kernels());
    if (options.test)
        for (const gpu::Device& device : gpu::inventory().devices)
            if (device.why_not.empty()) findings.push_back(try_gpu(device, options.stop));
    const auto add = [&](const Findings& more) { findings.insert(findings.end(), more.begin(), more.end()); };
    if (options.test) add(test_arrays(options.stop));
    if (options.calibrate) add(calibrate_arrays(options.stop));
    return diagnosis;
}

}  // namespace glint::cli
