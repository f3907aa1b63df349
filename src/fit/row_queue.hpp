// Rows of one stack, shared out to all that fit them: GPUs and, where it pays, the CPU.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <vector>

#include "offload/workload.hpp"

namespace glint {

struct RowRange {
    std::int64_t first = 0, end = 0;
    std::int64_t count() const { return end - first; }
    bool empty() const { return first >= end; }
};

/// Rows that have no result yet. Who draws takes a batch after the other, so the faster one gets more; what fails
/// comes back and goes to whoever asks next. Thread-safe.
class RowQueue final : public offload::Workload {
  public:
    /// For `sharers` who draw. One alone gets batches as large as it asks for; of several, each gets smaller ones
    /// towards the end, so that all end together.
    /// `told`: how many rows are finished, from whoever finishes some, one at a time; only ever more.
    using Told = std::function<void(std::int64_t finished)>;
    explicit RowQueue(RowRange all, int sharers = 1, Told told = {});

    /// At most `most` rows; none: nothing is left to take, though what others took may come back.
    RowRange take(std::int64_t most);
    void finish(std::int64_t count);  ///< so many of those taken have their result
    /// Rows that were taken; `finished` of them have a result that does not count any more.
    void give_back(RowRange rows, std::int64_t finished = 0);
    std::int64_t finished() const;
    std::int64_t left() const;  ///< to be taken

  private:
    void tell();
    bool all_done() const override { return finished_ == total_; }
    bool some_to_do() const override { return !pieces_.empty(); }

    const std::int64_t total_;
    const int sharers_;
    const Told told_;
    std::mutex telling_;
    std::int64_t told_of_ = 0;      // under `telling_`
    std::vector<RowRange> pieces_;  // the last one is taken from first; under mutex_, as what follows
    std::int64_t left_, finished_ = 0;
};

/// What one of those who draw has taken. Use it from one thread.
class RowShare {
  public:
    explicit RowShare(RowQueue& queue) : queue_(queue) {}
    RowShare(const RowShare&) = delete;
    RowShare& operator=(const RowShare&) = delete;
    ~RowShare() { give_back(); }

    RowRange take(std::int64_t most);
    std::int64_t left() const { return queue_.left(); }  ///< for anybody
    void finish(RowRange rows);
    /// All that was taken and has no result. Nothing may write to these rows any more.
    void give_back();
    void give_back_finished();  ///< all the others
    std::int64_t finished() const;

  private:
    RowQueue& queue_;
    std::vector<RowRange> taken_, finished_;
};

}  // namespace glint
