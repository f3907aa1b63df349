// A session that several Python threads may share; operations run one after another.
// SPDX-License-Identifier: MIT
#pragma once

#include <nanobind/nanobind.h>
#include <unistd.h>

#include <functional>
#include <memory>
#include <mutex>
#include <optional>

#include "glint/offload/session.hpp"
#include "running.hpp"

namespace glint::python {

class SharedSession {
  public:
    explicit SharedSession(const offload::SessionOptions& options) : session_(with_callback(options)) {}
    /// The heartbeat may be about to close the GPU: it has the mutex then, and finds none to close after this. The last
    /// reference may be dropped with the GIL or without. In a forked child another thread's mutex may be locked for ever.
    ~SharedSession() {
        if (::getpid() != owner_) return;
        std::optional<nanobind::gil_scoped_release> release;
        if (PyGILState_Check()) release.emplace();
        const std::lock_guard lock(mutex_);
        session_.close_gpu();
    }

    /// Calls act(session) without the GIL, while no other thread uses the session. Python code called by `act` may use
    /// the session again. A thread that waits here never holds the GIL.
    template <class Act>
    auto with(const Act& act) {
        Running::refuse_forked_child();
        const nanobind::gil_scoped_release release;
        const std::lock_guard lock(mutex_);
        return act(session_);
    }

  private:
    offload::SessionOptions with_callback(offload::SessionOptions options) {
        options.on_wanted = [this] {
            if (const std::unique_lock lock(mutex_, std::try_to_lock); lock) session_.make_way();
        };
        return options;
    }

    const pid_t owner_ = ::getpid();
    std::recursive_mutex mutex_;
    offload::Session session_;
};

/// The object that Python holds; arrays on its GPU keep it alive, too.
using SessionHandle = std::shared_ptr<SharedSession>;

}  // namespace glint::python
