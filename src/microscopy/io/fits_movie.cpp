// FITS movies: the first picture of two or three axes, with its numbers scaled by BSCALE and BZERO.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "glint/error.hpp"
#include "io/files/input_file.hpp"
#include "io/fits_header.hpp"
#include "io/header_bytes.hpp"
#include "io/metadata_values.hpp"
#include "io/movie_readers.hpp"
#include "io/plain_movie.hpp"
#include "io/planes.hpp"

namespace glint {
namespace {

constexpr int max_units = 1000;  // maximum number of headers searched for a picture

bool is_picture(const FitsHeader& header, bool first) {
    return (first || header.text("XTENSION") == "IMAGE") && header.integer("NAXIS") > 0;
}

[[noreturn]] void refuse_compressed(const std::string& name) {
    throw InputError(fmt::format(
        "{0}: its frames are compressed tiles (an .fz file), which are not read: unpack it with `funpack -O "
        "movie.fits {0}`",
        name));
}

/// Returns the file's first picture: that of the primary header, or of the first extension with one.
FitsHeader first_picture(const InputFile& file) {
    std::uint64_t offset = 0;
    for (int unit = 0; unit < max_units && offset < file.size(); ++unit) {
        FitsHeader header(file, offset);
        if (header.is_true("ZIMAGE")) refuse_compressed(file.name());
        if (is_picture(header, unit == 0)) return header;
        offset = header.next_header();
    }
    throw InputError(
        fmt::format("{}: has no picture, only headers or tables; a movie is a picture of three axes", file.name()));
}

StoredPixel stored_as(std::int64_t bitpix, const std::string& name) {
    switch (bitpix) {
        case 8: return StoredPixel::uint8;
        case 16: return StoredPixel::int16;
        case 32: return StoredPixel::int32;
        case 64: return StoredPixel::int64;
        case -32: return StoredPixel::float32;
        case -64: return StoredPixel::float64;
        default:
            throw InputError(fmt::format(
                "{}: BITPIX = {} is none of FITS's (8, 16, 32, 64, -32, -64): the file is damaged", name, bitpix));
    }
}

std::string shape_of(const std::vector<std::int64_t>& axes) { return fmt::format("{}", fmt::join(axes, " x ")); }

int edge(std::int64_t axis, const char* keyword, const std::string& name) {
    if (axis < 1 || axis > largest_edge_px)
        throw InputError(
            fmt::format("{}: {} = {}; frames have 1 to {} px along an edge", name, keyword, axis, largest_edge_px));
    return int(axis);
}

void take_sizes(const FitsHeader& header, const std::string& name, MovieInfo& info) {
    const std::int64_t count = header.integer("NAXIS");
    if (count < 2 || count > 16)
        throw InputError(fmt::format("{}: NAXIS = {}; a movie has two or three axes", name, count));
    std::vector<std::int64_t> axes;
    for (std::int64_t k = 1; k <= count; ++k) axes.push_back(header.integer(fmt::format("NAXIS{}", k)));
    info.width = edge(axes[0], "NAXIS1", name);
    info.height = edge(axes[1], "NAXIS2", name);
    info.frames = 1;
    for (std::size_t k = 2; k < axes.size(); ++k) {
        if (axes[k] != 1 && info.frames != 1)
            throw InputError(
                fmt::format("{}: its picture has {} pixels: more than one axis beyond width and height, and which are "
                            "the frames is not known; save each channel or z plane to a file of its own",
                            name, shape_of(axes)));
        if (axes[k] != 1) info.frames = axes[k];
    }
}

void take_scale(const FitsHeader& header, const std::string& name, PlainFrames& frames) {
    frames.scale = header.text("BSCALE").empty() ? 1 : header.number("BSCALE").value_or(0);
    frames.zero = header.text("BZERO").empty() ? 0 : header.number("BZERO").value_or(NAN);
    if (frames.scale == 0 || std::isnan(frames.zero))
        throw InputError(fmt::format("{}: BSCALE = {} and BZERO = {} give no numbers: the file is damaged", name,
                                     header.text("BSCALE"), header.text("BZERO")));
    if (!header.text("BLANK").empty() && header.integer("BITPIX") > 0)
        frames.info.warnings.push_back(
            fmt::format("{}: BLANK = {} marks pixels without a value; they are read as if it was one",
                        std::filesystem::path(name).filename().string(), header.text("BLANK")));
}

/// Returns true if the comment means photoelectrons per count, such as "[E-/ADU]" or "electrons per ADU". Ignores
/// blanks and case.
bool says_electrons_per_adu(const std::string& comment) {
    std::string text;
    for (const char c : comment)
        if (c != ' ') text += char(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
    for (const char* unit :
         {"E-/ADU", "E/ADU", "ELECTRONS/ADU", "ELECTRON/ADU", "ELECTRONSPERADU", "PHOTOELECTRONS/ADU"})
        if (const auto at = text.find(unit); at != text.npos && (at == 0 || text[at - 1] < 'A' || text[at - 1] > 'Z'))
            return true;
    return false;
}

std::optional<double> positive(const FitsHeader& header, const char* keyword) {
    const auto value = header.number(keyword);
    return value && *value > 0 ? value : std::nullopt;
}

void take_camera(const FitsHeader& header, MovieInfo& info) {
    for (const char* keyword : {"EXPTIME", "EXPOSURE"})
        if (const auto seconds = positive(header, keyword); seconds && !info.exposure_ms)
            info.exposure_ms = *seconds * 1e3;
    for (const char* keyword : {"CAMERA", "INSTRUME", "DETECTOR", "HEAD"})
        if (info.camera.empty()) info.camera = header.text(keyword);
    info.gain_e_per_adu = positive(header, "EGAIN");  // defined as e-/ADU; the unit of GAIN is in its comment
    if (!info.gain_e_per_adu && says_electrons_per_adu(header.comment("GAIN")))
        info.gain_e_per_adu = positive(header, "GAIN");
}

/// Warns of further pictures, whose frames would otherwise be lost without notice.
void look_for_others(const InputFile& file, const FitsHeader& header, MovieInfo& info) {
    if (!bytes_at(file, header.next_header(), 20).starts_with("XTENSION= 'IMAGE")) return;
    info.warnings.push_back(
        fmt::format("{}: has further pictures behind its first, which are not read; the frames of a "
                    "movie are the third axis of one picture",
                    std::filesystem::path(file.name()).filename().string()));
}

bool is_fits(const InputFile& file, const std::filesystem::path&) { return begins_with(file, "SIMPLE  ="); }

std::unique_ptr<Movie> open_fits(const std::filesystem::path& path, const MovieChoice& choice) {
    require_single_planes(choice, path.string());
    const InputFile file(path);
    const FitsHeader header = first_picture(file);
    PlainFrames frames;
    take_sizes(header, file.name(), frames.info);
    frames.stored = stored_as(header.integer("BITPIX"), file.name());
    frames.big_endian = true;
    take_scale(header, file.name(), frames);
    take_camera(header, frames.info);
    look_for_others(file, header, frames.info);
    frames.first_byte = header.data_offset();
    return plain_movie(path, std::move(frames));
}

}  // namespace

constinit const MovieFormat fits_movies{
    {"FITS", "", ".fits .fit", "compressed tiles (.fz): funpack"}, is_fits, open_fits};

}  // namespace glint
