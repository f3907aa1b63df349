// Reads the directory of a CZI file, or finds its pictures without one.
// SPDX-License-Identifier: MIT
#include "io/czi/file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "glint/error.hpp"
#include "io/header_bytes.hpp"

namespace glint::czi {
namespace {

constexpr std::uint64_t segment_head_bytes = 32, entry_head_bytes = 32, dimension_bytes = 20;
constexpr std::uint64_t directory_head_bytes = 128, metadata_head_bytes = 256;
constexpr std::size_t picture_head_bytes = 16, min_picture_head_bytes = 256;
constexpr std::uint64_t largest_xml_bytes = std::uint64_t(64) << 20;
constexpr std::int32_t max_dimensions = 40;
constexpr std::uint64_t max_picture_head_bytes =
    picture_head_bytes + entry_head_bytes + dimension_bytes * max_dimensions;

/// A segment's name, and the bytes of its data.
struct Segment {
    std::string name;
    std::uint64_t allocated = 0, used = 0;
};

/// Returns nullopt if the file is too short for a segment.
std::optional<Segment> segment_at(const InputFile& file, std::uint64_t at) {
    const std::string head = bytes_at(file, at, segment_head_bytes);
    if (head.size() < segment_head_bytes) return std::nullopt;
    Segment segment;
    segment.name = head.substr(0, std::min<std::size_t>(16, head.find('\0')));
    segment.allocated = number_at<std::uint64_t>(head, 16), segment.used = number_at<std::uint64_t>(head, 24);
    return segment;
}

[[noreturn]] void refuse(const InputFile& file, const std::string& why) {
    throw InputError(fmt::format("{}: {}", file.name(), why));
}

/// An entry of the directory. `bytes` is its length; 0 if it is damaged.
struct Entry {
    Picture picture;
    bool is_pyramid = false;
    std::uint64_t bytes = 0;
    std::map<char, std::int32_t> others;  ///< dimensions that glint does not use, and the picture's position in each
};

Entry parse_entry(std::string_view text) {
    Entry entry;
    const auto dimensions = number_at<std::int32_t>(text, 28);
    if (!text.starts_with("DV") || dimensions < 0 || dimensions > max_dimensions) return entry;
    const std::uint64_t bytes = entry_head_bytes + dimension_bytes * std::uint64_t(dimensions);
    if (text.size() < bytes) return entry;
    Picture& p = entry.picture;
    p.pixel_type = number_at<std::int32_t>(text, 2), p.at = number_at<std::uint64_t>(text, 6);
    p.file_part = number_at<std::int32_t>(text, 14), p.compression = number_at<std::int32_t>(text, 18);
    entry.is_pyramid = text[22] != 0;
    for (std::int32_t k = 0; k < dimensions; ++k) {
        const std::size_t at = entry_head_bytes + dimension_bytes * std::size_t(k);
        const auto start = number_at<std::int32_t>(text, at + 4), size = number_at<std::int32_t>(text, at + 8),
                   stored = number_at<std::int32_t>(text, at + 16);
        const bool is_edge = text[at] == 'X' || text[at] == 'Y';
        if (is_edge && stored != 0 && stored != size) entry.is_pyramid = true;
        switch (text[at]) {
            case 'X': p.x = start, p.width = size; break;
            case 'Y': p.y = start, p.height = size; break;
            case 'S': p.scene = start; break;
            case 'T': p.time = start; break;
            case 'Z': p.z = start; break;
            case 'C': p.channel = start; break;
            case 'M': break;  // the number of a tile, which follows from its position
            default: entry.others[text[at]] = start;
        }
    }
    entry.bytes = bytes;
    return entry;
}

const char* word(char dimension) {
    switch (dimension) {
        case 'H': return "phases (H)";
        case 'R': return "rotations (R)";
        case 'I': return "illuminations (I)";
        case 'V': return "views (V)";
        case 'B': return "blocks (B)";
        default: return "values of an unknown dimension";
    }
}

bool are_alike(const Picture& a, const Picture& b) {
    const auto facts = [](const Picture& p) {
        return std::tie(p.pixel_type, p.compression, p.width, p.height, p.scene, p.time, p.z, p.channel);
    };
    return facts(a) == facts(b);
}

/// Collects pictures. In dimensions that glint does not use, all must have the same position.
class Pictures {
  public:
    explicit Pictures(const InputFile& file) : file_(file) {}
    void add(const Entry& entry) {
        if (entry.is_pyramid) return;
        for (const auto& [dimension, at] : entry.others)
            if (const auto [first, is_new] = others_.emplace(dimension, at); !is_new && first->second != at)
                refuse(file_, fmt::format("has pictures of several {}, and a movie has times, z planes, channels and "
                                          "scenes: save one of them as a CZI of its own in ZEN (Create Image Subset)",
                                          word(dimension)));
        pictures_.push_back(entry.picture);
    }
    std::vector<Picture> taken() { return std::move(pictures_); }

  private:
    const InputFile& file_;
    std::map<char, std::int32_t> others_;
    std::vector<Picture> pictures_;
};

std::vector<Picture> from_directory(const InputFile& file, std::uint64_t at) {
    const auto segment = segment_at(file, at);
    const std::string head = bytes_at(file, at + segment_head_bytes, directory_head_bytes);
    const std::uint64_t count = std::uint64_t(std::max(0, number_at<std::int32_t>(head, 0)));
    if (!segment || segment->name != "ZISRAWDIRECTORY")
        refuse(file,
               fmt::format("its directory is not at byte {}, where its head says: the file is damaged; copy it again",
                           at));
    const std::uint64_t max_bytes = count * (entry_head_bytes + dimension_bytes * max_dimensions);
    const std::string text =
        bytes_at(file, at + segment_head_bytes + directory_head_bytes, std::min(segment->allocated, max_bytes));
    Pictures pictures(file);
    std::size_t next = 0;
    for (std::uint64_t k = 0; k < count; ++k) {
        const Entry entry = parse_entry(std::string_view(text).substr(next));
        if (entry.bytes == 0)
            refuse(file, fmt::format("entry {} of the {} in its directory is damaged: copy the file again", k, count));
        pictures.add(entry);
        next += entry.bytes;
    }
    return pictures.taken();
}

// Segments follow each other without gaps.
std::vector<Picture> look_for_pictures(const InputFile& file) {
    Pictures pictures(file);
    for (std::uint64_t at = 0; at < file.size();) {
        const auto segment = segment_at(file, at);
        if (!segment || !segment->name.starts_with("ZISRAW")) break;
        if (segment->name == "ZISRAWSUBBLOCK") {
            const std::string head = bytes_at(file, at + segment_head_bytes, max_picture_head_bytes);
            Entry entry = parse_entry(std::string_view(head).substr(std::min(head.size(), picture_head_bytes)));
            if (entry.bytes == 0) break;
            entry.picture.at = at;  // the directory may have been written only at the end
            pictures.add(entry);
        }
        if (segment->allocated > file.size() - at - segment_head_bytes) break;
        at += segment_head_bytes + segment->allocated;
    }
    return pictures.taken();
}

std::string read_xml(const InputFile& file, std::uint64_t at) {
    const auto segment = segment_at(file, at);
    if (at == 0 || !segment || segment->name != "ZISRAWMETADATA") return {};
    const std::string head = bytes_at(file, at + segment_head_bytes, metadata_head_bytes);
    const auto bytes = std::uint64_t(std::max(0, number_at<std::int32_t>(head, 0)));
    return bytes_at(file, at + segment_head_bytes + metadata_head_bytes, std::min(bytes, largest_xml_bytes));
}

}  // namespace

File read_file(const InputFile& file) {
    const std::string head = bytes_at(file, segment_head_bytes, 80);
    const auto directory_at = number_at<std::uint64_t>(head, 52), metadata_at = number_at<std::uint64_t>(head, 60);
    File found;
    found.recovered = directory_at == 0;
    found.pictures = found.recovered ? look_for_pictures(file) : from_directory(file, directory_at);
    if (found.pictures.empty()) refuse(file, "is a CZI file without a single picture");
    found.xml = read_xml(file, metadata_at);
    return found;
}

Data data_of(const InputFile& file, const Picture& picture) {
    const auto segment = segment_at(file, picture.at);
    if (!segment || segment->name != "ZISRAWSUBBLOCK")
        throw std::runtime_error(
            fmt::format("its segment is not at byte {}, where the file's directory says", picture.at));
    const std::uint64_t begin = picture.at + segment_head_bytes;
    const std::string head = bytes_at(file, begin, max_picture_head_bytes);
    const Entry own = parse_entry(std::string_view(head).substr(std::min(head.size(), picture_head_bytes)));
    const auto metadata = number_at<std::int32_t>(head, 0);
    if (own.bytes == 0 || !are_alike(own.picture, picture) || metadata < 0)
        throw std::runtime_error(
            "its segment says something else of it than the file's directory: the file is damaged");
    Data data;
    data.begin = begin + std::max<std::uint64_t>(min_picture_head_bytes, picture_head_bytes + own.bytes) +
                 std::uint64_t(metadata);
    data.bytes = number_at<std::uint64_t>(head, 8);
    const std::uint64_t left = file.size() - std::min(file.size(), data.begin);
    if (data.bytes > left)
        throw std::runtime_error(
            fmt::format("its segment claims {} bytes of pixels, and {} follow in the file", data.bytes, left));
    if (data.begin - begin + data.bytes > segment->allocated)
        throw std::runtime_error(fmt::format("its {} bytes of pixels end beyond its segment", data.bytes));
    return data;
}

}  // namespace glint::czi
