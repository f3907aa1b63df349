// Movies: camera frames that are read on demand.
//
//     const auto movie = glint::open_movie("movie.tif");
//     glint::FrameBlock block;  // keeps its memory from one read() to the next
//     for (std::int64_t first = 0; first < movie->info().frames; first += 100) {
//         const int count = int(std::min<std::int64_t>(100, movie->info().frames - first));
//         movie->read(first, count, block);
//         for (int k = 0; k < count; ++k) use(block.frame(k), block.type);  // height * width counts
//     }
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
constexpr int num_bytes(PixelType type) { return type == PixelType::uint8 ? 1 : type == PixelType::uint16 ? 2 : 4; }

/// MovieInfo::frames, and the end of a FrameRange, for a movie whose end is not known yet.
constexpr std::int64_t unknown_frames = -1, unknown_end = std::numeric_limits<std::int64_t>::max();

/// Contradictions between the metadata of the files of one movie. Keys: "pixel size", "offset", "gain" and "EM gain",
/// if their values differ. Values: a clause, "the metadata say 100 nm in a.tif and 160 nm in b.tif".
using Contradictions = std::map<std::string, std::string>;

/// The properties of a movie, known before any pixel is read.
struct MovieInfo {
    std::string name;         ///< file name, for messages
    int width = 0;            ///< px, along x (columns)
    int height = 0;           ///< px, along y (rows)
    std::int64_t frames = 0;  ///< unknown_frames while the movie is still being written
    PixelType type = PixelType::uint16;
    std::optional<double> pixel_size_nm;       ///< if the file's metadata contain it
    std::optional<double> offset_adu;          ///< camera offset (baseline), if the metadata contain it
    std::optional<double> gain_e_per_adu;      ///< photoelectrons per ADU, if the metadata contain it
    std::optional<double> em_gain;             ///< electron multiplication gain, if the metadata contain it
    std::optional<double> exposure_ms;         ///< of a frame, if the metadata contain it
    std::string camera;                        ///< its name in the metadata, else empty
    std::string planes;                        ///< the chosen part of a file with several: "channel 1 (GFP), z 3"
    std::vector<std::filesystem::path> files;  ///< all files of the movie; empty for a movie in memory
    std::vector<std::string> warnings;         ///< e.g. "movie.tif: page 312 of 400 is truncated (...)"
    Contradictions contradictions;             ///< these values are unknown; `warnings` contains them too

    /// Returns the bytes of one frame.
    std::size_t frame_bytes() const { return std::size_t(width) * std::size_t(height) * std::size_t(num_bytes(type)); }
};

/// Consecutive frames, raw camera counts in native byte order, C order (frame, row, column). Owns its bytes and
/// keeps its capacity when reused, so a loop over blocks allocates once.
struct FrameBlock {
    std::int64_t first_frame = 0;
    int count = 0, width = 0, height = 0;
    PixelType type = PixelType::uint16;
    std::vector<std::byte> bytes;  ///< count * height * width * num_bytes(type), or more

    /// Returns the bytes of one frame.
    std::size_t frame_bytes() const { return std::size_t(width) * height * num_bytes(type); }
    /// Returns the first byte of the block's i-th frame.
    const std::byte* frame(int i) const { return bytes.data() + std::size_t(i) * frame_bytes(); }
};

/// The position of frames in a file that contains them in the form of read_to(). Another process can read them there.
struct FramesInFile {
    int descriptor = -1;
    std::vector<std::uint64_t> offsets;  ///< position of each frame's first byte
    std::shared_ptr<const void> open;    ///< owns the descriptor; null: the movie owns it
};

/// An open movie. Thread-safe: several threads may read simultaneously.
class Movie {
  public:
    virtual ~Movie() = default;
    virtual const MovieInfo& info() const = 0;
    /// Reads frames [first, first + count) into `block`, which is resized. Throws InputError if the file cannot be
    /// read, and OptionError for frames beyond the movie.
    virtual void read(std::int64_t first, int count, FrameBlock& block) = 0;
    /// Reads frames into the caller's memory: count * height * width pixels of the movie's type. Throws as read().
    virtual void read_to(std::int64_t first, int count, std::byte* out);
    /// Returns where frames [first, first + count) are, if one file contains them uncompressed and in native byte
    /// order. Else nullopt.
    virtual std::optional<FramesInFile> in_file(std::int64_t first, int count);
};

/// A movie whose end is not known yet. MovieInfo::frames is unknown_frames until end() is called.
class GrowingMovie : public Movie {
  public:
    /// Waits, at most `wait_s`, until there are more frames than `have`, or files were scanned. Returns the number
    /// of complete frames. Throws InputError if the files cannot be read.
    virtual std::int64_t frames_beyond(std::int64_t have, double wait_s) = 0;
    /// Returns the number of frames found, including frames that a second scan has not confirmed as complete yet.
    virtual std::int64_t frames_found() = 0;
    /// Returns whether no more frames can come (a closed pipe).
    virtual bool ended() const = 0;
    /// Ends the movie at its present number of frames, and returns this number. Throws InputError if further frames
    /// cannot be read, or have another size or type.
    virtual std::int64_t end() = 0;
};

/// Returns a movie in memory (acquisition programs, tests, simulation). `block` contains all frames and is moved from.
std::unique_ptr<Movie> memory_movie(FrameBlock block, std::string name = "memory");

/// Returns one movie that joins the given ones and owns them. Frame numbers continue from one movie to the next. Throws
/// InputError if there is no movie, or widths, heights or types differ.
std::unique_ptr<Movie> concatenate(std::vector<std::unique_ptr<Movie>> movies);

/// Frames [begin, end), as numbers in the whole movie.
struct FrameRange {
    std::int64_t begin = 0, end = 0;
};

/// Returns the range "0:1000", ":1000", "500:" or "" (all) for a movie of `frames` frames. Throws OptionError for other
/// texts, empty ranges, and ranges beyond the movie.
FrameRange parse_frame_range(const std::string& text, std::int64_t frames);

}  // namespace glint
