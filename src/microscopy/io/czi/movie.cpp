// Movies of Zeiss ZEN.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <tuple>

#include "glint/error.hpp"
#include "io/czi/file.hpp"
#include "io/decoded_movie.hpp"
#include "io/metadata_values.hpp"
#include "io/movie_readers.hpp"
#include "io/planes.hpp"

namespace glint {
namespace {

/// The places of pictures along one dimension, in ascending order.
using Places = std::vector<std::int32_t>;

Places places_of(const std::vector<czi::Picture>& pictures, std::int32_t czi::Picture::*dimension) {
    std::set<std::int32_t> places;
    for (const czi::Picture& picture : pictures) places.insert(picture.*dimension);
    return {places.begin(), places.end()};
}

/// An open file, and the picture of each of the movie's frames.
class CziMovie {
  public:
    CziMovie(const std::filesystem::path& path, const MovieChoice& choice);
    const MovieInfo& info() const { return frames_.info; }
    bool is_compressed() const;
    /// Returns where the frames of an uncompressed movie are.
    PlainFrames plain() const;
    void decode(std::int64_t frame, std::byte* out) const;

  private:
    void choose(const std::vector<czi::Picture>& pictures, const std::vector<std::string>& channels,
                const MovieChoice& choice);
    void take_shape(const czi::Picture& picture);
    void leave_out_missing(std::int64_t expected);
    void warn_of_missing_times(const Places& times, std::int64_t said);
    bool is_whole(const czi::Picture& picture) const;
    czi::Data data_of(const czi::Picture& picture, std::uint64_t least) const;
    std::uint64_t frame_bytes() const {
        return std::uint64_t(frames_.info.width) * frames_.info.height * std::uint64_t(num_bytes(frames_.stored));
    }

    InputFile file_;
    PlainFrames frames_;
    std::vector<czi::Picture> pictures_;
};

CziMovie::CziMovie(const std::filesystem::path& path, const MovieChoice& choice) : file_(path) {
    const czi::File file = czi::read_file(file_);
    const czi::Facts facts = czi::parse_facts(file.xml, path.string());
    MovieInfo& info = frames_.info;
    info.name = path.filename().string();
    info.files = {path};
    set_pixel_size(facts.width_nm, facts.height_nm, info);
    info.exposure_ms = facts.exposure_ms;
    info.camera = facts.camera;
    choose(file.pictures, facts.channels, choice);
    warn_of_missing_times(places_of(file.pictures, &czi::Picture::time), facts.times);
    if (file.recovered)
        info.warnings.push_back(fmt::format(
            "{}: has no directory, as a file that was not finished; all pictures were looked for", info.name));
}

void CziMovie::choose(const std::vector<czi::Picture>& pictures, const std::vector<std::string>& channels,
                      const MovieChoice& choice) {
    const Places scenes = places_of(pictures, &czi::Picture::scene), times = places_of(pictures, &czi::Picture::time),
                 slices = places_of(pictures, &czi::Picture::z),
                 all_channels = places_of(pictures, &czi::Picture::channel);
    Axis channel{Dimension::channel, std::int64_t(all_channels.size()), {}};
    for (const std::int32_t k : all_channels)
        if (k >= 0 && std::size_t(k) < channels.size()) channel.names.push_back(channels[std::size_t(k)]);
    if (channel.names.size() != all_channels.size()) channel.names.clear();
    const std::vector<Axis> axes{{Dimension::position, std::int64_t(scenes.size()), {}},
                                 {Dimension::time, std::int64_t(times.size()), {}},
                                 {Dimension::z, std::int64_t(slices.size()), {}},
                                 channel};
    const Planes planes = chosen_planes(axes, choice, file_.name());
    frames_.info.planes = planes.described;

    using Place = std::tuple<std::int32_t, std::int32_t, std::int32_t, std::int32_t>;
    std::map<Place, const czi::Picture*> at;
    std::set<Place> tiled;
    for (const czi::Picture& picture : pictures) {
        const Place place{picture.scene, picture.time, picture.z, picture.channel};
        if (!at.emplace(place, &picture).second) tiled.insert(place);
    }
    for (std::int64_t frame = 0; frame < planes.frames; ++frame) {
        std::int64_t plane = planes.first + frame * planes.step;
        const auto next = [&](const Places& places) {
            const std::int32_t place = places[std::size_t(plane % std::int64_t(places.size()))];
            plane /= std::int64_t(places.size());
            return place;
        };
        const std::int32_t c = next(all_channels), z = next(slices), t = next(times), s = next(scenes);
        const auto found = at.find({s, t, z, c});
        if (found == at.end()) break;
        if (tiled.contains(found->first))
            throw InputError(
                fmt::format("{}: frame {} is a mosaic of several tiles, and a movie's frame is one picture: "
                            "save a tile as a CZI of its own in ZEN (Split Scenes, Create Image Subset)",
                            file_.name(), frame));
        if (frame == 0) take_shape(*found->second);
        if (!is_whole(*found->second)) break;
        pictures_.push_back(*found->second);
    }
    leave_out_missing(planes.frames);
}

// Frames are numbered without gaps, so the numbers of frames after a missing one are too small.
void CziMovie::warn_of_missing_times(const Places& times, std::int64_t said) {
    const std::int64_t spanned = std::int64_t(times.back()) - times.front() + 1, there = std::int64_t(times.size());
    MovieInfo& info = frames_.info;
    if (spanned > there)
        info.warnings.push_back(
            fmt::format("{}: {} of the times {} to {} are missing, and frames behind them have too small numbers",
                        info.name, spanned - there, times.front(), times.back()));
    else if (said > there)
        info.warnings.push_back(
            fmt::format("{}: its metadata say {} times, and it has {}: the acquisition was stopped, or the file "
                        "lost some",
                        info.name, said, there));
}

void CziMovie::take_shape(const czi::Picture& picture) {
    if (picture.width < 1 || picture.height < 1 || picture.width > largest_edge_px || picture.height > largest_edge_px)
        throw InputError(fmt::format("{}: frame 0 has {}x{} px, and frames of 1 to {} px are read: the file is damaged",
                                     file_.name(), picture.width, picture.height, largest_edge_px));
    frames_.stored = czi::stored_as(picture.pixel_type, file_.name());
    (void)czi::compression_of(picture.compression, file_.name());
    frames_.info.width = picture.width, frames_.info.height = picture.height;
    frames_.info.type = movie_type(frames_.stored);
}

// Compares the frame's claimed size with the file before memory is allocated for it.
bool CziMovie::is_whole(const czi::Picture& picture) const {
    const MovieInfo& info = frames_.info;
    if (picture.width != info.width || picture.height != info.height ||
        czi::stored_as(picture.pixel_type, file_.name()) != frames_.stored)
        throw InputError(
            fmt::format("{}: frame {} has {}x{} px or another type of pixels, frame 0 {}x{}: frames of one "
                        "movie have one size and type",
                        file_.name(), pictures_.size(), picture.width, picture.height, info.width, info.height));
    if (picture.file_part != 0)
        throw InputError(
            fmt::format("{}: frame {} lies in part {} of a file of several parts, which are not read: save it "
                        "as one file in ZEN",
                        file_.name(), pictures_.size(), picture.file_part));
    const czi::Compression compression = czi::compression_of(picture.compression, file_.name());
    return picture.at < file_.size() && czi::min_packed(frame_bytes(), compression) <= file_.size() - picture.at;
}

// The acquisition was stopped, or the file lost its end.
void CziMovie::leave_out_missing(std::int64_t expected) {
    MovieInfo& info = frames_.info;
    info.frames = std::int64_t(pictures_.size());
    if (info.frames == 0)
        throw InputError(fmt::format("{}: frame 0 of {} is not in the file, or truncated{}; no frame is usable",
                                     file_.name(), expected, info.planes.empty() ? "" : " (" + info.planes + ")"));
    if (info.frames < expected)
        info.warnings.push_back(fmt::format(
            "{}: frame {} of {} is not in the file: the acquisition was stopped, or the file truncated; the first {} "
            "frames are usable",
            info.name, info.frames + 1, expected, info.frames));
}

bool CziMovie::is_compressed() const {
    return std::any_of(pictures_.begin(), pictures_.end(), [](const czi::Picture& picture) {
        return czi::Compression(picture.compression) != czi::Compression::none;
    });
}

PlainFrames CziMovie::plain() const {
    PlainFrames frames = frames_;
    try {
        for (const czi::Picture& picture : pictures_) frames.offsets.push_back(data_of(picture, frame_bytes()).begin);
    } catch (const std::runtime_error& error) {
        throw InputError(
            fmt::format("{}: frame {} cannot be read: {}", file_.name(), frames.offsets.size(), error.what()));
    }
    return frames;
}

/// Returns where the picture's pixels are, at least `least` bytes.
czi::Data CziMovie::data_of(const czi::Picture& picture, std::uint64_t least) const {
    const czi::Data data = czi::data_of(file_, picture);
    if (data.bytes < least)
        throw std::runtime_error(fmt::format("its segment has {} bytes of pixels, not {}", data.bytes, least));
    return data;
}

void CziMovie::decode(std::int64_t frame, std::byte* out) const {
    const czi::Picture& picture = pictures_[std::size_t(frame)];
    const auto compression = czi::Compression(picture.compression);
    const std::uint64_t bytes = frame_bytes();
    const bool is_packed = compression != czi::Compression::none;  // both kinds may occur in one movie
    const czi::Data data = data_of(picture, is_packed ? 0 : bytes);
    if (is_packed && data.bytes > 2 * bytes + 4096)
        throw std::runtime_error(fmt::format("its segment has {} bytes for {} of pixels", data.bytes, bytes));
    std::vector<std::byte> stored(std::size_t(is_packed ? data.bytes : bytes));
    if (file_.read_at(data.begin, stored.data(), stored.size()) != stored.size())
        throw std::runtime_error("the file became shorter after it was opened");
    if (is_packed) stored = czi::unpacked(stored, compression, std::size_t(bytes));
    to_movie_pixels(frames_, stored, out);
}

bool is_czi(const InputFile& file, const std::filesystem::path&) { return begins_with(file, "ZISRAWFILE"); }

std::unique_ptr<Movie> open_czi(const std::filesystem::path& path, const MovieChoice& choice) {
    const auto movie = std::make_shared<const CziMovie>(path, choice);
    if (!movie->is_compressed()) return plain_movie(path, movie->plain());
    return decoded_movie(path.string(), movie->info(),
                         [movie](std::int64_t frame, std::byte* out) { movie->decode(frame, out); });
}

}  // namespace

constinit const MovieFormat czi_movies{
    {"CZI", "Zeiss ZEN", ".czi",
     "JPEG, JPEG XR, colour, mosaics of tiles, phases and other dimensions, files in several parts"},
    is_czi,
    open_czi};

}  // namespace glint
