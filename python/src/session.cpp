// The lock of a shared session, and how Python's objects and the heartbeat use it.
//
// The heartbeat's thread never waits for the GIL, nor for a thread that may wait for the GIL: it only tries the lock.
// The destruction of a Python object does not wait for the lock either, because Python's garbage collector runs in any
// thread, even in one that has the lock of another session.
// SPDX-License-Identifier: MIT
#include "session.hpp"

#include <chrono>
#include <optional>
#include <utility>

#include "bindings.hpp"
#include "text.hpp"

namespace glint::python {

namespace nb = nanobind;

namespace {

/// Returns whether this thread has the GIL. The stable ABI, which is for Python 3.12 and later, lacks PyGILState_Check.
/// In these versions, a thread's state is null without the GIL.
bool has_gil() {
#ifdef Py_LIMITED_API
    PyThreadState* const state = PyThreadState_Swap(nullptr);
    if (state) PyThreadState_Swap(state);
    return state != nullptr;
#else
    return PyGILState_Check();
#endif
}

}  // namespace

SharedSession::SharedSession(const offload::SessionOptions& options) : session_(with_callbacks(options)) {}

// The heartbeat may be about to close the GPU: then it has the mutex, and finds no GPU to close later. In a forked
// child, a mutex of another thread may be locked forever.
SharedSession::~SharedSession() {
    if (::getpid() != owner_) return;
    std::optional<nb::gil_scoped_release> release;
    if (has_gil()) release.emplace();
    const std::lock_guard lock(mutex_);
    session_.close_gpu();
}

SharedSession::Use::Use(SharedSession& session) : session_(session) {
    constexpr std::chrono::milliseconds between_looks(50);
    while (!session_.mutex_.try_lock_for(between_looks)) Running::check_signals();
}

SharedSession::Use::~Use() {
    session_.mutex_.unlock();
    session_.destroy_dropped();
}

offload::SessionOptions SharedSession::with_callbacks(offload::SessionOptions options) {
    options.on_wanted = [this] {
        if (const std::unique_lock lock(mutex_, std::try_to_lock); lock && gpu_uses_ == 0) session_.make_way();
        destroy_dropped();
    };
    options.on_wait = [tell = std::move(options.on_wait)](double elapsed_s, std::uint64_t available,
                                                          std::uint64_t required) {
        Running::check_signals();
        if (tell) tell(elapsed_s, available, required);
    };
    options.warn = [this](const std::string& words) { warnings_.push_back(words); };
    return options;
}

void SharedSession::drop(std::shared_ptr<void> memory) {
    if (::getpid() != owner_) return;
    {
        const std::lock_guard lock(dropped_mutex_);
        dropped_.push_back(std::move(memory));
    }
    destroy_dropped();
}

// If the mutex is locked, leaves the rest to the thread that holds it. That thread checks again after unlocking it.
void SharedSession::destroy_dropped() {
    for (;;) {
        {
            const std::lock_guard lock(dropped_mutex_);
            if (dropped_.empty()) return;
        }
        const std::unique_lock lock(mutex_, std::try_to_lock);
        if (!lock) return;
        std::vector<std::shared_ptr<void>> now;
        const std::lock_guard list(dropped_mutex_);
        now.swap(dropped_);
    }
}

void SharedSession::issue(const std::vector<std::string>& warnings) {
    for (const std::string& words : warnings)
        nb::module_::import_("glint.errors").attr("warn")(nb::cast(in_python(words)), nb::handle(PyExc_RuntimeWarning));
}

}  // namespace glint::python
