// The decision between CPU and GPU, as a pure function of the cost model, the state of the GPU, and the work.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <limits>

#include "glint/offload/session.hpp"
#include "offload/machine.hpp"

namespace glint::offload {

/// The state of the session and of the GPU that the decision depends on.
struct DecisionInputs {
    Backend choice = Backend::automatic;
    const char* why_no_gpu = nullptr;  ///< null: a GPU can be used. Not owned; must outlive the decision
    bool context_open = false, library_loaded = false;
    double wait_s = 0;                                           ///< expected time until a lease
    double timeout_s = std::numeric_limits<double>::infinity();  ///< a longer wait is not an option
    double unmeasured_timeout_s =
        std::numeric_limits<double>::infinity();  ///< the same if the GPU's speed is not known
    double contention = 1;                        ///< factor by which work takes longer on the GPU
    double forgone_s = 0;         ///< time that an open GPU would have saved so far; offsets the cost of opening it
    std::uint64_t min_bytes = 0;  ///< operations on less stay on the CPU; 0: no such limit
    std::uint64_t threshold_bytes = 0;  ///< the fixed rule, if nothing is measured
};

/// A pure function, except for the machine's mutex: the same inputs and model give the same decision, so tests need no
/// GPU.
Decision decide(const Machine& machine, const DecisionInputs& decision_inputs, const Work& work);
/// Returns the break-even size: the size nearest to the work's at which the other side would be chosen; 0: none within
/// 40 octaves.
double break_even_size(const Machine& machine, const DecisionInputs& decision_inputs, const Work& work);
/// Updates the decision with a sample of the work itself, which estimates that all of it takes `cpu_s` on the CPU.
/// Changes the choice if that time is much less, or much more, than the measurements predicted. If it is more, a GPU
/// takes longer, too, but not by the same factor.
void update_decision(double cpu_s, Decision& decision);
/// Returns the same operation with its size multiplied by `factor`.
Work scaled(const Work& work, double factor);

}  // namespace glint::offload
