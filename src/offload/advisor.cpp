// Queries the cost model and updates it.
// SPDX-License-Identifier: MIT
#include "offload/advisor.hpp"

#include <algorithm>

#include "glint/environment.hpp"
#include "glint/gpu/device.hpp"
#include "glint/gpu/stream.hpp"
#include "offload/measure.hpp"

namespace glint::offload {

bool Advisor::is_short(const Work& work) const {
    return driver_is_there() && cpu_->estimate(work).cpu.total() + forgone_s_ < min_context_creation_s;
}

Decision Advisor::cpu_at_once(const Work& work) const {
    Decision decision;
    decision.work = work, decision.choice = Backend::cpu, decision.basis = Basis::estimated;
    decision.cpu = cpu_->estimate(work).cpu, decision.gpu.context_s = min_context_creation_s;
    decision.speedup = min_context_creation_s / std::max(decision.cpu.total(), 1e-9), decision.spread = 1;
    return decision;
}

Decision Advisor::explain(const Work& work, DecisionInputs& at) {
    const Machine& machine = machine_for(at);
    Decision decision = offload::decide(machine, at, work);
    if (decision.basis != Basis::forced) decision.flips_at = break_even_size(machine, at, work);
    return decision;
}

Decision Advisor::explain_now(const Work& work, std::uint64_t lease_bytes, bool gpu_open) {
    DecisionInputs at;
    at.context_open = at.library_loaded = gpu_open;
    at.threshold_bytes = environment::offload_threshold_bytes();
    if (!gpu_open) look(at, lease_bytes);
    return explain(work, at);
}

double Advisor::expected_gpu_s(const Work& work, std::uint64_t lease_bytes) {
    DecisionInputs at;
    look(at, lease_bytes);
    const auto estimate = machine_for(at).estimate(work);
    return estimate.gpu_measured ? estimate.gpu.total() : 0;
}

void Advisor::learn(const Work& work, Backend side, double seconds) { machine_->learn(work, side, seconds); }

void Advisor::learn_library(const Work& work, double seconds) {
    machine_->set_library(std::string(work.library), std::max(0.0, seconds));
}

void Advisor::learn_first(const Work& work, double seconds) {
    learn_library(work, seconds - machine_->estimate(work).gpu.total());
}

void Advisor::forgo(const Decision& decision, double seconds, double calls) {
    const Terms& gpu = decision.gpu;
    forgone_s_ += calls * std::max(0.0, seconds - (gpu.total() - gpu.wait_s - gpu.context_s - gpu.library_s));
}

void Advisor::opened(const std::string& uuid, double seconds, const gpu::Context& context) {
    machine_ = machine_with(uuid, gpu::inventory().driver_version);
    machine_->set_context(seconds);
    forgone_s_ = 0;
    if (Constants constants = machine_->constants(); !constants.gpu_measured()) {
        measure_gpu(context, gpu::Stream(context), constants);
        machine_->set(constants);
    }
}

}  // namespace glint::offload
