// Frames that Andor Solis spooled: a folder of files with some frames each, and a description of their pixels.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <vector>

#include "glint/error.hpp"
#include "io/decoded_movie.hpp"
#include "io/header_bytes.hpp"
#include "io/metadata_values.hpp"
#include "io/movie_files.hpp"
#include "io/movie_readers.hpp"
#include "io/plain_movie.hpp"
#include "io/sif/header.hpp"

namespace glint {
namespace {

namespace fs = std::filesystem;

constexpr const char* description_name = "acquisitionmetadata.ini";
constexpr std::string_view file_ending = "spool.dat";
constexpr std::uint64_t max_description_bytes = std::uint64_t(1) << 20;  // real ones have less than 1 kB

/// Returns a file's number: the digits of its name are in reverse order. Nullopt for other files.
std::optional<std::int64_t> number_of_file(const std::string& name) {
    if (!name.ends_with(file_ending)) return std::nullopt;
    std::string digits = name.substr(0, name.size() - file_ending.size());
    if (digits.size() > 18 || digits.find_first_not_of("0123456789") != digits.npos) return std::nullopt;
    std::reverse(digits.begin(), digits.end());
    return number_of<std::int64_t>(digits);
}

/// The lines `key = value` of the description. Sections are ignored.
class SpoolDescription {
  public:
    explicit SpoolDescription(const fs::path& path) : name_(path.string()) {
        const InputFile file(path);
        if (file.size() > max_description_bytes) refuse(fmt::format("has {} bytes", file.size()));
        const std::string text = bytes_at(file, 0, max_description_bytes);
        for (std::size_t begin = 0; begin < text.size();) {
            const std::size_t end = std::min(text.find_first_of("\r\n", begin), text.size());
            const std::string_view line = std::string_view(text).substr(begin, end - begin);
            if (const auto equals = line.find('='); equals != line.npos)
                values_.emplace(in_lower_case(trimmed(line.substr(0, equals))), trimmed(line.substr(equals + 1)));
            begin = end + 1;
        }
    }
    std::string text(const char* key) const {
        const auto found = values_.find(in_lower_case(key));
        if (found == values_.end()) refuse(fmt::format("does not say `{}`", key));
        return found->second;
    }
    std::int64_t number(const char* key, std::int64_t max) const {
        const auto value = number_of<std::int64_t>(text(key));
        if (!value || *value < 1 || *value > max)
            refuse(fmt::format("says `{} = {}`, which is no number from 1 to {}", key, text(key), max));
        return *value;
    }
    [[noreturn]] void refuse(const std::string& why) const {
        throw InputError(fmt::format("{}: {}: copy it again from where the movie was recorded", name_, why));
    }

  private:
    std::string name_;
    std::map<std::string, std::string> values_;
};

/// Returns the bytes of a row of pixels, if two pixels take three bytes.
std::uint64_t packed_row_bytes(int width) { return (std::uint64_t(width) * 3 + 1) / 2; }

/// Unpacks two pixels from three bytes: the middle byte contains the low bits of both.
void unpack_row(const std::byte* from, int width, std::byte* out) {
    for (int x = 0; x < width; ++x) {
        const std::byte* three = from + std::size_t(x / 2) * 3;
        const auto byte = [&](int k) { return std::to_integer<unsigned>(three[k]); };
        const auto pixel = std::uint16_t(x % 2 == 0 ? byte(0) << 4 | (byte(1) & 15) : byte(2) << 4 | byte(1) >> 4);
        std::memcpy(out + std::size_t(x) * sizeof pixel, &pixel, sizeof pixel);
    }
}

struct SpoolFile {
    fs::path path;
    std::uint64_t bytes = 0;
};

/// A folder's files, and the layout of their pixels.
class SpooledMovie {
  public:
    explicit SpooledMovie(const fs::path& folder);
    const MovieInfo& info() const { return frames_.info; }
    void decode(std::int64_t frame, std::byte* out) const;

  private:
    void take_description();
    void list();
    void count_frames();
    void take_header();
    void warn(std::string warning) { frames_.info.warnings.push_back(std::move(warning)); }
    std::uint64_t stored_bytes() const {
        const MovieInfo& info = frames_.info;
        const std::uint64_t row = is_packed_ ? packed_row_bytes(info.width)
                                             : std::uint64_t(info.width) * std::uint64_t(num_bytes(frames_.stored));
        return frames_.row_bytes * std::uint64_t(info.height - 1) + row;
    }
    /// Returns the number of whole frames in a file of so many bytes.
    std::int64_t frames_in(std::uint64_t bytes) const {
        if (bytes < stored_bytes()) return 0;
        return std::min(frames_of_file_, std::int64_t(1 + (bytes - stored_bytes()) / frame_step_));
    }

    fs::path folder_;
    std::string name_;
    PlainFrames frames_;
    bool is_packed_ = false;
    std::uint64_t frame_step_ = 0;
    std::int64_t frames_of_file_ = 1;
    std::vector<SpoolFile> files_;
    fs::path header_;  ///< .sifx; empty if there is none, as during a recording
};

SpooledMovie::SpooledMovie(const fs::path& folder) : folder_(folder), name_(folder.filename().string()) {
    if (name_.empty()) name_ = folder.parent_path().filename().string();
    frames_.info.name = name_;
    take_description();
    list();
    count_frames();
    take_header();
    frames_.info.type = movie_type(frames_.stored);
    for (const SpoolFile& file : files_) frames_.info.files.push_back(file.path);
    frames_.info.files.push_back(folder_ / description_name);
}

void SpooledMovie::take_description() {
    const SpoolDescription said(folder_ / description_name);
    frames_.info.width = int(said.number("AOIWidth", largest_edge_px));
    frames_.info.height = int(said.number("AOIHeight", largest_edge_px));
    frames_.row_bytes = std::uint64_t(said.number("AOIStride", std::int64_t(1) << 20));
    frame_step_ = std::uint64_t(said.number("ImageSizeBytes", std::int64_t(1) << 40));
    frames_of_file_ = said.number("ImagesPerFile", std::int64_t(1) << 30);
    const std::string encoding = said.text("PixelEncoding");
    is_packed_ = encoding == "Mono12Packed";
    if (is_packed_ || encoding == "Mono16" || encoding == "Mono12")
        frames_.stored = StoredPixel::uint16;
    else if (encoding == "Mono32")
        frames_.stored = StoredPixel::uint32;
    else if (encoding == "Mono8")
        frames_.stored = StoredPixel::uint8;
    else
        throw InputError(
            fmt::format("{}: its pixels are `{}`, and Mono8, Mono12, Mono12Packed, Mono16 and Mono32 are read: open "
                        "the folder in Solis and save it as TIFF",
                        (folder_ / description_name).string(), encoding));
    if (frames_.row_bytes < stored_bytes() - frames_.row_bytes * std::uint64_t(frames_.info.height - 1) ||
        frame_step_ < stored_bytes())
        said.refuse(fmt::format("says frames of {} bytes with rows of {}, too few for {}x{} px of {}", frame_step_,
                                frames_.row_bytes, frames_.info.width, frames_.info.height, encoding));
}

/// Finds the files 0, 1, ... up to the first missing one, so that each frame gets the correct number.
void SpooledMovie::list() {
    std::map<std::int64_t, fs::path> found;
    std::error_code failed, ignored;
    for (fs::directory_iterator entry(folder_, failed), end; !failed && entry != end; entry.increment(failed)) {
        const fs::path& path = entry->path();
        if (in_lower_case(path.extension().string()) == ".sifx" && entry->is_regular_file(ignored)) header_ = path;
        const auto number = number_of_file(path.filename().string());
        if (!number || !is_readable_file(*entry)) continue;
        if (!found.emplace(*number, path).second)
            throw InputError(fmt::format("{}: {} and {} have the same number: remove what is not of the movie",
                                         folder_.string(), found[*number].filename().string(),
                                         path.filename().string()));
    }
    if (failed) throw InputError(fmt::format("{}: cannot be listed ({})", folder_.string(), failed.message()));
    for (const auto& [number, path] : found) {
        if (number != std::int64_t(files_.size())) break;
        const std::uintmax_t bytes = fs::file_size(path, ignored);
        files_.push_back({path, ignored ? 0 : bytes});
    }
    const std::size_t left_out = found.size() - files_.size();
    if (files_.empty())
        throw InputError(fmt::format(
            "{}: the file of frame 0 (0000000000spool.dat) is missing{}", folder_.string(),
            left_out ? fmt::format("; {} files of later frames are there: copy the folder again", left_out) : ""));
    if (left_out > 0)
        warn(
            fmt::format("{}: file number {} is missing, and {} behind it {} left out, as the frames would get wrong "
                        "numbers",
                        name_, files_.size(), left_out, left_out == 1 ? "is" : "are"));
}

/// Ends the movie before the first file that is shorter than the others.
void SpooledMovie::count_frames() {
    MovieInfo& info = frames_.info;
    info.frames = 0;
    for (std::size_t k = 0; k < files_.size(); ++k) {
        const std::int64_t whole = frames_in(files_[k].bytes);
        info.frames += whole;
        if (whole == frames_of_file_ || k + 1 == files_.size()) continue;
        const std::size_t left_out = files_.size() - k - 1;
        warn(fmt::format(
            "{}: {} is truncated (expected {} frames of {} bytes, found {} bytes); the first {} frames "
            "are usable, and {} behind it {} left out",
            name_, files_[k].path.filename().string(), frames_of_file_, frame_step_, files_[k].bytes, info.frames,
            left_out == 1 ? "a file" : fmt::format("{} files", left_out), left_out == 1 ? "is" : "are"));
        files_.resize(k + 1);
    }
    if (info.frames == 0)
        throw InputError(fmt::format("{}: {} has {} bytes, less than one frame of {}: no frame is usable",
                                     folder_.string(), files_.front().path.filename().string(), files_.front().bytes,
                                     stored_bytes()));
}

/// Sets the number of frames from the header beside the files: the last file may have room for more.
void SpooledMovie::take_header() {
    if (header_.empty()) return;
    MovieInfo& info = frames_.info;
    try {
        const sif::Header header = sif::read_header(InputFile(header_));
        sif::take_acquisition(header, name_, info);
        const std::string sifx = header_.filename().string();
        if (header.frames > info.frames)
            warn(fmt::format("{}: {} says {} frames, and {} are there: files are missing, or the recording was stopped",
                             name_, sifx, header.frames, info.frames));
        else if (info.frames - header.frames < frames_of_file_)
            info.frames = header.frames;
        else
            warn(fmt::format("{}: {} says {} frames, and {} are there, which are all read", name_, sifx, header.frames,
                             info.frames));
    } catch (const InputError& error) {
        warn(fmt::format("{}: exposure and camera are unknown ({})", name_, error.what()));
    }
    info.files.push_back(header_);
}

void SpooledMovie::decode(std::int64_t frame, std::byte* out) const {
    const InputFile file(files_[std::size_t(frame / frames_of_file_)].path);
    std::vector<std::byte> stored(static_cast<std::size_t>(stored_bytes()));
    if (file.read_at(std::uint64_t(frame % frames_of_file_) * frame_step_, stored.data(), stored.size()) !=
        stored.size())
        throw std::runtime_error("the file became shorter after the folder was opened");
    if (!is_packed_) return to_movie_pixels(frames_, stored, out);
    const MovieInfo& info = frames_.info;
    for (int y = 0; y < info.height; ++y)
        unpack_row(stored.data() + std::size_t(y) * frames_.row_bytes, info.width,
                   out + std::size_t(y) * std::size_t(info.width) * sizeof(std::uint16_t));
}

bool is_spool(const fs::path& folder) {
    std::error_code ignored;
    return fs::exists(folder / description_name, ignored);
}

bool is_of_spool(const fs::path& file) {
    return file.filename().string().ends_with(file_ending) || in_lower_case(file.extension().string()) == ".sifx";
}

std::unique_ptr<Movie> open_spool(const fs::path& folder, const MovieChoice& choice, ScanState*) {
    require_single_planes(choice, folder.string());
    const auto movie = std::make_shared<const SpooledMovie>(folder);
    return decoded_movie(folder.string(), movie->info(),
                         [movie](std::int64_t frame, std::byte* out) { movie->decode(frame, out); });
}

}  // namespace

constinit const FolderFormat spool_movies{
    {"spool folders", "Andor Solis", "",
     "other encodings; folders without the .ini, as programs before 2011 wrote them"},
    is_spool,
    is_of_spool,
    open_spool};

}  // namespace glint
