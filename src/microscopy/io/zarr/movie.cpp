// Movies that are folders: OME-Zarr, and Zarr arrays.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <tbb/enumerable_thread_specific.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "glint/error.hpp"
#include "io/decoded_movie.hpp"
#include "io/files/input_file.hpp"
#include "io/metadata_values.hpp"
#include "io/movie_readers.hpp"
#include "io/planes.hpp"
#include "io/zarr/array.hpp"

namespace glint {
namespace {

namespace fs = std::filesystem;
using zarr::Array;
using zarr::Json;

bool is_zarr(const fs::path& folder) {
    return zarr::is_there(folder / "zarr.json") || zarr::is_there(folder / ".zarray") ||
           zarr::is_there(folder / ".zgroup") || zarr::is_there(folder / ".zattrs");
}

constexpr std::uint64_t largest_frame_bytes = std::uint64_t(1) << 28;
// Missing chunks are filled, so without a limit a description of a few bytes could take hours and all memory.
constexpr std::uint64_t max_chunks_of_frame = 16384, largest_chunks_of_frame_bytes = std::uint64_t(1) << 29;
constexpr double max_planes = double(std::uint64_t(1) << 40);
constexpr std::size_t max_images = 100000;  // of a plate

Json get(const Json& value, const char* key) {
    return value.is_object() && value.contains(key) ? value.at(key) : Json();
}
Json first(const Json& list) { return list.is_array() && !list.empty() ? list[0] : Json(); }
std::string text(const Json& value) { return value.is_string() ? value.get<std::string>() : ""; }

/// An array, and the OME metadata around it.
struct Image {
    Array array;
    std::vector<std::string> channels;
    std::optional<double> pixel_x_nm, pixel_y_nm;
};

/// Returns the scale of an axis in nm, from the transformations of the dataset and of the whole multiscale image.
std::optional<double> scale_nm(const Json& multiscale, const Json& dataset, std::size_t axis) {
    const std::string unit = text(get(get(multiscale, "axes").is_array() && axis < get(multiscale, "axes").size()
                                          ? get(multiscale, "axes")[axis]
                                          : Json(),
                                      "unit"));
    const auto nm = nm_of_unit(unit);
    double scale = 1;
    bool is_known = false;
    for (const Json& where : {dataset, multiscale})
        for (const Json& one : get(where, "coordinateTransformations")) {
            const Json values = get(one, "scale");
            if (!values.is_array() || axis >= values.size() || !values[axis].is_number()) continue;
            scale *= values[axis].get<double>();
            is_known = true;
        }
    return nm && is_known ? std::optional(scale * *nm) : std::nullopt;
}

/// Returns the array of full resolution in a group.
Image image_in_group(const fs::path& folder, const Json& attributes) {
    const Json ome = get(attributes, "ome").is_null() ? attributes : get(attributes, "ome");
    const Json multiscale = first(get(ome, "multiscales")), dataset = first(get(multiscale, "datasets"));
    const std::string path = text(get(dataset, "path"));
    if (path.empty())
        throw InputError(fmt::format(
            "{}: is a Zarr group without an image (multiscales): give the folder of the image or array in it",
            folder.string()));
    const fs::path inside = fs::path(path).lexically_normal();
    if (inside.is_absolute() || *inside.begin() == "..")
        throw InputError(
            fmt::format("{}: its image is said to be in {}, outside of the folder", folder.string(), path));
    Image image{zarr::read_array(folder / inside), {}, {}, {}};
    std::vector<std::string> names;
    for (const Json& axis : get(multiscale, "axes")) names.push_back(text(axis.is_string() ? axis : get(axis, "name")));
    const std::size_t axes = image.array.shape.size();
    for (std::string& name : names)
        std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return char(std::tolower(c)); });
    if (names.size() == axes) image.array.axes = names;
    if (names.empty() && axes == 5) image.array.axes = {"t", "c", "z", "y", "x"};  // before version 0.3
    image.pixel_y_nm = scale_nm(multiscale, dataset, axes - 2);
    image.pixel_x_nm = scale_nm(multiscale, dataset, axes - 1);
    for (const Json& channel : get(get(ome, "omero"), "channels"))
        image.channels.push_back(text(get(channel, "label")));
    return image;
}

/// Returns the images of a plate (HCS), or of bioformats2raw, by their folders.
std::vector<std::string> images_in(const fs::path& folder, const Json& attributes) {
    std::vector<std::string> images;
    const Json ome = get(attributes, "ome").is_null() ? attributes : get(attributes, "ome");
    const auto is_inside = [](const std::string& path) {
        const fs::path inside = fs::path(path).lexically_normal();
        return !path.empty() && !inside.is_absolute() && *inside.begin() != "..";
    };
    for (const Json& well : get(get(ome, "plate"), "wells")) {
        const std::string path = text(get(well, "path"));
        if (!is_inside(path) || images.size() >= max_images) continue;
        Json of_well;
        zarr::description_of(folder / path, of_well);
        const Json inner = get(of_well, "ome").is_null() ? of_well : get(of_well, "ome");
        for (const Json& image : get(get(inner, "well"), "images"))
            if (const std::string field = text(get(image, "path")); is_inside(field))
                images.push_back(fmt::format("{}/{}", path, field));
    }
    if (!get(ome, "bioformats2raw.layout").is_null())
        for (std::size_t k = 0; k < max_images && is_zarr(folder / std::to_string(k)); ++k)
            images.push_back(std::to_string(k));
    return images;
}

/// Several images count as positions, one of which must be chosen. The rest of the choice stays in `choice`.
Image find_image(const fs::path& folder, MovieChoice& choice) {
    Json attributes;
    const Json description = zarr::description_of(folder, attributes);
    if (zarr::is_array(description)) return {zarr::read_array(folder), {}, {}, {}};
    const std::vector<std::string> images = images_in(folder, attributes);
    if (images.empty()) return image_in_group(folder, attributes);
    std::size_t chosen = 0;
    if (images.size() > 1) {
        const Axis positions{Dimension::position, std::int64_t(images.size()), images};
        chosen = std::size_t(chosen_planes({positions}, {.position = choice.position}, folder.string()).first);
        choice.position.reset();
    }
    Json of_image;
    zarr::description_of(folder / images[chosen], of_image);
    return image_in_group(folder / images[chosen], of_image);
}

std::optional<Dimension> dimension_of(const std::string& name) {
    if (name == "t" || name == "time") return Dimension::time;
    if (name == "c" || name == "channel") return Dimension::channel;
    if (name == "z") return Dimension::z;
    if (name == "p" || name == "position" || name == "s" || name == "scene") return Dimension::position;
    return std::nullopt;
}

std::vector<Axis> axes_of(const Image& image) {
    const Array& array = image.array;
    std::vector<std::string> names = array.axes;
    const std::size_t count = array.shape.size();
    if (names.empty() && count == 3) names = {"t", "y", "x"};
    if (names.empty() && count == 2) names = {"y", "x"};
    const auto refuse = [&](const std::string& why) {
        throw InputError(
            fmt::format("{}: {}; a movie's are t, c, z, position, then y and x: write them as OME-Zarr has them",
                        array.description.string(), why));
    };
    if (names.empty()) refuse(fmt::format("its {} dimensions have no names", count));
    if (names[count - 1] != "x" || names[count - 2] != "y")
        refuse(fmt::format("its last dimensions are {} and {}, not y and x", names[count - 2], names[count - 1]));
    std::vector<Axis> axes;
    double planes = 1;
    for (std::size_t k = 0; k + 2 < count; ++k) {
        const auto dimension = dimension_of(names[k]);
        planes *= double(array.shape[k]);
        if (!dimension && array.shape[k] > 1) refuse(fmt::format("its dimension {} is unknown", names[k]));
        for (const Axis& other : axes)
            if (dimension && other.dimension == *dimension)
                refuse(fmt::format("it has the dimension {} twice", names[k]));
        axes.push_back({dimension.value_or(Dimension::time), std::int64_t(array.shape[k]), {}});
        if (dimension == Dimension::channel && image.channels.size() == array.shape[k])
            axes.back().names = image.channels;
    }
    if (planes > max_planes) refuse(fmt::format("it claims {:.0f} planes", planes));
    return axes;
}

class ZarrMovie {
  public:
    ZarrMovie(const fs::path& folder, const MovieChoice& choice);
    const MovieInfo& info() const { return shape_.info; }
    void decode(std::int64_t frame, std::byte* out);

  private:
    using Number = std::vector<std::uint64_t>;
    /// Unpacked chunks that contain several frames, kept until a frame in other chunks is requested. One per thread.
    struct Row {
        Number leading;
        std::vector<std::vector<std::byte>> chunks;
    };
    void check_chunks() const;
    void describe(const fs::path& folder, const Image& image, const Planes& planes);
    Number leading_of(std::int64_t frame) const;
    const std::vector<std::byte>& chunk(const Number& number, std::size_t k, Row& row) const;
    void copy(const std::vector<std::byte>& chunk, std::uint64_t begin, std::uint64_t y, std::uint64_t x,
              std::byte* out) const;

    Array array_;
    Planes planes_;
    PlainFrames shape_;
    std::uint64_t height_ = 0, width_ = 0;
    std::vector<std::uint64_t> strides_;  ///< of a chunk's values, by axis
    bool has_several_frames_ = false;     ///< a chunk contains several frames
    tbb::enumerable_thread_specific<Row> rows_;
};

ZarrMovie::ZarrMovie(const fs::path& folder, const MovieChoice& given) {
    MovieChoice choice = given;
    const Image image = find_image(folder, choice);
    array_ = image.array;
    const std::size_t axes = array_.shape.size();
    planes_ = chosen_planes(axes_of(image), choice, folder.string());
    height_ = array_.shape[axes - 2], width_ = array_.shape[axes - 1];
    if (height_ > largest_edge_px || width_ > largest_edge_px ||
        height_ * width_ * std::uint64_t(num_bytes(array_.type)) > largest_frame_bytes)
        throw InputError(fmt::format("{}: claims frames of {}x{} px; they have up to {} px along an edge, and {} bytes",
                                     array_.description.string(), width_, height_, largest_edge_px,
                                     largest_frame_bytes));
    check_chunks();
    strides_.resize(axes);
    std::uint64_t stride = 1;
    for (std::size_t k = axes; k-- > 0; stride *= array_.chunk[array_.order[k]]) strides_[array_.order[k]] = stride;
    for (std::size_t k = 0; k + 2 < axes; ++k) has_several_frames_ |= array_.chunk[k] > 1;
    describe(folder, image, planes_);
}

/// Checks the size of the chunks that contain parts of a frame. A thread keeps them if they contain several frames.
void ZarrMovie::check_chunks() const {
    const auto chunks_along = [&](std::size_t axis) { return (array_.shape[axis] - 1) / array_.chunk[axis] + 1; };
    const std::size_t axes = array_.shape.size();
    const std::uint64_t chunks = chunks_along(axes - 2) * chunks_along(axes - 1);
    if (chunks > max_chunks_of_frame)
        throw InputError(
            fmt::format("{}: a frame lies in {} chunks, more than the limit of {}: write it again with "
                        "larger ones, of a frame each",
                        array_.description.string(), chunks, max_chunks_of_frame));
    if (const std::uint64_t bytes = chunks * array_.chunk_bytes(); bytes > largest_chunks_of_frame_bytes)
        throw InputError(
            fmt::format("{}: the {} chunks that hold a frame have {} bytes, more than the limit of {}: "
                        "write it again with chunks of fewer frames",
                        array_.description.string(), chunks, bytes, largest_chunks_of_frame_bytes));
}

void ZarrMovie::describe(const fs::path& folder, const Image& image, const Planes& planes) {
    MovieInfo& info = shape_.info;
    info.name = (folder.has_filename() ? folder : folder.parent_path()).filename().string();
    info.files = {array_.description};
    Number number = leading_of(0);
    for (std::size_t k = 0; k < number.size(); ++k) number[k] /= array_.chunk[k];
    const fs::path chunk = array_.chunk_path(number);
    if (zarr::is_there(chunk))
        info.files.push_back(chunk);
    else
        info.warnings.push_back(
            fmt::format("{}: the chunk {} is not there: pixels of such chunks have the fill value {}; was the folder "
                        "copied as a whole?",
                        info.name, chunk.lexically_relative(folder).string(), array_.fill));
    shape_.stored = array_.type;
    info.width = int(width_), info.height = int(height_);
    info.frames = planes.frames;
    info.type = movie_type(array_.type);
    info.planes = planes.described;
    set_pixel_size(image.pixel_x_nm.value_or(0), image.pixel_y_nm.value_or(0), info);
}

/// Returns a frame's position along all axes; 0 along y and x.
ZarrMovie::Number ZarrMovie::leading_of(std::int64_t frame) const {
    Number place(array_.shape.size(), 0);
    auto plane = std::uint64_t(planes_.first + frame * planes_.step);
    for (std::size_t k = place.size() - 2; k-- > 0; plane /= array_.shape[k]) place[k] = plane % array_.shape[k];
    return place;
}

const std::vector<std::byte>& ZarrMovie::chunk(const Number& number, std::size_t k, Row& row) const {
    if (row.chunks.size() <= k) row.chunks.resize(k + 1);
    std::vector<std::byte>& values = row.chunks[has_several_frames_ ? k : 0];
    if (!has_several_frames_ || values.empty()) {
        try {
            array_.read_chunk(number, values);
        } catch (...) {
            values.clear();  // partly unpacked chunks must not be mistaken for whole ones
            throw;
        }
    }
    return values;
}

// The part of a chunk that belongs to the frame; its first value is `begin`.
void ZarrMovie::copy(const std::vector<std::byte>& chunk, std::uint64_t begin, std::uint64_t y, std::uint64_t x,
                     std::byte* out) const {
    const std::size_t axes = array_.shape.size();
    const auto bytes = std::uint64_t(num_bytes(array_.type));
    const std::uint64_t rows = std::min(array_.chunk[axes - 2], height_ - y),
                        columns = std::min(array_.chunk[axes - 1], width_ - x);
    for (std::uint64_t row = 0; row < rows; ++row) {
        const std::byte* from = chunk.data() + (begin + row * strides_[axes - 2]) * bytes;
        std::byte* to = out + ((y + row) * width_ + x) * bytes;
        if (strides_[axes - 1] == 1)
            std::copy_n(from, columns * bytes, to);
        else
            for (std::uint64_t column = 0; column < columns; ++column)
                std::copy_n(from + column * strides_[axes - 1] * bytes, bytes, to + column * bytes);
    }
}

void ZarrMovie::decode(std::int64_t frame, std::byte* out) {
    const std::size_t axes = array_.shape.size();
    Number number = leading_of(frame);
    std::uint64_t begin = 0;
    for (std::size_t k = 0; k + 2 < axes; ++k) {
        begin += number[k] % array_.chunk[k] * strides_[k];
        number[k] /= array_.chunk[k];
    }
    Row& row = rows_.local();
    if (row.leading != number) row = {number, {}};
    const bool is_converted =
        array_.type != StoredPixel::uint8 && array_.type != StoredPixel::uint16 && array_.type != StoredPixel::float32;
    std::vector<std::byte> stored(is_converted ? std::size_t(height_ * width_) * std::size_t(num_bytes(array_.type))
                                               : 0);
    std::size_t k = 0;
    for (std::uint64_t y = 0; y < height_; y += array_.chunk[axes - 2])
        for (std::uint64_t x = 0; x < width_; x += array_.chunk[axes - 1], ++k) {
            number[axes - 2] = y / array_.chunk[axes - 2], number[axes - 1] = x / array_.chunk[axes - 1];
            copy(chunk(number, k, row), begin, y, x, is_converted ? stored.data() : out);
        }
    if (is_converted) to_movie_pixels(shape_, stored, out);
}

std::unique_ptr<Movie> open_zarr(const fs::path& folder, const MovieChoice& choice, ScanState*) {
    const auto movie = std::make_shared<ZarrMovie>(folder, choice);
    return decoded_movie(folder.string(), movie->info(),
                         [movie](std::int64_t frame, std::byte* out) { movie->decode(frame, out); });
}

}  // namespace

constinit const FolderFormat zarr_movies{{"OME-Zarr and Zarr", "", "", "other codecs"}, is_zarr, nullptr, open_zarr};

}  // namespace glint
