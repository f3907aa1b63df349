// Decodes the frames of a block in parallel.
// SPDX-License-Identifier: MIT
#include "io/decoded_movie.hpp"

#include <fmt/format.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <mutex>

#include "base/arena.hpp"
#include "data/frame_block.hpp"
#include "glint/error.hpp"

namespace glint {
namespace {

class DecodedMovie : public Movie {
  public:
    DecodedMovie(const std::string& path, MovieInfo info, DecodeFrame decode)
        : path_(path), info_(std::move(info)), decode_(std::move(decode)) {}
    const MovieInfo& info() const override { return info_; }
    void read(std::int64_t first, int count, FrameBlock& block) override {
        shape_like(info_, first, count, block);
        read_to(first, count, block.bytes.data());
    }
    void read_to(std::int64_t first, int count, std::byte* out) override;

  private:
    std::string path_;
    MovieInfo info_;
    DecodeFrame decode_;
};

// Frames are decoded in any order. If several fail, reports the first, so that the error's advice is correct.
void DecodedMovie::read_to(std::int64_t first, int count, std::byte* out) {
    check_frames(info_, first, count);
    const std::size_t frame_bytes = info_.frame_bytes();
    std::mutex mutex;
    int failed = count;
    std::string reason;
    const auto decode_one = [&](int k) {
        try {
            decode_(first + k, out + std::size_t(k) * frame_bytes);
        } catch (const OutputError&) {
            throw;  // no descriptor is left, which says nothing about the frame
        } catch (const std::runtime_error& error) {
            const std::lock_guard lock(mutex);
            if (k < failed) failed = k, reason = error.what();
        }
    };
    tbb_threads();
    // Isolated: while waiting here, a caller's thread must not run another of the caller's tasks.
    tbb::this_task_arena::isolate([&] { tbb::parallel_for(0, count, decode_one); });
    if (failed < count) throw UnreadableFrame(path_, first + failed, reason);
}

}  // namespace

std::unique_ptr<Movie> decoded_movie(const std::string& path, MovieInfo info, DecodeFrame decode) {
    return std::make_unique<DecodedMovie>(path, std::move(info), std::move(decode));
}

}  // namespace glint
