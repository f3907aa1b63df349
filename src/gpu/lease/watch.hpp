// Tells a waiter that something changed in the state directory: a slot was closed, by its owner or by the kernel when
// its owner died, or somebody rang.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "gpu/lease/descriptor.hpp"

namespace glint::gpu::lease {

class Watch {
  public:
    /// Of a directory. Where inotify refuses (a user may have 128 of these), descriptor() is -1 and one has to poll.
    explicit Watch(const std::string& directory);
    Watch(Watch&&) = default;
    Watch& operator=(Watch&&) = default;

    /// Watches one file in it only, or with "" all of them. True: that is new, and what happened just before may not be
    /// told, so look again.
    bool narrow_to(const std::string& name);
    int descriptor() const { return queue_.get(); }
    /// Forgets what was told so far; whether there was anything.
    bool clear();

  private:
    std::string directory_, name_;
    Descriptor queue_;
    int watching_ = -1;
};

}  // namespace glint::gpu::lease
