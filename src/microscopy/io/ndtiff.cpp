// NDTiff of Micro-Manager: a folder with an index of planes beside the files that contain them.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "data/joined_movie.hpp"
#include "glint/error.hpp"
#include "io/byte_order.hpp"
#include "io/micromanager.hpp"
#include "io/movie_files.hpp"
#include "io/movie_readers.hpp"
#include "io/plain_movie.hpp"

namespace glint {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t largest_index_bytes = std::uint64_t(1) << 31;
constexpr std::uint32_t largest_text_bytes = 1 << 16;
enum PixelKind : std::uint32_t {
    eight_bit = 0,
    sixteen_bit = 1,
    rgb = 2,
    ten_bit = 3,
    twelve_bit = 4,
    fourteen_bit = 5,
    eleven_bit = 6
};

/// A plane, as recorded in the index.
struct Record {
    PlaneAt at;
    std::string file;
    nlohmann::json::object_t others = {};  ///< axes with other names
    std::uint32_t offset = 0, width = 0, height = 0, kind = 0, compression = 0;
    std::uint32_t metadata_offset = 0, metadata_bytes = 0, metadata_compression = 0;
};

/// Reads the index record by record. Ends at an incomplete record: the file may still be growing.
class Index {
  public:
    explicit Index(const fs::path& path) : name_(path.string()) {
        const InputFile file(path);
        if (file.size() > largest_index_bytes)
            throw InputError(fmt::format("{}: has {} bytes, too many for an index", name_, file.size()));
        bytes_.resize(std::size_t(file.size()));
        bytes_.resize(file.read_at(0, reinterpret_cast<std::byte*>(bytes_.data()), bytes_.size()));
    }
    bool next(Record& record) {
        const std::size_t begin = at_;
        std::string axes;
        record = {};
        const bool whole = text(axes) && text(record.file) && number(record.offset) && number(record.width) &&
                           number(record.height) && number(record.kind) && number(record.compression) &&
                           number(record.metadata_offset) && number(record.metadata_bytes) &&
                           number(record.metadata_compression);
        if (!whole) return at_ = begin, false;
        record.at = place(axes, record.others);
        return true;
    }

  private:
    bool number(std::uint32_t& value) {
        if (bytes_.size() - at_ < sizeof value) return false;
        std::memcpy(&value, bytes_.data() + at_, sizeof value);
        if (!host_is_little_endian) swap_32_bit(reinterpret_cast<std::byte*>(&value), 1);
        at_ += sizeof value;
        return true;
    }
    bool text(std::string& value) {
        std::uint32_t length = 0;
        if (!number(length)) return false;
        if (length > largest_text_bytes) refuse(fmt::format("claims a text of {} bytes", length));
        if (bytes_.size() - at_ < length) return false;
        value = bytes_.substr(at_, length);
        at_ += length;
        return true;
    }
    PlaneAt place(const std::string& axes, nlohmann::json::object_t& others) const;
    [[noreturn]] void refuse(const std::string& why) const {
        throw InputError(fmt::format("{}: {} at byte {}: the index is damaged", name_, why, at_));
    }

    std::string name_, bytes_;
    std::size_t at_ = 0;
};

PlaneAt Index::place(const std::string& axes, nlohmann::json::object_t& others) const {
    const nlohmann::json parsed = nlohmann::json::parse(axes, nullptr, false);
    if (!parsed.is_object()) refuse("has axes that are no JSON");
    PlaneAt at;
    for (const auto& [name, value] : parsed.items()) {
        if (name == "channel" || name == "position") {
            (name == "channel" ? at.channel : at.position) =
                value.is_string() ? value.get<std::string>() : value.dump();
        } else if ((name == "time" || name == "z") && value.is_number_integer()) {
            (name == "time" ? at.time : at.z) = value;
        } else if (name == "time" || name == "z") {
            refuse(fmt::format("has the axis {} ({}), which is no whole number", name, value.dump()));
        } else {
            others.emplace(name, value);
        }
    }
    return at;
}

/// If exactly one axis with another name has several values, it is the time, whatever it means.
void take_other_axes(std::vector<Record>& records, const std::string& index) {
    std::map<std::string, std::set<nlohmann::json>> values;
    std::set<std::int64_t> times;
    for (const Record& record : records) {
        times.insert(record.at.time);
        for (const auto& [name, value] : record.others)
            if (values[name].size() < 3) values[name].insert(value);
    }
    std::erase_if(values, [](const auto& axis) { return axis.second.size() == 1; });
    if (values.empty()) return;
    const auto& [name, some] = *values.begin();
    const auto is_number = [&key = name](const Record& record) {
        const auto found = record.others.find(key);
        return found != record.others.end() && found->second.is_number_integer();
    };
    if (values.size() > 1 || times.size() > 1 || !std::all_of(records.begin(), records.end(), is_number))
        throw InputError(
            fmt::format("{}: has the axis {} ({} and {}) beside others; time, z, channel and position are read, or one "
                        "axis of whole numbers instead of time: save what is one movie without other axes",
                        index, name, some.begin()->dump(), std::next(some.begin())->dump()));
    for (Record& record : records) record.at.time = record.others.at(name);
}

/// An image that was acquired again has two records: the later one counts.
void drop_replaced(std::vector<Record>& records) {
    std::map<std::tuple<std::int64_t, std::int64_t, std::string, std::string>, std::size_t> last;
    for (std::size_t k = 0; k < records.size(); ++k) {
        const PlaneAt& at = records[k].at;
        last[{at.time, at.z, at.position, at.channel}] = k;
    }
    if (last.size() == records.size()) return;
    std::vector<Record> kept;
    for (std::size_t k = 0; k < records.size(); ++k) {
        const PlaneAt& at = records[k].at;
        if (last[{at.time, at.z, at.position, at.channel}] == k) kept.push_back(std::move(records[k]));
    }
    records = std::move(kept);
}

StoredPixel stored_as(const Record& record, const std::string& folder) {
    if (record.compression != 0)
        throw InputError(
            fmt::format("{}: its pixels are compressed ({}), which NDTiff does not define: read the TIFF files by "
                        "another program and save them without compression",
                        folder, record.compression));
    if (record.kind == eight_bit) return StoredPixel::uint8;
    if (record.kind == rgb)
        throw InputError(folder +
                         ": holds colour images: a colour image is no camera frame; save one channel as a grey movie");
    if (record.kind <= eleven_bit) return StoredPixel::uint16;
    throw InputError(fmt::format("{}: has pixels of the kind {}; 8 to 16 bits of grey are read", folder, record.kind));
}

/// Micro-Manager's metadata of a plane.
void take_metadata(const fs::path& file, const Record& record, MovieInfo& info) {
    constexpr std::uint32_t most = 16 << 20;
    if (record.metadata_compression != 0 || record.metadata_bytes > most) return;
    std::string text(record.metadata_bytes, '\0');
    text.resize(
        InputFile(file).read_at(record.metadata_offset, reinterpret_cast<std::byte*>(text.data()), text.size()));
    const MicroManagerFacts facts = read_micromanager(text);
    info.pixel_size_nm = facts.pixel_size_nm;
    info.exposure_ms = facts.exposure_ms;
    info.camera = facts.camera;
}

fs::path file_of(const fs::path& folder, const Record& record) {
    const fs::path name(record.file);
    if (name.empty() || name != name.filename())
        throw InputError(
            fmt::format("{}: its index names the file {}, which is not in this folder", folder.string(), record.file));
    return folder / name;
}

/// Opens planes of one file that follow each other in the movie.
std::unique_ptr<Movie> open_run(const fs::path& folder, const Record* const* begin, const Record* const* end) {
    const Record& first = **begin;
    PlainFrames frames;
    frames.info.width = int(std::min<std::uint32_t>(first.width, 1 << 30));
    frames.info.height = int(std::min<std::uint32_t>(first.height, 1 << 30));
    frames.info.frames = end - begin;
    frames.stored = stored_as(first, folder.string());
    for (auto record = begin; record != end; ++record) {
        if ((*record)->width != first.width || (*record)->height != first.height || (*record)->kind != first.kind)
            throw InputError(
                fmt::format("{}: time {} has {}x{} px of kind {}, time {} {}x{} of kind {}: frames of a movie have one "
                            "size and type",
                            folder.string(), (*record)->at.time, (*record)->width, (*record)->height, (*record)->kind,
                            first.at.time, first.width, first.height, first.kind));
        frames.offsets.push_back((*record)->offset);
    }
    return plain_movie(file_of(folder, first), std::move(frames));
}

std::vector<std::unique_ptr<Movie>> open_runs(const fs::path& folder, const std::vector<const Record*>& records) {
    std::vector<std::unique_ptr<Movie>> movies;
    for (std::size_t begin = 0; begin < records.size();) {
        std::size_t end = begin + 1;
        while (end < records.size() && records[end]->file == records[begin]->file) ++end;
        movies.push_back(open_run(folder, records.data() + begin, records.data() + end));
        const bool broken = movies.back()->info().frames < std::int64_t(end - begin);
        if (broken) break;  // frames after lost ones would get wrong numbers
        begin = end;
    }
    return movies;
}

/// Returns the folder that has the index; version 2 has one per resolution. Empty if there is none.
fs::path folder_of_index(const fs::path& folder) {
    std::error_code ignored;
    for (const fs::path& place : {folder, folder / "Full resolution"})
        if (fs::is_regular_file(place / "NDTiff.index", ignored) || is_lost_link(place / "NDTiff.index")) return place;
    return {};
}

class NamedMovie : public Movie {
  public:
    NamedMovie(std::unique_ptr<Movie> movie, MovieInfo info) : movie_(std::move(movie)), info_(std::move(info)) {}
    const MovieInfo& info() const override { return info_; }
    void read(std::int64_t first, int count, FrameBlock& block) override { movie_->read(first, count, block); }
    void read_to(std::int64_t first, int count, std::byte* out) override { movie_->read_to(first, count, out); }
    std::optional<FramesInFile> in_file(std::int64_t first, int count) override {
        return movie_->in_file(first, count);
    }

  private:
    std::unique_ptr<Movie> movie_;
    MovieInfo info_;
};

bool is_of_ndtiff(const fs::path& file) { return file.filename().string().find("NDTiffStack") != std::string::npos; }

std::unique_ptr<Movie> open_ndtiff(const fs::path& given, const MovieChoice& choice, ScanState*) {
    const fs::path folder = folder_of_index(given);
    Index index(folder / "NDTiff.index");
    std::vector<Record> records;
    for (Record record; index.next(record);) records.push_back(record);
    if (records.empty()) throw InputError(folder.string() + ": its index names no image yet");
    take_other_axes(records, (folder / "NDTiff.index").string());
    drop_replaced(records);
    std::vector<PlaneAt> planes;
    for (const Record& record : records) planes.push_back(record.at);
    const PlanesAt chosen = chosen_planes(planes, choice, folder.string());
    std::vector<const Record*> of_choice;
    for (const std::size_t k : chosen.indices) of_choice.push_back(&records[k]);
    auto movie = concatenate(open_runs(folder, of_choice), chosen.warnings);
    MovieInfo info = movie->info();
    info.name = (given.filename().empty() ? given.parent_path() : given).filename().string();
    info.planes = chosen.described;
    info.files.push_back(folder / "NDTiff.index");
    take_metadata(file_of(folder, *of_choice.front()), *of_choice.front(), info);
    return std::make_unique<NamedMovie>(std::move(movie), std::move(info));
}

}  // namespace

bool is_ndtiff(const fs::path& folder) { return !folder_of_index(folder).empty(); }

constinit const FolderFormat ndtiff_movies{{"NDTiff", "Micro-Manager 2, Pycro-Manager", "",
                                            "other axes of more than one value; colour; compression; version 1"},
                                           is_ndtiff,
                                           is_of_ndtiff,
                                           open_ndtiff};

}  // namespace glint
