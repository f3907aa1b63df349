// A session that several Python threads may use: one after the other.
// SPDX-License-Identifier: MIT
#pragma once

#include <nanobind/nanobind.h>

#include <functional>
#include <memory>
#include <mutex>

#include "glint/offload/session.hpp"
#include "running.hpp"

namespace glint::python {

class SharedSession {
  public:
    explicit SharedSession(const offload::SessionOptions& options) : session_(options) {}

    /// act(session) without the interpreter's lock, while no other thread uses the session. Python code that `act`
    /// calls may use the session again. Whoever waits here never holds the interpreter's lock.
    template <class Act>
    auto with(const Act& act) {
        Running::refuse_forked_child();
        const nanobind::gil_scoped_release release;
        const std::lock_guard lock(mutex_);
        return act(session_);
    }

  private:
    std::recursive_mutex mutex_;
    offload::Session session_;
};

/// What Python holds; arrays on its GPU hold it too.
using SessionHandle = std::shared_ptr<SharedSession>;

}  // namespace glint::python
