// The file `waiting` of the state directory: who waits says so there, for holders of leases that have no time to read all slots.
//
// It is a hint and no more. Any user can write there, so a reader believes only that the slots that it names may be worth
// reading, and reads all of them now and then whatever it says.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <type_traits>

#include "gpu/lease/slot.hpp"

namespace glint::gpu::lease {

/// A request that waits. All zeros: none.
struct WaitingMark {
    std::uint32_t uid = 0, number = 0;  ///< its slot
    std::uint32_t occupancy = 0;        ///< Record::occupancy: another one, another request
    std::uint32_t present = 0;          ///< 1: so that no request has all zeros
    bool operator==(const WaitingMark&) const = default;
};
static_assert(std::has_unique_object_representations_v<WaitingMark> && sizeof(WaitingMark) == 16);

/// One for each place of the file. Two requests may have the same one, and then write it in turn.
using WaitingMarks = std::array<WaitingMark, 256>;

/// The time of the last heartbeat of a waiting request in ns, for comparison with an earlier one only; 0: there was none;
/// nothing where the file is not one that every user can write, and so says nothing.
std::optional<std::uint64_t> waiting_touched(const StateDir& directory);
WaitingMarks waiting_marks(const StateDir& directory);

/// The file as a request has it open for as long as it waits: to close it after each heartbeat would wake the watchers of the
/// directory.
class WaitingFile {
  public:
    /// `directory` must live as long.
    explicit WaitingFile(const StateDir& directory) : directory_(&directory) {}
    /// With each heartbeat. After the slot was published, which a reader will look at.
    void show(const Slot& waiting);

  private:
    const StateDir* directory_;
    Descriptor file_;
};

}  // namespace glint::gpu::lease
