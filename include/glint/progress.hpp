// Types for progress reports, warnings and stop requests of long-running functions.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

namespace glint {

/// May be set from any thread or signal handler; long-running functions poll it between blocks and stop early.
using StopFlag = std::atomic<bool>;

/// Called by one thread at a time after each finished block: `done` of `total` (frames, fits) and the number of
/// localizations so far, -1 if there are none to count.
using Progress = std::function<void(std::int64_t done, std::int64_t total, std::int64_t localizations)>;

/// Receives warnings as complete sentences. The library itself never prints.
using Warn = std::function<void(const std::string& message)>;

}  // namespace glint
