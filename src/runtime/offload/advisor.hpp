// The state that a session, Fitter or movie keeps between decisions: cost models, the forecast, and savings forgone.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "glint/gpu/context.hpp"
#include "glint/gpu/stream.hpp"
#include "offload/decide.hpp"
#include "offload/gpu_forecast.hpp"
#include "offload/machine.hpp"

namespace glint::offload {

/// Not thread-safe. Functions that a session calls before each operation are inline, and take only some nanoseconds.
class Advisor {
  public:
    /// Whether the CPU's time for this operation was measured.
    bool knows_cpu(const Work& work) const { return cpu_->knows(work, Backend::cpu); }
    /// Whether the CPU finishes before even an idle GPU would, so that the GPUs need not be queried. Uses the GPU that
    /// was measured last on this machine. For use while no GPU is open.
    bool too_short(const Work& work) const { return !forecast_cache_.has_forecast() && is_short(work); }
    /// The decision for the CPU, for work that is too_short().
    Decision choose_cpu(const Work& work) const;
    /// The decision for work that begins now.
    Decision place(const Work& work, std::uint64_t lease_bytes, bool gpu_open) {
        return !gpu_open && too_short(work) ? choose_cpu(work) : explain_now(work, lease_bytes, gpu_open);
    }

    /// Fills in the forecast for a lease of `lease_bytes`, not counting the context, on the GPU with that number; by
    /// default on any GPU. Queries the GPUs at most once a second.
    void fill_forecast(DecisionInputs& at, std::uint64_t lease_bytes, int device = -1) {
        const GpuForecast& seen = forecast_cache_.get(lease_bytes, device);
        if (!seen.why_no_gpu.empty()) at.why_no_gpu = seen.why_no_gpu.c_str();
        at.wait_s = seen.wait_s, at.contention = seen.contention;
    }
    /// Fills in the savings forgone, and decides. `at` is taken by reference: a copy would take a tenth of the time.
    Decision decide(const Work& work, DecisionInputs& at) { return offload::decide(machine_for(at), at, work); }
    /// As decide(), with flips_at.
    Decision explain(const Work& work, DecisionInputs& at);
    /// explain() with a new forecast if no GPU is open. An open GPU is assumed to have its libraries loaded.
    Decision explain_now(const Work& work, std::uint64_t lease_bytes, bool gpu_open);

    /// How long the GPU is expected to be needed, not counting the wait for it; 0: nothing was measured. Uses the GPU
    /// of the last forecast, else the one that was measured last on this machine, because a query takes 10 to 30 ms.
    double expected_gpu_s(const Work& work) const;

    /// Records the measured time of work on one side, not counting the lease and opening the GPU.
    void learn(const Work& work, Backend side, double seconds);
    /// Records the time to load a GPU's library or kernels.
    void learn_library(const Work& work, double seconds);
    /// As learn_library(), from the first such work on a GPU: its time minus the estimate without loading.
    void learn_first(const Work& work, double seconds);
    /// Records `calls` runs on the CPU of `seconds` each. The time that an open GPU would have saved is credited
    /// against the cost of opening one.
    void forgo(const Decision& decision, double seconds, double calls = 1);
    /// Records that a GPU was opened, and that creating its context took `seconds`. Measures the link if it was never
    /// measured.
    void opened(const std::string& uuid, double seconds, const gpu::Context& context);
    /// Records that another process has the GPU open, and works for this process.
    void opened_elsewhere(const std::string& uuid, const std::string& driver) { machine_ = machine_with(uuid, driver); }
    /// Records that the GPU was closed: the next decision needs a new forecast.
    void closed() { forecast_cache_.invalidate(); }
    /// Records that no GPU became available within the wait that pays off: the credit starts again from 0.
    void wait_abandoned() { forgone_s_ = 0, forecast_cache_.invalidate(); }
    bool has_forecast() const { return forecast_cache_.has_forecast(); }

    /// Writes the cost model to the cache. Returns false on failure.
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
    Terms estimate_idle_gpu(const Work& work) const;

    std::shared_ptr<Machine> cpu_ = machine_with("", "");  // the model without a GPU
    // The model with the GPU that is open or would be leased; until that is known, with the GPU that was measured last.
    std::shared_ptr<Machine> machine_ = with_last_gpu(cpu_);
    ForecastCache forecast_cache_;
    double forgone_s_ = 0;
};

/// Measures a GPU and the link to it, in about 0.1 s. Sets the members of `constants` that describe the GPU and the
/// link.
void measure_gpu(const gpu::Context& context, const gpu::Stream& stream, Constants& constants);

}  // namespace glint::offload
