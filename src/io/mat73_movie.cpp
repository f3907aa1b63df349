// Frames of an HDF5 dataset of (frames, columns, rows), which is how MATLAB writes an array of rows, columns and frames.
// SPDX-License-Identifier: MIT
#include "io/mat73_movie.hpp"

#include <fmt/format.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <mutex>

#include "base/arena.hpp"
#include "data/frame_block.hpp"
#include "data/unreadable_frame.hpp"
#include "glint/error.hpp"
#include "io/byte_order.hpp"
#include "io/hdf5/chunked_array.hpp"
#include "io/largest_edge.hpp"
#include "io/mat_arrays.hpp"
#include "io/plain_movie.hpp"

namespace glint {
namespace {

/// A dataset of the file's root that may be looked at; invalid for links, groups and what is damaged.
hdf5::Handle dataset_of(hid_t file, const std::string& name) {
    H5L_info_t link;
    if (H5Lget_info(file, name.c_str(), &link, H5P_DEFAULT) < 0 || link.type != H5L_TYPE_HARD) return {};
    H5O_info_t info;
    if (H5Oget_info_by_name(file, name.c_str(), &info, H5P_DEFAULT) < 0 || info.type != H5O_TYPE_DATASET) return {};
    return hdf5::Handle(H5Dopen2(file, name.c_str(), H5P_DEFAULT));
}

/// Not a mask, nor text: both are stored as whole numbers.
bool holds_numbers(hid_t dataset) {
    const std::string matlab_class = hdf5::read_string_attribute(dataset, "MATLAB_class").value_or("");
    return matlab_class != "logical" && matlab_class != "char";
}

std::vector<MatArray> arrays_of(hid_t file) {
    std::vector<MatArray> arrays;
    for (const std::string& name : hdf5::names_in(file)) {
        const hdf5::Handle dataset = dataset_of(file, name);
        if (!dataset.valid()) continue;
        const hdf5::Handle type(H5Dget_type(dataset));
        const auto shape = hdf5::shape_of(dataset);
        const auto stored = hdf5::stored_type(type);
        MatArray array;
        array.name = name;
        array.dimensions.assign(shape.rbegin(), shape.rend());
        if (stored && shape.size() == 3 && holds_numbers(dataset)) array.type = movie_type(stored->pixel);
        arrays.push_back(std::move(array));
    }
    return arrays;
}

template <class Value, class To>
void scatter(const std::byte* from, int rows, std::size_t columns, std::size_t step, To* to, std::size_t width) {
    for (std::size_t x = 0; x < columns; ++x)
        for (int y = 0; y < rows; ++y) {
            Value value;
            std::memcpy(&value, from + (x * step + std::size_t(y)) * sizeof value, sizeof value);
            to[std::size_t(y) * width + x] = To(value);
        }
}

/// Part of a frame: `columns` columns of `rows` pixels, of which one begins `step` values behind the one before.
void scatter(StoredPixel stored, const std::byte* from, int rows, std::size_t columns, std::size_t step, std::byte* to,
             std::size_t width) {
    const auto floats = [&](auto like) {
        scatter<decltype(like)>(from, rows, columns, step, reinterpret_cast<float*>(to), width);
    };
    switch (stored) {
        case StoredPixel::uint8:
            return scatter<std::uint8_t>(from, rows, columns, step, reinterpret_cast<std::uint8_t*>(to), width);
        case StoredPixel::uint16:
            return scatter<std::uint16_t>(from, rows, columns, step, reinterpret_cast<std::uint16_t*>(to), width);
        case StoredPixel::float32: return floats(float());
        case StoredPixel::int8: return floats(std::int8_t());
        case StoredPixel::int16: return floats(std::int16_t());
        case StoredPixel::uint32: return floats(std::uint32_t());
        case StoredPixel::int32: return floats(std::int32_t());
        case StoredPixel::uint64: return floats(std::uint64_t());
        case StoredPixel::int64: return floats(std::int64_t());
        case StoredPixel::float64: return floats(double());
    }
}

/// A movie whose chunks may each hold parts of many frames: a block's chunks are unpacked once, on all threads.
class ChunkedMovie : public Movie {
  public:
    ChunkedMovie(const std::filesystem::path& path, MovieInfo info, hdf5::ChunkedArray array)
        : file_(path), info_(std::move(info)), array_(std::move(array)) {}
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
    hdf5::ChunkedArray array_;
};

// Of chunks that fail, the first frame is reported, so that the advice in its error is true.
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
    // Isolated: a caller's thread that waits here must not run another of the caller's tasks meanwhile.
    tbb::this_task_arena::isolate([&] { tbb::parallel_for(begin, end, read_one); });
    if (failed < end)
        throw UnreadableFrame(file_.name(), std::max(first, std::int64_t(failed / a_layer * array_.chunk[0])), reason);
}

void ChunkedMovie::read_part(std::size_t number, std::int64_t first, int count, std::byte* out) const {
    std::vector<std::byte> values;
    hdf5::read_chunk(array_, file_, number, values);
    const std::size_t value_bytes = std::size_t(bytes_of(array_.type.pixel)), width = std::size_t(info_.width);
    if (array_.type.big_endian == host_is_little_endian) swap_bytes(values.data(), values.size(), int(value_bytes));
    const auto begin_frame = std::int64_t(number / (array_.chunks[1] * array_.chunks[2]) * array_.chunk[0]);
    const std::uint64_t x = number / array_.chunks[2] % array_.chunks[1] * array_.chunk[1],
                        y = number % array_.chunks[2] * array_.chunk[2];
    const std::uint64_t columns = std::min(array_.chunk[1], array_.shape[1] - x),
                        rows = std::min(array_.chunk[2], array_.shape[2] - y);
    const std::int64_t last = std::min(begin_frame + std::int64_t(array_.chunk[0]), first + count);
    for (std::int64_t frame = std::max(first, begin_frame); frame < last; ++frame) {
        const std::byte* from =
            values.data() + std::uint64_t(frame - begin_frame) * array_.chunk[1] * array_.chunk[2] * value_bytes;
        const std::size_t pixel = (std::size_t(frame - first) * std::size_t(info_.height) + y) * width + x;
        scatter(array_.type.pixel, from, int(rows), columns, array_.chunk[2],
                out + pixel * std::size_t(bytes_of(info_.type)), width);
    }
}

/// Frames that follow each other in the file.
std::unique_ptr<Movie> contiguous_movie(const std::filesystem::path& path, hid_t dataset, MovieInfo info,
                                        hdf5::StoredType type) {
    const haddr_t offset = H5Dget_offset(dataset);
    if (offset == HADDR_UNDEF)
        throw InputError(fmt::format("{}: its movie is not stored: write it again", path.string()));
    PlainFrames frames;
    frames.info = std::move(info);
    frames.stored = type.pixel;
    frames.big_endian = type.big_endian;
    frames.columns_first = true;
    frames.first_byte = offset;
    return plain_movie(path, std::move(frames));
}

MovieInfo info_of(const std::filesystem::path& path, const MatArray& array, hid_t dataset) {
    const auto shape = hdf5::shape_of(dataset);
    if (shape.size() != 3 || shape[0] == 0 || shape[1] == 0 || shape[2] == 0 || shape[1] > largest_edge_px ||
        shape[2] > largest_edge_px || shape[0] > hsize_t(1) << 40)
        throw InputError(fmt::format("{}: {}; frames have 1 to {} px along an edge", path.string(), array.described(),
                                     largest_edge_px));
    MovieInfo info;
    info.name = path.filename().string();
    info.files = {path};
    info.type = *array.type;
    info.frames = std::int64_t(shape[0]);
    info.width = int(shape[1]);
    info.height = int(shape[2]);
    return info;
}

}  // namespace

std::unique_ptr<Movie> open_mat73(const std::filesystem::path& path) {
    const hdf5::Quiet quiet;
    const hdf5::Handle file = hdf5::open_file(path);
    const MatArray array = movie_of(arrays_of(file), path.string());
    const hdf5::Handle dataset = hdf5::open_dataset(file, array.name.c_str(), path);
    MovieInfo info = info_of(path, array, dataset);
    const hdf5::Handle properties(H5Dget_create_plist(dataset)), type(H5Dget_type(dataset));
    const auto stored = hdf5::stored_type(type);
    if (H5Pget_layout(properties) == H5D_CONTIGUOUS && stored)
        return contiguous_movie(path, dataset, std::move(info), *stored);
    const InputFile bytes(path);
    auto chunks = hdf5::chunked_array(dataset, array.name, bytes);
    return std::make_unique<ChunkedMovie>(path, std::move(info), std::move(chunks));
}

}  // namespace glint
