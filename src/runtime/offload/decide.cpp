// Compares the estimated times of CPU and GPU.
//
// Opening a GPU (wait, context, libraries) is an investment for an unknown number of later operations, as in the ski
// rental problem. The time that an open GPU would have saved so far is credited against that cost. So a GPU is opened
// at the latest when the savings forgone equal the cost. If the estimates are right, the total is then at most twice
// that of the best choice in hindsight.
// SPDX-License-Identifier: MIT
#include "offload/decide.hpp"

#include <algorithm>
#include <cmath>

namespace glint::offload {
namespace {

// Times are compared by their ratio, so their errors are in logarithms: a spread of 0.7 is a factor of 2 either way.
constexpr double close_octaves = 1.5;  // distance in size to a measurement for an estimate to count as measured
// Standard deviations of ln(time): measured at a similar size, estimated from rates, and added per octave of distance.
// Decision::confidence() is computed from them.
constexpr double std_measured = 0.15, std_estimated = 0.7, std_octave = 0.1, max_std = 2;
constexpr double min_time_s = 1e-9;  // avoids dividing by 0

/// Returns the size for rules by bytes, for work whose operands are on the host: the bytes of the operands, or without
/// operands those of the result. If both are unknown, the bytes read and written.
std::uint64_t data_bytes(const Work& work) {
    if (work.bytes_to_gpu > 0) return work.bytes_to_gpu;
    return work.bytes_from_gpu > 0 ? work.bytes_from_gpu : std::uint64_t(std::max(0.0, work.bytes));
}

/// Whether computing on the CPU would first have to download operands. The rule by bytes then does not apply.
bool operands_on_gpu(const Work& work) { return work.bytes_to_host + work.bytes_to_return > 0; }

/// Sets the outcome if there is no choice. The estimates stay, for the statistics and for explain().
Decision forced(Decision decision, Backend side, const char* by) {
    decision.choice = side, decision.basis = Basis::forced, decision.forced_by = by;
    const double chosen = (side == Backend::gpu ? decision.gpu : decision.cpu).total();
    const double other = (side == Backend::gpu ? decision.cpu : decision.gpu).total();
    decision.speedup = chosen > 0 && other > 0 ? other / chosen : 1;
    return decision;
}

/// Fixed sizes, for a machine without measurements: by the operation's unit if it has a rule (matrix products
/// above 1000 x 1000, transforms above 100,000 elements), else by bytes. Operands on a GPU stay there.
Backend choose_by_rules(const DecisionInputs& at, const Work& work) {
    if (operands_on_gpu(work)) return Backend::gpu;
    const double rule = work.operation->rule_size;
    const bool large = rule > 0 ? work.size > rule : data_bytes(work) > at.threshold_bytes;
    return large ? Backend::gpu : Backend::cpu;
}

}  // namespace

// T(gpu) = wait + context if cold + library if cold + upload + launches + compute + download, against T(cpu). Called
// before every operation, so it must take less than 1 us: no file, no driver, one lock of the machine's model.
Decision decide(const Machine& machine, const DecisionInputs& at, const Work& work) {
    Decision decision;
    decision.work = work;
    const Machine::Estimate estimate = machine.estimate(work);
    decision.cpu = estimate.cpu, decision.gpu = estimate.gpu;
    Terms& gpu = decision.gpu;
    // The forecast's contention comes from the utilization of the multiprocessors, and says nothing about the link.
    gpu.launch_s *= at.contention, gpu.compute_s *= at.contention;
    if (!at.context_open) gpu.context_s = estimate.context_s, gpu.wait_s = at.wait_s;
    if (!at.library_loaded) gpu.library_s = estimate.library_s;

    // The order is the precedence of the reasons given to the user: a request, what is possible, a limit.
    if (at.choice == Backend::cpu) return forced(decision, Backend::cpu, "the CPU was requested");
    // A GPU or an error: opening the GPU throws the reason.
    if (at.choice == Backend::gpu) {
        decision = forced(decision, Backend::gpu, "the GPU was requested");
        if (at.why_no_gpu) decision.forced_by += std::string(", which raises an error: ") + at.why_no_gpu;
        return decision;
    }
    if (at.why_no_gpu) return forced(decision, Backend::cpu, at.why_no_gpu);
    if (at.min_bytes > 0 && data_bytes(work) < at.min_bytes && !operands_on_gpu(work))
        return forced(decision, Backend::cpu, "it is smaller than the minimum size set for the GPU");
    if (at.choice == Backend::prefer_gpu) return forced(decision, Backend::gpu, "a GPU was preferred");
    if (gpu.wait_s > at.timeout_s)
        return forced(decision, Backend::cpu, "no GPU is expected to have room within gpu_timeout");

    // Without the link's rates the GPU's estimate has no transfers and would always win.
    if (!estimate.gpu_measured) {
        decision.basis = Basis::rules;
        decision.choice = choose_by_rules(at, work);
        if (decision.choice == Backend::gpu && gpu.wait_s > at.unmeasured_timeout_s)
            return forced(decision, Backend::cpu,
                          "no GPU has room now, and the benefit of waiting is unknown before a GPU was measured "
                          "(`doctor_calibrate`)");
        return decision;
    }
    const double on_cpu = std::max(decision.cpu.total(), min_time_s);
    // Savings forgone can only pay for opening the GPU, never for the work itself: hence the min().
    const double to_start = gpu.wait_s + gpu.context_s + gpu.library_s;
    // The comparison uses the time with contention; `gpu` keeps the terms without the credit for the user.
    const double on_gpu =
        std::max(gpu.total() - std::min(to_start, at.forgone_s), min_time_s);  // the credit, see above
    decision.choice = on_gpu < on_cpu ? Backend::gpu : Backend::cpu;
    decision.speedup = std::max(on_cpu / on_gpu, on_gpu / on_cpu);
    decision.basis = estimate.distance <= close_octaves ? Basis::measured : Basis::estimated;
    decision.spread = std::min(
        max_std, (decision.basis == Basis::measured ? std_measured : std_estimated) + std_octave * estimate.distance);
    return decision;
}

// Launches, reuse and threads do not depend on the size.
Work scaled(const Work& work, double factor) {
    Work other = work;
    const double bytes = std::pow(factor, work.operation->bytes_power);
    const auto times = [&](std::uint64_t n) { return std::uint64_t(double(n) * bytes); };
    other.size *= factor, other.flops *= std::pow(factor, work.operation->flops_power), other.bytes *= bytes;
    other.bytes_to_gpu = times(work.bytes_to_gpu), other.bytes_from_gpu = times(work.bytes_from_gpu);
    other.bytes_to_host = times(work.bytes_to_host), other.bytes_to_return = times(work.bytes_to_return);
    other.gpu_bytes = times(work.gpu_bytes);
    return other;
}

void update_decision(double cpu_s, Decision& decision) {
    constexpr double safety_factor = 1.5;     // the sample ran on one thread; all threads together are slower
    constexpr double max_cpu_s = 2;           // longer work justifies opening any GPU
    constexpr double unmeasured_gpu_s = 0.6;  // to open the GPU, and more: Advisor::estimate_idle_gpu()
    if (decision.basis == Basis::forced) return;
    const double gpu_s = decision.basis == Basis::rules ? unmeasured_gpu_s : decision.gpu.total();
    if (decision.choice == Backend::gpu && safety_factor * cpu_s < gpu_s)
        decision.choice = Backend::cpu;
    else if (cpu_s > std::max({max_cpu_s, 2 * decision.cpu.total(), gpu_s}))
        decision.choice = Backend::gpu;
}

double break_even_size(const Machine& machine, const DecisionInputs& at, const Work& work) {
    // Searches outwards octave by octave, because the difference need not be monotonic; then bisects in that octave. 12
    // halvings: to 1/4096 of an octave, far below the precision of the estimates.
    constexpr int octaves = 40, halvings = 12;
    if (work.size <= 0) return 0;
    const Backend now = decide(machine, at, work).choice;
    const auto flipped = [&](double octave) {
        return decide(machine, at, scaled(work, std::exp2(octave))).choice != now;
    };
    for (int k = 1; k <= octaves; ++k)
        for (const int direction : {1, -1}) {
            // No operation has less than one element.
            if (direction < 0 && work.size * std::exp2(-k) < 1) continue;
            if (!flipped(direction * k)) continue;
            double same = direction * (k - 1), other = direction * k;
            for (int n = 0; n < halvings; ++n) {
                const double middle = (same + other) / 2;
                (flipped(middle) ? other : same) = middle;
            }
            return work.size * std::exp2(other);
        }
    return 0;
}

}  // namespace glint::offload
