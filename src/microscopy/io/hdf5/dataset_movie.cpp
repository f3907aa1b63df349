// Frames of an HDF5 dataset, plain or in chunks that may each hold parts of many frames.
// SPDX-License-Identifier: MIT
#include "io/hdf5/dataset_movie.hpp"

#include <fmt/format.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <mutex>

#include "base/arena.hpp"
#include "data/frame_block.hpp"
#include "glint/error.hpp"
#include "io/byte_order.hpp"
#include "io/hdf5/chunked_array.hpp"
#include "io/metadata_values.hpp"
#include "io/plain_movie.hpp"

namespace glint::hdf5 {
namespace {

/// The layout of a part's values: the distance of lines, and their destination.
struct PartLayout {
    std::size_t lines = 0, values = 0, step = 0;    ///< lines, values per line, and the step between values
    std::size_t line_pixels = 0, value_pixels = 0;  ///< from line to line, and from value to value, in the frame
};

template <class Value, class To>
void scatter(const std::byte* from, const PartLayout& part, To* to) {
    for (std::size_t line = 0; line < part.lines; ++line)
        for (std::size_t k = 0; k < part.values; ++k) {
            Value value;
            std::memcpy(&value, from + (line * part.step + k) * sizeof value, sizeof value);
            to[line * part.line_pixels + k * part.value_pixels] = To(value);
        }
}

void scatter(StoredPixel stored, const std::byte* from, const PartLayout& part, std::byte* to) {
    const auto floats = [&](auto like) { scatter<decltype(like)>(from, part, reinterpret_cast<float*>(to)); };
    switch (stored) {
        case StoredPixel::uint8: return scatter<std::uint8_t>(from, part, reinterpret_cast<std::uint8_t*>(to));
        case StoredPixel::uint16: return scatter<std::uint16_t>(from, part, reinterpret_cast<std::uint16_t*>(to));
        case StoredPixel::float32: return floats(float());
        case StoredPixel::int8: return floats(std::int8_t());
        case StoredPixel::int16: return floats(std::int16_t());
        case StoredPixel::uint32: return floats(std::uint32_t());
        case StoredPixel::int32: return floats(std::int32_t());
        case StoredPixel::uint64: return floats(std::uint64_t());
        case StoredPixel::int64: return floats(std::int64_t());
        case StoredPixel::float16: return floats(Half());
        case StoredPixel::float64: return floats(double());
    }
}

/// A movie whose chunks may each hold parts of many frames: a block's chunks are unpacked once, on all threads.
class ChunkedMovie : public Movie {
  public:
    ChunkedMovie(const std::filesystem::path& path, MovieInfo info, ChunkedArray array, bool columns_first)
        : file_(path), info_(std::move(info)), array_(std::move(array)), columns_first_(columns_first) {}
    const MovieInfo& info() const override { return info_; }
    void read(std::int64_t first, int count, FrameBlock& block) override {
        shape_like(info_, first, count, block);
        read_to(first, count, block.bytes.data());
    }
    void read_to(std::int64_t first, int count, std::byte* out) override;

  private:
    void read_part(std::size_t number, std::int64_t first, int count, std::byte* out) const;

    InputFile file_;
    MovieInfo info_;
    ChunkedArray array_;
    bool columns_first_;
};

// If several chunks fail, reports the first frame, so that the error's advice is correct.
void ChunkedMovie::read_to(std::int64_t first, int count, std::byte* out) {
    check_frames(info_, first, count);
    if (count == 0) return;
    const std::size_t a_layer = array_.chunks[1] * array_.chunks[2];
    const std::size_t begin = std::uint64_t(first) / array_.chunk[0] * a_layer;
    const std::size_t end = (std::uint64_t(first + count - 1) / array_.chunk[0] + 1) * a_layer;
    std::mutex mutex;
    std::size_t failed = end;
    std::string reason;
    const auto read_one = [&](std::size_t number) {
        try {
            read_part(number, first, count, out);
        } catch (const std::runtime_error& error) {
            const std::lock_guard lock(mutex);
            if (number < failed) failed = number, reason = error.what();
        }
    };
    tbb_threads();
    // Isolated: while waiting here, a caller's thread must not run another of the caller's tasks.
    tbb::this_task_arena::isolate([&] { tbb::parallel_for(begin, end, read_one); });
    if (failed < end)
        throw UnreadableFrame(file_.name(), std::max(first, std::int64_t(failed / a_layer * array_.chunk[0])), reason);
}

void ChunkedMovie::read_part(std::size_t number, std::int64_t first, int count, std::byte* out) const {
    std::vector<std::byte> values;
    read_chunk(array_, file_, number, values);
    const std::size_t value_bytes = std::size_t(num_bytes(array_.type.pixel)), width = std::size_t(info_.width);
    if (array_.type.big_endian == host_is_little_endian) swap_bytes(values.data(), values.size(), int(value_bytes));
    const auto begin_frame = std::int64_t(number / (array_.chunks[1] * array_.chunks[2]) * array_.chunk[0]);
    const std::uint64_t line = number / array_.chunks[2] % array_.chunks[1] * array_.chunk[1],
                        value = number % array_.chunks[2] * array_.chunk[2];
    const PartLayout part{.lines = std::min(array_.chunk[1], array_.shape[1] - line),
                          .values = std::min(array_.chunk[2], array_.shape[2] - value),
                          .step = array_.chunk[2],
                          .line_pixels = columns_first_ ? 1 : width,
                          .value_pixels = columns_first_ ? width : 1};
    const std::int64_t last = std::min(begin_frame + std::int64_t(array_.chunk[0]), first + count);
    for (std::int64_t frame = std::max(first, begin_frame); frame < last; ++frame) {
        const std::byte* from =
            values.data() + std::uint64_t(frame - begin_frame) * array_.chunk[1] * array_.chunk[2] * value_bytes;
        const std::size_t pixel = std::size_t(frame - first) * std::size_t(info_.height) * width +
                                  line * part.line_pixels + value * part.value_pixels;
        scatter(array_.type.pixel, from, part, out + pixel * std::size_t(num_bytes(info_.type)));
    }
}

/// A movie whose frames follow each other in the file.
std::unique_ptr<Movie> contiguous_movie(const std::filesystem::path& path, hid_t dataset, MovieInfo info,
                                        StoredType type, bool columns_first) {
    const haddr_t offset = H5Dget_offset(dataset);
    if (offset == HADDR_UNDEF)
        throw InputError(fmt::format("{}: its movie is not stored: write it again", path.string()));
    PlainFrames frames;
    frames.info = std::move(info);
    frames.stored = type.pixel;
    frames.big_endian = type.big_endian;
    frames.columns_first = columns_first;
    frames.first_byte = offset;
    return plain_movie(path, std::move(frames));
}

}  // namespace

std::unique_ptr<Movie> movie_of_dataset(const std::filesystem::path& path, hid_t dataset, const std::string& name,
                                        bool columns_first) {
    const Handle properties(H5Dget_create_plist(dataset)), type(H5Dget_type(dataset));
    const auto stored = stored_type(type);
    const std::vector<hsize_t> all = shape_of(dataset);
    const std::vector<std::size_t> three = three_dimensions(all);
    if (!stored || three.empty())
        throw InputError(fmt::format("{}: {} is no array of numbers of three dimensions", path.string(), name));
    const hsize_t count = all[three[0]], width = all[three[columns_first ? 1 : 2]],
                  height = all[three[columns_first ? 2 : 1]];
    if (count == 0 || width == 0 || height == 0 || width > largest_edge_px || height > largest_edge_px ||
        count > hsize_t(1) << 40)
        throw InputError(fmt::format("{}: {} has {} frames of {} x {} px; frames have 1 to {} px along an edge",
                                     path.string(), name, count, width, height, largest_edge_px));
    MovieInfo info;
    info.name = path.filename().string();
    info.files = {path};
    info.type = movie_type(stored->pixel);
    info.frames = std::int64_t(count), info.width = int(width), info.height = int(height);
    if (H5Pget_layout(properties) == H5D_CONTIGUOUS)
        return contiguous_movie(path, dataset, std::move(info), *stored, columns_first);
    const InputFile bytes(path);
    auto chunks = chunked_array(dataset, name, bytes);
    return std::make_unique<ChunkedMovie>(path, std::move(info), std::move(chunks), columns_first);
}

}  // namespace glint::hdf5
