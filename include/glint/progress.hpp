// How long work reports what it has done, and how it is asked to stop.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

namespace glint {

/// Set from anywhere (a signal handler too); long work polls it between blocks and then stops early.
using StopFlag = std::atomic<bool>;

/// Called from one thread at a time, after each finished block: `done` of `total` (frames, fits) and the number
/// of localizations so far; -1 where there are none to be counted.
using Progress = std::function<void(std::int64_t done, std::int64_t total, std::int64_t localizations)>;

/// Receives warnings as complete sentences. The library itself never prints.
using Warn = std::function<void(const std::string& message)>;

}  // namespace glint
