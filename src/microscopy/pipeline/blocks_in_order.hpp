// Tracks which frames are still to be localized and which are in flight, and passes the results on in order.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <deque>
#include <exception>
#include <utility>
#include <vector>

#include "base/in_order.hpp"
#include "glint/movie.hpp"
#include "pipeline/run_blocks.hpp"

namespace glint {

/// A block of frames in flight.
struct BlockInFlight {
    std::int64_t first = 0;
    int count = 0;                  ///< frames requested; after reading, frames that could be read
    std::exception_ptr read_error;  ///< why fewer than requested were read
    BlockResult result;
    bool given_up = false;  ///< interrupted by a stop: neither this block nor any later one is passed on

    void give_up() { count = 0, result = {}, given_up = true; }
};

/// Splits the frames that `next` names into blocks and passes their results to `sink` in order. run() may throw and be
/// called again with other items and work (the CPU after GPUs). Frames whose results were not passed on are localized
/// again.
class BlocksInOrder {
  public:
    BlocksInOrder(Movie& movie, const LocalizeJob& job, const NextFrames& next,
                  const std::function<void(BlockResult)>& sink)
        : movie_(movie), job_(job), next_(next), sink_(sink) {}

    /// Works on blocks of `frames` frames until none is left, a stop is requested or a frame is unreadable. `items`
    /// derive from BlockInFlight. work(item) fills in its result, on any thread. Exceptions of `work` propagate.
    template <class Item, class Work>
    void run(int frames, std::vector<Item> items, const Work& work) {
        // Starts with the frames that a failed run() began and did not pass on.
        todo_.insert(todo_.begin(), under_way_.begin(), under_way_.end());
        under_way_.clear();
        in_order(
            job_.threads, std::move(items), [&](Item& item) { return begin(frames, item); }, work,
            [&](Item& item) { end(item); });
    }

    /// Reads a block's frames. If a frame cannot be read, reads the frames before it.
    void read(BlockInFlight& block, std::byte* out) const { read(block, 0, block.count, out); }
    /// Reads frames [first, first + count) of the block and returns how many were read. If fewer were read, the block
    /// ends after them.
    int read(BlockInFlight& block, int first, int count, std::byte* out) const;

    /// Like Movie::in_file(), for the block's frames [first, first + count).
    std::optional<FramesInFile> in_file(const BlockInFlight& block, int first, int count) const;

    std::int64_t finished() const { return finished_; }  ///< number of frames
    bool ended() const { return ended_; }                ///< by an unreadable frame, or by a stop within a block
    std::exception_ptr read_error() const { return read_error_; }

  private:
    bool begin(int frames, BlockInFlight& block);
    void end(BlockInFlight& block);

    Movie& movie_;
    const LocalizeJob& job_;
    const NextFrames& next_;
    const std::function<void(BlockResult)>& sink_;
    std::deque<FrameRange> todo_;
    std::deque<FrameRange> under_way_;  // begun but not passed on, in order
    std::mutex mutex_;                  // guards under_way_: one thread may begin a block while another ends one
    std::atomic<bool> ended_{false};
    std::int64_t finished_ = 0;
    std::exception_ptr read_error_;
};

}  // namespace glint
