// Creates a context, copies data there and back, and fits a few spots.
// SPDX-License-Identifier: MIT
#include "cli/commands/try_gpu.hpp"

#include <fmt/format.h>

#include <cmath>
#include <numeric>

#include "glint/gpu/buffer.hpp"
#include "glint/gpu_fit.hpp"
#include "glint/simulate.hpp"

namespace glint::cli {
namespace {

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

/// A lease of this GPU and no other.
gpu::Lease lease_of(const gpu::Device& device, const StopFlag* stop) {
    gpu::LeaseRequest request{.bytes = test_bytes, .timeout_s = 10, .for_context = true, .stop = stop};
    for (const gpu::Device& other : gpu::inventory().devices)
        if (other.uuid != device.uuid) request.avoid.push_back(other.uuid);
    return gpu::acquire(request);
}

/// The largest distance between a GPU's position and the CPU's, in px.
double fits_apart_px(gpu::Lease lease) {
    constexpr double pixel_size_um = 0.1;
    Psf psf;
    psf.sigma_um = 0.13;
    RoiSimulation options;
    options.count = 256;
    std::array<std::vector<float>, max_parameters> truth;
    const Rois rois = simulate_rois(options, psf, pixel_size_um, Camera(), truth);
    FitOptions on_cpu;
    on_cpu.backend = Backend::cpu;
    const Fits expected = fit(rois, psf, pixel_size_um, on_cpu);
    Fits fits;
    fits.resize(psf.model, rois.count());
    GpuFitter fitter(std::move(lease));
    fitter.fit(view(rois), psf, pixel_size_um, {}, view(fits));
    double apart_px = 0;
    for (std::size_t k = 0; k < rois.count(); ++k)
        apart_px = std::max(apart_px, double(std::abs(fits.theta[0][k] - expected.theta[0][k])));
    return apart_px;
}

}  // namespace

Finding try_gpu(const gpu::Device& device, const StopFlag* stop) {
    constexpr double most_apart_px = 0.01;  // one more iteration moves a position by less
    const auto say = [&](Health health, const std::string& found, const char* remedy) {
        return Finding{health, "test", device.uuid, found, remedy};
    };
    const char* faulty = "reset the GPU when nobody uses it; if it comes again, have it replaced";
    try {
        gpu::Lease lease = lease_of(device, stop);
        if (!copies_well(lease)) return say(Health::problem, "what was sent came back changed", faulty);
        if (!has_gpu_kernels()) return say(Health::ok, "copies are right; there are no kernels to be tried", "");
        const double apart_px = fits_apart_px(std::move(lease));
        if (apart_px > most_apart_px)
            return say(Health::problem, fmt::format("fits are {:.3f} px from those of the CPU", apart_px), faulty);
        return say(Health::ok, "copies are right, and fits are those of the CPU", "");
    } catch (const gpu::LeaseTimeout& error) {
        return say(Health::warning, error.what(), "others use it now: `glint top`; try again later");
    } catch (const gpu::OutOfMemory& error) {
        return say(Health::warning, error.what(), "others use it now: `glint top`; try again later");
    } catch (const gpu::GpuError& error) {
        return say(Health::problem, error.what(), "see docs/troubleshooting.md");
    }
}

}  // namespace glint::cli
