// ImageJ, OME and MicroManager metadata: pixel size and number of images.
// SPDX-License-Identifier: MIT
#include "io/tiff/metadata.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <string_view>

#include "glint/error.hpp"
#include "glint/units.hpp"
#include "io/byte_order.hpp"
#include "io/files/input_file.hpp"
#include "io/metadata_values.hpp"
#include "io/micromanager.hpp"
#include "io/tiff/dialects.hpp"
#include "io/tiff/ome_planes.hpp"

namespace glint {
namespace {

constexpr std::uint32_t micromanager_tag = 51123;
constexpr std::uint32_t imagej_metadata_tag = 50839;
constexpr std::size_t largest_summary_bytes = 1 << 20;
constexpr std::uint64_t largest_xml_bytes = std::uint64_t(1) << 28;

std::optional<double> number(std::string_view text) {
    double value = 0;
    const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || rest != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
    return value;
}

/// Returns the value of `key=value` on a separate line.
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

/// Returns the axes of a file's pages. The pages of a file with a single channel lack the channel axis.
std::vector<Axis> axes_of(const OmeMovie& ome, const std::string& file_name) {
    std::vector<Axis> axes = ome_axes(ome);
    if (ome.holds_one_channel(file_name))
        std::erase_if(axes, [](const Axis& axis) { return axis.dimension == Dimension::channel; });
    return ome.has_unsaid_channels ? axes : several(std::move(axes));
}

std::string text_tag(TIFF* tiff, std::uint32_t tag) {
    const char* text = nullptr;
    return TIFFGetField(tiff, tag, &text) && text ? text : "";
}

// For a tag that libtiff does not know, it returns a count and the bytes.
std::string unknown_text_tag(TIFF* tiff, std::uint32_t tag) {
    const TIFFField* field = TIFFFindField(tiff, tag, TIFF_ASCII);
    std::uint32_t count = 0;
    const char* text = nullptr;
    if (!field || !TIFFFieldPassCount(field) || !TIFFGetField(tiff, tag, &count, &text) || !text) return {};
    const std::string_view bytes(text, count);
    return std::string(bytes.substr(0, bytes.find('\0')));
}

/// The texts of ImageJ's own tag ("Info", labels), which are UTF-16. Without zero bytes, their ASCII parts can be
/// searched.
std::string imagej_texts(TIFF* tiff) {
    const TIFFField* field = TIFFFindField(tiff, imagej_metadata_tag, TIFF_BYTE);
    std::uint32_t count = 0;
    const char* bytes = nullptr;
    if (!field || TIFFFieldDataType(field) != TIFF_BYTE || !TIFFFieldPassCount(field) ||
        !TIFFGetField(tiff, imagej_metadata_tag, &count, &bytes) || !bytes)
        return {};
    std::string text(bytes, std::min<std::size_t>(count, 2 * largest_summary_bytes));
    std::erase(text, '\0');
    return text;
}

/// Returns Micro-Manager's summary, which follows the header and has its own magic number.
std::string summary_of(const InputFile& file) {
    constexpr std::uint32_t magic = 2355492;
    std::uint32_t head[2] = {};
    const auto bytes = reinterpret_cast<std::byte*>(head);
    if (file.read_at(32, bytes, sizeof head) != sizeof head) return {};
    std::byte order{};
    file.read_at(0, &order, 1);
    if ((order == std::byte{'M'}) == host_is_little_endian) swap_32_bit(bytes, 2);
    if (head[0] != magic || head[1] > largest_summary_bytes) return {};
    std::string text(head[1], '\0');
    text.resize(file.read_at(40, reinterpret_cast<std::byte*>(text.data()), text.size()));
    while (!text.empty() && text.back() == '\0') text.pop_back();
    return text;
}

bool is_ome(const std::string& text) {
    return text.find("<OME") != std::string::npos || text.find(":OME") != std::string::npos;
}

/// Returns the metadata text of a set, which one of its files or a separate file contains.
std::string text_beside(const std::filesystem::path& path) {
    try {
        const InputFile file(path);
        if (begins_like_tiff(file)) return text_tag(TiffHandle(file).get(), TIFFTAG_IMAGEDESCRIPTION);
        std::string text(std::size_t(std::min(file.size(), largest_xml_bytes)), '\0');
        text.resize(file.read_at(0, reinterpret_cast<std::byte*>(text.data()), text.size()));
        return text;
    } catch (const InputError&) {
        return {};
    }
}

TiffMetadata read_ome(const std::string& text, const std::filesystem::path& path) {
    const std::string name = path.filename().string();
    TiffMetadata metadata = read_ome_description(text, name);
    const std::string other = metadata.ome.metadata_file;
    if (other.empty() || other == name) return metadata;
    const std::string complete = text_beside(path.parent_path() / other);
    if (is_ome(complete)) return read_ome_description(complete, name, metadata.ome.uuid);
    metadata.warnings.push_back(fmt::format(
        "its OME metadata are in {}, which cannot be read: whether frames are missing is not known", other));
    return metadata;
}

}  // namespace

// Sets one size for both axes, or none: glint's pixels are square.
void take_pixel_size(double x_nm, double y_nm, TiffMetadata& metadata) {
    const auto plausible = [](double nm) { return nm >= smallest_pixel_nm && nm <= largest_pixel_nm; };
    if (!plausible(x_nm) || !plausible(y_nm)) return;
    if (std::abs(x_nm - y_nm) > 0.001 * x_nm) {
        metadata.warnings.push_back(fmt::format(
            "the metadata say pixels of {:.4g} by {:.4g} nm, which are not square: give `pixel_size`", x_nm, y_nm));
        return;
    }
    metadata.pixel_size_nm = std::round(x_nm * 1e4) / 1e4;  // resolutions are floats with 7 digits
}

TiffMetadata read_imagej_description(const std::string& text, double x_resolution, double y_resolution) {
    TiffMetadata metadata;
    metadata.images = count_of(line_value(text, "images"));
    const auto size = [&](const char* key) { return std::max<std::int64_t>(1, count_of(line_value(text, key))); };
    metadata.stated_by = "the ImageJ description";
    // The fastest first, as hyperstacks name their order; "default" is ImageJ's word for czt.
    std::string order(line_value(text, "order").value_or("czt"));
    std::transform(order.begin(), order.end(), order.begin(), [](unsigned char c) { return char(std::tolower(c)); });
    if (!std::is_permutation(order.begin(), order.end(), std::string_view("czt").begin(),
                             std::string_view("czt").end()))
        order = "czt";
    for (auto letter = order.rbegin(); letter != order.rend(); ++letter)
        metadata.axes.push_back(*letter == 't'   ? Axis{Dimension::time, size("frames"), {}}
                                : *letter == 'z' ? Axis{Dimension::z, size("slices"), {}}
                                                 : Axis{Dimension::channel, size("channels"), {}});
    const std::int64_t planes = count_of(metadata.axes);
    if (metadata.images == 0 && planes > 1) metadata.images = planes;
    // As in `images=40, channels=2`: the unnamed axis is time, which is the slowest.
    if (const auto times = std::ranges::find(metadata.axes, Dimension::time, &Axis::dimension);
        planes > 1 && metadata.images > planes && metadata.images % planes == 0 && times->size == 1) {
        metadata.axes.erase(times);
        metadata.axes.insert(metadata.axes.begin(), {Dimension::time, metadata.images / planes, {}});
    }
    metadata.axes = several(std::move(metadata.axes));
    const auto unit = line_value(text, "unit"), y_unit = line_value(text, "yunit");
    const auto nm = unit ? nm_of_unit(*unit) : std::nullopt;
    const auto y_nm = y_unit ? nm_of_unit(*y_unit) : nm;
    if (nm && y_nm && x_resolution > 0 && y_resolution > 0)
        take_pixel_size(*nm / x_resolution, *y_nm / y_resolution, metadata);
    return metadata;
}

TiffMetadata read_ome_description(const std::string& text, const std::string& file_name, const std::string& uuid) {
    TiffMetadata metadata;
    OmeMovie& ome = metadata.ome = parse_ome_xml(text, file_name, uuid);
    metadata.axes = axes_of(ome, file_name);
    metadata.stated_by = "the OME metadata";
    if (!ome.exposures_differ) metadata.exposure_ms = ome.exposure_ms;
    if (ome.width_nm) take_pixel_size(*ome.width_nm, ome.height_nm.value_or(*ome.width_nm), metadata);
    return metadata;
}

std::optional<double> exposure_ms_in_info(std::string_view info) {
    constexpr std::string_view key = "Exposure-ms";
    const auto at = info.find(key);
    if (at == info.npos) return exposure_ms_of(info);
    info.remove_prefix(at + key.size());
    info.remove_prefix(std::min(info.find_first_not_of("\" :="), info.size()));
    const auto value = number(info.substr(0, info.find_first_not_of("0123456789.eE+-")));
    return value && *value > 0 ? value : std::nullopt;
}

void take_micromanager(const TiffHandle& tiff, const InputFile& file, TiffMetadata& metadata) {
    const MicroManagerFacts facts = read_micromanager(unknown_text_tag(tiff.get(), micromanager_tag));
    if (!metadata.pixel_size_nm) metadata.pixel_size_nm = facts.pixel_size_nm;
    if (facts.exposure_ms) metadata.exposure_ms = facts.exposure_ms;
    metadata.camera = facts.camera;
    for (Axis& axis : metadata.axes) {
        if (axis.dimension != Dimension::channel || axis.size < 2 || !axis.names.empty()) continue;
        axis.names = micromanager_channels(summary_of(file));
        if (std::int64_t(axis.names.size()) > axis.size) axis.names.resize(std::size_t(axis.size));
    }
}

TiffMetadata read_tiff_metadata(const TiffHandle& tiff, const std::filesystem::path& path) {
    const std::string description = text_tag(tiff.get(), TIFFTAG_IMAGEDESCRIPTION);
    TiffMetadata metadata;
    if (description.starts_with("ImageJ="))
        metadata = read_imagej_description(description, tiff.tag<float>(TIFFTAG_XRESOLUTION, 0),
                                           tiff.tag<float>(TIFFTAG_YRESOLUTION, 0)),
        metadata.exposure_ms = exposure_ms_in_info(imagej_texts(tiff.get()));
    else if (is_ome(description))
        metadata = read_ome(description, path);
    if (const OmeMovie& ome = metadata.ome; ome.width_px > 0 && ome.height_px > 0) {
        const std::int64_t width = tiff.tag<std::uint32_t>(TIFFTAG_IMAGEWIDTH, 0),
                           height = tiff.tag<std::uint32_t>(TIFFTAG_IMAGELENGTH, 0);
        if (ome.width_px != width || ome.height_px != height)
            metadata.warnings.push_back(
                fmt::format("the OME metadata say frames of {}x{} px, and the pages have {}x{}, which count: are the "
                            "metadata, and with them the pixel size and the order of planes, of another file?",
                            ome.width_px, ome.height_px, width, height));
    }
    return metadata;
}

}  // namespace glint
