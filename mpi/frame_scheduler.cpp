// Computes the size of a chunk from the time that the rank's last chunk took.
// SPDX-License-Identifier: MIT
#include "mpi/frame_scheduler.hpp"

#include <algorithm>

namespace glint::mpi {

FrameScheduler::FrameScheduler(std::vector<FrameRange> to_do, int ranks)
    : to_do_(std::move(to_do)), ranks_(std::size_t(std::max(ranks, 1))) {
    std::reverse(to_do_.begin(), to_do_.end());
}

std::int64_t FrameScheduler::left() const {
    std::int64_t frames = 0;
    for (const FrameRange& range : to_do_) frames += range.end - range.begin;
    return frames;
}

std::int64_t FrameScheduler::chunk_size(const RankState& rank, std::int64_t at_once, double now_s) const {
    if (rank.frames == 0) return at_once;
    const double took_s = std::max(now_s - rank.since_s, 1e-3);
    return std::int64_t(double(rank.frames) * std::clamp(chunk_s / took_s, 0.5, 2.0));
}

FrameRange FrameScheduler::assign(int rank, std::int64_t at_once, double now_s) {
    if (to_do_.empty()) return {};
    RankState& state = ranks_.at(std::size_t(rank));
    const std::int64_t fair = left() / (2 * std::int64_t(ranks_.size()));
    const std::int64_t least = std::max<std::int64_t>(at_once / 4, 1);
    const std::int64_t wanted = std::clamp(chunk_size(state, at_once, now_s), least, std::max(fair, least));
    FrameRange& next = to_do_.back();
    const FrameRange chunk{next.begin, std::min(next.begin + wanted, next.end)};
    state = {chunk.end - chunk.begin, now_s};
    next.begin = chunk.end;
    if (next.begin >= next.end) to_do_.pop_back();
    return chunk;
}

}  // namespace glint::mpi
