// Queries the cost model and updates it.
// SPDX-License-Identifier: MIT
#include "offload/advisor.hpp"

#include <algorithm>

#include "glint/environment.hpp"
#include "glint/gpu/device.hpp"
#include "glint/gpu/stream.hpp"

namespace glint::offload {

// Assumed before a measurement. H100s and H200s need 0.35 to 0.55 s for a movie of ten frames, half of it to load
// kernels and lock memory. In a longer movie, they have caught up with 16 cores after 0.6 s.
constexpr double unknown_library_s = 0.5;

/// Estimates the time on the GPU that was measured last, assuming no other processes on it.
Terms Advisor::estimate_idle_gpu(const Work& work) const {
    Terms terms;
    terms.context_s = min_context_creation_s;
    if (!work.library.empty() && cpu_->knows(work, Backend::cpu)) terms.library_s = unknown_library_s;
    const Machine::Estimate estimate = machine_->estimate(work);
    if (!estimate.gpu_measured) return terms;
    terms = estimate.gpu;
    terms.context_s = std::max(estimate.context_s, min_context_creation_s);
    terms.library_s = estimate.library_s, terms.wait_s = estimate.query_s;
    return terms;
}

bool Advisor::is_short(const Work& work) const {
    if (!driver_is_there()) return false;
    const double on_cpu = cpu_->estimate(work).cpu.total() + forgone_s_;
    return on_cpu < min_context_creation_s || on_cpu < estimate_idle_gpu(work).total();
}

Decision Advisor::choose_cpu(const Work& work) const {
    Decision decision;
    decision.work = work, decision.choice = Backend::cpu, decision.basis = Basis::estimated;
    decision.cpu = cpu_->estimate(work).cpu, decision.gpu = estimate_idle_gpu(work);
    decision.speedup = decision.gpu.total() / std::max(decision.cpu.total(), 1e-9), decision.spread = 1;
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
    if (!gpu_open) fill_forecast(at, lease_bytes);
    return explain(work, at);
}

double Advisor::expected_gpu_s(const Work& work) const {
    const auto estimate = machine_->estimate(work);
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
    machine_->set_context(seconds, forecast_cache_.query_s());
    forgone_s_ = 0;
    if (Constants constants = machine_->constants(); !constants.gpu_measured()) {
        measure_gpu(context, gpu::Stream(context), constants);
        machine_->set(constants);
    }
}

}  // namespace glint::offload
