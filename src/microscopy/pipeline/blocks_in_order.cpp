// Hands out blocks of frames, and passes their results on in order.
// SPDX-License-Identifier: MIT
#include "pipeline/blocks_in_order.hpp"

#include <algorithm>

#include "glint/error.hpp"

namespace glint {

bool BlocksInOrder::begin(int frames, BlockInFlight& block) {
    if (ended_ || (job_.options.stop && job_.options.stop->load())) return false;
    if (todo_.empty()) todo_.push_back(next_());
    FrameRange& range = todo_.front();
    if (range.begin >= range.end) return todo_.clear(), false;
    block.first = range.begin;
    block.count = int(std::min<std::int64_t>(frames, range.end - range.begin));
    block.read_error = nullptr;
    block.result = {};
    block.result.first_frame = block.first;
    block.given_up = false;
    range.begin += block.count;
    if (range.begin == range.end) todo_.pop_front();
    const std::lock_guard lock(mutex_);
    under_way_.push_back({block.first, block.first + block.count});
    return true;
}

void BlocksInOrder::end(BlockInFlight& block) {
    if (!ended_ && block.count > 0) {
        finished_ += block.count;
        sink_(std::move(block.result));
    }
    if (!ended_ && block.read_error) read_error_ = block.read_error, ended_ = true;
    if (block.given_up) ended_ = true;
    const std::lock_guard lock(mutex_);
    under_way_.pop_front();
}

/// If the file can no longer be opened, read() reports it.
std::optional<FramesInFile> BlocksInOrder::in_file(const BlockInFlight& block, int first, int count) const try {
    return movie_.in_file(block.first + first, count);
} catch (const Error&) {
    return {};
}

int BlocksInOrder::read(BlockInFlight& block, int first, int count, std::byte* out) const try {
    movie_.read_to(block.first + first, count, out);
    return count;
} catch (const Error&) {
    const MovieInfo& info = movie_.info();
    const std::size_t frame_bytes = info.frame_bytes();
    int got = 0;
    try {
        for (; got < count; ++got) movie_.read_to(block.first + first + got, 1, out + std::size_t(got) * frame_bytes);
    } catch (const Error&) {
        block.read_error = std::current_exception();
        block.count = first + got;
    }
    return got;
}

}  // namespace glint
