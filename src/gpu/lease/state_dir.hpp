// The directory through which all programs on a machine share its GPUs. Anybody may write there, so what is found is
// checked, bounded, and ignored when it is not what it should be.
// SPDX-License-Identifier: MIT
#pragma once

#include <fcntl.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gpu/lease/descriptor.hpp"
#include "gpu/lease/record.hpp"

namespace glint::gpu::lease {

/// Names a slot file: "slot.UID.NUMBER". It counts only when that user owns it.
struct SlotName {
    std::uint32_t uid = 0, number = 0;
    auto operator<=>(const SlotName&) const = default;
    std::string text() const;
};
constexpr std::uint32_t slots_per_user = 1024;

/// A slot that its owner has written something valid to. Of the dead only the admissions and what they knew count.
struct ScannedSlot {
    SlotName name;
    bool alive = false;
    Record record;
};

class StateDir {
  public:
    /// Opens the directory, and makes it where it is missing. Never throws for what it finds: see why_not().
    explicit StateDir(const std::string& path);

    /// Empty, or why it cannot be used, with the remedy.
    const std::string& why_not() const { return why_not_; }
    const std::string& path() const { return path_; }
    int descriptor() const { return directory_.get(); }

    /// All valid slots, by name. Nothing where the directory holds so many entries that not all can be looked at;
    /// `complete` is then false. Opens files for reading only and takes no lock.
    struct Scan {
        std::vector<ScannedSlot> slots;
        bool complete = true;
    };
    Scan scan() const;
    /// One of them; nothing where there is no valid one.
    std::optional<ScannedSlot> find(const SlotName& name) const;

  private:
    std::string path_, why_not_;
    Descriptor directory_;
};

/// The lock by which an owner of a slot shows that it lives; an open file description's lock (F_OFD_SETLK), which the
/// kernel drops with the last copy of the descriptor, however its process ends.
struct flock liveness_lock(std::uint32_t occupancy);

/// A regular file that `uid` owns, under one name only; what else stands under a name is not opened for long. Never
/// blocks: no FIFO, no other's file lease. -1: it is not that.
Descriptor open_owned(int directory, const std::string& name, std::uint32_t uid, int flags);

}  // namespace glint::gpu::lease
