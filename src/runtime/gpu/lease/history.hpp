// The history of leases: which user had which GPU, how much memory, and for how long.
//
// The state directory has a folder `history.UID` per user, which only that user can write and all can read. Its file
// receives an entry when a lease begins and another entry when the lease ends. No lease depends on these entries. A
// process that is killed leaves no end. The file is bounded: when it is full it becomes `leases.old` and replaces the
// previous one. It is in a folder, because closing a file in the state directory itself would wake all requests that
// wait for GPUs.
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
constexpr std::size_t history_entries = 2048;  ///< maximum in a file; each user has two files

/// Record that a lease has begun, or ended. Failures are ignored; note_end() creates no file if note_begin() has not
/// created one.
void note_begin(const StateDir& directory, const Slot& slot, std::span<const LeasedDevice> devices) noexcept;
void note_end(const StateDir& directory, const Slot& slot) noexcept;

/// A lease on one GPU. A lease on several GPUs has one entry per GPU.
struct PastLease {
    std::uint32_t uid = 0, pid = 0;
    std::string program;  ///< the name of the process, as ps shows it; foreign text
    std::string gpu;      ///< its UUID; foreign text
    std::uint64_t reserved_bytes = 0;
    std::int64_t began_ns = 0;             ///< system_clock_ns()
    std::optional<std::int64_t> ended_ns;  ///< nullopt: the lease still exists, or its process was killed
    bool lasts = false;
};

/// Returns all users' leases that began in the last `history_days`, ordered by their beginning.
std::vector<PastLease> past_leases(const StateDir& directory);

}  // namespace glint::gpu::lease
