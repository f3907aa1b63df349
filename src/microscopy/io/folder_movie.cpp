// A folder of TIFF files as one movie, in the natural order of their names. Files are opened when they are read.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <regex>
#include <set>
#include <tuple>

#include "base/arena.hpp"
#include "data/frame_block.hpp"
#include "data/joined_movie.hpp"
#include "glint/error.hpp"
#include "io/earlier_looks.hpp"
#include "io/header_bytes.hpp"
#include "io/metadata_values.hpp"
#include "io/movie_files.hpp"
#include "io/movie_readers.hpp"
#include "io/tiff/handle.hpp"
#include "io/tiff/ome_set.hpp"

namespace glint {
namespace {

namespace fs = std::filesystem;

bool ends_like_tiff(const fs::path& path) {
    std::string extension = path.extension().string();
    std::transform(extension.begin(), extension.end(), extension.begin(),
                   [](unsigned char c) { return std::tolower(c); });
    return extension == ".tif" || extension == ".tiff";
}

/// Throws for a folder of an Olympus OIF that contains files of several channels (s_C001T001.tif, s_C002T001.tif, ...)
/// or z planes.
void refuse_channels_of_oif(const fs::path& folder, const std::vector<std::string>& tiffs) {
    if (!folder.filename().string().ends_with(".oif.files")) return;
    static const std::regex named("s_C([0-9]{1,9})(Z[0-9]{1,9})?(T[0-9]{1,9})?.{0,99}");
    std::set<std::string> channels, depths;
    for (const std::string& name : tiffs) {
        std::smatch match;
        if (name.size() > 200 || !std::regex_match(name, match, named)) continue;
        channels.insert(match[1]), depths.insert(match[2]);
    }
    if (channels.size() > 1 || depths.size() > 1)
        throw InputError(fmt::format(
            "{}: holds the frames of an OIF movie of Olympus FluoView with {} channels and {} z planes, whose "
            "files would be mixed: save one channel and plane as TIFF in Fiji (File > Import > "
            "Bio-Formats, of the .oif beside the folder)",
            folder.string(), channels.size(), depths.size()));
}

/// The contents of a folder.
struct Listing {
    std::vector<std::string> tiffs, others;  ///< in natural order
};

Listing list(const fs::path& folder) {
    std::error_code failed;
    Listing found;
    for (fs::directory_iterator entry(folder, failed), end; !failed && entry != end; entry.increment(failed)) {
        std::error_code ignored;
        const std::string name = entry->path().filename().string();
        if (name.starts_with('.')) continue;
        const bool is_tiff = ends_like_tiff(entry->path());
        if (is_tiff ? is_readable_file(*entry) : entry->is_regular_file(ignored))
            (is_tiff ? found.tiffs : found.others).push_back(name);
    }
    if (failed) throw InputError(fmt::format("{}: cannot be listed ({})", folder.string(), failed.message()));
    if (found.tiffs.empty()) refuse_spooled(folder);
    if (found.tiffs.empty())
        throw InputError(fmt::format(
            "{}: is a folder without TIFF or PNG files (.tif, .tiff, .png), and no movie of another format that "
            "lies in a folder",
            folder.string()));
    refuse_channels_of_oif(folder, found.tiffs);
    sort_by_number(found.tiffs);
    std::sort(found.others.begin(), found.others.end(), natural_less);
    return found;
}

class FolderMovie : public Movie {
  public:
    FolderMovie(const fs::path& folder, std::vector<fs::path> files, ScanState* looks);
    const MovieInfo& info() const override { return info_; }
    void read(std::int64_t first, int count, FrameBlock& block) override {
        shape_like(info_, first, count, block);
        read_to(first, count, block.bytes.data());
    }
    void read_to(std::int64_t first, int count, std::byte* out) override;
    const std::vector<Axis>& axes() const { return axes_; }  ///< of the first file
    bool one_frame_a_file() const { return info_.frames == std::int64_t(files_.size()); }
    void warn(std::string warning) { info_.warnings.push_back(std::move(warning)); }
    /// Sets facts that the TIFF files do not contain; 0: unknown.
    void know(double pixel_nm, double exposure_ms) {
        if (!info_.pixel_size_nm) set_pixel_size(pixel_nm, pixel_nm, info_);
        if (!info_.exposure_ms && exposure_ms > 0) info_.exposure_ms = exposure_ms;
    }

  private:
    void count_frames(bool first_is_truncated, ScanState* looks);
    FolderFile look(std::size_t k, std::uintmax_t bytes, const ScanState* looks) const;
    FolderFile open_to_look(std::size_t k, std::uintmax_t bytes) const;
    void compare_files(ScanState& looks) const;
    void end_behind(std::size_t files, const std::string& broken);
    void read_file(std::size_t k, std::int64_t first, int count, std::byte* out) const;
    std::unique_ptr<Movie> open(std::size_t k) const;
    std::string why_unlike_first(const MovieInfo& other, std::size_t k) const;

    std::vector<fs::path> files_;
    MovieInfo info_;
    std::vector<Axis> axes_;
    std::uintmax_t first_bytes_ = 0;
    std::vector<std::int64_t> starts_;  ///< first frame of each file
};

FolderMovie::FolderMovie(const fs::path& folder, std::vector<fs::path> files, ScanState* looks)
    : files_(std::move(files)) {
    TiffMovieFile first = open_tiff_movie(files_.front(), looks);
    info_ = first.movie->info();
    axes_ = std::move(first.axes);
    std::error_code ignored;
    first_bytes_ = fs::file_size(files_.front(), ignored);
    info_.name = folder.filename().empty() ? folder.parent_path().filename().string() : folder.filename().string();
    info_.files = files_;
    count_frames(first.truncated, looks);
    if (looks) compare_files(*looks);
}

FolderFile FolderMovie::open_to_look(std::size_t k, std::uintmax_t bytes) const {
    FolderFile looked{.bytes = bytes};
    if (bytes == 0) {
        looked.broken = files_[k].string() + ": is empty (0 bytes)";
        return looked;
    }
    try {
        const TiffMovieFile file = open_tiff_movie(files_[k]);
        looked.unlike = why_unlike_first(file.movie->info(), k);
        looked.frames = file.movie->info().frames, looked.truncated = file.truncated;
        looked.warnings = file.movie->info().warnings;
        looked.contradictions = contradictions(info_, files_.front().filename().string(), file.movie->info(),
                                               files_[k].filename().string());
    } catch (const BrokenTiff& error) {
        looked.broken = error.what();
    }
    return looked;
}

/// Opens a file of this size, unless two earlier scans did.
FolderFile FolderMovie::look(std::size_t k, std::uintmax_t bytes, const ScanState* looks) const {
    FolderFile earlier;
    if (looks)
        if (const auto found = looks->folder_files.find(files_[k]); found != looks->folder_files.end())
            earlier = found->second;
    if (earlier.bytes != bytes) earlier.looks = 0;
    FolderFile now = earlier.looks < 2 ? open_to_look(k, bytes) : earlier;
    now.looks = earlier.looks + 1;
    return now;
}

// If the first file has one frame, files of the same size are assumed to match it until they are read, because opening
// 100,000 files takes seconds. Errors are reported in file order, whichever thread was first.
void FolderMovie::count_frames(bool first_is_truncated, ScanState* looks) {
    const bool looks_at_all = info_.frames > 1;
    std::vector<FolderFile> looked(files_.size(), FolderFile{.bytes = first_bytes_, .frames = info_.frames});
    looked.front().truncated = first_is_truncated;
    tbb_threads();
    tbb::parallel_for(std::size_t(1), std::max<std::size_t>(1, files_.size()), [&](std::size_t k) {
        std::error_code ignored;  // opening the file reports the problem
        if (const std::uintmax_t bytes = fs::file_size(files_[k], ignored); looks_at_all || bytes != first_bytes_)
            looked[k] = look(k, bytes, looks);
    });
    for (std::size_t k = 1; looks && k < files_.size(); ++k)
        if (looked[k].looks > 0) looks->folder_files[files_[k]] = looked[k];
    info_.frames = 0;
    for (std::size_t k = 0; k < looked.size(); ++k) {
        const FolderFile& one = looked[k];
        info_.warnings.insert(info_.warnings.end(), one.warnings.begin(), one.warnings.end());
        if (!one.unlike.empty() && !looks) throw InputError(one.unlike);
        if (!one.unlike.empty()) return end_behind(k, one.unlike);
        if (!one.broken.empty()) return end_behind(k, one.broken);
        add_contradictions(info_, one.contradictions);
        starts_.push_back(std::exchange(info_.frames, info_.frames + one.frames));
        if (one.truncated) return end_behind(k + 1, {});
    }
}

/// Compares the files with those of earlier scans. Fewer files are reported only at the end, since the last one may be
/// incomplete.
void FolderMovie::compare_files(ScanState& looks) const {
    const auto written = [](const fs::path& path) {
        std::error_code gone;
        return fs::last_write_time(path, gone);
    };
    std::vector<ListedFile>& listed = looks.listed;
    for (std::size_t k = 0; k < listed.size() && looks.unlisted.empty(); ++k) {
        const bool is_there = k < files_.size(), is_it = is_there && files_[k] == listed[k].path;
        if ((is_there && !is_it) ||
            (looks.compares_all && (!is_there || (listed[k].written && written(files_[k]) != *listed[k].written))))
            looks.unlisted = listed[k].path;
    }
    for (std::size_t k = listed.size(); k < files_.size(); ++k) listed.push_back({files_[k]});
    for (std::size_t k = std::min(listed.size(), files_.size()); k-- > 1 && !listed[k - 1].written;)
        listed[k - 1].written = written(listed[k - 1].path);
}

/// Ends the movie after this many files: the next file is broken, and frames after it would get wrong numbers.
void FolderMovie::end_behind(std::size_t files, const std::string& broken) {
    const std::size_t left = files_.size() - files - (broken.empty() ? 0 : 1);
    if (!broken.empty())
        warn(broken + (left == 0 ? "; it is the last file, and is left out" : "; the movie ends before it"));
    if (left > 0)
        warn(fmt::format(
            "{}: {} {} behind {} left out, as the frames would get wrong numbers", info_.name, left,
            left == 1 ? "file" : "files",
            (broken.empty() ? files_[files - 1] : files_[files]).filename().string() + (left == 1 ? " is" : " are")));
    files_.resize(files);
    info_.files = files_;
}

/// Returns why the file's frames are unlike the first file's; empty if they match.
std::string FolderMovie::why_unlike_first(const MovieInfo& other, std::size_t k) const {
    if (other.width == info_.width && other.height == info_.height && other.type == info_.type) return {};
    return fmt::format(
        "{}: has {}x{} px of {} bytes, and {}, the first of its folder, {}x{} px of {}: the frames of a "
        "movie have one size and type; move other files to another folder",
        files_[k].string(), other.width, other.height, num_bytes(other.type), files_.front().filename().string(),
        info_.width, info_.height, num_bytes(info_.type));
}

std::unique_ptr<Movie> FolderMovie::open(std::size_t k) const {
    auto movie = open_tiff_movie(files_[k]).movie;
    if (const std::string why = why_unlike_first(movie->info(), k); !why.empty()) throw InputError(why);
    return movie;
}

void FolderMovie::read_file(std::size_t k, std::int64_t first, int count, std::byte* out) const {
    const auto movie = open(k);
    if (first + count > movie->info().frames)
        throw UnreadableFrame(files_[k].string(), movie->info().frames,
                              "the file has fewer frames than the first of its folder");
    movie->read_to(first, count, out);
}

void FolderMovie::read_to(std::int64_t first, int count, std::byte* out) {
    check_frames(info_, first, count);
    const std::size_t frame_bytes = info_.frame_bytes();
    auto file = std::size_t(std::upper_bound(starts_.begin(), starts_.end(), first) - starts_.begin()) - 1;
    for (int done = 0; done < count; ++file) {
        const std::int64_t local = first + done - starts_[file];
        const std::int64_t end = file + 1 < starts_.size() ? starts_[file + 1] : info_.frames;
        const int take = int(std::min<std::int64_t>(count - done, end - starts_[file] - local));
        try {
            read_file(file, local, take, out + std::size_t(done) * frame_bytes);
        } catch (const UnreadableFrame& error) {
            throw error.moved(starts_[file]);
        }
        done += take;
    }
}

/// Parses the names that MicroManager gives to single images: img_channel000_position000_time000000000_z000.tif,
/// and before version 2 img_000000000_GFP_000.tif (time, channel, z). Empty if a file has another name.
std::vector<PlaneAt> planes_by_name(const std::vector<fs::path>& files) {
    static const std::regex named("img_channel(\\d{1,9})_position(\\d{1,9})_time(\\d{1,9})_z(\\d{1,9})\\.tiff?");
    static const std::regex in_order("img_(\\d{9})_(.{0,200})_(\\d{3})\\.tiff?");
    std::vector<PlaneAt> planes;
    for (const fs::path& file : files) {
        const std::string name = file.filename().string();
        std::smatch match;
        if (name.size() > 255) return {};
        if (std::regex_match(name, match, named))
            planes.push_back(
                {std::stoll(match[3]), std::stoll(match[4]), std::to_string(std::stoll(match[2])), match[1]});
        else if (std::regex_match(name, match, in_order))
            planes.push_back({std::stoll(match[1]), std::stoll(match[3]), {}, match[2]});
        else
            return {};
    }
    return planes;
}

/// Returns true if the file's metadata define which pages of which files are the frames, instead of the order of names.
bool is_of_ome_set(const fs::path& path) {
    return ome_of(path).files.size() > 1 && needs_ome_set(open_tiff_movie(path), path);
}

/// The folders of Micro-Manager 1.4's positions in a folder without TIFF files: Pos0, 1-Pos_000_001.
std::vector<std::string> folders_of_positions(const fs::path& folder) {
    static const std::regex named("([0-9]{1,6}-)?Pos_?[-_0-9A-Za-z]{0,60}");
    std::vector<std::string> positions;
    std::error_code failed, ignored;
    for (fs::directory_iterator entry(folder, failed), end; !failed && entry != end; entry.increment(failed)) {
        const std::string name = entry->path().filename().string();
        if (ends_like_tiff(entry->path()) && entry->is_regular_file(ignored)) return {};
        if (name.size() < 100 && std::regex_match(name, named) && entry->is_directory(ignored))
            positions.push_back(name);
    }
    std::sort(positions.begin(), positions.end(), natural_less);
    return positions;
}

/// Returns a number in the metadata.txt that Micro-Manager 1.4 writes beside single images; 0 if there is none.
double number_in_metadata(const fs::path& folder, const std::string& key) {
    constexpr std::size_t head = 1 << 16;  // the file has a part for each image, and may be incomplete
    std::error_code ignored;
    if (!fs::is_regular_file(folder / "metadata.txt", ignored)) return 0;
    const std::string text = bytes_at(InputFile(folder / "metadata.txt"), 0, head);
    const std::string quoted = '"' + key + '"';
    const auto at = text.find(quoted);
    if (at == text.npos) return 0;
    std::string_view rest = std::string_view(text).substr(at + quoted.size());
    rest.remove_prefix(std::min(rest.find_first_not_of(" \t:\""), rest.size()));
    return positive_number_of(rest.substr(0, rest.find_first_not_of("0123456789.eE+-"))).value_or(0);
}

bool is_tiff_folder(const fs::path&) { return true; }

std::unique_ptr<Movie> open_tiff_folder(const fs::path& folder, const MovieChoice& choice, ScanState* looks) {
    if (const std::vector<std::string> positions = folders_of_positions(folder); !positions.empty()) {
        const Axis axis{Dimension::position, std::int64_t(positions.size()), positions};
        MovieChoice others = choice;
        others.position.reset();
        const std::size_t chosen =
            positions.size() == 1
                ? 0
                : std::size_t(chosen_planes({axis}, {.position = choice.position}, folder.string()).first);
        return open_tiff_folder(folder / positions[chosen], others, looks);
    }
    Listing found = list(folder);
    std::erase(found.others, "metadata.txt");  // of Micro-Manager
    std::vector<fs::path> files;
    for (const std::string& name : found.tiffs) files.push_back(folder / name);
    const std::vector<PlaneAt> planes = planes_by_name(files);
    if (planes.empty() && is_of_ome_set(files.front())) return open_joined_movie(files, choice, looks);
    PlanesAt chosen{{}, {}, {}};
    if (planes.empty()) {
        require_single_planes(choice, folder.string());
        if (std::string gaps = missing_numbers(files, folder.filename().string()); !gaps.empty())
            chosen.warnings.push_back(std::move(gaps));
    } else {
        chosen = chosen_planes(planes, choice, folder.string());
        std::vector<fs::path> of_choice;
        for (const std::size_t k : chosen.indices) of_choice.push_back(files[k]);
        files = std::move(of_choice);
    }
    auto movie = std::make_unique<FolderMovie>(folder, std::move(files), looks);
    for (std::string& warning : chosen.warnings) movie->warn(std::move(warning));
    const double pixel_um =
        std::max(number_in_metadata(folder, "PixelSize_um"), number_in_metadata(folder, "PixelSizeUm"));
    movie->know(pixel_um * 1e3, number_in_metadata(folder, "Exposure-ms"));
    if (const std::size_t n = found.others.size(); n > 0)
        movie->warn(fmt::format("{}: {} ignored, being no TIFF by {}: {}{}", movie->info().name,
                                n == 1 ? "1 other file is" : fmt::format("{} other files are", n),
                                n == 1 ? "its name" : "their names", found.others.front(), n == 1 ? "" : ", ..."));
    if (!planes.empty()) {
        const std::int64_t frames = movie->info().frames;
        return picked(std::move(movie), {0, 1, frames, chosen.described});
    }
    if (!movie->axes().empty())
        throw InputError(
            fmt::format("{}: {} alone holds several channels, z planes or positions: give the files, with a choice, "
                        "instead of their folder",
                        folder.string(), movie->info().files.front().filename().string()));
    return movie;
}

}  // namespace

constinit const FolderFormat tiff_folder_movies{
    {"folders of TIFF", "", "", "files that hold several channels or planes each"},
    is_tiff_folder,
    nullptr,
    open_tiff_folder};

}  // namespace glint
