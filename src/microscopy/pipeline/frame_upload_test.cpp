// Frames are uploaded to a real or simulated GPU while they are read.
// SPDX-License-Identifier: MIT
#include "pipeline/frame_upload.hpp"

#include <algorithm>
#include <cstring>

#include "gpu/gpu_fixture.hpp"

namespace glint {
namespace {

using gpu::test::mib;

/// Uses frames that differ from each other, and pixels that differ within a frame.
class GpuFrameUpload : public gpu::test::OneGpuTest {
  protected:
    static void fill(int frame, std::span<std::byte> out) {
        for (std::size_t k = 0; k < out.size(); ++k) out[k] = std::byte((k * 7 + std::size_t(frame) * 13) % 251);
    }
    void expect_brought(const FrameUpload& upload, std::size_t frame_bytes, int count) {
        const std::vector<std::byte> got =
            gpu::test::downloaded(*stream, upload.counts().view(0, frame_bytes * std::size_t(count)));
        std::vector<std::byte> expected(frame_bytes);
        for (int k = 0; k < count; ++k) {
            fill(k, expected);
            EXPECT_EQ(std::memcmp(got.data() + std::size_t(k) * frame_bytes, expected.data(), frame_bytes), 0) << k;
        }
    }
    /// Returns a reader of `there_are` frames, which records how many each call reads.
    FrameUpload::Read reading(std::size_t frame_bytes, int there_are) {
        return [=, this](int first, int count, std::byte* out) {
            const int n = std::min(count, there_are - first);
            EXPECT_EQ(first, next);
            for (int k = 0; k < n; ++k) fill(first + k, {out + std::size_t(k) * frame_bytes, frame_bytes});
            next += n, pieces.push_back(n);
            return n;
        };
    }
    int next = 0;
    std::vector<int> pieces;
};

}  // namespace

TEST_F(GpuFrameUpload, brings_small_pieces) {
    constexpr std::size_t frame_bytes = 700001;  // two in a buffer
    constexpr int frames = 9;
    FrameUpload upload(*context, frame_bytes, frames);
    for (int block = 0; block < 3; ++block) {
        next = 0, pieces.clear();
        ASSERT_EQ(upload.bring(frames, reading(frame_bytes, frames)), frames);
        EXPECT_EQ(pieces, (std::vector{2, 2, 2, 2, 1}));
        expect_brought(upload, frame_bytes, frames);
    }
    EXPECT_EQ(upload.bytes(), std::int64_t(3 * frames * frame_bytes));
    stream->synchronize();
    EXPECT_GT(upload.seconds(), 0);
}

TEST_F(GpuFrameUpload, brings_frames_that_are_larger_than_a_piece) {
    constexpr std::size_t frame_bytes = 5 << 20;
    FrameUpload upload(*context, frame_bytes, 3);
    EXPECT_EQ(upload.bring(3, reading(frame_bytes, 3)), 3);
    EXPECT_EQ(pieces, (std::vector{1, 1, 1}));
    expect_brought(upload, frame_bytes, 3);
}

TEST_F(GpuFrameUpload, ends_where_no_more_can_be_read) {
    constexpr std::size_t frame_bytes = 1 << 20;
    for (int there_are : {0, 1, 2, 3, 5}) {
        FrameUpload upload(*context, frame_bytes, 6);
        next = 0;
        ASSERT_EQ(upload.bring(6, reading(frame_bytes, there_are)), there_are);
        if (there_are > 0) expect_brought(upload, frame_bytes, there_are);
    }
}

TEST_F(GpuFrameUpload, brings_what_there_is_memory_for) {
    constexpr std::size_t frame_bytes = 4 << 20;
    const gpu::Buffer<std::byte> others(*stream, 500 * mib);  // of 512 MiB
    FrameUpload upload(*context, frame_bytes, 8);
    const int n = upload.bring(8, reading(frame_bytes, 8));
    EXPECT_GE(n, 1);
    EXPECT_LE(n, 3);
    expect_brought(upload, frame_bytes, n);
    FrameUpload none(*context, 16 * mib, 8);
    EXPECT_THROW(none.bring(8, reading(16 * mib, 8)), gpu::OutOfMemory);
}

}  // namespace glint
