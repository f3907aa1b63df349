// Fits on the GPUs of a pool: how FitOptions asks for them, and what FitInfo tells of them. For stacks and movies.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <string>

#include "glint/fit.hpp"
#include "glint/gpu_fit.hpp"
#include "glint/offload/decision.hpp"
#include "offload/run_on_devices.hpp"

namespace glint {

/// What is asked for by `options`. How many devices, and for what, is the caller's to say.
offload::DeviceRequest device_request(const FitOptions& options);
/// Of FitOptions::gpus, that the pool may hold.
int most_gpus(offload::DevicePool& pool, int wanted);
/// How much sooner `gpus` GPUs would be done than the CPU, once they are there: to wait longer does not pay.
double worth_waiting_s(const offload::Decision& decision, double gpus_s);

/// Fits until there is nothing left to be had; throws what goes wrong. `part` says what was done, also then, with the
/// fits that are final in FitInfo::fits. `useful` as in offload::DeviceRequest::work.
using FitOnGpu = std::function<void(GpuFitter& gpu, FitInfo& part, bool& useful)>;

/// run_on_devices() by `fit`. `info` gets what was done, also when this throws.
offload::DeviceRun run_on_gpus(offload::DevicePool& pool, offload::DeviceRequest request, offload::Workload& workload,
                               const FitOptions& options, const FitOnGpu& fit, FitInfo& info);

/// Why what is left was the CPU's, where run_on_gpus() did not get to the end.
std::string why_cpu(const offload::DevicePool& pool, std::int64_t finished, const FitInfo& info);

}  // namespace glint
