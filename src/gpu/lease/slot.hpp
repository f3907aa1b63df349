// A participant's own slot in the state directory: what it says of itself, for as long as it lives.
// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "gpu/lease/state_dir.hpp"

namespace glint::gpu::lease {

/// Takes effect for others with publish(). A forked child that has a copy neither writes nor gives back; it keeps the
/// slot alive until it ends or executes another program. Not thread-safe.
class Slot {
  public:
    /// The first free one of this user's; nothing, and why, when there is none or the directory refuses.
    static std::optional<Slot> take(const StateDir& directory, std::string& why_not);

    Slot(Slot&&) = default;
    Slot& operator=(Slot&&) = default;
    /// Only closes the file: what was published stays as it was, dead. Others are woken.
    ~Slot() = default;

    const SlotName& name() const { return name_; }
    Record record;

    /// Writes the record. False: it could not be written, or somebody took the file away, so nobody sees it.
    bool publish();
    /// Wakes those who watch this slot or the directory. Closing a file that was open for writing is what they see.
    void notify_watchers() const;
    /// Says that nobody is here any more; the slot cannot be used after.
    void release();
    /// The descriptor, which from now on survives exec: the slot lives as long as any process has it.
    int keep_for_child();
    bool kept_for_child() const { return kept_for_child_; }

  private:
    Slot(const StateDir& directory, SlotName name, Descriptor file);

    const StateDir* directory_;
    SlotName name_;
    Descriptor file_;
    pid_t owner_;
    bool kept_for_child_ = false;
};

}  // namespace glint::gpu::lease
