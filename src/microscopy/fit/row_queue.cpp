// Assigns rows to devices, and takes back the rows of failed devices.
// SPDX-License-Identifier: MIT
#include "fit/row_queue.hpp"

#include <algorithm>
#include <utility>

namespace glint {
namespace {

// Each device has several batches in flight, so it gets a small part of the remaining rows, but at least a sixteenth of
// its request. The transfer then still takes longer than the calls that start it.
constexpr std::int64_t parts_for_each = 16, parts_at_most = 16, warp_rows = 32;

std::int64_t whole_warps(std::int64_t rows) { return (rows + warp_rows - 1) / warp_rows * warp_rows; }

}  // namespace

RowQueue::RowQueue(RowRange all, int sharers, OnFinished on_finished)
    : total_(all.count()), sharers_(sharers), on_finished_(std::move(on_finished)), left_(all.count()) {
    if (!all.empty()) ranges_.push_back(all);
}

RowRange RowQueue::take(std::int64_t most) {
    const std::lock_guard lock(mutex_);
    if (closed_ || ranges_.empty()) return {};
    if (sharers_ > 1) {
        const std::int64_t part = std::max(left_ / (parts_for_each * sharers_), most / parts_at_most);
        most = std::min(most, whole_warps(std::max<std::int64_t>(1, part)));
    }
    RowRange& range = ranges_.back();
    const RowRange rows{range.first, std::min(range.end, range.first + most)};
    range.first = rows.end;
    if (range.empty()) ranges_.pop_back();
    left_ -= rows.count();
    return rows;
}

void RowQueue::finish(std::int64_t count) {
    {
        const std::lock_guard lock(mutex_);
        finished_ += count;
        progressed_ = std::chrono::steady_clock::now();
        if (all_done()) changed_.notify_all();
    }
    if (on_finished_) report();
}

void RowQueue::report() {
    const std::lock_guard lock(report_mutex_);
    const std::int64_t now = finished();
    if (now > reported_) on_finished_(reported_ = now);
}

void RowQueue::give_back(RowRange rows, std::int64_t finished) {
    if (rows.empty()) return;
    const std::lock_guard lock(mutex_);
    if (!ranges_.empty() && ranges_.back().first == rows.end)
        ranges_.back().first = rows.first;
    else
        ranges_.push_back(rows);
    left_ += rows.count();
    finished_ -= finished;
    changed_.notify_all();
}

std::int64_t RowQueue::finished() const {
    const std::lock_guard lock(mutex_);
    return finished_;
}
std::int64_t RowQueue::left() const {
    const std::lock_guard lock(mutex_);
    return left_;
}
RowRange RowShare::take(std::int64_t most) {
    if (ends_ && ends_()) return {};
    const RowRange rows = queue_.take(most);
    if (!rows.empty()) taken_.push_back(rows);
    return rows;
}

void RowShare::finish(RowRange rows) {
    std::erase_if(taken_, [&](const RowRange& taken) { return taken.first == rows.first; });
    if (!finished_.empty() && finished_.back().end == rows.first)
        finished_.back().end = rows.end;
    else
        finished_.push_back(rows);
    queue_.finish(rows.count());
}

void RowShare::give_back() {
    for (; !taken_.empty(); taken_.pop_back()) queue_.give_back(taken_.back());
}

void RowShare::give_back_finished() {
    for (; !finished_.empty(); finished_.pop_back()) queue_.give_back(finished_.back(), finished_.back().count());
}

std::int64_t RowShare::finished() const {
    std::int64_t count = 0;
    for (const RowRange& rows : finished_) count += rows.count();
    return count;
}

}  // namespace glint
