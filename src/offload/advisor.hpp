// What one user of GPUs (a session, a fitter, a movie) weighs CPU against GPU by, from one piece of work to the next.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "glint/gpu/context.hpp"
#include "offload/decide.hpp"
#include "offload/gpu_forecast.hpp"
#include "offload/machine.hpp"

namespace glint::offload {

/// Not thread-safe. What a session asks before each operation stands in this header: that takes some nanoseconds.
class Advisor {
  public:
    /// Whether it is known how fast the CPU is with such work.
    bool knows_cpu(const Work& work) const { return cpu_->knows(work, Backend::cpu); }
    /// The CPU is done before a GPU could be opened, or even looked for. Asked while no GPU is open.
    bool too_short(const Work& work) const { return !forecast_cache_.has_forecast() && is_short(work); }
    /// The decision for work that is.
    Decision cpu_at_once(const Work& work) const;

    /// Fills in what is to be expected of the GPUs, for a lease of so many bytes beyond the context. Looks at them, once
    /// a second at most.
    void look(DecisionInputs& at, std::uint64_t lease_bytes) {
        const GpuForecast& seen = forecast_cache_.get(lease_bytes);
        if (!seen.why_no_gpu.empty()) at.why_no_gpu = seen.why_no_gpu.c_str();
        at.wait_s = seen.wait_s, at.contention = seen.contention;
    }
    /// Fills in what was forgone, which the advisor knows. By reference: a copy would cost a tenth of the decision.
    Decision decide(const Work& work, DecisionInputs& at) { return offload::decide(machine_for(at), at, work); }
    /// As decide(), with flips_at.
    Decision explain(const Work& work, DecisionInputs& at);
    /// The same with a look at the GPUs where none is open. An open one has its libraries loaded.
    Decision explain_now(const Work& work, std::uint64_t lease_bytes, bool gpu_open);

    /// What work took on one side, without waiting for a GPU and opening it.
    void learn(const Work& work, Backend side, double seconds);
    /// What a GPU's library or kernels took to load.
    void learn_library(const Work& work, double seconds);
    /// learn() of the first such work on a GPU, for which they were loaded.
    void learn_first(const Work& work, double seconds);
    /// The CPU did so many pieces of such work, each in so many seconds: what an open GPU would have saved counts
    /// against the time that it takes to open one.
    void forgo(const Decision& decision, double seconds, double calls = 1);
    /// A GPU was opened; its context took so long. Measures the link where that was never done.
    void opened(const std::string& uuid, double seconds, const gpu::Context& context);
    /// None is open any more: the next look is a new one.
    void closed() { forecast_cache_.invalidate(); }
    /// None could be had in the time that pays: from now on savings add up anew.
    void wait_abandoned() { forgone_s_ = 0, forecast_cache_.invalidate(); }
    bool has_forecast() const { return forecast_cache_.has_forecast(); }

    /// Keeps what was learned. False: it could not be written.
    bool save() const noexcept { return machine_->save(); }

  private:
    const Machine& machine_for(DecisionInputs& at) {
        at.forgone_s = forgone_s_;
        const GpuForecast& seen = forecast_cache_.last();
        if (!at.context_open && !seen.uuid.empty() && machine_->key().gpu_uuid != seen.uuid)
            machine_ = machine_with(seen.uuid, seen.driver);
        return *machine_;
    }
    bool is_short(const Work& work) const;

    std::shared_ptr<Machine> cpu_ = machine_with("", "");  // what is known without a GPU
    std::shared_ptr<Machine> machine_ = cpu_;              // with the GPU that is open, or would be taken
    ForecastCache forecast_cache_;
    double forgone_s_ = 0;
};

}  // namespace glint::offload
