// Movies of Leica LAS AF and LAS X: an image of a LIF file, whose XML gives the distances of planes, rows and pixels.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "glint/error.hpp"
#include "io/files/input_file.hpp"
#include "io/header_bytes.hpp"
#include "io/lif/images.hpp"
#include "io/metadata_values.hpp"
#include "io/movie_readers.hpp"
#include "io/plain_movie.hpp"
#include "io/planes.hpp"

namespace glint {
namespace {

/// Pixels of one image. A truncated file may end before the block does.
struct PixelBlock {
    std::uint64_t begin = 0, bytes = 0;
};

/// A LIF file: XML that describes its images, and a chain of blocks with their pixels. Each block states its name
/// and size.
struct LifFile {
    std::string xml;  ///< UTF-16
    std::uint64_t blocks_at = 0;
};

constexpr std::uint32_t block_mark = 0x70;
constexpr std::uint8_t field_mark = 0x2a;
constexpr std::uint64_t max_xml_bytes = std::uint64_t(1) << 28, max_name_bytes = 1 << 12;  // real XML has some MB
constexpr std::uint64_t max_block_bytes = std::uint64_t(1) << 60;
constexpr std::size_t max_lif_blocks = 1 << 20;

/// The text of names of blocks, which are ASCII. Other characters become `?`.
std::string ascii(std::string_view utf16) {
    std::string out;
    for (std::size_t k = 0; k + 1 < utf16.size(); k += 2)
        out += utf16[k + 1] == 0 && static_cast<unsigned char>(utf16[k]) < 128 ? utf16[k] : '?';
    return out;
}

/// Throws InputError for another kind of Leica's files, and if the file ends within its XML.
LifFile read_file(const InputFile& file) {
    constexpr std::uint64_t head_bytes = 13;
    const std::string head = bytes_at(file, 0, head_bytes);
    const std::uint64_t xml_bytes = 2 * std::uint64_t(number_at<std::uint32_t>(head, 9));
    if (head.size() < head_bytes || number_at<std::uint32_t>(head, 0) != block_mark ||
        number_at<std::uint8_t>(head, 8) != field_mark || xml_bytes > file.size() - head_bytes ||
        xml_bytes > max_xml_bytes)
        throw InputError(fmt::format(
            "{}: begins like a LIF file of Leica, and its description is not whole: the file is damaged; copy it again",
            file.name()));
    LifFile out{bytes_at(file, head_bytes, xml_bytes), head_bytes + xml_bytes};
    if (ascii(std::string_view(out.xml).substr(0, 30)) == "LMS_Object_File")
        throw InputError(fmt::format(
            "{}: is a LOF file of Leica LAS X, which is not read: save the project as LIF in LAS X", file.name()));
    return out;
}

/// Returns the blocks by their names, up to the first that is damaged. `version`: of the XML's container.
std::map<std::string, PixelBlock> find_blocks(const InputFile& file, std::uint64_t at, int version) {
    const std::size_t size_bytes = version >= 2 ? 8 : 4, head_bytes = 9 + size_bytes + 5;
    std::map<std::string, PixelBlock> blocks;
    while (blocks.size() < max_lif_blocks) {
        const std::string head = bytes_at(file, at, head_bytes);
        const std::uint64_t bytes =
            version >= 2 ? number_at<std::uint64_t>(head, 9) : number_at<std::uint32_t>(head, 9);
        const std::uint64_t name_bytes = 2 * std::uint64_t(number_at<std::uint32_t>(head, 10 + size_bytes));
        if (head.size() < head_bytes || number_at<std::uint32_t>(head, 0) != block_mark ||
            number_at<std::uint8_t>(head, 8) != field_mark ||
            number_at<std::uint8_t>(head, 9 + size_bytes) != field_mark || name_bytes > max_name_bytes)
            break;
        const std::uint64_t begin = at + head_bytes + name_bytes;
        if (begin > file.size()) break;
        blocks.emplace(ascii(bytes_at(file, at + head_bytes, name_bytes)),
                       PixelBlock{begin, std::min(bytes, max_block_bytes)});
        if (bytes > file.size() - begin) break;  // truncated
        at = begin + bytes;
    }
    return blocks;
}

using namespace std::string_view_literals;

constexpr std::int64_t max_planes = std::int64_t(1) << 40;

[[noreturn]] void refuse_image(const std::string& file, const lif::Image& image, const std::string& why) {
    throw InputError(
        fmt::format("{}: image `{}` {}: export it as TIFF in LAS X, or save it as TIFF in Fiji "
                    "(Bio-Formats)",
                    file, image.name, why));
}

std::string name_of_dimension(int id) {
    switch (id) {
        case lif::emission: return "emission wavelengths";
        case lif::rotation: return "angles";
        case lif::excitation: return "excitation wavelengths";
        case lif::mosaic: return "tiles of a mosaic";
        default: return fmt::format("planes along its dimension {}", id);
    }
}

/// Returns one dimension of an image. Unknown dimensions must not have several planes.
lif::Dimension dimension_of(const std::string& file, const lif::Image& image, int id) {
    lif::Dimension found{id};
    for (const lif::Dimension& one : image.dimensions) {
        if (one.id != id) continue;
        if (one.count < 1 || one.count > max_planes || (one.count > 1 && one.step == 0))
            refuse_image(file, image,
                         fmt::format("says {} planes, rows or pixels, {} bytes apart", one.count, one.step));
        found = one;
    }
    return found;
}

void check_dimensions(const std::string& file, const lif::Image& image) {
    static const std::set<int> known{lif::x, lif::y, lif::z, lif::time};
    for (const lif::Dimension& one : image.dimensions)
        if (!known.contains(one.id) && one.count > 1)
            refuse_image(file, image,
                         fmt::format("has {} {}, which are not read", one.count, name_of_dimension(one.id)));
    const auto is_there = [&](int id) {
        return std::any_of(image.dimensions.begin(), image.dimensions.end(),
                           [&](const lif::Dimension& one) { return one.id == id; });
    };
    if (!is_there(lif::x) || !is_there(lif::y))
        refuse_image(file, image, "has no frames of x and y, as a scan of lines");
    if (image.channels.empty()) refuse_image(file, image, "does not describe its channels");
}

std::vector<std::string> names_of_channels(const lif::Image& image) {
    std::vector<std::string> names;
    for (const lif::Channel& channel : image.channels) names.push_back(channel.name);
    return std::set<std::string>(names.begin(), names.end()).size() == names.size() ? names
                                                                                    : std::vector<std::string>();
}

/// The distance of pixels, as a number of values.
int samples_of(const std::string& file, const lif::Image& image, const lif::Dimension& x, StoredPixel stored) {
    const auto bytes = std::uint64_t(num_bytes(stored));
    if (x.count == 1) return 1;
    if (x.step % bytes != 0 || x.step / bytes > 64)
        refuse_image(file, image, fmt::format("says pixels of {} bytes, {} bytes apart", bytes, x.step));
    return int(x.step / bytes);
}

double pixel_nm(const lif::Dimension& edge) { return edge.count > 1 ? edge.length_nm / double(edge.count - 1) : 0; }

/// Limits the movie to the frames in the block: a stopped acquisition has fewer than planned.
void end_with_block(const std::string& file, const lif::Image& image, const PixelBlock& block, PlainFrames& frames) {
    MovieInfo& info = frames.info;
    const std::uint64_t offset = frames.first_byte - block.begin;
    const std::uint64_t last_row = std::uint64_t(info.height - 1) * frames.row_bytes,
                        row = (std::uint64_t(info.width - 1) * std::uint64_t(frames.samples) + 1) *
                              std::uint64_t(num_bytes(frames.stored)),
                        needed = last_row + row;
    const std::uint64_t room = block.bytes - std::min(block.bytes, offset);
    const std::uint64_t whole = room < needed ? 0 : frames.step ? 1 + (room - needed) / frames.step : 1;
    if (std::uint64_t(info.frames) <= whole) return;
    if (whole == 0)
        refuse_image(file, image, fmt::format("has {} bytes of pixels, less than one frame of {}", room, needed));
    info.warnings.push_back(
        fmt::format("{}: image `{}` says {} frames, and {} are there: the acquisition was stopped; they are read",
                    info.name, image.name, info.frames, whole));
    info.frames = std::int64_t(whole);
}

bool is_lif(const InputFile& file, const std::filesystem::path&) {
    return begins_with(file, "\x70\0\0\0"sv) && bytes_at(file, 8, 1) == "\x2a";
}

std::unique_ptr<Movie> open_lif(const std::filesystem::path& path, const MovieChoice& choice) {
    const InputFile file(path);
    const std::string name = path.string();
    const LifFile parts = read_file(file);
    const lif::Description description = lif::parse_description(parts.xml, name);
    const auto count = std::int64_t(description.images.size());
    if (count == 0)
        throw InputError(
            fmt::format("{}: is a LIF file of Leica whose description names no image: the file is empty or damaged; "
                        "copy it again from where "
                        "it was recorded, or open it in LAS X",
                        name));

    Axis position{Dimension::position, count, {}};
    for (const lif::Image& image : description.images) position.names.push_back(image.name);
    const std::int64_t which = count == 1 ? 0 : chosen_planes({position}, {.position = choice.position}, name).first;
    const lif::Image& image = description.images[std::size_t(which)];
    check_dimensions(name, image);
    const lif::Dimension x = dimension_of(name, image, lif::x), y = dimension_of(name, image, lif::y),
                         z = dimension_of(name, image, lif::z), t = dimension_of(name, image, lif::time);
    const auto channels = std::int64_t(image.channels.size());
    const std::vector<Axis> axes{position,
                                 {Dimension::time, t.count, {}},
                                 {Dimension::z, z.count, {}},
                                 {Dimension::channel, channels, names_of_channels(image)}};
    if (count_of(axes) == 0 || count_of(axes) > max_planes)
        refuse_image(name, image, fmt::format("says {} times of {} z planes, more than a file has", t.count, z.count));
    const Planes planes = chosen_planes(axes, choice, name);
    const std::int64_t c = planes.first % channels, first_z = planes.first / channels % z.count,
                       first_t = planes.first / channels / z.count % t.count;
    const lif::Channel& channel = image.channels[std::size_t(c)];
    if (!channel.stored) refuse_image(name, image, "has pixels of an unknown type");

    const auto blocks = find_blocks(file, parts.blocks_at, description.version);
    const auto found = blocks.find(image.block);
    if (found == blocks.end() || found->second.bytes == 0)
        refuse_image(
            name, image,
            fmt::format("has no pixels in the file (block `{}`), which is truncated or was not saved", image.block));
    const PixelBlock& block = found->second;
    const auto distance = [&](std::int64_t steps, const lif::Dimension& along) {
        if (steps > 0 && std::uint64_t(steps) > block.bytes / std::max<std::uint64_t>(1, along.step))
            refuse_image(name, image, fmt::format("says planes beyond its {} bytes of pixels", block.bytes));
        return std::uint64_t(steps) * along.step;
    };
    if (x.count > largest_edge_px || y.count > largest_edge_px)
        refuse_image(
            name, image,
            fmt::format("has {}x{} px, and frames of up to {} px are read", x.count, y.count, largest_edge_px));
    if (channel.offset > block.bytes || y.step > block.bytes || t.step > block.bytes || z.step > block.bytes)
        refuse_image(name, image, fmt::format("says distances beyond its {} bytes of pixels", block.bytes));
    PlainFrames frames;
    MovieInfo& info = frames.info;
    info.name = path.filename().string();
    info.width = int(x.count), info.height = int(y.count), info.frames = planes.frames;
    info.planes = planes.described;
    set_pixel_size(pixel_nm(x), pixel_nm(y), info);
    info.exposure_ms = image.exposure_ms;
    info.camera = image.camera;
    frames.stored = *channel.stored;
    frames.samples = samples_of(name, image, x, frames.stored);
    frames.row_bytes = y.count > 1 ? y.step : 0;
    frames.first_byte = block.begin + channel.offset + distance(first_z, z) + distance(first_t, t);
    frames.step = planes.frames > 1 ? (t.count > 1 ? t.step : z.step) : 0;
    end_with_block(name, image, block, frames);
    if (info.frames == 1) frames.step = 0;
    return plain_movie(path, std::move(frames));
}

}  // namespace

constinit const MovieFormat lif_movies{
    {"LIF", "Leica LAS AF and LAS X", ".lif", "mosaics, spectra, scans of lines; LOF, XLEF"}, is_lif, open_lif};

}  // namespace glint
