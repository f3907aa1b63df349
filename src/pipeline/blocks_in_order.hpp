// Which frames are still to be localized, who has them, and the results in order.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <deque>
#include <exception>
#include <utility>
#include <vector>

#include "glint/movie.hpp"
#include "pipeline/in_order.hpp"
#include "pipeline/run_blocks.hpp"

namespace glint {

/// A block of frames on its way.
struct Block {
    std::int64_t first = 0;
    int count = 0;                  ///< asked for; then what could be read
    std::exception_ptr read_error;  ///< why it is fewer
    BlockResult result;
    bool given_up = false;  ///< by a stop, within it: nothing that comes after it can be handed on

    void give_up() { count = 0, result = {}, given_up = true; }
};

/// Frames as `next` names them, in blocks; results go to `sink` in that order. run() may fail and be called again, with
/// other means: what was not handed on is done anew.
class BlocksInOrder {
  public:
    BlocksInOrder(Movie& movie, const Job& job, const NextFrames& next, const std::function<void(BlockResult)>& sink)
        : movie_(movie), job_(job), next_(next), sink_(sink) {}

    /// Works on blocks of so many frames until there are no more, a stop, or one that cannot be read. `items` derive from
    /// Block; work(item) fills in its result, on any thread. What `work` throws passes.
    template <class Item, class Work>
    void run(int frames, std::vector<Item> items, const Work& work) {
        // What was begun and not handed on comes first.
        todo_.insert(todo_.begin(), under_way_.begin(), under_way_.end());
        under_way_.clear();
        in_order(
            job_.threads, std::move(items), [&](Item& item) { return begin(frames, item); }, work,
            [&](Item& item) { end(item); });
    }

    /// Reads a block's frames; where one cannot be read, those before it.
    void read(Block& block, std::byte* out) const;

    std::int64_t finished() const { return finished_; }  ///< frames
    bool ended() const { return ended_; }                ///< by a frame that cannot be read, or a stop within a block
    std::exception_ptr read_error() const { return read_error_; }

  private:
    bool begin(int frames, Block& block);
    void end(Block& block);

    Movie& movie_;
    const Job& job_;
    const NextFrames& next_;
    const std::function<void(BlockResult)>& sink_;
    std::deque<FrameRange> todo_;
    std::deque<FrameRange> under_way_;  // begun and not ended, in order
    std::mutex mutex_;                  // of under_way_: one thread begins while another ends
    std::atomic<bool> ended_{false};
    std::int64_t finished_ = 0;
    std::exception_ptr read_error_;
};

}  // namespace glint
