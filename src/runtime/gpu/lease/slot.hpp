// The slot of this process in the state directory: its published record, valid for as long as the process lives.
// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "gpu/lease/state_dir.hpp"

namespace glint::gpu::lease {

/// Other processes see changes of `record` after publish(). A forked child inherits the lock and keeps the slot alive
/// until it exits or calls exec; it can neither write nor release it. Not thread-safe: LeaseState's mutex guards the
/// slot of a lease; before that, only the thread in admit() uses the slot.
class Slot {
  public:
    /// Acquires the first free slot of this user; nullopt, with the reason, if all are taken or no file can be created.
    static std::optional<Slot> take(const StateDir& directory, std::string& why_not);

    /// Returns a slot with the record of `lost`, whose file was deleted, and publishes it. It has the same name and
    /// occupancy if these are free, so that programs that know the lease by its name (GLINT_LEASE) still find it.
    /// Otherwise, it is the first free slot.
    static std::optional<Slot> replace(const StateDir& directory, const Slot& lost);

    Slot(Slot&&) = default;
    Slot& operator=(Slot&&) = default;
    /// Closes the file: the record remains but is no longer alive, and watchers are notified. The same happens when the
    /// process is killed, so nothing may depend on release() being called.
    ~Slot() = default;

    const SlotName& name() const { return name_; }
    Record record;

    /// Writes the record. Returns false if the write failed or the file was deleted, so that other processes do not see
    /// the record.
    bool publish();
    /// Returns true if the file still has its name in the directory.
    bool is_linked() const;
    /// Returns true if other processes find the file: the file still has its name, and the directory its path. One
    /// system call.
    bool is_visible() const;
    /// Wakes the watchers of this slot and of the directory, by an IN_CLOSE_WRITE event.
    void notify_watchers() const;
    /// Publishes the state `absent` and closes the file; the slot cannot be used afterwards.
    void release();
    /// Makes the descriptor survive exec, and returns it. The slot lives as long as any process has the descriptor
    /// open.
    int keep_for_child();
    bool kept_for_child() const { return kept_for_child_; }

  private:
    Slot(const StateDir& directory, SlotName name, Descriptor file);
    /// Takes the slot of this name if it is free; else returns nullopt, and sets `why_not` if no file can be created.
    static std::optional<Slot> take_named(const StateDir& directory, SlotName name, std::string& why_not);

    const StateDir* directory_;
    SlotName name_;
    Descriptor file_;
    pid_t owner_;
    dev_t device_ = 0;  // with inode_: identifies the file
    ino_t inode_ = 0;
    bool kept_for_child_ = false;
};

}  // namespace glint::gpu::lease
