// The implementation of Waiters.
//
// Reading all slots takes 0.5 ms with a hundred of them. If each of a hundred processes did so once a second, that
// would be 5 % of a core. So all slots are read only now and then. In between, the file `waiting` lists new requests,
// and only the first of the known requests is read again. It shows whether a request waits, and how long the shortest
// request will take.
// SPDX-License-Identifier: MIT
#include "gpu/lease/waiters.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <limits>

#include "gpu/lease/queue.hpp"

namespace glint::gpu::lease {
namespace {

constexpr std::uint64_t ns = 1'000'000'000, look_interval_ns = ns / 10, read_all_interval_ns = 120 * ns;

bool is_waiting(State state) { return state == State::waiting || state == State::part_waiting; }
/// A claim ends within seconds: its ticket then holds a lease, or waits again.
bool is_claiming(State state) { return state == State::claiming || state == State::part_claiming; }

double expected_s(const Record& record) {
    return record.expected_ms ? record.expected_ms / 1e3 : std::numeric_limits<double>::infinity();
}

}  // namespace

std::optional<double> Waiters::shortest_s(const std::shared_ptr<const StateDir>& directory, std::uint64_t since_ns,
                                          std::uint64_t now_ns, const std::function<bool(const Record&)>& wanted) {
    const std::lock_guard lock(mutex_);
    if (!directory_ || !directory_->is_same(*directory)) directory_ = directory, looked_ns_ = read_all_ns_ = 0;
    if (looked_ns_ <= since_ns || now_ns >= looked_ns_ + look_interval_ns) look(now_ns);
    for (auto waiter = waiters_.begin(); waiter != waiters_.end();) {
        const Record& record = waiter->slot.record;
        if (!wanted(record) && !is_claiming(record.state))
            ++waiter;
        else if (!is_there(*waiter))
            waiter = waiters_.erase(waiter);
        else if (wanted(record) && is_awake(record, now_ns))
            return expected_s(record);
        else
            ++waiter;
    }
    return {};
}

void Waiters::look(std::uint64_t now_ns) {
    looked_ns_ = now_ns;
    const std::optional<std::uint64_t> touched = waiting_touched(*directory_);
    const bool new_touch = touched && *touched != touched_;
    if (new_touch) touched_ = *touched, touch_seen_ns_ = now_ns;
    if (!touched || !read_all_ns_ || now_ns > read_all_ns_ + read_all_interval_ns) return read_all(now_ns);
    // For a while after each touch, since the time of a file has a resolution of milliseconds: a second touch may not
    // change it.
    if (!touch_seen_ns_ || now_ns > touch_seen_ns_ + std::uint64_t(heartbeat_timeout_s * double(ns))) return;
    const WaitingMarks marks = waiting_marks(*directory_);
    bool new_mark = false;
    for (std::size_t k = 0; k < marks.size(); ++k) {
        if (marks[k] == marks_[k]) continue;
        new_mark = true;
        if (marks[k].present && is_slot_number(marks[k].number))
            if (const auto slot = directory_->find({marks[k].uid, marks[k].number})) add(*slot);
    }
    marks_ = marks;
    // The file was touched by an unknown process that could not leave a mark. A process that has just stopped waiting
    // has touched it, too, so this only counts if nobody waited at the last evaluation either.
    const bool awake = any_is_awake();
    if (new_touch && !new_mark && !awake && !somebody_waited_) read_all(now_ns);
    somebody_waited_ = awake;
}

void Waiters::read_all(std::uint64_t now_ns) {
    read_all_ns_ = now_ns;
    marks_ = waiting_marks(*directory_);  // before the slots: a new request's mark is then seen at the next evaluation
    waiters_.clear();
    for (const ScannedSlot& slot : directory_->scan().slots) add(slot);
    somebody_waited_ = !waiters_.empty();
}

void Waiters::add(const ScannedSlot& slot) {
    std::erase_if(waiters_, [&](const Waiter& known) { return known.slot.name == slot.name; });
    if (!slot.alive || (!is_waiting(slot.record.state) && !is_claiming(slot.record.state))) return;
    const auto place =
        std::upper_bound(waiters_.begin(), waiters_.end(), expected_s(slot.record),
                         [](double s, const Waiter& known) { return s < expected_s(known.slot.record); });
    waiters_.insert(place, {slot, looked_ns_});
}

bool Waiters::is_there(Waiter& waiter) {
    if (waiter.read_ns == looked_ns_) return true;
    waiter.read_ns = looked_ns_;
    const auto now = directory_->find(waiter.slot.name);
    const bool same = now && now->alive && now->record.occupancy == waiter.slot.record.occupancy;
    if (same) waiter.slot = *now;
    return same && (is_waiting(now->record.state) || is_claiming(now->record.state));
}

bool Waiters::any_is_awake() {
    for (auto waiter = waiters_.begin(); waiter != waiters_.end();) {
        if (!is_there(*waiter))
            waiter = waiters_.erase(waiter);
        else if (is_awake(waiter->slot.record, looked_ns_))
            return true;
        else
            ++waiter;
    }
    return false;
}

// Never destroyed, since a lease may live in a static object. A forked child has its own object, because a thread of
// the parent may have locked the mutex of the parent's object.
std::shared_ptr<Waiters> waiters_of_this_process() {
    struct WaitersOfProcess {
        const pid_t process = ::getpid();
        const std::shared_ptr<Waiters> waiters = std::make_shared<Waiters>();
    };
    static std::atomic<WaitersOfProcess*> current{nullptr};
    WaitersOfProcess* own = current;
    while (!own || own->process != ::getpid()) {
        auto fresh = std::make_unique<WaitersOfProcess>();
        if (current.compare_exchange_strong(own, fresh.get())) return fresh.release()->waiters;
    }
    return own->waiters;
}

}  // namespace glint::gpu::lease
