// Uncompressed frames. Pixels stored in the movie's type are read directly into place.
// SPDX-License-Identifier: MIT
#include "io/plain_movie.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "data/frame_block.hpp"
#include "glint/error.hpp"
#include "io/byte_order.hpp"
#include "io/files/input_file.hpp"
#include "io/metadata_values.hpp"

namespace glint {
namespace {

constexpr std::int64_t largest_frames = std::int64_t(1) << 40;

/// Returns true for int16 with a zero of 32,768: how FITS and other formats store uint16.
bool is_shifted_uint16(const PlainFrames& frames) {
    return frames.stored == StoredPixel::int16 && frames.scale == 1 && frames.zero == 32768;
}

template <class Value, class To>
void convert_row(const std::byte* from, int count, int step, double scale, double zero, To* to) {
    const bool is_copied = std::is_same_v<Value, To> && scale == 1 && zero == 0;
    if (is_copied && step == 1) return (void)std::memcpy(to, from, std::size_t(count) * sizeof(Value));
    for (int x = 0; x < count; ++x) {
        Value value;
        std::memcpy(&value, from + std::size_t(x) * step * sizeof value, sizeof value);
        to[x] = is_copied ? To(value) : To(scale * double(value) + zero);
    }
}

template <class To>
void convert_row(const PlainFrames& frames, const std::byte* from, To* to) {
    const auto convert = [&](auto like) {
        const int step = frames.columns_first ? frames.info.height : frames.samples;
        convert_row<decltype(like)>(from, frames.info.width, step, frames.scale, frames.zero, to);
    };
    switch (frames.stored) {
        case StoredPixel::uint8: return convert(std::uint8_t());
        case StoredPixel::uint16: return convert(std::uint16_t());
        case StoredPixel::float32: return convert(float());
        case StoredPixel::int8: return convert(std::int8_t());
        case StoredPixel::int16: return convert(std::int16_t());
        case StoredPixel::uint32: return convert(std::uint32_t());
        case StoredPixel::int32: return convert(std::int32_t());
        case StoredPixel::uint64: return convert(std::uint64_t());
        case StoredPixel::int64: return convert(std::int64_t());
        case StoredPixel::float16: return convert(Half());
        case StoredPixel::float64: return convert(double());
    }
}

PixelType type_of(const PlainFrames& frames) {
    if (frames.type) return *frames.type;
    if (is_shifted_uint16(frames)) return PixelType::uint16;
    return frames.scale == 1 && frames.zero == 0 ? movie_type(frames.stored) : PixelType::float32;
}

/// Returns false for 32-bit integers: they have float32's size but are converted.
bool is_stored_as(PixelType type, StoredPixel stored) {
    switch (type) {
        case PixelType::uint8: return stored == StoredPixel::uint8;
        case PixelType::uint16: return stored == StoredPixel::uint16;
        case PixelType::float32: return stored == StoredPixel::float32;
    }
    return false;
}

/// Returns the distance from a pixel to the next in its row.
std::uint64_t pixel_bytes_of(const PlainFrames& frames) {
    return std::uint64_t(num_bytes(frames.stored)) *
           std::uint64_t(frames.columns_first ? frames.info.height : frames.samples);
}
std::uint64_t row_bytes_of(const PlainFrames& frames) {
    if (frames.columns_first) return std::uint64_t(num_bytes(frames.stored));
    return frames.row_bytes ? frames.row_bytes : std::uint64_t(frames.info.width) * pixel_bytes_of(frames);
}

class PlainMovie : public Movie {
  public:
    PlainMovie(const std::filesystem::path& path, PlainFrames frames) : file_(path), frames_(std::move(frames)) {
        MovieInfo& info = frames_.info;
        info.name = path.filename().string();
        info.files = {path};
        info.files.insert(info.files.end(), frames_.files.begin(), frames_.files.end());
        check_sizes();
        info.type = type_of(frames_);
        as_stored_ = is_stored_as(info.type, frames_.stored) && frames_.samples == 1 && !frames_.columns_first &&
                     frames_.scale == 1 && frames_.zero == 0 &&
                     row_bytes() == info.width * std::uint64_t(num_bytes(info.type));
        swapped_ = frames_.big_endian == host_is_little_endian && num_bytes(frames_.stored) > 1;
        leave_out_truncated();
        file_.expect_sequential_reads();
    }
    const MovieInfo& info() const override { return frames_.info; }
    void read(std::int64_t first, int count, FrameBlock& block) override {
        shape_like(frames_.info, first, count, block);
        read_to(first, count, block.bytes.data());
    }
    void read_to(std::int64_t first, int count, std::byte* out) override;
    std::optional<FramesInFile> in_file(std::int64_t first, int count) override;

  private:
    void check_sizes() const;
    void leave_out_truncated();
    std::uint64_t size() const { return frames_.source ? frames_.source->size() : file_.size(); }
    std::uint64_t pixel_bytes() const { return pixel_bytes_of(frames_); }
    std::uint64_t row_bytes() const { return row_bytes_of(frames_); }
    /// Returns the bytes from a frame's first to its last. The last row is not followed by a gap, nor its last pixel by
    /// other channels.
    std::uint64_t stored_bytes() const {
        return row_bytes() * (frames_.info.height - 1) + (frames_.info.width - 1) * pixel_bytes() +
               num_bytes(frames_.stored);
    }
    std::uint64_t step() const {
        if (frames_.step) return frames_.step;
        return frames_.columns_first ? stored_bytes() : row_bytes() * frames_.info.height;
    }
    std::uint64_t offset(std::int64_t frame) const {
        return frames_.offsets.empty() ? frames_.first_byte + std::uint64_t(frame) * step()
                                       : frames_.offsets[std::size_t(frame)];
    }
    int run(std::int64_t first, int count, std::size_t frame_bytes) const;
    void read_bytes(std::int64_t frame, std::byte* out, std::size_t n) const;

    InputFile file_;
    PlainFrames frames_;
    bool as_stored_ = false, swapped_ = false;
};

void PlainMovie::check_sizes() const {
    const MovieInfo& info = frames_.info;
    if (info.width < 1 || info.height < 1 || info.width > largest_edge_px || info.height > largest_edge_px)
        throw InputError(fmt::format("{}: claims frames of {}x{} px; they have 1 to {} px along an edge", file_.name(),
                                     info.width, info.height, largest_edge_px));
    if (info.frames < 1 || info.frames > largest_frames)
        throw InputError(fmt::format("{}: claims {} frames", file_.name(), info.frames));
    const bool rows_overlap =
        !frames_.columns_first && row_bytes() < (info.width - 1) * pixel_bytes() + num_bytes(frames_.stored);
    if (rows_overlap || row_bytes() > size() || frames_.step > size() ||
        (frames_.step && frames_.step < stored_bytes()))
        throw InputError(
            fmt::format("{}: its header's sizes contradict each other: the file is damaged", file_.name()));
}

void PlainMovie::leave_out_truncated() {
    MovieInfo& info = frames_.info;
    const auto is_whole = [&](std::int64_t frame) {
        return offset(frame) <= size() && size() - offset(frame) >= stored_bytes();
    };
    std::int64_t whole = 0;
    if (frames_.offsets.empty()) {
        if (is_whole(0)) whole = 1 + std::int64_t((size() - frames_.first_byte - stored_bytes()) / step());
        whole = std::min(whole, info.frames);
    } else {
        while (whole < info.frames && is_whole(whole)) ++whole;
    }
    if (whole == info.frames) return;
    const std::uint64_t found = size() - std::min(size(), offset(whole));
    const std::string what =
        fmt::format("{}: frame {} of {} is truncated (expected {} bytes, found {})",
                    whole == 0 ? file_.name() : info.name, whole + 1, info.frames, stored_bytes(), found);
    if (whole == 0) throw InputError(what + "; no frame is usable");
    info.warnings.push_back(fmt::format("{}; the first {} frames are usable", what, whole));
    info.frames = whole;
}

void PlainMovie::read_bytes(std::int64_t frame, std::byte* out, std::size_t n) const {
    const std::size_t got =
        frames_.source ? frames_.source->read_at(offset(frame), out, n) : file_.read_at(offset(frame), out, n);
    if (got != n)
        throw UnreadableFrame(file_.name(), frame + std::int64_t(got / step()),
                              "the file became shorter after it was opened");
    if (swapped_) swap_bytes(out, n, num_bytes(frames_.stored));
}

// Returns how many frames from `first` follow each other without gaps. Frames to be swapped are read one by one,
// and swapped while the cache still holds them.
int PlainMovie::run(std::int64_t first, int count, std::size_t frame_bytes) const {
    int run = 1;
    while (!swapped_ && run < count && offset(first + run) == offset(first) + std::uint64_t(run) * frame_bytes) ++run;
    return run;
}

void PlainMovie::read_to(std::int64_t first, int count, std::byte* out) {
    check_frames(frames_.info, first, count);
    const std::size_t frame_bytes = frames_.info.frame_bytes();
    std::vector<std::byte> stored(as_stored_ ? 0 : std::size_t(stored_bytes()));
    for (int done = 0; done < count;) {
        std::byte* to = out + std::size_t(done) * frame_bytes;
        const int frames = as_stored_ ? run(first + done, count - done, frame_bytes) : 1;
        read_bytes(first + done, as_stored_ ? to : stored.data(), as_stored_ ? frames * frame_bytes : stored.size());
        if (!as_stored_) to_movie_pixels(frames_, stored, to);
        done += frames;
    }
}

std::optional<FramesInFile> PlainMovie::in_file(std::int64_t first, int count) {
    check_frames(frames_.info, first, count);
    if (frames_.source || !as_stored_ || swapped_) return {};
    FramesInFile frames{file_.descriptor(), {}, {}};
    for (int k = 0; k < count; ++k) frames.offsets.push_back(offset(first + k));
    return frames;
}

}  // namespace

int num_bytes(StoredPixel stored) {
    switch (stored) {
        case StoredPixel::uint8:
        case StoredPixel::int8: return 1;
        case StoredPixel::uint16:
        case StoredPixel::int16:
        case StoredPixel::float16: return 2;
        case StoredPixel::float32:
        case StoredPixel::uint32:
        case StoredPixel::int32: return 4;
        default: return 8;
    }
}

bool is_movie_type(StoredPixel stored) {
    return stored == StoredPixel::uint8 || stored == StoredPixel::uint16 || stored == StoredPixel::float32;
}

Half::operator float() const {
    const int exponent = bits >> 10 & 31, fraction = bits & 1023;
    const float sign = bits >> 15 ? -1.0f : 1.0f;
    if (exponent == 31)
        return fraction ? std::numeric_limits<float>::quiet_NaN() : sign * std::numeric_limits<float>::infinity();
    return sign *
           (exponent == 0 ? std::ldexp(float(fraction), -24) : std::ldexp(float(1024 + fraction), exponent - 25));
}

PixelType movie_type(StoredPixel stored) {
    if (stored == StoredPixel::uint8) return PixelType::uint8;
    return stored == StoredPixel::uint16 ? PixelType::uint16 : PixelType::float32;
}

void to_movie_pixels(const PlainFrames& frames, std::span<const std::byte> stored, std::byte* out) {
    const MovieInfo& info = frames.info;
    for (int y = 0; y < info.height; ++y) {
        const std::byte* row = stored.data() + std::size_t(y) * row_bytes_of(frames);
        std::byte* to = out + std::size_t(y) * info.width * num_bytes(info.type);
        switch (info.type) {
            case PixelType::uint8: convert_row(frames, row, reinterpret_cast<std::uint8_t*>(to)); break;
            case PixelType::uint16: convert_row(frames, row, reinterpret_cast<std::uint16_t*>(to)); break;
            case PixelType::float32: convert_row(frames, row, reinterpret_cast<float*>(to)); break;
        }
    }
}

std::unique_ptr<Movie> plain_movie(const std::filesystem::path& path, PlainFrames frames) {
    return std::make_unique<PlainMovie>(path, std::move(frames));
}

}  // namespace glint
