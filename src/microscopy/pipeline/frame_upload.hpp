// Frames of a movie on a GPU, uploaded while more of them are read.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "glint/gpu/buffer.hpp"

namespace glint {

/// Reads pieces of a block into two page-locked buffers: one is filled while the other is uploaded. The pieces are
/// small, so that they stay in the CPU's cache until their upload. Owns its stream and memory; use it from one thread
/// at a time.
class FrameUpload {
  public:
    /// For at most `frames` frames per upload, of `frame_bytes` each. Allocates nothing yet.
    FrameUpload(const gpu::Context& context, std::size_t frame_bytes, int frames);
    ~FrameUpload();  ///< waits for uploads in progress
    /// Prepares for frames of another size. Keeps the buffers if they are large enough.
    void reshape(std::size_t frame_bytes, int frames);

    /// Fills `out` with frames [first, first + count) of the request. Returns how many were read; fewer at the end.
    using Read = std::function<int(int first, int count, std::byte* out)>;
    /// Enqueues the upload of up to `count` frames that `read` provides. Returns the number of frames: fewer if `read`
    /// provided fewer, or if memory is short. Throws gpu::OutOfMemory if there is no memory for one frame.
    int bring(int count, const Read& read);

    /// The frames of the last bring(); valid until the next. A stream that reads them waits for their upload.
    const gpu::Buffer<std::byte>& counts() const { return counts_; }
    static std::size_t buffer_bytes(std::size_t frame_bytes);  ///< size of each of the two buffers
    void free();                                               ///< frees the GPU's memory until the next bring()

    double seconds() noexcept;  ///< time on the GPU of all completed uploads
    std::int64_t bytes() const { return bytes_; }

  private:
    struct PinnedBuffer {
        explicit PinnedBuffer(const gpu::Context& context) : before(context, true), after(context, true) {}
        gpu::Event before, after;
        bool used = false;
    };
    void reserve(int count);
    PinnedBuffer& next_buffer();
    void settle(PinnedBuffer& buffer);
    void upload(PinnedBuffer& buffer, int first, std::span<const std::byte> from);

    gpu::Stream stream_;
    std::size_t frame_bytes_ = 0;
    int buffer_frames_ = 0, frames_ = 0;
    gpu::Pinned<std::byte> pinned_;
    gpu::Buffer<std::byte> counts_;
    std::array<PinnedBuffer, 2> buffers_;
    std::size_t turn_ = 0;
    double seconds_ = 0;
    std::int64_t bytes_ = 0;
};

}  // namespace glint
