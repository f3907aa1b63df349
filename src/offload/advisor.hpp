// What one user of GPUs (a session, a fitter, a movie) weighs CPU against GPU by, from one piece of work to the next.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "glint/gpu/context.hpp"
#include "offload/decide.hpp"
#include "offload/machine.hpp"
#include "offload/outlook.hpp"

namespace glint::offload {

/// Not thread-safe.
class Advisor {
  public:
    /// Whether it is known how fast the CPU is with such work.
    bool knows_cpu(const Work& work) const { return cpu_->knows(work, Backend::cpu); }
    /// The CPU is done before a GPU could be opened, or even looked for. Asked while no GPU is open.
    bool too_short(const Work& work) const;
    /// The decision for work that is.
    Decision cpu_at_once(const Work& work) const;

    /// Fills in what is to be expected of the GPUs, for a lease of so many bytes beyond the context. Looks at them, once
    /// a second at most.
    void look(Circumstances& at, std::uint64_t lease_bytes);
    /// `at`, but for what was forgone, which the advisor knows.
    Decision decide(const Work& work, Circumstances at);
    /// As decide(), with flips_at.
    Decision explain(const Work& work, Circumstances at);
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
    void closed() { lookout_.forget(); }
    /// None could be had in the time that pays: from now on savings add up anew.
    void in_vain() { forgone_s_ = 0, lookout_.forget(); }
    bool has_looked() const { return lookout_.has_looked(); }

    /// Keeps what was learned. False: it could not be written.
    bool save() const noexcept { return machine_->save(); }

  private:
    const Machine& machine_for(Circumstances& at);

    std::shared_ptr<Machine> cpu_ = machine_with("", "");  // what is known without a GPU
    std::shared_ptr<Machine> machine_ = cpu_;              // with the GPU that is open, or would be taken
    Lookout lookout_;
    double forgone_s_ = 0;
};

}  // namespace glint::offload
