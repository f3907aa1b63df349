// Movies: camera frames that are read on demand.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace glint {

/// The type of a movie's counts.
enum class PixelType { uint8, uint16, float32 };

/// Returns the bytes of one pixel.
constexpr int bytes_of(PixelType type) { return type == PixelType::uint8 ? 1 : type == PixelType::uint16 ? 2 : 4; }

/// MovieInfo::frames, and the end of a FrameRange, of a movie whose end is not known yet.
constexpr std::int64_t unknown_frames = -1, unknown_end = std::numeric_limits<std::int64_t>::max();

/// The contradictions between the metadata of the files of one movie: those of "pixel size", "offset", "gain" and
/// "EM gain" with different values, each with a clause: "the metadata say 100 nm in a.tif and 160 nm in b.tif".
using Contradictions = std::map<std::string, std::string>;

/// The properties of a movie, known before any pixel is read.
struct MovieInfo {
    std::string name;         ///< file name, for messages
    int width = 0;            ///< px, along x (columns)
    int height = 0;           ///< px, along y (rows)
    std::int64_t frames = 0;  ///< unknown_frames of one that is still being written
    PixelType type = PixelType::uint16;
    std::optional<double> pixel_size_nm;       ///< if the file's metadata contain it
    std::optional<double> offset_adu;          ///< camera offset (baseline), if the metadata contain it
    std::optional<double> gain_e_per_adu;      ///< photoelectrons per ADU, if the metadata contain it
    std::optional<double> em_gain;             ///< electron multiplication gain, if the metadata contain it
    std::optional<double> exposure_ms;         ///< of a frame, if the metadata contain it
    std::string camera;                        ///< its name in the metadata, else empty
    std::string planes;                        ///< of a file that holds more: "channel 1 (GFP), z 3"
    std::vector<std::filesystem::path> files;  ///< all files of the movie; none for one in memory
    std::vector<std::string> warnings;         ///< e.g. "movie.tif: page 312 of 400 is truncated (...)"
    Contradictions contradictions;             ///< these values are not known, as `warnings` say too

    std::size_t frame_bytes() const { return std::size_t(width) * std::size_t(height) * std::size_t(bytes_of(type)); }
};

/// Consecutive frames, raw camera counts in native byte order, C order (frame, row, column). Owns its bytes and
/// keeps its capacity when reused, so a loop over blocks allocates once.
struct FrameBlock {
    std::int64_t first_frame = 0;
    int count = 0, width = 0, height = 0;
    PixelType type = PixelType::uint16;
    std::vector<std::byte> bytes;  ///< count * height * width * bytes_of(type), or more

    /// Bytes of one frame.
    std::size_t frame_bytes() const { return std::size_t(width) * height * bytes_of(type); }
    /// First byte of the block's i-th frame.
    const std::byte* frame(int i) const { return bytes.data() + std::size_t(i) * frame_bytes(); }
};

/// Frames that a file has as read_to() gives them, so that another process can read them, too.
struct FramesInFile {
    int descriptor = -1;
    std::vector<std::uint64_t> offsets;  ///< of each frame's first byte
    std::shared_ptr<const void> open;    ///< keeps the descriptor; null: the movie does, for its life
};

/// An open movie. Thread-safe: several threads may read simultaneously.
class Movie {
  public:
    virtual ~Movie() = default;
    virtual const MovieInfo& info() const = 0;
    /// Reads frames [first, first + count) into `block`, which is resized. Throws InputError if the file cannot be
    /// read.
    virtual void read(std::int64_t first, int count, FrameBlock& block) = 0;
    /// The same into the caller's memory, count * height * width pixels of the movie's type.
    virtual void read_to(std::int64_t first, int count, std::byte* out);
    /// Returns where frames [first, first + count) are, if one file has them uncompressed and in native byte order.
    virtual std::optional<FramesInFile> in_file(std::int64_t first, int count);
};

/// A movie whose end is not known yet: its info says unknown_frames until end() is called.
class GrowingMovie : public Movie {
  public:
    /// Waits, at most `wait_s`, until there are more frames than `have`, or files were scanned. Returns the number
    /// of frames. Throws InputError.
    virtual std::int64_t frames_beyond(std::int64_t have, double wait_s) = 0;
    /// Returns how many frames were found. The last of them count only after a second scan has found them complete,
    /// too.
    virtual std::int64_t frames_found() = 0;
    /// Whether no more can come (a pipe that was closed).
    virtual bool ended() const = 0;
    /// Ends the movie at its present number of frames, which it returns. Throws InputError if what follows cannot
    /// be read, or has another size or type.
    virtual std::int64_t end() = 0;
};

/// Returns a movie in memory (tests, simulation). `block` holds all frames.
std::unique_ptr<Movie> memory_movie(FrameBlock block, std::string name = "memory");

/// Joins movies of equal width, height and type to one; frame numbers continue from one to the next. Throws InputError
/// if they differ.
std::unique_ptr<Movie> concatenate(std::vector<std::unique_ptr<Movie>> movies);

/// Frames [begin, end). Frame numbers are those of the whole movie, in any range.
struct FrameRange {
    std::int64_t begin = 0, end = 0;
};

/// Parses "0:1000", ":1000", "500:" or "" (all) for a movie of `frames` frames. Throws OptionError for any
/// other text, a range beyond the movie or an empty one.
FrameRange parse_frame_range(const std::string& text, std::int64_t frames);

}  // namespace glint
