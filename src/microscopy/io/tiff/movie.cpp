// A TIFF movie. Plain frames are read directly into the block. libtiff decodes all other frames, one on each thread.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <stdexcept>
#include <vector>

#include "base/arena.hpp"
#include "data/frame_block.hpp"
#include "glint/error.hpp"
#include "glint/movie.hpp"
#include "io/byte_order.hpp"
#include "io/earlier_looks.hpp"
#include "io/files/input_file.hpp"
#include "io/movie_readers.hpp"
#include "io/plain_movie.hpp"
#include "io/tiff/index.hpp"
#include "io/tiff/page.hpp"

namespace glint {
namespace {

[[noreturn]] void fail_to_decode(TiffHandle& tiff) {
    const std::string complaint = tiff.take_complaint();
    throw std::runtime_error(complaint.empty() ? "too few pixels" : complaint);
}

void decode_strips(TiffHandle& tiff, const MovieInfo& movie, std::size_t pixel, std::byte* out) {
    const std::size_t row_bytes = std::size_t(movie.width) * pixel;
    const auto height = std::uint32_t(movie.height);
    const std::uint32_t rows = std::clamp(tiff.tag<std::uint32_t>(TIFFTAG_ROWSPERSTRIP, height), 1u, height);
    for (std::uint32_t y = 0; y < height; y += rows) {
        const auto expected = tmsize_t(std::min(rows, height - y) * row_bytes);
        if (TIFFReadEncodedStrip(tiff.get(), y / rows, out + y * row_bytes, expected) != expected) fail_to_decode(tiff);
    }
}

void decode_tiles(TiffHandle& handle, const MovieInfo& movie, std::size_t pixel, std::byte* out) {
    const std::size_t row_bytes = std::size_t(movie.width) * pixel;
    TIFF* tiff = handle.get();
    const auto tile_width = handle.tag<std::uint32_t>(TIFFTAG_TILEWIDTH, 0);
    const auto tile_height = handle.tag<std::uint32_t>(TIFFTAG_TILELENGTH, 0);
    const std::size_t tile_row = std::size_t(TIFFTileRowSize(tiff));
    const auto width = std::uint32_t(movie.width), height = std::uint32_t(movie.height);
    if (tile_width == 0 || tile_height == 0 || tile_row != tile_width * pixel)
        throw std::runtime_error(fmt::format("tiles of {}x{} pixels", tile_width, tile_height));
    std::vector<std::byte> tile(tile_row * tile_height);
    for (std::uint32_t y = 0; y < height; y += tile_height)
        for (std::uint32_t x = 0; x < width; x += tile_width) {
            const std::uint32_t number = TIFFComputeTile(tiff, x, y, 0, 0);
            if (TIFFReadEncodedTile(tiff, number, tile.data(), tmsize_t(tile.size())) != tmsize_t(tile.size()))
                fail_to_decode(handle);
            const std::size_t copied = std::min(tile_width, width - x) * pixel;
            for (std::uint32_t row = 0; row < std::min(tile_height, height - y); ++row)
                std::copy_n(tile.data() + row * tile_row, copied, out + (y + row) * row_bytes + x * pixel);
        }
}

/// Decodes the page whose directory is at `directory_offset` to pixels as `stored`, in the machine's byte order.
/// Throws std::runtime_error with the bare reason if the page is damaged, or no longer matches the movie's facts.
void decode_page(const InputFile& file, std::uint64_t directory_offset, const MovieInfo& movie, StoredPixel stored,
                 std::byte* out) try {
    TiffHandle tiff(file, directory_offset);
    (void)tiff.take_complaint();  // about a tag that is not needed
    // The file may have changed since it was indexed; the page must still fit the frame.
    const TiffPage page = read_page_facts(tiff, UINT64_MAX);
    if (int(page.width) != movie.width || int(page.height) != movie.height || check_page(page, "it") != stored)
        throw std::runtime_error("the page changed after the file was opened");
    const auto pixel = std::size_t(num_bytes(stored));
    TIFFIsTiled(tiff.get()) ? decode_tiles(tiff, movie, pixel, out) : decode_strips(tiff, movie, pixel, out);
} catch (const BrokenTiff&) {
    throw std::runtime_error("the page's directory has moved since the file was opened");
}

class TiffMovie : public Movie {
  public:
    TiffMovie(const std::filesystem::path& path, TiffProgress* earlier)
        : file_(path), index_(index_tiff(file_, earlier)) {
        file_.expect_sequential_reads();
        index_.info.files = {path};
        shape_.info = index_.info, shape_.stored = index_.stored;
    }
    bool truncated() const { return index_.truncated; }
    const OmeMovie& ome() const { return index_.ome; }
    const std::vector<Axis>& axes() const { return index_.axes; }
    const MovieInfo& info() const override { return index_.info; }
    void read(std::int64_t first, int count, FrameBlock& block) override {
        shape_like(index_.info, first, count, block);
        read_to(first, count, block.bytes.data());
    }
    void read_to(std::int64_t first, int count, std::byte* to) override;
    std::optional<FramesInFile> in_file(std::int64_t first, int count) override;

  private:
    bool needs_swap() const { return index_.swapped && num_bytes(index_.stored) > 1; }
    bool is_converted() const { return !is_movie_type(index_.stored); }
    std::size_t stored_bytes() const {
        return std::size_t(index_.info.width) * std::size_t(index_.info.height) * std::size_t(num_bytes(index_.stored));
    }
    int plain_run(std::int64_t first, int count, std::size_t frame_bytes) const;
    void read_plain(std::int64_t first, std::byte* out, std::size_t n_bytes);
    void read_converted(std::int64_t frame, std::byte* out);
    int encoded_run(std::int64_t first, int count) const;
    void decode(std::int64_t first, int count, std::byte* out, std::size_t frame_bytes);
    [[noreturn]] void fail(std::int64_t frame, const std::string& reason) const;

    InputFile file_;
    TiffIndex index_;
    PlainFrames shape_;  ///< of a frame with converted pixels
};

void TiffMovie::fail(std::int64_t frame, const std::string& reason) const {
    throw UnreadableFrame(file_.name(), frame, reason);
}

void TiffMovie::read_to(std::int64_t first, int count, std::byte* to) {
    check_frames(index_.info, first, count);
    const MovieInfo& movie = index_.info;
    const std::size_t frame_bytes = movie.frame_bytes();
    for (int done = 0; done < count;) {
        std::byte* out = to + std::size_t(done) * frame_bytes;
        int run = plain_run(first + done, count - done, frame_bytes);
        if (run > 0 && is_converted())
            read_converted(first + done, out);
        else if (run > 0)
            read_plain(first + done, out, std::size_t(run) * frame_bytes);
        else
            decode(first + done, run = encoded_run(first + done, count - done), out, frame_bytes);
        done += run;
    }
}

std::optional<FramesInFile> TiffMovie::in_file(std::int64_t first, int count) {
    check_frames(index_.info, first, count);
    FramesInFile frames{file_.descriptor(), {}, {}};
    for (int k = 0; k < count; ++k) frames.offsets.push_back(index_.place(first + k).data_offset);
    if (needs_swap() || is_converted() || std::ranges::count(frames.offsets, 0u) > 0) return {};
    return frames;
}

// Returns how many frames from `first` are plain and contiguous, to be read by one call. Frames to be swapped or
// converted are read one by one, and swapped while they are still in the cache.
int TiffMovie::plain_run(std::int64_t first, int count, std::size_t frame_bytes) const {
    const std::uint64_t start = index_.place(first).data_offset;
    if (start == 0) return 0;
    const int most = needs_swap() || is_converted() ? 1 : count;
    int run = 1;
    while (run < most && index_.place(first + run).data_offset == start + std::uint64_t(run) * frame_bytes) ++run;
    return run;
}

void TiffMovie::read_plain(std::int64_t first, std::byte* out, std::size_t n_bytes) {
    const std::size_t got = file_.read_at(index_.place(first).data_offset, out, n_bytes);
    if (got != n_bytes)
        fail(first,
             fmt::format("expected {} bytes, found {}: the file became shorter after it was opened", n_bytes, got));
    if (index_.swapped) swap_bytes(out, n_bytes, num_bytes(index_.stored));
}

void TiffMovie::read_converted(std::int64_t frame, std::byte* out) {
    std::vector<std::byte> stored(stored_bytes());
    read_plain(frame, stored.data(), stored.size());
    to_movie_pixels(shape_, stored, out);
}

int TiffMovie::encoded_run(std::int64_t first, int count) const {
    int run = 1;
    while (run < count && index_.place(first + run).data_offset == 0) ++run;
    return run;
}

// Frames are decoded in any order. If several fail, reports the first, so that the error's advice is correct.
void TiffMovie::decode(std::int64_t first, int count, std::byte* out, std::size_t frame_bytes) {
    std::mutex mutex;
    int failed = count;
    std::string reason;
    const auto decode_one = [&](int k) {
        try {
            std::byte* const to = out + std::size_t(k) * frame_bytes;
            std::vector<std::byte> stored(is_converted() ? stored_bytes() : 0);
            decode_page(file_, index_.place(first + k).directory_offset, index_.info, index_.stored,
                        is_converted() ? stored.data() : to);
            if (is_converted()) to_movie_pixels(shape_, stored, to);
        } catch (const std::runtime_error& error) {
            const std::lock_guard lock(mutex);
            if (k < failed) failed = k, reason = error.what();
        }
    };
    tbb_threads();
    // Isolated: while waiting here, a caller's thread must not run another of the caller's tasks.
    tbb::this_task_arena::isolate([&] { tbb::parallel_for(0, count, decode_one); });
    if (failed < count) fail(first + failed, reason);
}

}  // namespace

TiffMovieFile open_tiff_movie(const std::filesystem::path& path, ScanState* looks) {
    auto movie = std::make_unique<TiffMovie>(path, looks ? &looks->tiffs[path] : nullptr);
    const bool truncated = movie->truncated();
    OmeMovie ome = movie->ome();
    std::vector<Axis> axes = movie->axes();
    return {std::move(movie), truncated, std::move(ome), std::move(axes)};
}

}  // namespace glint
