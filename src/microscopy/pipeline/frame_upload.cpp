// Reading and uploading in turn.
// SPDX-License-Identifier: MIT
#include "pipeline/frame_upload.hpp"

#include <algorithm>
#include <utility>

#include "fit/cuda/stream_work.hpp"

namespace glint {
namespace {

// Two a thread fit into its core's cache; the link takes 0.04 ms for each.
constexpr std::size_t least_slot_bytes = std::size_t(2) << 20;

int frames_of_slot(std::size_t frame_bytes) { return int(std::max<std::size_t>(1, least_slot_bytes / frame_bytes)); }

}  // namespace

std::size_t FrameUpload::slot_bytes(std::size_t frame_bytes) {
    return std::size_t(frames_of_slot(frame_bytes)) * frame_bytes;
}

FrameUpload::FrameUpload(const gpu::Context& context, std::size_t frame_bytes, int frames)
    : stream_(context), slots_{Slot(context), Slot(context)} {
    reshape(frame_bytes, frames);
}

FrameUpload::~FrameUpload() { glint::settle(stream_); }

void FrameUpload::reshape(std::size_t frame_bytes, int frames) {
    for (Slot& slot : slots_) settle(slot);  // pieces begin elsewhere now
    if (counts_.size() > std::size_t(frames) * frame_bytes) free();
    frame_bytes_ = frame_bytes, frames_ = frames, slot_frames_ = std::min(frames, frames_of_slot(frame_bytes));
}

void FrameUpload::free() { counts_ = {}; }

/// For as many of `count` frames as there is memory for, and later ones likewise.
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

/// Waits until what was in it has been uploaded.
void FrameUpload::settle(Slot& slot) {
    if (!std::exchange(slot.used, false)) return;
    slot.after.synchronize();
    seconds_ += slot.after.milliseconds_since(slot.before) / 1000.0;
}

FrameUpload::Slot& FrameUpload::next_slot() {
    Slot& slot = slots_[turn_ = 1 - turn_];
    settle(slot);
    return slot;
}

double FrameUpload::seconds() noexcept try {
    for (Slot& slot : slots_)
        if (slot.used && slot.after.done()) settle(slot);
    return seconds_;
} catch (const gpu::GpuError&) {
    return seconds_;  // a GPU that is lost tells no more
}

void FrameUpload::upload(Slot& slot, int first, std::span<const std::byte> from) {
    gpu::Buffer<std::byte> to = counts_.view(std::size_t(first) * frame_bytes_, from.size());
    slot.before.record(stream_);
    gpu::upload(stream_, to, from);
    slot.after.record(stream_);
    slot.used = true;
    bytes_ += std::int64_t(from.size());
}

int FrameUpload::bring(int count, const Read& read) {
    reserve(count);
    const std::size_t slot_size = std::size_t(slot_frames_) * frame_bytes_;
    if (slots_memory_.size() < slots_.size() * slot_size)
        slots_memory_ = {}, slots_memory_ = gpu::Pinned<std::byte>(stream_.context(), slots_.size() * slot_size);
    count = std::min(count, frames_);
    for (int done = 0; done < count;) {
        Slot& slot = next_slot();
        const std::span<std::byte> memory = slots_memory_.span().subspan(turn_ * slot_size, slot_size);
        const int wanted = std::min(slot_frames_, count - done), got = read(done, wanted, memory.data());
        if (got > 0) upload(slot, done, memory.first(std::size_t(got) * frame_bytes_));
        done += got;
        if (got < wanted) return done;
    }
    return count;
}

}  // namespace glint
