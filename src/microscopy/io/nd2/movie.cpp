// Movies of Nikon's NIS-Elements.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "glint/error.hpp"
#include "io/decoded_movie.hpp"
#include "io/movie_readers.hpp"
#include "io/nd2/chunks.hpp"
#include "io/unpack.hpp"

namespace glint {
namespace {

using namespace std::string_view_literals;
constexpr std::string_view magic = "\xda\xce\xbe\x0a"sv, signature = "ND2 FILE SIGNATURE CHUNK NAME01!"sv,
                           jpeg2000 = "\0\0\0\x0cjP  \r\n\x87\n"sv;
constexpr std::uint64_t time_stamp_bytes = 8;
/// Deflate shrinks to 1/1032 at best.
constexpr std::uint64_t largest_compression = 1100;

/// Accepts version 3 and newer: older versions store metadata and pixels differently.
void check_version(const InputFile& file) {
    std::string head(54, '\0');  // zeros where the file is shorter
    (void)file.read_at(0, reinterpret_cast<std::byte*>(head.data()), head.size());
    const std::string version = head.substr(48);
    if (begins_with(file, magic) && head.substr(16).starts_with(signature) && version.starts_with("Ver") &&
        version[3] >= '3')
        return;
    const std::string what =
        begins_with(file, magic)
            ? fmt::format("is an ND2 file of version {}", version.starts_with("Ver") ? version.substr(3) : "unknown")
            : "is a JPEG 2000 file, as old ND2 files are";
    throw InputError(fmt::format(
        "{}: {}, and ND2 files of version 3.0 and newer are read: open it in NIS-Elements and save it again, "
        "or save it as TIFF in Fiji",
        file.name(), what));
}

/// An open file, and which of its frames are the movie's.
class Nd2Movie {
  public:
    Nd2Movie(const std::filesystem::path& path, const MovieChoice& choice);
    const PlainFrames& frames() const { return frames_; }
    void decode(std::int64_t frame, std::byte* out) const;

  private:
    std::int64_t sequence(std::int64_t frame) const { return (planes_.first + frame * planes_.step) / frames_.samples; }
    std::uint64_t stored_bytes() const { return frames_.row_bytes * std::uint64_t(frames_.info.height); }
    std::uint64_t bytes_before_pixels() const;
    bool is_whole(std::int64_t frame, std::uint64_t before) const;
    void leave_out_missing();

    InputFile file_;
    nd2::Chunks chunks_;
    Planes planes_;
    PlainFrames frames_;
    std::size_t component_offset_ = 0;  ///< bytes from a pixel's first value to the movie's value
    bool is_compressed_ = false;
};

Nd2Movie::Nd2Movie(const std::filesystem::path& path, const MovieChoice& choice) : file_(path) {
    check_version(file_);
    chunks_ = nd2::find_chunks(file_);
    const nd2::Facts facts = nd2::read_facts(file_, chunks_);
    planes_ = chosen_planes(facts.axes, choice, path.string());
    is_compressed_ = facts.is_compressed;
    frames_.stored = facts.stored;
    frames_.samples = facts.components;
    frames_.row_bytes = facts.row_bytes;
    component_offset_ = std::size_t(planes_.first % facts.components) * std::size_t(num_bytes(facts.stored));
    MovieInfo& info = frames_.info;
    info.name = path.filename().string();
    info.files = {path};
    info.width = facts.width, info.height = facts.height;
    info.frames = planes_.frames;
    info.type = movie_type(facts.stored);
    info.pixel_size_nm = facts.pixel_size_nm;
    info.exposure_ms = facts.exposure_ms;
    info.camera = facts.camera;
    info.planes = planes_.described;
    std::int64_t in_loops = 1;
    for (const Axis& axis : facts.axes) in_loops *= axis.dimension == Dimension::channel ? 1 : axis.size;
    if (facts.sequences > in_loops)
        info.warnings.push_back(fmt::format("{}: has {} frames, and its loops {}: those beyond are left out", info.name,
                                            facts.sequences, in_loops));
    leave_out_missing();
}

// Determined from the first frame. All frames are equal, and each is checked when it is read.
std::uint64_t Nd2Movie::bytes_before_pixels() const {
    const std::int64_t number = sequence(0);
    if (number >= std::int64_t(chunks_.frames.size()) || chunks_.frames[std::size_t(number)] == 0) return 0;
    const std::uint64_t begin = chunks_.frames[std::size_t(number)];
    try {
        return nd2::data_of(file_, begin, nd2::frame_name(number)).begin - begin + time_stamp_bytes;
    } catch (const std::runtime_error&) {
        return 0;  // reading it gives a more precise error
    }
}

// Checks a frame's claim against the file before memory is allocated for it.
bool Nd2Movie::is_whole(std::int64_t frame, std::uint64_t before) const {
    const std::int64_t number = sequence(frame);
    if (number >= std::int64_t(chunks_.frames.size()) || chunks_.frames[std::size_t(number)] == 0) return false;
    const std::uint64_t begin = chunks_.frames[std::size_t(number)];
    const std::uint64_t least = before + (is_compressed_ ? stored_bytes() / largest_compression : stored_bytes());
    return least <= file_.size() - std::min(file_.size(), begin);
}

// The acquisition was stopped, or the file lost its end.
void Nd2Movie::leave_out_missing() {
    MovieInfo& info = frames_.info;
    const std::uint64_t before = bytes_before_pixels();
    std::int64_t whole = 0;
    while (whole < info.frames && is_whole(whole, before)) ++whole;
    if (whole == 0)
        throw InputError(fmt::format("{}: frame 1 of {} is not in the file, or truncated{}; no frame is usable",
                                     file_.name(), info.frames, info.planes.empty() ? "" : " (" + info.planes + ")"));
    if (whole < info.frames)
        info.warnings.push_back(fmt::format(
            "{}: frame {} of {} is not in the file: the acquisition was stopped, or the file truncated; the "
            "first {} frames are usable",
            info.name, whole + 1, info.frames, whole));
    if (chunks_.recovered)
        info.warnings.push_back(fmt::format(
            "{}: has no map of its chunks, as a file that was not finished; all chunks were looked for", info.name));
    info.frames = whole;
}

void Nd2Movie::decode(std::int64_t frame, std::byte* out) const {
    const std::int64_t number = sequence(frame);
    const nd2::Data data = nd2::data_of(file_, chunks_.frames[std::size_t(number)], nd2::frame_name(number));
    const std::uint64_t bytes = stored_bytes(), packed = data.bytes - std::min(data.bytes, time_stamp_bytes);
    if (!is_compressed_ && packed < bytes)
        throw std::runtime_error(fmt::format("its chunk has {} bytes of pixels, not {}", packed, bytes));
    const auto read = [&](std::vector<std::byte>& to, std::uint64_t count) {
        to.resize(std::size_t(count));
        if (file_.read_at(data.begin + time_stamp_bytes, to.data(), to.size()) != to.size())
            throw std::runtime_error("the file became shorter after it was opened");
    };
    std::vector<std::byte> stored;
    if (is_compressed_) {
        if (packed > 2 * bytes + 4096)
            throw std::runtime_error(fmt::format("its chunk has {} bytes for {} of pixels", packed, bytes));
        std::vector<std::byte> compressed;
        read(compressed, packed);
        stored.resize(std::size_t(bytes));
        inflate_into(compressed, stored);
    } else {
        read(stored, bytes);
    }
    to_movie_pixels(frames_, std::span<const std::byte>(stored).subspan(component_offset_), out);
}

bool is_nd2(const InputFile& file, const std::filesystem::path&) {
    return begins_with(file, magic) || begins_with(file, jpeg2000);
}

std::unique_ptr<Movie> open_nd2(const std::filesystem::path& path, const MovieChoice& choice) {
    const auto movie = std::make_shared<const Nd2Movie>(path, choice);
    return decoded_movie(path.string(), movie->frames().info,
                         [movie](std::int64_t frame, std::byte* out) { movie->decode(frame, out); });
}

}  // namespace

constinit const MovieFormat nd2_movies{
    {"ND2", "Nikon NIS-Elements", ".nd2", "JPEG 2000, lossy compression, colour"}, is_nd2, open_nd2};

}  // namespace glint
