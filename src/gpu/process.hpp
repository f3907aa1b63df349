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

/// Nothing for a process that has ended, or lives in another process namespace, or is hidden.
std::optional<ProcessInfo> process_info(unsigned pid);
/// By a signal or a debugger; false for a number that another user's process has by now.
bool is_stopped(unsigned pid, std::uint32_t uid);
/// The process, its parent, that one's parent, and so on.
std::vector<unsigned> lineage(unsigned pid);
/// Whether "NAME=value" was in its environment when it started; false also where that may not be read.
bool was_started_with(unsigned pid, const std::string& variable);

}  // namespace glint::gpu
