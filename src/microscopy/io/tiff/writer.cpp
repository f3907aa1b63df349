// Writes movies: room for the first directory, then all frames, then the other directories, as ImageJ does.
// A truncated copy keeps its first directory, and with it every frame that arrived.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <tiff.h>

#include <cmath>

#include "glint/error.hpp"
#include "glint/movie_io.hpp"
#include "glint/units.hpp"
#include "io/files/atomic_file.hpp"
#include "io/files/write_into.hpp"
#include "io/tiff/directory.hpp"

namespace glint {
namespace {

// The file begins with its header, the first directory, two resolutions and the description.
constexpr std::size_t directory_at = 16, resolution_at = 448, description_at = 464, frames_at = 1024;
// Below 4 GB, because some readers do not support all of a classic TIFF's 32-bit offsets.
constexpr std::uint64_t largest_classic_bytes = 3'900'000'000;
constexpr std::size_t write_chunk_bytes = std::size_t(1) << 18;

struct Rational {
    std::uint32_t numerator = 1, denominator = 1;
};

/// Returns pixels per micrometre, as precisely as two 32-bit numbers can express it.
Rational resolution(std::optional<double> pixel_size_nm) {
    if (!pixel_size_nm) return {};
    double scale = 1;
    while (std::max(1000.0, *pixel_size_nm) * scale * 10 < 4e9) scale *= 10;
    return {std::uint32_t(1000 * scale), std::uint32_t(std::llround(*pixel_size_nm * scale))};
}

std::string description(std::int64_t frames, std::optional<double> pixel_size_nm) {
    return fmt::format("ImageJ=1.54f\nimages={0}\nframes={0}\n{1}loop=false\n", frames,
                       pixel_size_nm ? "unit=micron\n" : "");
}

}  // namespace

struct TiffMovieWriter::State {
    AtomicFile file;
    MovieInfo info;
    IfExists if_exists;
    std::int64_t frames = 0;

    std::uint64_t frame_bytes() const { return info.frame_bytes(); }
    TiffDirectory directory(bool big, std::int64_t frame) const;
    void write_other_directories(bool big, std::uint64_t at);
    void write_start(bool big, std::uint64_t second_directory);
};

// The same entries on every page, and the description on the first.
TiffDirectory TiffMovieWriter::State::directory(bool big, std::int64_t frame) const {
    TiffDirectory page(big);
    page.add_long(TIFFTAG_SUBFILETYPE, 0);
    page.add_long(TIFFTAG_IMAGEWIDTH, std::uint32_t(info.width));
    page.add_long(TIFFTAG_IMAGELENGTH, std::uint32_t(info.height));
    page.add_short(TIFFTAG_BITSPERSAMPLE, std::uint16_t(8 * num_bytes(info.type)));
    page.add_short(TIFFTAG_COMPRESSION, COMPRESSION_NONE);
    page.add_short(TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_MINISBLACK);
    if (frame == 0)
        page.add_elsewhere(TIFFTAG_IMAGEDESCRIPTION, TIFF_ASCII, description(frames, info.pixel_size_nm).size() + 1,
                           description_at);
    page.add_offset(TIFFTAG_STRIPOFFSETS, frames_at + std::uint64_t(frame) * frame_bytes());
    page.add_short(TIFFTAG_SAMPLESPERPIXEL, 1);
    page.add_long(TIFFTAG_ROWSPERSTRIP, std::uint32_t(info.height));
    page.add_offset(TIFFTAG_STRIPBYTECOUNTS, frame_bytes());
    const Rational per_um = resolution(info.pixel_size_nm);
    for (const std::uint16_t tag : {std::uint16_t(TIFFTAG_XRESOLUTION), std::uint16_t(TIFFTAG_YRESOLUTION)})
        big ? page.add_rational(tag, per_um.numerator, per_um.denominator)
            : page.add_elsewhere(tag, TIFF_RATIONAL, 1, resolution_at);
    page.add_short(TIFFTAG_RESOLUTIONUNIT, RESUNIT_NONE);
    page.add_short(TIFFTAG_SAMPLEFORMAT, info.type == PixelType::float32 ? SAMPLEFORMAT_IEEEFP : SAMPLEFORMAT_UINT);
    return page;
}

void TiffMovieWriter::State::write_other_directories(bool big, std::uint64_t at) {
    std::string chunk;
    for (std::int64_t frame = 1; frame < frames; ++frame) {
        const TiffDirectory page = directory(big, frame);
        at += page.bytes();
        chunk += page.serialised(frame + 1 < frames ? at : 0);
        if (chunk.size() < write_chunk_bytes && frame + 1 < frames) continue;
        file.write(chunk);
        chunk.clear();
    }
}

void TiffMovieWriter::State::write_start(bool big, std::uint64_t second_directory) {
    const std::string header = tiff_header(big, directory_at);
    file.write_over(0, header.data(), header.size());
    const std::string page = directory(big, 0).serialised(second_directory);
    file.write_over(directory_at, page.data(), page.size());
    const Rational per_um = resolution(info.pixel_size_nm);
    file.write_over(resolution_at, &per_um, sizeof per_um);
    const std::string text = description(frames, info.pixel_size_nm);
    file.write_over(description_at, text.c_str(), text.size() + 1);
}

TiffMovieWriter::TiffMovieWriter(const std::filesystem::path& path, const MovieInfo& info, IfExists if_exists)
    : state_(new State{AtomicFile(path, if_exists), info, if_exists}) {
    if (info.width < 1 || info.height < 1)
        throw OptionError(
            fmt::format("{}: frames of {}x{} pixels cannot be written", path.string(), info.width, info.height));
    const auto nm = info.pixel_size_nm;
    if (nm && !(*nm >= smallest_pixel_nm && *nm <= largest_pixel_nm))
        throw OptionError(
            fmt::format("{}: pixels of {:g} nm cannot be written: a camera pixel in the sample is {:g} to {:g} nm wide",
                        path.string(), *nm, smallest_pixel_nm, largest_pixel_nm));
    state_->file.write(std::string(frames_at, '\0'));
}

TiffMovieWriter::~TiffMovieWriter() = default;

void TiffMovieWriter::append(const FrameBlock& block) {
    const MovieInfo& info = state_->info;
    if (block.width != info.width || block.height != info.height || block.type != info.type)
        throw OptionError(fmt::format("{}: frames of {}x{} pixels of {} bytes do not continue a movie of {}x{} of {}",
                                      state_->file.target().string(), block.width, block.height, num_bytes(block.type),
                                      info.width, info.height, num_bytes(info.type)));
    state_->file.write(block.bytes.data(), std::size_t(block.count) * block.frame_bytes());
    state_->frames += block.count;
}

void TiffMovieWriter::close() {
    finish();
    state_->file.commit();
}

void TiffMovieWriter::close_with_truth(const std::filesystem::path& truth_path, const Localizations& truth) {
    finish();
    AtomicFile truth_file(truth_path, state_->if_exists);
    write_truth(truth_file, truth);
    commit_together(truth_file, state_->file);
}

void TiffMovieWriter::finish() {
    State& state = *state_;
    if (state.frames == 0)
        throw OutputError(fmt::format("cannot write {}: a movie has at least one frame", state.file.target().string()));
    std::uint64_t end = frames_at + std::uint64_t(state.frames) * state.frame_bytes();
    const std::uint64_t directories = std::uint64_t(state.frames) * state.directory(false, 1).bytes();
    const bool big = end + directories > largest_classic_bytes;
    if (end % 8 != 0) state.file.write(std::string(8 - end % 8, '\0'));
    end = (end + 7) / 8 * 8;
    state.write_other_directories(big, end);
    state.write_start(big, state.frames > 1 ? end : 0);
}

}  // namespace glint
