// A session that several Python threads may share; operations run one after another.
// SPDX-License-Identifier: MIT
#pragma once

#include <nanobind/nanobind.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <type_traits>
#include <vector>

#include "glint/offload/session.hpp"
#include "running.hpp"

namespace glint::python {

class SharedSession {
  public:
    explicit SharedSession(const offload::SessionOptions& options);
    /// The last reference may be dropped with the GIL or without.
    ~SharedSession();

    /// Calls act(session) without the GIL, while no other thread uses the session. Python code called by `act` may use
    /// the session again. A thread that waits here never holds the GIL, and reacts to Ctrl-C. Afterwards, issues the
    /// session's warnings as Python warnings.
    template <class Act>
    auto with(const Act& act) {
        if constexpr (std::is_void_v<std::invoke_result_t<const Act&, offload::Session&>>) {
            with([&](offload::Session& session) { return act(session), true; });
        } else {
            Running::refuse_forked_child();
            std::vector<std::string> warnings;
            auto result = [&] {
                const nanobind::gil_scoped_release release;
                const Use use(*this);
                auto of_act = act(session_);
                warnings.swap(warnings_);
                return of_act;
            }();
            issue(warnings);
            return result;
        }
    }

    /// As with(), for a caller without the GIL, as in with() of another session.
    template <class Act>
    auto locked(const Act& act) {
        const Use use(*this);
        return act(session_);
    }

    /// While an object lives, the GPU is in use, even if no thread is in with(), and is not given to waiting processes.
    class GpuUse {
      public:
        explicit GpuUse(SharedSession& session) : session_(session) { ++session_.gpu_uses_; }
        ~GpuUse() { --session_.gpu_uses_; }
        GpuUse(const GpuUse&) = delete;
        GpuUse& operator=(const GpuUse&) = delete;

      private:
        SharedSession& session_;
    };

    /// Destroys memory on the session's GPU while no other thread uses the session: now, or when the other thread is
    /// done. Does not wait.
    void drop(std::shared_ptr<void> memory);

  private:
    /// Holds the mutex. Constructed and destroyed without the GIL.
    class Use {
      public:
        explicit Use(SharedSession& session);
        ~Use();
        Use(const Use&) = delete;
        Use& operator=(const Use&) = delete;

      private:
        SharedSession& session_;
    };

    offload::SessionOptions with_callbacks(offload::SessionOptions options);
    void destroy_dropped();
    static void issue(const std::vector<std::string>& warnings);

    const pid_t owner_ = ::getpid();
    std::recursive_timed_mutex mutex_;
    std::vector<std::string> warnings_;  // guarded by mutex_
    std::atomic<int> gpu_uses_{0};
    std::mutex dropped_mutex_;
    std::vector<std::shared_ptr<void>> dropped_;  // guarded by dropped_mutex_
    offload::Session session_;
};

/// The object that Python holds; arrays on its GPU keep it alive, too.
using SessionHandle = std::shared_ptr<SharedSession>;

}  // namespace glint::python
