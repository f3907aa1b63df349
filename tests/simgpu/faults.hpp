// Fault injection: SIMGPU_FAULT="FUNCTION:N[+][~]:CODE[s],FUNCTION:N[~]!kill,...".
//
//   cuMemAllocFromPoolAsync:3:2   the third call returns 2 (out of memory) and does nothing
//   cuMemAllocFromPoolAsync:3+:2  the third and all later ones
//   cuLaunchKernel:7~:700         the operation of the seventh call fails when it executes
//   cuMemcpyHtoDAsync:5!kill      the process kills itself (SIGKILL) at the fifth call, or with ~ when it executes
//   *:40!kill                     at the 40th call of any function
//
// Codes that leave a real context unusable (700, 719 and similar ones) are sticky. "s" makes any other code sticky.
// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <string>

#include "gpu/cuda_abi.hpp"

namespace simgpu {

namespace cu = glint::cu;

/// The fault planned for a call.
struct Fault {
    cu::Result result = cu::success;
    bool sticky = false;
    bool kill = false;
    bool at_execution = false;
    explicit operator bool() const { return result != cu::success || kill; }
};

/// Counts this call and returns the fault planned for it. The caller holds a lock.
Fault count_call(const char* function);
/// Returns the number of calls so far, by function.
const std::map<std::string, long>& call_counts();

/// Returns whether a real context is unusable after this error.
bool is_sticky(cu::Result result);
[[noreturn]] void kill_this_process();

}  // namespace simgpu
