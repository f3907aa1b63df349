// The history of leases: who had which GPU, how much of it, and for how long.
//
// The folder `history.UID` of the state directory, which only that user can write and all can read, has a file to which an entry is
// appended when a lease begins and another one when it ends; nothing of a lease depends on them. A process that is killed
// leaves no end. The file is bounded: when it is full it becomes `leases.old`, in place of the one before. A folder, because to close a file of
// the state directory itself wakes all who wait for GPUs.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "glint/gpu/lease.hpp"
#include "gpu/lease/slot.hpp"

namespace glint::gpu::lease {

constexpr int history_days = 30;               ///< older entries are not shown
constexpr std::size_t history_entries = 2048;  ///< of a file of one user; there are two

/// A lease has begun, or ended. Failures are ignored, and note_end() makes no file where note_begin() has made none.
void note_begin(const StateDir& directory, const Slot& slot, std::span<const LeasedDevice> devices) noexcept;
void note_end(const StateDir& directory, const Slot& slot) noexcept;

/// A lease on one GPU; one on several GPUs is several of these.
struct PastLease {
    std::uint32_t uid = 0, pid = 0;
    std::string program;  ///< the name of the process, as ps shows it; foreign text
    std::string gpu;      ///< its UUID; foreign text
    std::uint64_t reserved_bytes = 0;
    std::int64_t began_ns = 0;             ///< system_clock_ns()
    std::optional<std::int64_t> ended_ns;  ///< nothing: it lasts, or its process was killed
    bool lasts = false;
};

/// All users' leases that have begun in the last `history_days`, by their beginning.
std::vector<PastLease> past_leases(const StateDir& directory);

}  // namespace glint::gpu::lease
