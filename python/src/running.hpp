// Runs long work in a separate thread, while the calling thread serves Python: Ctrl-C, and callbacks.
//
// The worker does not call Python: it leaves messages here, and the calling thread passes them to callbacks. The
// calling thread does not hold the GIL while it waits. A worker acquires the GIL only before GPU memory runs out, to
// collect garbage (gpu.cpp).
// SPDX-License-Identifier: MIT
#pragma once

#include <nanobind/nanobind.h>

#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/start_threads.hpp"
#include "glint/fit.hpp"
#include "glint/localize.hpp"
#include "glint/progress.hpp"

namespace glint::python {

class Running {
  public:
    /// Set after Ctrl-C and after an exception in a callback.
    const StopFlag* stop() const { return &stop_; }

    // Return callbacks for the worker that call a Python function, which must outlive this object; empty for None. Only
    // the latest progress message and wait message are passed.
    Progress progress(nanobind::handle function);
    /// The same for work in several parts; the function also gets the name of the part.
    Progress progress(nanobind::handle function, const std::string& part);
    OnWait on_wait(nanobind::handle function);
    std::function<void(const std::string&)> text(nanobind::handle function);
    /// Every status is passed, as a dict.
    std::function<void(const FollowStatus&)> statuses(nanobind::handle function);

    /// Runs work() in another thread, without the GIL. Rethrows an exception of a callback or KeyboardInterrupt after
    /// work() has ended; else the exception of work().
    template <class Work>
    auto run(const Work& work) {
        std::optional<decltype(work())> result;
        std::exception_ptr error;
        refuse_forked_child();
        std::jthread worker = start_thread([&] {
            try {
                result.emplace(work());
            } catch (...) {
                error = std::current_exception();
            }
            finish();
        });
        attend();
        {
            nanobind::gil_scoped_release release;
            worker.join();
        }
        if (interruption_) std::rethrow_exception(interruption_);
        if (error) std::rethrow_exception(error);
        return std::move(*result);
    }

    /// Throws in a child that was forked after its parent used glint.
    static void refuse_forked_child();
    /// Throws KeyboardInterrupt after Ctrl-C, in Python's main thread. For waits in the calling thread, with or without
    /// the GIL.
    static void check_signals();

  private:
    enum class Kind { progress, wait, text };
    struct Message {
        Kind kind;
        std::function<void()> tell;
    };
    void post(Kind kind, std::function<void()> tell);
    void finish();
    void attend();
    void deliver(const std::vector<Message>& messages);

    StopFlag stop_{false};
    std::mutex mutex_;
    std::condition_variable told_;
    std::vector<Message> messages_;
    bool finished_ = false;
    std::exception_ptr interruption_;  // an exception of Python
};

}  // namespace glint::python
