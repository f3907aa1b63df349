// ImageJ, OME and MicroManager metadata: pixel size and number of images.
// SPDX-License-Identifier: MIT
#include "io/tiff_metadata.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>

namespace glint {
namespace {

constexpr std::uint32_t micromanager_tag = 51123;
constexpr double smallest_pixel_nm = 1, largest_pixel_nm = 1e5;

struct Unit {
    std::string_view name;
    double nm;
};
// The micro sign is written in UTF-8 (two code points look alike), in Latin-1, or escaped as ImageJ does.
constexpr std::array<Unit, 12> units{{{"nm", 1},
                                      {"nanometer", 1},
                                      {"um", 1e3},
                                      {"micron", 1e3},
                                      {"microns", 1e3},
                                      {"micrometer", 1e3},
                                      {"\xc2\xb5m", 1e3},
                                      {"\xce\xbcm", 1e3},
                                      {"\xb5m", 1e3},
                                      {"\\u00B5m", 1e3},
                                      {"\\u00b5m", 1e3},
                                      {"mm", 1e6}}};

std::optional<double> nm_of(std::string_view unit) {
    for (const Unit& known : units)
        if (known.name == unit) return known.nm;
    return std::nullopt;
}

std::optional<double> number(std::string_view text) {
    double value = 0;
    const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || rest != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
    return value;
}

// One size for both axes, or nothing: glint's pixels are square.
void take_pixel_size(double x_nm, double y_nm, TiffMetadata& metadata) {
    const auto plausible = [](double nm) { return nm >= smallest_pixel_nm && nm <= largest_pixel_nm; };
    if (!plausible(x_nm) || !plausible(y_nm)) return;
    if (std::abs(x_nm - y_nm) > 0.001 * x_nm) {
        metadata.warnings.push_back(fmt::format(
            "the metadata say pixels of {:.4g} by {:.4g} nm, which are not square: give --pixel-size", x_nm, y_nm));
        return;
    }
    metadata.pixel_size_nm = std::round(x_nm * 1e4) / 1e4;  // resolutions come as floats of 7 digits
}

/// The value of `key=value` on a line of its own.
std::optional<std::string_view> line_value(std::string_view text, std::string_view key) {
    for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t end = std::min(text.find('\n', begin), text.size());
        std::string_view line = text.substr(begin, end - begin);
        if (line.ends_with('\r')) line.remove_suffix(1);
        if (line.starts_with(key) && line.substr(key.size()).starts_with('=')) return line.substr(key.size() + 1);
        begin = end + 1;
    }
    return std::nullopt;
}

std::int64_t count_of(std::optional<std::string_view> text) {
    const auto value = text ? number(*text) : std::nullopt;
    return value && *value >= 1 && *value < 1e15 ? std::int64_t(*value) : 0;
}

/// The value of attribute `key="value"` in an XML tag.
std::optional<std::string_view> attribute(std::string_view tag, std::string_view key) {
    const std::string pattern = fmt::format(" {}=", key);
    const auto at = tag.find(pattern);
    if (at == std::string_view::npos || at + pattern.size() >= tag.size()) return std::nullopt;
    const char quote = tag[at + pattern.size()];
    const auto begin = at + pattern.size() + 1;
    const auto end = tag.find(quote, begin);
    if ((quote != '"' && quote != '\'') || end == std::string_view::npos) return std::nullopt;
    return tag.substr(begin, end - begin);
}

std::string_view first_tag(std::string_view xml, std::string_view name, std::size_t from = 0) {
    for (auto at = xml.find('<', from); at != std::string_view::npos; at = xml.find('<', at + 1)) {
        std::string_view rest = xml.substr(at + 1);
        const auto colon = rest.find_first_of(": >/\n");  // skips a namespace prefix, as in <ome:Pixels
        if (colon != std::string_view::npos && rest[colon] == ':') rest.remove_prefix(colon + 1);
        if (!rest.starts_with(name) || rest.size() <= name.size()) continue;
        if (std::string_view(" \n\t\r>/").find(rest[name.size()]) == std::string_view::npos) continue;
        return rest.substr(0, rest.find('>'));
    }
    return {};
}

std::optional<double> ome_size_nm(std::string_view pixels, std::string_view axis) {
    const auto size = attribute(pixels, fmt::format("PhysicalSize{}", axis));
    const auto unit = attribute(pixels, fmt::format("PhysicalSize{}Unit", axis));
    const auto value = size ? number(*size) : std::nullopt;
    const auto nm = nm_of(unit.value_or("\xc2\xb5m"));  // the schema's default
    if (!value || !nm) return std::nullopt;
    return *value * *nm;
}

std::string text_tag(TIFF* tiff, std::uint32_t tag) {
    const char* text = nullptr;
    return TIFFGetField(tiff, tag, &text) && text ? text : "";
}

// A tag that libtiff does not know: it gives a count and the bytes.
std::string unknown_text_tag(TIFF* tiff, std::uint32_t tag) {
    const TIFFField* field = TIFFFindField(tiff, tag, TIFF_ASCII);
    std::uint32_t count = 0;
    const char* text = nullptr;
    if (!field || !TIFFFieldPassCount(field) || !TIFFGetField(tiff, tag, &count, &text) || !text) return {};
    const std::string_view bytes(text, count);
    return std::string(bytes.substr(0, bytes.find('\0')));
}

}  // namespace

TiffMetadata read_imagej_description(const std::string& text, double x_resolution, double y_resolution) {
    TiffMetadata metadata;
    metadata.images = count_of(line_value(text, "images"));
    const auto channels = count_of(line_value(text, "channels"));
    if (channels > 1 && channels != metadata.images)  // else the one axis of frames, by a name that does not matter
        metadata.warnings.push_back(fmt::format(
            "the ImageJ description says {} channels; all their pages are read as one sequence of frames", channels));
    const auto unit = line_value(text, "unit"), y_unit = line_value(text, "yunit");
    const auto nm = unit ? nm_of(*unit) : std::nullopt;
    const auto y_nm = y_unit ? nm_of(*y_unit) : nm;
    if (nm && y_nm && x_resolution > 0 && y_resolution > 0)
        take_pixel_size(*nm / x_resolution, *y_nm / y_resolution, metadata);
    return metadata;
}

TiffMetadata read_ome_description(const std::string& text) {
    TiffMetadata metadata;
    const std::string_view pixels = first_tag(text, "Pixels");
    const auto channels = count_of(attribute(pixels, "SizeC"));
    const bool other_axis = count_of(attribute(pixels, "SizeT")) > 1 || count_of(attribute(pixels, "SizeZ")) > 1;
    if (channels > 1 && other_axis)
        metadata.warnings.push_back(fmt::format(
            "the OME metadata say {} channels; all their pages are read as one sequence of frames", channels));
    const auto x_nm = ome_size_nm(pixels, "X");
    if (x_nm) take_pixel_size(*x_nm, ome_size_nm(pixels, "Y").value_or(*x_nm), metadata);
    return metadata;
}

std::optional<double> pixel_size_nm_from_micromanager(const std::string& json) {
    const auto parsed = nlohmann::json::parse(json, nullptr, false);
    if (!parsed.is_object()) return std::nullopt;
    const auto found = parsed.find("PixelSizeUm");
    if (found == parsed.end() || !found->is_number()) return std::nullopt;
    TiffMetadata metadata;
    take_pixel_size(found->get<double>() * 1e3, found->get<double>() * 1e3, metadata);
    return metadata.pixel_size_nm;
}

TiffMetadata read_tiff_metadata(const TiffHandle& tiff) {
    const std::string description = text_tag(tiff.get(), TIFFTAG_IMAGEDESCRIPTION);
    TiffMetadata metadata;
    if (description.starts_with("ImageJ="))
        metadata = read_imagej_description(description, tiff.tag<float>(TIFFTAG_XRESOLUTION, 0),
                                           tiff.tag<float>(TIFFTAG_YRESOLUTION, 0));
    else if (description.find("<OME") != std::string::npos || description.find(":OME") != std::string::npos)
        metadata = read_ome_description(description);
    if (!metadata.pixel_size_nm)
        metadata.pixel_size_nm = pixel_size_nm_from_micromanager(unknown_text_tag(tiff.get(), micromanager_tag));
    return metadata;
}

}  // namespace glint
