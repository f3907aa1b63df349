// Whether a holder is stopped: it keeps its lease, and nothing comes of it.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace glint::gpu::lease {

/// By a signal or a debugger, as far as /proc shows. False for a process that is not this user's: in a container numbers
/// are others.
bool is_stopped(std::uint32_t pid, std::uint32_t uid);

}  // namespace glint::gpu::lease
