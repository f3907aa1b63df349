// SPE movies of Princeton Instruments: a header of 4,100 bytes, frames, and since version 3 (LightField) an XML
// footer.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <string>

#include "glint/error.hpp"
#include "io/files/input_file.hpp"
#include "io/header_bytes.hpp"
#include "io/metadata_values.hpp"
#include "io/movie_readers.hpp"
#include "io/plain_movie.hpp"
#include "io/planes.hpp"
#include "io/tiff/ome_xml.hpp"
#include "io/xml_text.hpp"

namespace glint {
namespace {

constexpr std::uint64_t spe_header_bytes = 4100;
constexpr std::uint64_t largest_footer_bytes = std::uint64_t(1) << 26;  // real ones have less than 1 MB

struct SpeHeader {
    double version = 0, exposure_s = 0;
    int width = 0, height = 0, type = 0, regions = 0;
    std::int64_t frames = 0;
    std::uint64_t footer_at = 0;  ///< 0: none
};

SpeHeader parse_header(std::string_view bytes) {
    SpeHeader header;
    header.version = number_at<float>(bytes, 1992);
    header.exposure_s = number_at<float>(bytes, 10);
    header.width = number_at<std::uint16_t>(bytes, 42);
    header.height = number_at<std::uint16_t>(bytes, 656);
    header.type = number_at<std::int16_t>(bytes, 108);
    header.regions = number_at<std::int16_t>(bytes, 1510);
    header.frames = number_at<std::int32_t>(bytes, 1446);
    if (header.version >= 3) header.footer_at = number_at<std::uint64_t>(bytes, 678);
    return header;
}

/// The footer's facts; 0 and empty if unknown.
struct Footer {
    std::int64_t frames = 0, regions = 0;
    int width = 0, height = 0;
    std::uint64_t step = 0;  ///< from frame to frame: time stamps may follow the pixels
    std::string pixel_format, camera;
    std::optional<double> exposure_ms;
};

template <class T>
T number(const pugi::xml_node& element, const char* key, T otherwise = {}) {
    return number_of<T>(attribute(element, key)).value_or(otherwise);
}

void take_block(const pugi::xml_node& block, Footer& footer) {
    const std::string_view type = attribute(block, "type");
    if (type == "Frame" && footer.pixel_format.empty()) {
        footer.frames = number<std::int64_t>(block, "count");
        footer.step = number<std::uint64_t>(block, "stride");
        footer.pixel_format = attribute(block, "pixelFormat");
    } else if (type == "Region") {
        footer.regions += number<std::uint16_t>(block, "count", 1);
        footer.width = number<int>(block, "width");
        footer.height = number<int>(block, "height");
    }
}

Footer parse_footer(std::string_view xml, const std::string& name) {
    Footer footer;
    for_each_element(xml, name, [&](const pugi::xml_node& element) {
        const std::string_view tag = local_name(element);
        if (tag == "DataBlock") take_block(element, footer);
        if (tag == "Camera" && footer.camera.empty()) footer.camera = attribute(element, "model");
        if (tag == "ExposureTime" && !footer.exposure_ms)
            footer.exposure_ms = positive_number_of(trimmed(element.child_value()));
    });
    return footer;
}

StoredPixel stored_as(int type, const std::string& name) {
    switch (type) {
        case 0: return StoredPixel::float32;
        case 1: return StoredPixel::int32;
        case 2: return StoredPixel::int16;
        case 3: return StoredPixel::uint16;
        case 5: return StoredPixel::float64;
        case 6: return StoredPixel::uint8;
        case 8: return StoredPixel::uint32;
        default:
            throw InputError(fmt::format(
                "{}: its header says data type {}, which is none of SPE's (0, 1, 2, 3, 5, 6, 8): the file is damaged",
                name, type));
    }
}

StoredPixel stored_as(const std::string& pixel_format, const std::string& name) {
    if (pixel_format == "MonochromeUnsigned16") return StoredPixel::uint16;
    if (pixel_format == "MonochromeUnsigned32") return StoredPixel::uint32;
    if (pixel_format == "MonochromeFloating32") return StoredPixel::float32;
    throw InputError(
        fmt::format("{}: its pixels are `{}`, which is not read; MonochromeUnsigned16, MonochromeUnsigned32 and "
                    "MonochromeFloating32 are: export it as TIFF from LightField",
                    name, pixel_format));
}

void refuse_regions(std::int64_t regions, const std::string& name) {
    if (regions > 1)
        throw InputError(
            fmt::format("{}: has {} regions of interest, the frames of a movie are one: export each region "
                        "to a file of its own",
                        name, regions));
}

void take_header(const SpeHeader& header, const std::string& name, PlainFrames& frames) {
    refuse_regions(header.version >= 3 ? 1 : header.regions, name);  // 3.x stores them in the footer
    frames.info.width = header.width;
    frames.info.height = header.height;
    frames.info.frames = header.frames;
    frames.stored = stored_as(header.type, name);
    frames.first_byte = spe_header_bytes;
    if (header.exposure_s > 0 && std::isfinite(header.exposure_s) && header.version < 3)
        frames.info.exposure_ms = header.exposure_s * 1e3;
}

/// Frames end where the footer begins.
void end_at(std::uint64_t footer_at, const std::string& name, PlainFrames& frames) {
    const MovieInfo& info = frames.info;
    const std::uint64_t pixels = std::uint64_t(info.width) * info.height * num_bytes(frames.stored),
                        step = frames.step ? frames.step : pixels, room = footer_at - spe_header_bytes;
    if (pixels == 0 || step < pixels || info.frames < 1) return;  // plain_movie() rejects these values
    const std::uint64_t whole = room < pixels ? 0 : 1 + (room - pixels) / step;
    if (std::uint64_t(info.frames) <= whole) return;
    const std::string what =
        fmt::format("{}: says {} frames of {} bytes, and {} are before its footer", name, info.frames, step, whole);
    if (whole == 0) throw InputError(what + ": the file is damaged");
    frames.info.warnings.push_back(fmt::format("{}; the first {} frames are usable", what, whole));
    frames.info.frames = std::int64_t(whole);
}

void take_footer(const Footer& footer, const std::string& name, PlainFrames& frames) {
    refuse_regions(footer.regions, name);
    MovieInfo& info = frames.info;
    if (footer.regions == 1) info.width = footer.width, info.height = footer.height;
    if (!footer.pixel_format.empty()) frames.stored = stored_as(footer.pixel_format, name);
    if (footer.frames > 0) info.frames = footer.frames;
    frames.step = footer.step;
    info.camera = footer.camera;
    info.exposure_ms = footer.exposure_ms;
}

void read_footer(const InputFile& file, std::uint64_t at, PlainFrames& frames) {
    const std::string name = std::filesystem::path(file.name()).filename().string();
    const std::string xml = at < spe_header_bytes ? "" : bytes_at(file, at, largest_footer_bytes);
    const Footer footer = parse_footer(xml, file.name());
    if (footer.pixel_format.empty()) {
        frames.info.warnings.push_back(fmt::format(
            "{}: its XML footer is missing, as of a recording that broke off: frames are taken to follow each "
            "other without gaps",
            name));
        return;
    }
    take_footer(footer, file.name(), frames);
    end_at(at, name, frames);
}

bool is_spe(const InputFile& file, const std::filesystem::path&) {
    if (file.size() < spe_header_bytes) return false;
    const std::string bytes = bytes_at(file, 0, spe_header_bytes);
    const float version = number_at<float>(bytes, 1992);
    return number_at<std::uint32_t>(bytes, 2996) == 0x01234567 ||  // some writers leave out one of the two marks
           (number_at<std::uint16_t>(bytes, 4098) == 0x5555 && version >= 1 && version < 4);
}

std::unique_ptr<Movie> open_spe(const std::filesystem::path& path, const MovieChoice& choice) {
    require_single_planes(choice, path.string());
    const InputFile file(path);
    const SpeHeader header = parse_header(bytes_at(file, 0, spe_header_bytes));
    PlainFrames frames;
    take_header(header, file.name(), frames);
    if (header.version >= 3) read_footer(file, header.footer_at, frames);
    return plain_movie(path, std::move(frames));
}

}  // namespace

constinit const MovieFormat spe_movies{
    {"SPE", "WinView, LightField", ".spe", "several regions of interest; packed pixels"}, is_spe, open_spe};

}  // namespace glint
