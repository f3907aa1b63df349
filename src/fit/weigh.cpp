// Counting a fit's work, and asking the cost model.
// SPDX-License-Identifier: MIT
#include "fit/weigh.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <string>

#include "glint/camera.hpp"
#include "glint/environment.hpp"
#include "glint/gpu/device.hpp"
#include "glint/gpu/stream.hpp"
#include "offload/decide.hpp"
#include "offload/measure.hpp"

namespace glint {
namespace {

constexpr double by_rule = 10'000;                       // fits; more go to a GPU where nothing was measured
constexpr double iterations = 8, flops_of_a_pixel = 12;  // for each parameter; typical, and corrected by what runs take

}  // namespace

const offload::Operation& model_operation(std::string_view what, PsfModel model, int size, bool mapped,
                                          std::string_view unit, double rule_size) {
    static std::mutex mutex;
    static std::map<std::string, std::optional<offload::Operation>> known;  // which stay where they are
    const std::string name = fmt::format("{} {} {} px{}", what, name_of(model), size, mapped ? " mapped" : "");
    const std::lock_guard lock(mutex);
    auto& [key, operation] = *known.try_emplace(name).first;
    if (!operation) operation.emplace(key, unit, 1, 1, rule_size);
    return *operation;
}

offload::Work fit_work(const RoiView& rois, std::int64_t first, PsfModel model, const FitOptions& options) {
    const double n = double(std::int64_t(rois.count) - first), pixels = double(rois.size) * rois.size;
    const bool maps = rois.camera && !rois.camera->uniform();
    const int parameters = parameter_count(model);
    const double planes = (rois.variance.empty() ? 0 : 4) + (rois.additive.empty() ? 0 : 4) + (rois.qe.empty() ? 0 : 4);
    offload::Work work;
    work.operation = &model_operation("fit", model, rois.size, maps || planes > 0, "fits", by_rule);
    work.size = n, work.flops = n * pixels * iterations * flops_of_a_pixel * parameters;
    const double roi_bytes = double(rois.roi_bytes());
    work.bytes_to_gpu = std::uint64_t(n * ((rois.gpu < 0 ? roi_bytes : 0) + pixels * planes + (maps ? 8 : 0)));
    work.bytes_to_host = rois.gpu < 0 ? 0 : std::uint64_t(n * roi_bytes);
    work.bytes_from_gpu = std::uint64_t(n * (4 * (2 * parameters + 2) + 2));
    work.bytes = double(work.bytes_to_gpu + work.bytes_to_host + work.bytes_from_gpu);
    work.cpu_threads = options.threads, work.library = "fit kernels";
    return work;
}

std::optional<offload::Decision> Weighing::too_short(const offload::Work& work) const {
    offload::Decision decision;
    decision.cpu = cpu_->estimate(work).cpu;
    const double cpu_s = decision.cpu.total();
    if (cpu_s + forgone_s_ >= offload::least_opening_s || !offload::driver_is_there()) return {};
    decision.work = work, decision.choice = Backend::cpu, decision.basis = offload::Basis::estimated;
    decision.gpu.context_s = offload::least_opening_s;
    decision.speedup = offload::least_opening_s / std::max(cpu_s, 1e-9), decision.spread = 1;
    return decision;
}

offload::Decision Weighing::decide(const offload::Work& work, std::uint64_t gpu_memory_bytes, bool gpu_open) {
    if (!gpu_open && !lookout_.has_looked())
        if (const auto decision = too_short(work)) return *decision;
    const offload::Outlook& seen = gpu_open ? lookout_.last() : lookout_.now(gpu_memory_bytes);
    if (!machine_ || (!gpu_open && !seen.uuid.empty() && machine_->key().gpu_uuid != seen.uuid))
        machine_ = offload::machine_with(seen.uuid, seen.driver);
    offload::Circumstances at;
    at.context_open = gpu_open, at.library_loaded = gpu_open, at.forgone_s = forgone_s_;
    at.threshold_bytes = environment::offload_threshold_bytes();
    if (!gpu_open) {
        if (!seen.why_no_gpu.empty()) at.why_no_gpu = seen.why_no_gpu.c_str();
        at.wait_s = seen.wait_s, at.contention = seen.contention;
    }
    offload::Decision decision = offload::decide(*machine_, at, work);
    if (decision.basis != offload::Basis::forced) decision.flips_at = offload::flip_size(*machine_, at, work);
    return decision;
}

void Weighing::learn(const offload::Work& work, Backend side, double seconds) {
    if (side == Backend::cpu) cpu_->learn(work, side, seconds);
    if (machine_ && machine_ != cpu_) machine_->learn(work, side, seconds);
}

void Weighing::learn_first(const offload::Decision& decision, double seconds) {
    const offload::Machine::Estimate warm = machine_->estimate(decision.work);
    machine_->set_library(std::string(decision.work.library), std::max(0.0, seconds - warm.gpu.total()));
}

void Weighing::forgo(const offload::Decision& decision, double seconds) {
    const offload::Terms& gpu = decision.gpu;
    forgone_s_ += std::max(0.0, seconds - (gpu.total() - gpu.wait_s - gpu.context_s - gpu.library_s));
}

void Weighing::opened(const std::string& uuid, double seconds, const gpu::Context& context) {
    machine_ = offload::machine_with(uuid, gpu::inventory().driver_version);
    machine_->set_context(seconds);
    forgone_s_ = 0;
    if (offload::Constants constants = machine_->constants(); !constants.gpu_measured()) {
        offload::measure_gpu(context, gpu::Stream(context), constants);
        machine_->set(constants);
    }
}

}  // namespace glint
