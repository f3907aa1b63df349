// Movies of Imaris (.ims): HDF5 files with a dataset for each time and channel.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <memory>

#include "glint/error.hpp"
#include "io/decoded_movie.hpp"
#include "io/hdf5/stored_array.hpp"
#include "io/metadata_values.hpp"
#include "io/movie_readers.hpp"
#include "io/planes.hpp"

namespace glint {
namespace {

constexpr std::int64_t max_times = 1 << 24, max_channels = 4096;

/// Returns a nested group, or an invalid handle if one is missing.
hdf5::Handle group(hid_t place, std::initializer_list<std::string> names) {
    const hdf5::Quiet quiet;
    hdf5::Handle found;
    for (const std::string& name : names) {
        const hid_t in = found.valid() ? hid_t(found) : place;
        if (!hdf5::has(in, name.c_str())) return {};
        found = hdf5::Handle(H5Gopen2(in, name.c_str(), H5P_DEFAULT));
        if (!found.valid()) return {};
    }
    return found;
}

std::optional<double> number(const hdf5::Handle& place, const char* name) {
    const auto text = place.valid() ? hdf5::read_characters_attribute(place, name) : std::nullopt;
    double value = 0;
    if (!text) return std::nullopt;
    const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
    if (error != std::errc() || !std::isfinite(value)) return std::nullopt;
    return value;
}

std::string text(const hdf5::Handle& place, const char* name) {
    return (place.valid() ? hdf5::read_characters_attribute(place, name) : std::nullopt).value_or("");
}

std::int64_t count_of(hid_t place, const std::string& name, std::int64_t most) {
    const hdf5::Quiet quiet;
    std::int64_t count = 0;
    while (count < most && hdf5::has(place, fmt::format("{} {}", name, count).c_str())) ++count;
    return count;
}

/// The actual sizes, which are stored separately, because datasets are padded to whole chunks.
struct Sizes {
    std::uint64_t width = 0, height = 0, depth = 0;
};

Sizes read_sizes(const hdf5::Handle& channel, const hdf5::Handle& image, const std::string& file) {
    const auto one = [&](const char* in_channel, const char* in_image) {
        const auto size = number(channel, in_channel), other = number(image, in_image);
        const double value = size ? *size : other.value_or(0);
        if (!(value >= 1 && value <= largest_edge_px) || value != std::floor(value))
            throw InputError(
                fmt::format("{}: its `{}` is {:.15g}, outside 1 to {}: the file is damaged, or no movie of "
                            "Imaris; save it as TIFF",
                            file, in_channel, value, largest_edge_px));
        return std::uint64_t(value);
    };
    return {one("ImageSizeX", "X"), one("ImageSizeY", "Y"), one("ImageSizeZ", "Z")};
}

void find_pixel_size(const hdf5::Handle& image, const Sizes& sizes, MovieInfo& info) {
    const auto edge = [&](const char* least, const char* most, std::uint64_t count) {
        const auto from = number(image, least), to = number(image, most);
        const auto nm = nm_of_unit(text(image, "Unit").empty() ? "um" : text(image, "Unit"));
        return from && to && nm ? (*to - *from) / double(count) * *nm : 0;
    };
    set_pixel_size(edge("ExtMin0", "ExtMax0", sizes.width), edge("ExtMin1", "ExtMax1", sizes.height), info);
}

/// The open file, and the chunks of each frame. HDF5 is used only while opening it, not for reading frames.
class ImsMovie {
  public:
    ImsMovie(const std::filesystem::path& path, const MovieChoice& choice);
    const MovieInfo& info() const { return shape_.info; }
    void decode(std::int64_t frame, std::byte* out) const;

  private:
    struct Frame {
        std::uint64_t z = 0;  ///< in its chunks
        std::vector<hdf5::StoredChunk> chunks;
    };
    void find_frames(hid_t level, const Planes& planes, std::int64_t channels);
    void copy(const std::vector<std::byte>& chunk, std::uint64_t z, std::uint64_t y, std::uint64_t x,
              std::byte* out) const;

    InputFile file_;
    PlainFrames shape_;  ///< shape of a frame after its chunks are assembled, before the conversion of types
    Sizes sizes_;
    std::optional<hdf5::StoredArray> array_;
    std::vector<Frame> frames_;
};

std::vector<Axis> axes_of(const hdf5::Handle& file, std::int64_t times, std::int64_t channels, std::uint64_t depth) {
    Axis channel{Dimension::channel, channels, {}};
    for (std::int64_t k = 0; k < channels; ++k)
        channel.names.push_back(text(group(file, {"DataSetInfo", fmt::format("Channel {}", k)}), "Name"));
    return {{Dimension::time, times, {}}, channel, {Dimension::z, std::int64_t(depth), {}}};
}

/// Returns true if the file has Imaris' DataSet/ResolutionLevel 0. Throws InputError for tables of localizations and
/// camera maps.
bool is_of_imaris(const std::filesystem::path& path) {
    const hdf5::Quiet quiet;
    const hdf5::Handle file = hdf5::open_file(path);
    if (group(file, {"DataSet", "ResolutionLevel 0"}).valid()) return true;
    if (hdf5::has(file, "locs") || hdf5::has(file, "emitters") || H5Aexists(file, "sa_type") > 0) refuse_table(path);
    if (hdf5::has(file, "offset") || hdf5::has(file, "gain"))
        throw InputError(fmt::format("{}: is no movie, but maps of a camera (offset, gain): give them with `camera`",
                                     path.string()));
    return false;
}

ImsMovie::ImsMovie(const std::filesystem::path& path, const MovieChoice& choice) : file_(path) {
    const hdf5::Quiet quiet;
    const hdf5::Handle file = hdf5::open_file(path);
    const hdf5::Handle level = group(file, {"DataSet", "ResolutionLevel 0"});
    if (!level.valid()) throw InputError(path.string() + ": has no DataSet/ResolutionLevel 0");
    const std::int64_t times = count_of(level, "TimePoint", max_times);
    const hdf5::Handle first = group(level, {"TimePoint 0"});
    const std::int64_t channels = first.valid() ? count_of(first, "Channel", max_channels) : 0;
    if (channels == 0)
        throw InputError(
            fmt::format("{}: has no TimePoint 0/Channel 0: the file is damaged or was not finished; save it again in "
                        "Imaris",
                        path.string()));
    const hdf5::Handle image = group(file, {"DataSetInfo", "Image"});
    sizes_ = read_sizes(group(first, {"Channel 0"}), image, path.string());
    const Planes planes = chosen_planes(axes_of(file, times, channels, sizes_.depth), choice, path.string());
    MovieInfo& info = shape_.info;
    info.name = path.filename().string();
    info.files = {path};
    info.width = int(sizes_.width), info.height = int(sizes_.height);
    info.frames = planes.frames;
    info.planes = planes.described;
    find_pixel_size(image, sizes_, info);
    find_frames(level, planes, channels);
    shape_.stored = array_->layout.type;
    info.type = movie_type(shape_.stored);
}

void ImsMovie::find_frames(hid_t level, const Planes& planes, std::int64_t channels) {
    hdf5::Handle dataset;
    std::int64_t open_plane = -1;  // of time and channel
    for (std::int64_t frame = 0; frame < planes.frames; ++frame) {
        const std::int64_t plane = planes.first + frame * planes.step, depth = std::int64_t(sizes_.depth);
        const std::int64_t place = plane / depth;
        const std::string time = fmt::format("TimePoint {}", place / channels),
                          channel = fmt::format("Channel {}", place % channels);
        const hdf5::Handle here = place == open_plane ? hdf5::Handle() : group(level, {time, channel});
        if (place != open_plane) {
            if (!here.valid())
                throw InputError(fmt::format("{}: lacks {}/{}: the file is damaged; save it again in Imaris",
                                             file_.name(), time, channel));
            const hdf5::StoredArray array = hdf5::stored_array(here, "Data", file_, dataset);
            if (array.shape[0] < sizes_.depth || array.shape[1] < sizes_.height || array.shape[2] < sizes_.width)
                throw InputError(
                    fmt::format("{}: {}/{} has {}x{}x{} values for {}x{}x{} pixels (z, y, x): the file is damaged",
                                file_.name(), time, channel, array.shape[0], array.shape[1], array.shape[2],
                                sizes_.depth, sizes_.height, sizes_.width));
            if (array_ && (array.layout != array_->layout || array.shape != array_->shape))
                throw InputError(
                    fmt::format("{}: {}/{} is stored otherwise than those before it, which is not read: save it "
                                "as TIFF",
                                file_.name(), time, channel));
            array_ = array;
            open_plane = place;
        }
        const auto z = std::uint64_t(plane % depth);
        frames_.push_back({z % array_->layout.chunk[0], hdf5::chunks_of_plane(dataset, *array_, z)});
    }
}

// The part of a chunk that belongs to the frame.
void ImsMovie::copy(const std::vector<std::byte>& chunk, std::uint64_t z, std::uint64_t y, std::uint64_t x,
                    std::byte* out) const {
    const hdf5::ArrayLayout& layout = array_->layout;
    const auto bytes = std::uint64_t(num_bytes(layout.type));
    const std::uint64_t rows = std::min(layout.chunk[1], sizes_.height - y),
                        columns = std::min(layout.chunk[2], sizes_.width - x);
    for (std::uint64_t row = 0; row < rows; ++row)
        std::copy_n(chunk.data() + (z * layout.chunk[1] + row) * layout.chunk[2] * bytes, columns * bytes,
                    out + ((y + row) * sizes_.width + x) * bytes);
}

void ImsMovie::decode(std::int64_t frame, std::byte* out) const {
    const hdf5::ArrayLayout& layout = array_->layout;
    const bool is_converted =
        layout.type != StoredPixel::uint8 && layout.type != StoredPixel::uint16 && layout.type != StoredPixel::float32;
    std::vector<std::byte> stored(
        is_converted ? std::size_t(sizes_.width * sizes_.height * std::uint64_t(num_bytes(layout.type))) : 0);
    std::vector<std::byte> values;
    const Frame& one = frames_[std::size_t(frame)];
    std::size_t k = 0;
    for (std::uint64_t y = 0; y < array_->shape[1]; y += layout.chunk[1])
        for (std::uint64_t x = 0; x < array_->shape[2]; x += layout.chunk[2], ++k) {
            if (y >= sizes_.height || x >= sizes_.width) continue;  // only padding
            hdf5::unpack(file_, one.chunks[k], layout, values);
            copy(values, one.z, y, x, is_converted ? stored.data() : out);
        }
    if (is_converted) to_movie_pixels(shape_, stored, out);
}

bool is_hdf5_movie(const InputFile& file, const std::filesystem::path&) {
    return begins_with(file, "\x89HDF\r\n\x1a\n");
}

std::unique_ptr<Movie> open_ims(const std::filesystem::path& path, const MovieChoice& choice) {
    if (!is_of_imaris(path)) return open_hdf5_dataset(path, choice);
    const auto movie = std::make_shared<const ImsMovie>(path, choice);
    return decoded_movie(path.string(), movie->info(),
                         [movie](std::int64_t frame, std::byte* out) { movie->decode(frame, out); });
}

}  // namespace

constinit const MovieFormat hdf5_movies{
    {"HDF5", "Imaris .ims, PYME, ilastik, h5py and others", ".ims .h5 .hdf5", "other filters; half precision"},
    is_hdf5_movie,
    open_ims};

}  // namespace glint
