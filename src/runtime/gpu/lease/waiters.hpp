// The requests that wait for a GPU, as the lease holders in one process see them. They are read once for all leases,
// and after that only changes are read.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "gpu/lease/waiting_file.hpp"

namespace glint::gpu::lease {

/// Thread-safe. Evaluates at most ten times a second for all callers together, so a hundred leases of a process cost
/// one evaluation.
class Waiters {
  public:
    /// Returns the minimum time for which awake requests whose records are `wanted` expect to hold their leases;
    /// infinity if no request has such a time. Returns nullopt if none waits.
    ///
    /// A new request is seen at the next evaluation. If another user keeps the request from writing to the file
    /// `waiting`, it is seen within 120 s; or at each evaluation, if not every user can write to the file. `since_ns`:
    /// earlier observations do not count, as the lease did not exist yet: a request that waited then may have been
    /// granted this lease.
    std::optional<double> shortest_s(const std::shared_ptr<const StateDir>& directory, std::uint64_t since_ns,
                                     std::uint64_t now_ns, const std::function<bool(const Record&)>& wanted);

  private:
    struct Waiter {
        ScannedSlot slot;
        std::uint64_t read_ns;
    };
    void look(std::uint64_t now_ns);
    void read_all(std::uint64_t now_ns);
    void add(const ScannedSlot& slot);
    /// Reads the request's slot again, once per evaluation. Returns false if the request does not wait any more.
    bool is_there(Waiter& waiter);
    bool any_is_awake();

    std::mutex mutex_;  // guards what follows
    std::shared_ptr<const StateDir> directory_;
    std::uint64_t looked_ns_ = 0, read_all_ns_ = 0;  // 0: never
    std::uint64_t touched_ = 0, touch_seen_ns_ = 0;  // waiting_touched(), and when it changed last
    bool somebody_waited_ = false;                   // at the last evaluation
    WaitingMarks marks_{};
    std::vector<Waiter> waiters_;  // the shortest first, those of unknown length last
};

/// Returns the Waiters of this process.
std::shared_ptr<Waiters> waiters_of_this_process();

}  // namespace glint::gpu::lease
