// Reads and uploads frames alternately.
// SPDX-License-Identifier: MIT
#include "pipeline/frame_upload.hpp"

#include <algorithm>
#include <utility>

#include "fit/cuda/stream_work.hpp"

namespace glint {
namespace {

// Two buffers per thread fit into its core's cache; the upload of each takes 0.04 ms.
constexpr std::size_t min_buffer_bytes = std::size_t(2) << 20;

int frames_of_buffer(std::size_t frame_bytes) { return int(std::max<std::size_t>(1, min_buffer_bytes / frame_bytes)); }

}  // namespace

std::size_t FrameUpload::buffer_bytes(std::size_t frame_bytes) {
    return std::size_t(frames_of_buffer(frame_bytes)) * frame_bytes;
}

FrameUpload::FrameUpload(const gpu::Context& context, std::size_t frame_bytes, int frames)
    : stream_(context), buffers_{PinnedBuffer(context), PinnedBuffer(context)} {
    reshape(frame_bytes, frames);
}

FrameUpload::~FrameUpload() { glint::settle(stream_); }

void FrameUpload::reshape(std::size_t frame_bytes, int frames) {
    for (PinnedBuffer& buffer : buffers_) settle(buffer);  // all later pieces have other offsets
    if (counts_.size() > std::size_t(frames) * frame_bytes) free();
    frame_bytes_ = frame_bytes, frames_ = frames, buffer_frames_ = std::min(frames, frames_of_buffer(frame_bytes));
}

void FrameUpload::free() { counts_ = {}; }

/// Allocates room for `count` frames. If memory is short, allocates room for as many as possible, which also limits
/// later uploads.
void FrameUpload::reserve(int count) {
    for (;;) try {
            const std::size_t bytes = std::size_t(std::min(count, frames_)) * frame_bytes_;
            if (counts_.size() < bytes) counts_ = {}, counts_ = gpu::Buffer<std::byte>(stream_, bytes);
            return;
        } catch (const gpu::OutOfMemory&) {
            if (frames_ == 1) throw;
            frames_ = std::max(1, std::min(count, frames_) / 2);
        }
}

/// Waits until the buffer's contents have been uploaded.
void FrameUpload::settle(PinnedBuffer& buffer) {
    if (!std::exchange(buffer.used, false)) return;
    buffer.after.synchronize();
    seconds_ += buffer.after.milliseconds_since(buffer.before) / 1000.0;
}

FrameUpload::PinnedBuffer& FrameUpload::next_buffer() {
    PinnedBuffer& buffer = buffers_[turn_ = 1 - turn_];
    settle(buffer);
    return buffer;
}

double FrameUpload::seconds() noexcept try {
    for (PinnedBuffer& buffer : buffers_)
        if (buffer.used && buffer.after.done()) settle(buffer);
    return seconds_;
} catch (const gpu::GpuError&) {
    return seconds_;  // a lost GPU reports no further times
}

void FrameUpload::upload(PinnedBuffer& buffer, int first, std::span<const std::byte> from) {
    gpu::Buffer<std::byte> to = counts_.view(std::size_t(first) * frame_bytes_, from.size());
    buffer.before.record(stream_);
    gpu::upload(stream_, to, from);
    buffer.after.record(stream_);
    buffer.used = true;
    bytes_ += std::int64_t(from.size());
}

int FrameUpload::bring(int count, const Read& read) {
    reserve(count);
    const std::size_t buffer_size = std::size_t(buffer_frames_) * frame_bytes_;
    if (pinned_.size() < buffers_.size() * buffer_size)
        pinned_ = {}, pinned_ = gpu::Pinned<std::byte>(stream_.context(), buffers_.size() * buffer_size);
    count = std::min(count, frames_);
    for (int done = 0; done < count;) {
        PinnedBuffer& buffer = next_buffer();
        const std::span<std::byte> memory = pinned_.span().subspan(turn_ * buffer_size, buffer_size);
        const int wanted = std::min(buffer_frames_, count - done), got = read(done, wanted, memory.data());
        if (got > 0) upload(buffer, done, memory.first(std::size_t(got) * frame_bytes_));
        done += got;
        if (got < wanted) return done;
    }
    return count;
}

}  // namespace glint
