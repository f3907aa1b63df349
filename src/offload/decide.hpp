// The decision itself: a function of what was measured, how things stand, and the work.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "glint/offload/session.hpp"
#include "offload/machine.hpp"

namespace glint::offload {

/// How things stand with the GPU.
struct DecisionInputs {
    Backend choice = Backend::automatic;
    const char* why_no_gpu = nullptr;  ///< null: there is one; of static storage, or longer-lived than decisions
    bool context_open = false, library_loaded = false;
    double wait_s = 0;                  ///< expected, until a lease
    double contention = 1;              ///< times longer everything takes on it
    double forgone_s = 0;               ///< that an open GPU would have saved so far: context and libraries pay off
    std::uint64_t least_bytes = 0;      ///< less stays on the CPU; 0: no such limit
    std::uint64_t threshold_bytes = 0;  ///< where nothing is measured
};

Decision decide(const Machine& machine, const DecisionInputs& decision_inputs, const Work& work);
/// The size nearest to the work's at which the other side is chosen, all else alike; 0: there is none.
double break_even_size(const Machine& machine, const DecisionInputs& decision_inputs, const Work& work);
/// The same operation on operands `factor` times as long.
Work scaled(const Work& work, double factor);

}  // namespace glint::offload
