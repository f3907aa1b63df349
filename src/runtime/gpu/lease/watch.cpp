// The inotify implementation of Watch.
// SPDX-License-Identifier: MIT
#include "gpu/lease/watch.hpp"

#include <sys/inotify.h>

namespace glint::gpu::lease {

Watch::Watch(const std::string& directory) : directory_(directory), name_("not yet") {
    queue_ = Descriptor(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
    watch_only("");
}

bool Watch::watch_only(const std::string& name) {
    if (!queue_ || name == name_) return false;
    const std::string path = name.empty() ? directory_ : directory_ + '/' + name;
    const int added = ::inotify_add_watch(queue_.get(), path.c_str(), IN_CLOSE_WRITE | IN_DONT_FOLLOW);
    if (added < 0) {
        queue_ = Descriptor();
        return true;
    }
    if (watching_ >= 0 && watching_ != added) ::inotify_rm_watch(queue_.get(), watching_);
    watching_ = added;
    name_ = name;
    return true;
}

bool Watch::clear() {
    alignas(inotify_event) char events[4096];
    bool any = false;
    while (queue_ && ::read(queue_.get(), events, sizeof events) > 0) any = true;
    return any;
}

}  // namespace glint::gpu::lease
