// Passes messages from the worker to Python callbacks, and Ctrl-C to the worker.
// SPDX-License-Identifier: MIT
#include "running.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "bindings.hpp"
#include "glint/error.hpp"
#include "text.hpp"

namespace glint::python {

namespace nb = nanobind;
using namespace std::chrono_literals;

namespace {
constexpr auto between_looks = 50ms;  // interval of checks for Ctrl-C, and minimum interval of progress callbacks
}

Progress Running::progress(nb::handle function) {
    if (function.is_none()) return {};
    return [this, function](std::int64_t done, std::int64_t total, std::int64_t) {
        post(Kind::progress, [function, done, total] { function(done, total); });
    };
}

Progress Running::progress(nb::handle function, const std::string& part) {
    return [this, function, part](std::int64_t done, std::int64_t total, std::int64_t) {
        post(Kind::progress, [function, part, done, total] { function(nb::cast(part), done, total); });
    };
}

OnWait Running::on_wait(nb::handle function) {
    if (function.is_none()) return {};
    return [this, function](double elapsed_s, std::uint64_t available, std::uint64_t required) {
        post(Kind::wait, [=] { function(elapsed_s, available, required); });
    };
}

std::function<void(const std::string&)> Running::text(nb::handle function) {
    if (function.is_none()) return {};
    return
        [this, function](const std::string& words) { post(Kind::text, [=] { function(nb::cast(in_python(words))); }); };
}

std::function<void(const FollowStatus&)> Running::statuses(nb::handle function) {
    if (function.is_none()) return {};
    return [this, function](const FollowStatus& status) {
        post(Kind::text, [=] {
            nb::dict dict;
            dict["frame"] = status.frames, dict["frames_there"] = status.complete_frames, dict["lag_s"] = status.lag_s;
            dict["localizations"] = status.localizations, dict["spots_per_frame"] = status.spots_per_frame;
            dict["density_per_um2"] = status.density_per_um2, dict["precision_nm"] = status.precision_nm;
            dict["photons"] = status.photons, dict["background"] = status.background;
            dict["noise_check"] = status.noise_check;
            function(dict);
        });
    };
}

void Running::post(Kind kind, std::function<void()> tell) {
    const std::lock_guard lock(mutex_);
    const auto pending =
        std::find_if(messages_.begin(), messages_.end(), [&](const Message& m) { return m.kind == kind; });
    if (kind != Kind::text && pending != messages_.end())
        pending->tell = std::move(tell);
    else
        messages_.push_back({kind, std::move(tell)});
}

void Running::finish() {
    const std::lock_guard lock(mutex_);
    finished_ = true;
    told_.notify_one();
}

void Running::attend() {
    for (bool finished = false; !finished;) {
        std::vector<Message> messages;
        {
            nb::gil_scoped_release release;
            std::unique_lock lock(mutex_);
            finished = told_.wait_for(lock, between_looks, [&] { return finished_; });
            messages.swap(messages_);
        }
        if (!interruption_) deliver(messages);
    }
}

void Running::deliver(const std::vector<Message>& messages) {
    try {
        for (const Message& message : messages) message.tell();
        check_signals();
    } catch (...) {
        interruption_ = std::current_exception();
        stop_ = true;
    }
}

void Running::check_signals() {
    const nb::gil_scoped_acquire acquire;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

/// Threads do not survive a fork, so oneTBB would wait for its threads forever.
void Running::refuse_forked_child() {
    static const pid_t first_user = getpid();
    if (getpid() != first_user)
        throw OptionError(
            "glint was used in this process' parent before it was forked, and cannot be used here: start processes "
            "with multiprocessing.get_context(\"spawn\") or \"forkserver\"");
}

}  // namespace glint::python
