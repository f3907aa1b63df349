// Work queue of the rows of one stack, for all devices that fit them: GPUs and, if it saves time, the CPU.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <utility>
#include <vector>

#include "offload/workload.hpp"

namespace glint {

struct RowRange {
    std::int64_t first = 0, end = 0;
    std::int64_t count() const { return end - first; }
    bool empty() const { return first >= end; }
};

/// The rows without a result. Devices take one batch after another, so a faster device gets more rows. Rows of a failed
/// device are returned to the queue and go to the next device (dynamic load balancing). Thread-safe.
class RowQueue final : public offload::Workload {
  public:
    /// `sharers`: number of devices. A single device gets batches as large as requested. Several devices get smaller
    /// batches towards the end, so that all finish at the same time. The device that finished rows calls `on_finished`
    /// with the total number of finished rows. The calls are never concurrent, and the numbers increase.
    using OnFinished = std::function<void(std::int64_t finished)>;
    explicit RowQueue(RowRange all, int sharers = 1, OnFinished on_finished = {});

    /// Takes at most `most` rows. Empty if none are left, although other devices may still return rows.
    RowRange take(std::int64_t most);
    void finish(std::int64_t count);  ///< marks that many taken rows as finished
    /// Returns taken rows. `finished` of them had a result, which is now invalid.
    void give_back(RowRange rows, std::int64_t finished = 0);
    std::int64_t finished() const;
    std::int64_t left() const;  ///< rows not taken yet

  private:
    void report();
    bool all_done() const override { return finished_ == total_; }
    bool some_to_do() const override { return !ranges_.empty(); }

    const std::int64_t total_;
    const int sharers_;
    const OnFinished on_finished_;
    std::mutex report_mutex_;
    std::int64_t reported_ = 0;     // guarded by `report_mutex_`
    std::vector<RowRange> ranges_;  // the last range is next; guarded by mutex_, like the following members
    std::int64_t left_, finished_ = 0;
};

/// The rows that one device has taken. Returns those without a result to the queue when destroyed. Not thread-safe.
class RowShare {
  public:
    /// `ends`: called before more rows are taken; if it returns true, none are taken.
    explicit RowShare(RowQueue& queue, std::function<bool()> ends = {}) : queue_(queue), ends_(std::move(ends)) {}
    RowShare(const RowShare&) = delete;
    RowShare& operator=(const RowShare&) = delete;
    ~RowShare() { give_back(); }

    RowRange take(std::int64_t most);
    std::int64_t left() const { return queue_.left(); }  ///< in the queue
    void finish(RowRange rows);
    /// Returns all taken rows without a result. Nothing may write to these rows afterwards.
    void give_back();
    void give_back_finished();  ///< returns the rows with a result: they are fitted again
    std::int64_t finished() const;

  private:
    RowQueue& queue_;
    const std::function<bool()> ends_;
    std::vector<RowRange> taken_, finished_;
};

}  // namespace glint
