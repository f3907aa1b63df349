// Notifies a waiting request of changes in the state directory: a slot file was closed by its owner, by the kernel when
// the owner died, or by Slot::notify_watchers().
// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "gpu/lease/descriptor.hpp"

namespace glint::gpu::lease {

class Watch {
  public:
    /// Watches a directory. If inotify fails (128 instances per user by default), descriptor() is -1; poll instead.
    explicit Watch(const std::string& directory);
    Watch(Watch&&) = default;
    Watch& operator=(Watch&&) = default;

    /// Watches only the file `name` in the directory, or all files with "". Returns true if the watch changed: events
    /// just before the change may be lost, so scan again.
    bool watch_only(const std::string& name);
    int descriptor() const { return queue_.get(); }
    /// Discards pending events; returns whether there were any.
    bool clear();

  private:
    std::string directory_, name_;
    Descriptor queue_;
    int watching_ = -1;
};

}  // namespace glint::gpu::lease
