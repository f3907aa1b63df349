// Fits on the GPUs of a pool, of stacks and of movies: from a placement to a device request, and from a run to FitInfo.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <string>

#include "glint/fit.hpp"
#include "glint/gpu_fit.hpp"
#include "glint/offload/decision.hpp"
#include "offload/run_on_devices.hpp"

namespace glint {

/// The request that these describe. The caller adds the number of devices and the work.
offload::DeviceRequest device_request(const Placement& placement, const Callbacks& callbacks);
/// Returns the fitter of a device that such a request has opened.
GpuFitter& fitter_of(offload::Device& device);
/// Adds to `info` what one GPU did in so many seconds.
void add_part(FitInfo& info, FitInfo part, const std::string& name, const std::string& uuid, double seconds);
/// The number of GPUs that the pool may hold, from Placement::gpus.
int most_gpus(offload::DevicePool& pool, int wanted);
/// How much time GPUs that need `gpus_s` save over the CPU: the longest wait for them that is worthwhile.
double worth_waiting_s(const offload::Decision& decision, double gpus_s);

/// Fits until no work is left; throws on errors. `part` receives what was done, also on an error, with the number of
/// final fits in FitInfo::fits. `useful` as in offload::DeviceRequest::work.
/// Returns early where gives_way() says so, between two batches or blocks.
using WorkOnGpu =
    std::function<void(GpuFitter& gpu, FitInfo& part, bool& useful, const std::function<bool()>& gives_way)>;

/// run_on_devices() with `fit` as the work. `info` receives what was done, also when this throws.
offload::DeviceRun run_on_gpus(offload::DevicePool& pool, offload::DeviceRequest request, offload::Workload& workload,
                               const Callbacks& callbacks, const WorkOnGpu& fit, FitInfo& info);

/// Sets the note of `info`, why the CPU fits the remaining rows, after run_on_gpus() did not finish.
void note_why_cpu(const offload::DevicePool& pool, std::int64_t finished, FitInfo& info);

}  // namespace glint
