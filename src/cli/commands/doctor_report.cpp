// Combines the checks of all layers: the GPU runtime, array operations, and a short use of each GPU.
// SPDX-License-Identifier: MIT
#include "cli/commands/doctor_report.hpp"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <numeric>

#include "glint/arrays/calibrate.hpp"
#include "glint/error.hpp"
#include "glint/gpu/buffer.hpp"
#include "glint/gpu/device.hpp"
#include "glint/gpu_fit.hpp"
#include "glint/progress.hpp"
#include "glint/simulate.hpp"
#include "gpu/doctor/doctor.hpp"
#include "offload/machine.hpp"

namespace glint::cli {
namespace {

using gpu::doctor::Finding;
using gpu::doctor::Findings;
using gpu::doctor::Health;

constexpr double patience_s = 10;

offload::SessionOptions options(const StopFlag* stop) {
    offload::SessionOptions o;
    o.gpu_timeout_s = patience_s;
    o.on_wait = [stop](double, std::uint64_t, std::uint64_t) {
        if (stop && *stop) throw Cancelled("stopped while waiting for a GPU");
    };
    return o;
}

std::string time_or_none(double seconds) { return seconds > 0 ? fmt::format("{:.3g} ms", seconds * 1e3) : "not"; }

/// Computes on every backend and compares. Throws Cancelled if `stop` is set while it waits for a GPU.
Findings test_arrays(const StopFlag* stop) {
    offload::Session session(options(stop));
    const bool no_gpu = !gpu::inventory().why_none.empty();
    std::map<std::string, std::string> well;  // by backend
    Findings findings;
    for (const arrays::SelfTestRow& row : arrays::self_test(session)) {
        if (row.backend == "cuda" && no_gpu) continue;  // the check of the driver reports why
        const std::string what = row.backend + ": " + row.operation;
        if (!row.why_not.empty())
            findings.push_back({Health::warning, "arrays", "", what + ": " + row.why_not, "glint doctor --guide"});
        else if (!row.ok())
            findings.push_back(
                {Health::problem, "arrays", "",
                 fmt::format("{}: the error is {:.2g}, and at most {:.2g} is allowed", what, row.error, row.bound),
                 "do not trust this device: run the test again, then have its memory checked"});
        else
            well[row.backend] += (well[row.backend].empty() ? "" : ", ") + row.operation;
    }
    for (const auto& [backend, operations] : well)
        findings.push_back(
            {Health::ok, "arrays", "", fmt::format("{} computes correctly: {}", backend, operations), ""});
    return findings;
}

/// Measures this machine and stores the results. Returns one line per operation. Throws the errors of test_arrays().
Findings calibrate_arrays(const StopFlag* stop) {
    offload::Session session(options(stop));
    std::string why_no_gpu;
    Findings findings;
    for (const arrays::CalibrationRow& row : arrays::calibrate(session, &why_no_gpu))
        findings.push_back(
            {Health::ok, "calibration", "",
             fmt::format("{} of {:.4g} {}: CPU {}, GPU {}, GPU with its operands there {}", row.operation, row.size,
                         row.unit, time_or_none(row.cpu_s), time_or_none(row.gpu_s), time_or_none(row.gpu_resident_s)),
             ""});
    if (!why_no_gpu.empty()) findings.push_back({Health::ok, "calibration", "", "the CPU alone: " + why_no_gpu, ""});
    const auto folder = offload::cache_folder();
    if (!session.save())
        findings.push_back(
            {Health::warning, "calibration", "",
             fmt::format("the results could not be saved in {}", folder.empty() ? "a cache" : folder.string()),
             "set XDG_CACHE_HOME or HOME to a writable folder"});
    else
        findings.push_back({Health::ok, "calibration", "", "saved in " + folder.string(), ""});
    return findings;
}

using gpu::doctor::Finding;
using gpu::doctor::Health;

constexpr std::uint64_t test_bytes = std::uint64_t(64) << 20;

bool copies_well(const gpu::Lease& lease) {
    const gpu::Context context = lease.create_context();
    const gpu::Stream stream(context);
    std::vector<unsigned> sent(1 << 20), returned(sent.size());
    std::iota(sent.begin(), sent.end(), 1u);
    gpu::Buffer<unsigned> buffer(stream, sent.size());
    gpu::upload(stream, buffer, sent);
    gpu::download(stream, std::span<unsigned>(returned), buffer);
    return sent == returned;
}

/// Returns a lease of this GPU only.
gpu::Lease lease_of(const gpu::Device& device, const StopFlag* stop) {
    gpu::LeaseRequest request{.bytes = test_bytes, .timeout_s = 10, .for_context = true, .stop = stop};
    for (const gpu::Device& other : gpu::inventory().devices)
        if (other.uuid != device.uuid) request.avoid.push_back(other.uuid);
    return gpu::acquire(request);
}

/// Returns the largest distance between a position of the GPU and that of the CPU, in px.
double fits_apart_px(gpu::Lease lease) {
    constexpr double pixel_size_nm = 100;
    Psf psf;
    psf.sigma_nm = 130;
    RoiSimulation options;
    options.count = 256;
    std::array<std::vector<float>, max_parameters> truth;
    const Rois rois = simulate_rois(options, psf, pixel_size_nm, Camera(), truth);
    FitOptions on_cpu;
    on_cpu.backend = Backend::cpu;
    const Fits expected = fit(rois, psf, pixel_size_nm, on_cpu);
    Fits fits;
    fits.resize(psf.model, rois.count());
    GpuFitter fitter(std::move(lease));
    fitter.fit(view(rois), psf, pixel_size_nm, {}, view(fits));
    double apart_px = 0;
    for (std::size_t k = 0; k < rois.count(); ++k)
        apart_px = std::max(apart_px, double(std::abs(fits.theta[0][k] - expected.theta[0][k])));
    return apart_px;
}

/// Creates a context with 64 MiB, copies data to the GPU and back, and compares some fits with those of the CPU. Throws
/// Cancelled if `stop` is set while it waits for the GPU.
Finding try_gpu(const gpu::Device& device, const StopFlag* stop) {
    constexpr double max_apart_px = 0.01;  // one more iteration moves a position by less
    const auto say = [&](Health health, const std::string& found, const char* remedy) {
        return Finding{health, "test", device.uuid, found, remedy};
    };
    const char* faulty = "reset the GPU when nobody uses it; if the error repeats, have the GPU replaced";
    try {
        gpu::Lease lease = lease_of(device, stop);
        if (!copies_well(lease))
            return say(Health::problem, "data that was copied to the GPU came back changed", faulty);
        if (!has_gpu_kernels()) return say(Health::ok, "copies are correct; this build has no kernels to test", "");
        const double apart_px = fits_apart_px(std::move(lease));
        if (apart_px > max_apart_px)
            return say(Health::problem, fmt::format("fits differ from those of the CPU by {:.3f} px", apart_px),
                       faulty);
        return say(Health::ok, "copies are correct, and fits agree with those of the CPU", "");
    } catch (const gpu::LeaseTimeout& error) {
        return say(Health::warning, error.what(), "others use it now: `glint top`; try again later");
    } catch (const gpu::OutOfMemory& error) {
        return say(Health::warning, error.what(), "others use it now: `glint top`; try again later");
    } catch (const gpu::GpuError& error) {
        return say(Health::problem, error.what(), "see docs/how-to/troubleshooting.md");
    }
}

using gpu::doctor::Finding;
using gpu::doctor::Findings;
using gpu::doctor::Health;

Finding check_kernels() {
    if (has_gpu_kernels()) return {Health::ok, "kernels", "", "built in; the CUDA toolkit is not needed", ""};
    if (!gpu::doctor::machine_has_gpu())
        return {Health::ok, "kernels", "", "this glint was built without CUDA, and this machine has no GPU", ""};
    return {Health::problem, "kernels", "", "this glint was built without CUDA: it fits on the CPU only",
            "build glint with nvcc installed (./dev setup gpu)"};
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
