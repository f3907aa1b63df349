// Runs fits on leased GPUs and records the work of each GPU.
// SPDX-License-Identifier: MIT
#include "fit/on_gpus.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <utility>

#include "base/clock.hpp"
#include "fit/fit_info.hpp"
#include "fit/fit_setup.hpp"
#include "glint/environment.hpp"

namespace glint {
namespace {

struct FitDevice final : offload::Device {
    FitDevice(gpu::Lease lease, std::int64_t batch_size) : Device(lease), fitter(std::move(lease), batch_size) {}
    const gpu::Context& context() const override { return fitter.context(); }

    GpuFitter fitter;
};

}  // namespace

GpuFitter& fitter_of(offload::Device& device) { return static_cast<FitDevice&>(device).fitter; }

void add_part(FitInfo& info, FitInfo part, const std::string& name, const std::string& uuid, double seconds) {
    if (part.fits > 0) part.gpus = {{name, uuid, part.fits, seconds, 0}};
    info.backend = part.backend, info.device = part.device;
    info.batches += part.batches, info.batch_size = std::max(info.batch_size, part.batch_size);
    add_gpu_part(info, part);
}

offload::DeviceRequest device_request(const Placement& placement, const Callbacks& callbacks) {
    offload::DeviceRequest request;
    request.bytes = placement.gpu_memory_bytes;
    request.strict = environment::backend(placement.backend) == Backend::gpu;
    request.timeout_s = request.strict ? placement.gpu_timeout_s : placement.auto_timeout_s;
    request.on_wait = callbacks.on_wait;
    request.stop = callbacks.stop;
    request.require = require_gpu_kernels;
    request.open = [batch_size = placement.batch_size](gpu::Lease lease) {
        return std::make_unique<FitDevice>(std::move(lease), batch_size);
    };
    return request;
}

int max_gpus(offload::DevicePool& pool, int wanted) {
    if (wanted == 1) return 1;
    return std::max(1, wanted == all_gpus ? pool.usable() : std::min(wanted, pool.usable()));
}

double worth_waiting_s(const offload::Decision& decision, double gpus_s) {
    return std::max(0.0, decision.cpu.total() - (gpus_s - decision.gpu.wait_s));
}

offload::DeviceRun run_on_gpus(offload::DevicePool& pool, offload::DeviceRequest request, offload::Workload& workload,
                               const Callbacks& callbacks, const WorkOnGpu& fit, FitInfo& info) {
    std::mutex mutex;  // of info
    const Clock::time_point began = Clock::now();
    request.log = [&](const std::string& what) {
        {
            const std::lock_guard lock(mutex);
            info.events.push_back({seconds_since(began), what});
        }
        if (callbacks.log) callbacks.log(what);
    };
    request.work = [&](offload::Device& device, bool& useful) {
        FitInfo part;
        const Clock::time_point work_began = Clock::now();
        const auto note = [&] {
            const std::lock_guard lock(mutex);
            add_part(info, std::move(part), device.name, device.uuid, seconds_since(work_began));
        };
        try {
            fit(fitter_of(device), part, useful, [&] { return device.should_give_way(); });
        } catch (...) {
            note();
            throw;
        }
        note();
    };
    offload::DeviceRun run;
    const auto note = [&] { info.waited_seconds += run.waited_s, info.retries += run.retries; };
    try {
        run_on_devices(pool, request, workload, run);
    } catch (...) {
        note();
        throw;
    }
    note();
    return run;
}

void note_why_cpu(const offload::DevicePool& pool, std::int64_t finished, FitInfo& info) {
    const std::exception_ptr why = pool.last_why_none();
    info.gpu_failed = info.retries > 0;
    if (!why) {
        info.note = fmt::format("fitted on the CPU: to wait longer for a GPU does not pay: {}",
                                info.events.empty() ? "it is taken" : info.events.back().what);
        return;
    }
    try {
        std::rethrow_exception(why);
    } catch (const gpu::GpuError& error) {
        info.timed_out = dynamic_cast<const gpu::LeaseTimeout*>(&error);
        info.gpu_failed |= !info.timed_out && !dynamic_cast<const gpu::NoGpu*>(&error);
        info.note = finished == 0 ? fmt::format("fitted on the CPU: {}", error.what())
                                  : fmt::format("the GPU fitted {} of {}, the CPU the rest: {}", finished, info.fits,
                                                error.what());
    }
}

}  // namespace glint
