// Other processes, as /proc shows them.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace glint::gpu {

struct ProcessInfo {
    char state = '?';  ///< R, S, D (waits in the kernel), T (stopped), Z (zombie)
    unsigned parent = 0;
    std::uint32_t uid = 0;
    std::string name;
};

/// Nothing for a process that has ended, belongs to another pid namespace, or is hidden.
std::optional<ProcessInfo> process_info(unsigned pid);
/// Stopped by a signal or a debugger. False where the pid meanwhile belongs to another user's process.
bool is_stopped(unsigned pid, std::uint32_t uid);
/// The process and its ancestors, nearest first.
std::vector<unsigned> lineage(unsigned pid);
/// Whether "NAME=value" was in its initial environment; false also where that may not be read.
bool was_started_with(unsigned pid, const std::string& variable);

}  // namespace glint::gpu
