// Reads axes from descriptions and private tags.
// SPDX-License-Identifier: MIT
#include "io/tiff/dialects.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "glint/error.hpp"
#include "io/byte_order.hpp"
#include "io/header_bytes.hpp"
#include "io/metadata_values.hpp"
#include "io/tiff/raw_directory.hpp"

namespace glint {
namespace {

constexpr std::uint16_t uic3_tag = 33630, sis_ini_tag = 33471, fluoview_tag = 34361, lsm_tag = 34412;
constexpr std::int64_t max_planes = std::int64_t(1) << 40;
constexpr std::uint64_t longest_tag_bytes = 1 << 20;

std::string lowered(std::string_view text) {
    std::string lower(text);
    std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return char(std::tolower(c)); });
    return lower;
}

/// A general sequence ("I", "Q" of tifffile) stands for the frames, unless there is also a time axis.
std::optional<Dimension> dimension_of(std::string_view axis, bool has_time) {
    const std::string name = lowered(axis);
    const auto is = [&](std::initializer_list<std::string_view> names) {
        return std::find(names.begin(), names.end(), name) != names.end();
    };
    if (is({"t", "time"})) return Dimension::time;
    if (is({"z", "depth", "slice"})) return Dimension::z;
    if (is({"c", "ch", "channel", "band", "wavelength", "spectra", "lambda", "e"})) return Dimension::channel;
    if (is({"r", "m", "position", "xy", "tile", "mosaic"})) return Dimension::position;
    if (!has_time && is({"i", "q", "sequence", "other", "unknown"})) return Dimension::time;
    return std::nullopt;
}

std::string text_tag(const TiffHandle& tiff, std::uint32_t tag) {
    const char* text = nullptr;
    return TIFFGetField(tiff.get(), tag, &text) && text ? text : "";
}

/// Returns the bytes of a tag of the first directory, in the file's byte order; empty if the directory lacks the tag.
std::string raw_tag(TiffHandle& tiff, const InputFile& file, std::uint16_t tag) {
    RawDirectory directory(tiff);
    if (!directory.read(TIFFCurrentDirOffset(tiff.get()))) return {};
    for (std::size_t k = 0; k < directory.count(); ++k) {
        if (directory.tag(k) != tag) continue;
        const std::uint64_t values = std::min(directory.values(k), longest_tag_bytes);
        return bytes_at(file, directory.place(k), std::min(values * directory.bytes_of_type(k), longest_tag_bytes));
    }
    return {};
}

std::int64_t planes_of(const std::vector<NamedAxis>& axes) {
    std::int64_t planes = 1;
    for (const NamedAxis& axis : axes) {
        if (axis.size < 1 || axis.size > max_planes / planes) return 0;
        planes *= axis.size;
    }
    return planes;
}

void take_axes(const std::vector<NamedAxis>& named, const std::string& file, std::string stated_by,
               TiffMetadata& metadata) {
    metadata.axes = known_axes(named, file, stated_by);
    metadata.stated_by = std::move(stated_by);
}

/// Returns the numbers of "(20, 2, 32, 32)".
std::vector<std::int64_t> numbers_in(std::string_view text) {
    std::vector<std::int64_t> numbers;
    while (!text.empty() && text.front() != ')') {
        const auto end = std::min(text.find_first_of(",)"), text.size());
        if (const auto number = number_of<std::int64_t>(trimmed(text.substr(0, end), " (")))
            numbers.push_back(*number);
        else if (!trimmed(text.substr(0, end), " (").empty())
            return {};
        text.remove_prefix(std::min(end + (end < text.size() && text[end] == ','), text.size()));
    }
    return numbers;
}

/// Returns the value of "key = value" or "key=value" on a separate line.
std::string_view line_value(std::string_view text, std::string_view key) {
    for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t end = std::min(text.find_first_of("\r\n", begin), text.size());
        const std::string_view line = trimmed(text.substr(begin, end - begin));
        if (line.starts_with(key) && trimmed(line.substr(key.size())).starts_with('='))
            return trimmed(trimmed(line.substr(key.size())).substr(1));
        begin = end + 1;
    }
    return {};
}

std::vector<std::string_view> split(std::string_view text, char separator) {
    std::vector<std::string_view> parts;
    for (std::size_t begin = 0; begin <= text.size();) {
        const std::size_t end = std::min(text.find(separator, begin), text.size());
        parts.push_back(trimmed(text.substr(begin, end - begin)));
        begin = end + 1;
    }
    return parts;
}

std::int64_t count_in(std::string_view text, std::int64_t otherwise) {
    const auto value = number_of<double>(text);
    return value && *value >= 1 && *value < 1e12 ? std::int64_t(*value) : otherwise;
}

void take_lsm(const std::string& bytes, int samples, const InputFile& file, TiffMetadata& metadata) {
    constexpr std::uint64_t largest = UINT32_MAX;
    if (file.size() > largest)
        throw InputError(
            fmt::format("{}: is an LSM file of {} bytes, and above {} its places are stored modulo 4 GiB: save it as "
                        "OME-TIFF in Fiji (Bio-Formats)",
                        file.name(), file.size(), largest));
    const auto size = [&](std::size_t at) { return std::max(number_at<std::int32_t>(bytes, at), 1); };
    // Zeiss' programs write channels as samples of a page.
    if (size(20) > 1 && samples == 1)
        throw InputError(fmt::format(
            "{}: its LSM metadata state {} channels, and its pages have one sample each: which pages are one "
            "channel is not known. Save it as OME-TIFF in Fiji (Bio-Formats), or one channel alone",
            file.name(), size(20)));
    std::vector<NamedAxis> axes{{"Z", size(16)}, {"T", size(24)}};
    if (bytes.size() >= 272) axes.push_back({"position", size(264)}), axes.push_back({"mosaic", size(268)});
    const auto type = number_at<std::uint16_t>(bytes, 88);
    constexpr std::uint16_t plane_types[] = {0, 3, 6, 7};  // x-y planes: one, in time, in z, or both
    if (std::find(std::begin(plane_types), std::end(plane_types), type) == std::end(plane_types))
        throw InputError(fmt::format("{}: is an LSM file of lines or x-z planes (scan type {}), and no movie of frames",
                                     file.name(), type));
    std::erase_if(axes, [](const NamedAxis& axis) { return axis.size == 1; });
    take_axes(axes, file.name(), "the LSM metadata", metadata);
    constexpr double nm_per_m = 1e9;
    take_pixel_size(number_at<double>(bytes, 40) * nm_per_m, number_at<double>(bytes, 48) * nm_per_m, metadata);
}

void take_fluoview(const std::string& bytes, bool big_endian, const std::string& file, TiffMetadata& metadata) {
    constexpr std::size_t first = 284, step = 100, dimensions = 10;
    std::vector<NamedAxis> axes;
    double edge_nm[2] = {0, 0};
    for (std::size_t at = first; at + step <= bytes.size() && at < first + dimensions * step; at += step) {
        const auto text = [&](std::size_t from, std::size_t n) {
            const std::string field = bytes.substr(at + from, n);
            return std::string(trimmed(field.substr(0, field.find('\0'))));
        };
        const std::string name = lowered(text(0, 16));
        const auto size = number_at<std::int32_t>(bytes, at + 16, big_endian);
        if (name == "x" || name == "y")
            edge_nm[name == "y"] = number_at<double>(bytes, at + 28, big_endian) * nm_of_unit(text(36, 64)).value_or(0);
        else if (size > 1)
            axes.push_back({text(0, 16), size});
    }
    take_axes(axes, file, "the FluoView header", metadata);
    take_pixel_size(edge_nm[0], edge_nm[1], metadata);
}

/// Reads "[Dimension]" of the ini text: Band=2, Z=1, Time=20, the fastest first.
void take_sis(std::string_view ini, const std::string& file, TiffMetadata& metadata) {
    const auto section = ini.find("[Dimension]");
    if (section == ini.npos) return;
    ini.remove_prefix(section + std::string_view("[Dimension]").size());
    std::vector<NamedAxis> axes;
    for (const std::string_view line : split(ini.substr(0, ini.find('[')), '\n')) {
        const auto equals = line.find('=');
        if (equals == line.npos) continue;
        axes.push_back({std::string(trimmed(line.substr(0, equals))), count_in(trimmed(line.substr(equals + 1)), 1)});
    }
    take_axes(axes, file, "the SIS metadata", metadata);
}

/// Reads UIC3: a wavelength, as a fraction, for each plane. Wavelengths that alternate, or follow each other in blocks,
/// are channels.
void take_stk_wavelengths(const std::string& uic3, const std::string& file, TiffMetadata& metadata) {
    std::vector<double> waves, different;
    for (std::size_t at = 0; at + 8 <= uic3.size(); at += 8) {
        const double below = number_at<std::uint32_t>(uic3, at + 4);
        waves.push_back(below > 0 ? number_at<std::uint32_t>(uic3, at) / below : 0);
        if (std::find(different.begin(), different.end(), waves.back()) == different.end())
            different.push_back(waves.back());
        if (different.size() > 64) return;  // too many for filters: the values are times or positions
    }
    const std::size_t n = different.size(), planes = waves.size();
    if (n < 2 || std::int64_t(planes) != metadata.images) return;
    bool alternate = planes % n == 0, in_blocks = planes % n == 0;
    for (std::size_t k = 0; k < planes; ++k) {
        alternate &= waves[k] == different[k % n];
        in_blocks &= waves[k] == different[k / std::max<std::size_t>(planes / n, 1)];
    }
    const std::string names = fmt::format("{:g}", fmt::join(different, ", "));
    if (!alternate && !in_blocks)
        throw InputError(
            fmt::format("{}: its planes have {} wavelengths ({} nm) in no regular order, and channels are never mixed: "
                        "save one wavelength alone",
                        file, n, names));
    std::vector<NamedAxis> axes{{"wavelength", std::int64_t(n)}, {"time", std::int64_t(planes / n)}};
    if (!alternate) std::swap(axes[0], axes[1]);
    take_axes(axes, file, "MetaMorph's tag UIC3", metadata);
    for (Axis& axis : metadata.axes)
        if (axis.dimension == Dimension::channel)
            for (const double wave : different) axis.names.push_back(fmt::format("{:g}", wave));
}

/// Reads tifffile's description without its end, whose axes may be lost.
void take_cut_description(const std::string& text, const std::string& file, TiffMetadata& metadata) {
    std::string_view shape = text;
    shape.remove_prefix(shape.find("\"shape\""));
    shape.remove_prefix(std::min(shape.find('['), shape.size()));
    const auto end = shape.find(']');
    const auto inside = shape.empty() ? shape : shape.substr(1, end == shape.npos ? end : end - 1);
    const std::vector<std::int64_t> sizes = numbers_in(inside);
    const auto planes = std::int64_t(sizes.size()) - (end == shape.npos ? 0 : 2);
    const auto several =
        std::count_if(sizes.begin(), sizes.begin() + std::clamp<std::int64_t>(planes, 0, std::ssize(sizes)),
                      [](std::int64_t size) { return size > 1; });
    if (end != shape.npos && several > 1)
        throw InputError(fmt::format(
            "{}: tifffile's description of the shape ({}) breaks off before its axes: which planes are one movie "
            "is not known. Write it again with axes, such as metadata={{'axes': 'TCYX'}}, or one movie alone",
            file, inside));
    if (end == shape.npos)
        metadata.warnings.push_back(
            "tifffile's description breaks off within the shape: pages are taken as frames, also if they are several "
            "channels "
            "or z planes");
}

[[noreturn]] void refuse_scn(const std::string& file) {
    throw InputError(fmt::format(
        "{}: is a Leica SCN file, whose pages are one scene at several resolutions, channels and depths, and no movie: "
        "save the movie as OME-TIFF in Fiji (Bio-Formats)",
        file));
}

}  // namespace

std::vector<Axis> known_axes(const std::vector<NamedAxis>& named, const std::string& file,
                             const std::string& stated_by) {
    std::vector<NamedAxis> longer;
    for (const NamedAxis& axis : named)
        if (axis.size != 1) longer.push_back(axis);
    if (longer.size() < 2) return {};
    const bool has_time = std::any_of(longer.begin(), longer.end(), [](const NamedAxis& axis) {
        return dimension_of(axis.name, true) == Dimension::time;
    });
    std::vector<Axis> axes;
    for (auto axis = longer.rbegin(); axis != longer.rend(); ++axis) {
        const auto dimension = dimension_of(axis->name, has_time);
        const bool is_known = dimension && std::none_of(axes.begin(), axes.end(), [&](const Axis& other) {
                                  return other.dimension == *dimension;
                              });
        if (!is_known) {
            std::vector<std::string> all;
            for (auto one = longer.rbegin(); one != longer.rend(); ++one)
                all.push_back(one->size ? fmt::format("{} of {}", one->name, one->size) : one->name);
            throw InputError(fmt::format(
                "{}: {} states the axes {}, the slowest first, and {} is {}: which planes are one movie is not known. "
                "Save one movie alone",
                file, stated_by, fmt::join(all, ", "), axis->name,
                dimension ? "there twice" : "neither time, z, channel nor position"));
        }
        axes.push_back({*dimension, axis->size, {}});
    }
    return axes;
}

void read_shaped_description(const std::string& text, const FrameShape& frame, const std::string& file,
                             TiffMetadata& metadata) {
    std::vector<std::int64_t> shape;
    std::string letters;
    if (text.starts_with('{')) {
        const auto json = nlohmann::json::parse(text, nullptr, false);
        if (json.is_discarded() && text.find("\"shape\"") != text.npos)
            return take_cut_description(text, file, metadata);
        if (!json.is_object() || !json.contains("shape") || !json["shape"].is_array()) return;
        for (const auto& size : json["shape"]) shape.push_back(size.is_number_integer() ? size.get<std::int64_t>() : 0);
        metadata.in_one_directory = json.value("truncated", nlohmann::json()) == true;
        if (json.contains("axes") && json["axes"].is_string()) letters = json["axes"].get<std::string>();
    } else {
        shape = numbers_in(std::string_view(text).substr(std::string_view("shape=").size()));
    }
    if (shape.size() < 2 || std::any_of(shape.begin(), shape.end(), [](std::int64_t size) { return size < 1; })) return;
    const std::string by = "tifffile's description";
    const bool has_axes = letters.size() == shape.size();
    if (has_axes && !letters.ends_with("YX") && !letters.ends_with("YXS"))
        throw InputError(
            fmt::format("{}: {} states the axes {}, and the last ones of a movie are Y and X: write it again with "
                        "frames as (time, y, x) and metadata={{'axes': 'TYX'}}",
                        file, by, letters));
    const bool has_samples = has_axes ? letters.ends_with('S')
                                      : shape.size() > 2 && shape.back() == frame.samples &&
                                            shape[shape.size() - 2] == frame.width &&
                                            shape[shape.size() - 3] == frame.height;
    std::vector<NamedAxis> axes;
    for (std::size_t k = shape.size() - (has_samples ? 3 : 2); k-- > 0;)
        axes.push_back({has_axes ? letters.substr(k, 1) : "?", shape[k]});
    const auto several = std::count_if(axes.begin(), axes.end(), [](const NamedAxis& axis) { return axis.size > 1; });
    if (!has_axes && several > 1)
        throw InputError(fmt::format(
            "{}: {} states the shape ({}) without axes: which of its {} planes are one movie is not known. Write it "
            "again with axes, such as metadata={{'axes': 'TCYX'}}, or one movie alone",
            file, by, fmt::join(shape, ", "), planes_of(axes)));
    metadata.images = planes_of(axes);
    take_axes(axes, file, by, metadata);
}

void read_scifio_description(const std::string& text, const std::string& file, TiffMetadata& metadata) {
    const std::string_view names = line_value(text, "axes"), lengths = line_value(text, "lengths");
    const std::vector<std::string_view> axis = split(names, ','), length = split(lengths, ',');
    if (names.empty() || axis.size() != length.size()) return;
    std::vector<NamedAxis> axes;
    for (std::size_t k = 0; k < axis.size(); ++k)
        if (axis[k] != "X" && axis[k] != "Y") axes.push_back({std::string(axis[k]), count_in(length[k], 1)});
    metadata.images = planes_of(axes);
    take_axes(axes, file, "the SCIFIO description", metadata);
}

void read_scanimage_facts(const std::string& text, const std::string& file, TiffMetadata& metadata) {
    const auto first_of = [&](std::initializer_list<const char*> keys) -> std::string_view {
        for (const char* key : keys)
            if (const std::string_view value = line_value(text, key); !value.empty()) return value;
        return {};
    };
    // A list of numbers, "[1;2]" or "[1 2]", or their count.
    const std::string_view saved = first_of({"SI.hChannels.channelSave", "scanimage.SI.hChannels.channelSave",
                                             "scanimage.SI5.channelsSave", "scanimage.SI4.channelsSave"});
    std::int64_t channels = count_in(first_of({"state.acq.numberOfChannelsSave"}), 1);
    if (!saved.empty()) {
        channels = 0;
        for (std::size_t k = 0; k < saved.size(); ++k)
            channels += std::isdigit(static_cast<unsigned char>(saved[k])) &&
                        (k == 0 || !std::isdigit(static_cast<unsigned char>(saved[k - 1])));
    }
    std::int64_t slices = count_in(
        first_of({"SI.hStackManager.actualNumSlices", "SI.hStackManager.numSlices", "scanimage.SI5.stackNumSlices",
                  "scanimage.SI4.stackNumSlices", "state.acq.numberOfZSlices"}),
        1);
    const std::int64_t frames = count_in(first_of({"SI.hStackManager.framesPerSlice", "scanimage.SI5.acqNumFrames",
                                                   "scanimage.SI4.acqNumFrames", "state.acq.numberOfFrames"}),
                                         0);
    const bool in_volumes = count_in(first_of({"SI.hStackManager.numVolumes", "SI.hFastZ.numVolumes"}), 1) > 1;
    if (frames == 0 && !in_volumes) slices = 1;  // if the recording has no set end, the second slice is never reached
    std::vector<NamedAxis> axes{{"channel", channels}, {"time", frames}, {"z", slices}};
    if (in_volumes) axes = {{"channel", channels}, {"z", slices}, {"time", 0}};
    if (slices == 1) axes = {{"channel", channels}, {"time", 0}};
    if (channels <= 1 && slices == 1) return;
    take_axes(axes, file, "ScanImage's metadata", metadata);
}

void take_dialect(TiffHandle& tiff, const InputFile& file, TiffMetadata& metadata) {
    using namespace std::string_view_literals;
    const std::string& name = file.name();
    if (tiff.tag<std::uint32_t>(TIFFTAG_IMAGEDEPTH, 1) > 1)
        throw InputError(
            fmt::format("{}: its pages are volumes of {} planes, and not frames: write each plane as a page of its own",
                        name, tiff.tag<std::uint32_t>(TIFFTAG_IMAGEDEPTH, 1)));
    if (metadata.is_stk) take_stk_wavelengths(raw_tag(tiff, file, uic3_tag), name, metadata);
    if (metadata.is_stk || !metadata.stated_by.empty()) return;
    const std::string description = text_tag(tiff, TIFFTAG_IMAGEDESCRIPTION);
    const std::string software = text_tag(tiff, TIFFTAG_SOFTWARE);
    if (description.starts_with("{") || description.starts_with("shape=("))
        return read_shaped_description(
            description,
            {tiff.tag<std::uint32_t>(TIFFTAG_IMAGEWIDTH, 0), tiff.tag<std::uint32_t>(TIFFTAG_IMAGELENGTH, 0),
             tiff.tag<std::uint16_t>(TIFFTAG_SAMPLESPERPIXEL, 1)},
            name, metadata);
    if (description.starts_with("SCIFIO=")) return read_scifio_description(description, name, metadata);
    if (trimmed(description, " \t\r\n\0"sv).ends_with("</scn>")) refuse_scn(name);
    if (software.starts_with("SI.")) return read_scanimage_facts(software, name, metadata);
    if (description.starts_with("state.") || description.find("scanimage.SI") != description.npos)
        return read_scanimage_facts(description, name, metadata);
    const bool big_endian = TIFFIsBigEndian(tiff.get());
    if (const std::string lsm = raw_tag(tiff, file, lsm_tag); lsm.size() > 90)
        return take_lsm(lsm, tiff.tag<std::uint16_t>(TIFFTAG_SAMPLESPERPIXEL, 1), file, metadata);
    if (const std::string header = raw_tag(tiff, file, fluoview_tag); header.size() > 384)
        return take_fluoview(header, big_endian, name, metadata);
    if (const std::string ini = raw_tag(tiff, file, sis_ini_tag); !ini.empty()) take_sis(ini, name, metadata);
}

}  // namespace glint
