// The file `waiting` of the state directory: waiting requests mark themselves there, so that holders need not read all
// slots.
//
// The file is only a hint, as any user can write there. A reader uses it only to choose slots to read, and reads all
// slots now and then in any case.
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
    std::uint32_t occupancy = 0;        ///< Record::occupancy: another value means another request
    std::uint32_t present = 0;          ///< 1, so that no request consists of zeros only
    bool operator==(const WaitingMark&) const = default;
};
static_assert(std::has_unique_object_representations_v<WaitingMark> && sizeof(WaitingMark) == 16);

/// One mark for each place of the file. Two requests may share a place, and then write it alternately.
using WaitingMarks = std::array<WaitingMark, 256>;

/// Returns the time of the last heartbeat of a waiting request in ns, only for comparison with an earlier result; 0:
/// there was none. Nullopt if not every user can write the file, since its time is then meaningless.
std::optional<std::uint64_t> waiting_touched(const StateDir& directory);
WaitingMarks waiting_marks(const StateDir& directory);

/// The file, open as long as a request waits: closing it after each heartbeat would wake the watchers of the
/// directory.
class WaitingFile {
  public:
    /// `directory` must outlive it.
    explicit WaitingFile(const StateDir& directory) : directory_(&directory) {}
    /// Call with each heartbeat, after publishing the slot, because readers of the file then read the slot.
    void show(const Slot& waiting);

  private:
    const StateDir* directory_;
    Descriptor file_;
};

}  // namespace glint::gpu::lease
