// Frames from a pipe, kept in memory from their arrival until they are taken.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>
#include <utility>

#include "data/frame_block.hpp"
#include "glint/error.hpp"
#include "glint/movie_io.hpp"

namespace glint {
namespace {

constexpr std::size_t max_waiting_bytes = std::size_t(256) << 20, max_kept_bytes = std::size_t(64) << 20;
constexpr std::size_t max_read_bytes = std::size_t(256) << 10;  // per read
constexpr std::size_t max_kept_frames = 64;                     // the number of frames that are examined for lone spots

class PipeMovie : public GrowingMovie {
  public:
    PipeMovie(int descriptor, int width, int height, PixelType type) : descriptor_(descriptor) {
        info_.name = "stdin";
        info_.width = width, info_.height = height, info_.type = type;
        info_.frames = unknown_frames;
        frame_bytes_ = std::size_t(width) * std::size_t(height) * std::size_t(num_bytes(type));
        max_waiting_ = std::max<std::size_t>(2, max_waiting_bytes / frame_bytes_);
        kept_.resize(std::min(max_kept_frames, max_kept_bytes / frame_bytes_));
    }
    const MovieInfo& info() const override { return info_; }
    void read(std::int64_t first, int count, FrameBlock& block) override;
    void read_to(std::int64_t first, int count, std::byte* out) override;
    std::int64_t frames_beyond(std::int64_t have, double wait_s) override;
    std::int64_t frames_found() override {
        const std::lock_guard lock(mutex_);
        return arrived_;
    }
    bool ended() const override { return ended_; }
    std::int64_t end() override { return info_.frames = arrived_; }

  private:
    using Bytes = std::vector<std::byte>;
    bool has_room() const { return waiting_.size() < max_waiting_; }
    void take_what_is_there();
    /// Returns a frame. Throws if it was already taken and is not among the first frames, which are kept.
    const Bytes& frame(std::int64_t k) const;

    int descriptor_;
    MovieInfo info_;
    std::size_t frame_bytes_ = 0, max_waiting_ = 0;
    Bytes incomplete_;    // start of the next frame; used only by the thread that reads more
    bool ended_ = false;  // used only by the same thread
    mutable std::mutex mutex_;
    std::condition_variable taken_;
    std::deque<Bytes> waiting_;  // frames from arrived_ - waiting_.size() on; a frame is empty once taken
    std::int64_t arrived_ = 0;
    std::vector<Bytes> kept_;  // the first frames; each is empty until it is taken
};

const PipeMovie::Bytes& PipeMovie::frame(std::int64_t k) const {
    if (k >= 0 && k < std::int64_t(kept_.size()) && !kept_[std::size_t(k)].empty()) return kept_[std::size_t(k)];
    const std::int64_t first = arrived_ - std::int64_t(waiting_.size());
    if (k < first || k >= arrived_ || waiting_[std::size_t(k - first)].empty())
        throw UnreadableFrame(info_.name, k, "a pipe's frame can be read once");
    return waiting_[std::size_t(k - first)];
}

void PipeMovie::read(std::int64_t first, int count, FrameBlock& block) {
    block.first_frame = first, block.count = count;
    block.width = info_.width, block.height = info_.height, block.type = info_.type;
    const std::lock_guard lock(mutex_);
    for (int k = 0; k < count; ++k) frame(first + k);  // throws before memory is allocated for missing frames
    block.bytes.resize(std::size_t(count) * frame_bytes_);
    for (int k = 0; k < count; ++k)
        std::memcpy(block.bytes.data() + k * frame_bytes_, frame(first + k).data(), frame_bytes_);
}

void PipeMovie::read_to(std::int64_t first, int count, std::byte* out) {
    const std::lock_guard lock(mutex_);
    for (int k = 0; k < count; ++k) {
        std::memcpy(out + k * frame_bytes_, frame(first + k).data(), frame_bytes_);
        Bytes& taken = waiting_[std::size_t(first + k - arrived_) + waiting_.size()];
        if (first + k < std::int64_t(kept_.size())) kept_[std::size_t(first + k)] = std::move(taken);
        taken = Bytes();
    }
    while (!waiting_.empty() && waiting_.front().empty()) waiting_.pop_front();
    taken_.notify_one();
}

void PipeMovie::take_what_is_there() {
    // Memory is allocated in doubling steps as data arrive, because the frame's size is only the caller's claim.
    const std::size_t had = incomplete_.size(), next = std::min(frame_bytes_ - had, max_read_bytes);
    if (incomplete_.capacity() < had + next)
        incomplete_.reserve(std::min(frame_bytes_, std::max(had + next, 2 * incomplete_.capacity())));
    incomplete_.resize(had + next);
    const ssize_t got = ::read(descriptor_, incomplete_.data() + had, next);
    const int error = errno;
    incomplete_.resize(had + std::size_t(std::max<ssize_t>(got, 0)));
    if (got < 0 && error != EINTR && error != EAGAIN)
        throw InputError(fmt::format("{}: cannot be read: {}", info_.name, std::strerror(error)));
    if (got == 0) {
        ended_ = true;
        if (!incomplete_.empty())
            info_.warnings.push_back(
                fmt::format("{}: frame {} is truncated (expected {} bytes, found {}); the first {} frames are usable",
                            info_.name, arrived_ + 1, frame_bytes_, incomplete_.size(), arrived_));
    }
    if (incomplete_.size() < frame_bytes_) return;
    const std::lock_guard lock(mutex_);
    waiting_.push_back(std::exchange(incomplete_, {}));
    ++arrived_;
}

std::int64_t PipeMovie::frames_beyond(std::int64_t have, double wait_s) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::duration<double>(wait_s);
    while (!ended_) {
        const auto left = deadline - std::chrono::steady_clock::now();
        const int left_ms = int(std::max<std::int64_t>(0, std::chrono::ceil<std::chrono::milliseconds>(left).count()));
        {
            std::unique_lock lock(mutex_);
            if (!has_room() && !taken_.wait_for(lock, std::chrono::milliseconds(left_ms), [&] { return has_room(); }))
                break;
            if (arrived_ > have) break;  // frames are processed as soon as they arrive, not only when the pipe is empty
        }
        pollfd there{descriptor_, POLLIN, 0};
        const int ready = ::poll(&there, 1, left_ms);
        if (ready < 0 && errno != EINTR)
            throw InputError(fmt::format("{}: cannot be waited for: {}", info_.name, std::strerror(errno)));
        if (ready <= 0) break;
        take_what_is_there();
    }
    return arrived_;
}

}  // namespace

std::unique_ptr<GrowingMovie> pipe_movie(int descriptor, int width, int height, PixelType type) {
    return std::make_unique<PipeMovie>(descriptor, width, height, type);
}

}  // namespace glint
