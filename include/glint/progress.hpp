// Types for progress reports, warnings and stop requests of long-running functions.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

namespace glint {

/// A request to stop. Any thread or signal handler may set it; long-running functions poll it and stop early.
using StopFlag = std::atomic<bool>;

/// Called by one thread at a time after each finished block, with `done` of `total` (frames, fits) and the number of
/// localizations so far; -1 if no localizations are counted.
using Progress = std::function<void(std::int64_t done, std::int64_t total, std::int64_t localizations)>;

/// Receives warnings as complete sentences. The library itself never prints.
using Warn = std::function<void(const std::string& message)>;

}  // namespace glint
