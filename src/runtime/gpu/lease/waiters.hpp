// The requests that wait for a GPU, as the holders of leases in one process see them: read once for all of them, and
// only changes.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "gpu/lease/waiting_file.hpp"

namespace glint::gpu::lease {

/// Thread-safe. Evaluates at most ten times a second, for all callers: a hundred leases of a process cost one
/// evaluation.
class Waiters {
  public:
    /// Returns the minimum time for which an awake request whose record is `wanted` expects to have its lease; infinity
    /// if none has such a time. Returns nullopt if none waits.
    ///
    /// A new request is seen at the next evaluation. If another user keeps it from writing to the file `waiting`, it is
    /// seen within 120 s, or at each evaluation if the file is not one that it could write. `since_ns`: observations
    /// until then do not count, as for a lease that did not exist yet: a request that waited may have been granted it.
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
    /// Reads its slot again, once per evaluation. Returns false if it does not wait any more.
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
