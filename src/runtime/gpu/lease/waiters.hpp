// Who waits for a GPU, as the holders of leases in one process see it: read once for all of them, and only what has changed.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "gpu/lease/waiting_file.hpp"

namespace glint::gpu::lease {

/// Thread-safe. It looks at most ten times a second, whoever asks: a hundred leases of a process cost one look.
class Waiters {
  public:
    /// Of those requests whose record is `wanted`, and which are awake, the least time for which one expects to have its
    /// lease; infinity: none says. Nothing: none waits.
    ///
    /// A new request is seen at the next look; within 120 s where somebody keeps it from writing to the file `waiting`, at each
    /// look where that is no file that it could write. `since_ns`: what was seen until then does not count, as for a lease that
    /// did not exist yet: what waited may have been given to it.
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
    /// Reads its slot again, once for each look. False: it does not wait any more.
    bool is_there(Waiter& waiter);
    bool any_is_awake();

    std::mutex mutex_;  // guards what follows
    std::shared_ptr<const StateDir> directory_;
    std::uint64_t looked_ns_ = 0, read_all_ns_ = 0;  // 0: never
    std::uint64_t touched_ = 0, touch_seen_ns_ = 0;  // waiting_touched(), and when it changed last
    bool somebody_waited_ = false;                   // at the last look
    WaitingMarks marks_{};
    std::vector<Waiter> waiters_;  // the shortest first, those of unknown length last
};

/// Those of this process.
std::shared_ptr<Waiters> waiters_of_this_process();

}  // namespace glint::gpu::lease
