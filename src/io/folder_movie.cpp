// A folder of TIFF files as one movie, in the natural order of their names. Files are opened when they are read.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <cctype>
#include <mutex>
#include <regex>

#include "base/arena.hpp"
#include "data/frame_block.hpp"
#include "data/unreadable_frame.hpp"
#include "glint/error.hpp"
#include "glint/movie_io.hpp"
#include "io/movie_readers.hpp"
#include "io/natural_order.hpp"
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

std::vector<fs::path> tiffs_in(const fs::path& folder) {
    std::error_code failed;
    std::vector<fs::path> files;
    for (fs::directory_iterator entry(folder, failed), end; !failed && entry != end; entry.increment(failed)) {
        std::error_code ignored;
        if (ends_like_tiff(entry->path()) && !entry->path().filename().string().starts_with('.') &&
            entry->is_regular_file(ignored))
            files.push_back(entry->path());
    }
    if (failed) throw InputError(fmt::format("{}: cannot be listed ({})", folder.string(), failed.message()));
    if (files.empty())
        throw InputError(
            fmt::format("{}: is a folder without TIFF files (.tif, .tiff), and no movie of another format that "
                        "lies in a folder",
                        folder.string()));
    std::sort(files.begin(), files.end(), [](const fs::path& a, const fs::path& b) {
        return natural_less(a.filename().string(), b.filename().string());
    });
    return files;
}

class FolderMovie : public Movie {
  public:
    FolderMovie(const fs::path& folder, std::vector<fs::path> files);
    const MovieInfo& info() const override { return info_; }
    void read(std::int64_t first, int count, FrameBlock& block) override {
        shape_like(info_, first, count, block);
        read_to(first, count, block.bytes.data());
    }
    void read_to(std::int64_t first, int count, std::byte* out) override;
    const std::vector<Axis>& axes() const { return axes_; }  ///< of the first file
    bool one_frame_a_file() const { return info_.frames == std::int64_t(files_.size()); }
    void add_warnings(std::vector<std::string> warnings) {
        info_.warnings.insert(info_.warnings.end(), warnings.begin(), warnings.end());
    }

  private:
    void count_frames();
    void read_file(std::size_t k, std::int64_t first, int count, std::byte* out) const;
    std::unique_ptr<Movie> open(std::size_t k) const;
    void require_alike(const MovieInfo& other, std::size_t k) const;

    std::vector<fs::path> files_;
    MovieInfo info_;
    std::vector<Axis> axes_;
    std::uintmax_t first_bytes_ = 0;
    std::vector<std::int64_t> starts_;  ///< first frame of each file
};

FolderMovie::FolderMovie(const fs::path& folder, std::vector<fs::path> files) : files_(std::move(files)) {
    TiffMovieFile first = open_tiff_movie(files_.front());
    info_ = first.movie->info();
    axes_ = std::move(first.axes);
    std::error_code ignored;
    first_bytes_ = fs::file_size(files_.front(), ignored);
    info_.name = folder.filename().empty() ? folder.parent_path().filename().string() : folder.filename().string();
    info_.files = files_;
    count_frames();
}

// A file of the first one's size is taken to be like it, and looked at when it is read: opening 100,000 takes seconds.
void FolderMovie::count_frames() {
    const std::int64_t in_first = info_.frames;
    std::vector<std::int64_t> counts(files_.size(), in_first);
    std::mutex mutex;
    tbb_threads();
    tbb::parallel_for(std::size_t(1), std::max<std::size_t>(1, files_.size()), [&](std::size_t k) {
        std::error_code ignored;
        if (fs::file_size(files_[k], ignored) == first_bytes_) return;
        const auto movie = open(k);
        const std::lock_guard lock(mutex);
        counts[k] = movie->info().frames;
        add_warnings(movie->info().warnings);
    });
    info_.frames = 0;
    for (const std::int64_t count : counts) starts_.push_back(std::exchange(info_.frames, info_.frames + count));
}

void FolderMovie::require_alike(const MovieInfo& other, std::size_t k) const {
    if (other.width == info_.width && other.height == info_.height && other.type == info_.type) return;
    throw InputError(
        fmt::format("{}: has {}x{} px of {} bytes, and {}, the first of its folder, {}x{} px of {}: the frames of a "
                    "movie are alike; move what is not of the movie to another folder",
                    files_[k].string(), other.width, other.height, bytes_of(other.type),
                    files_.front().filename().string(), info_.width, info_.height, bytes_of(info_.type)));
}

std::unique_ptr<Movie> FolderMovie::open(std::size_t k) const {
    auto movie = open_tiff_movie(files_[k]).movie;
    require_alike(movie->info(), k);
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
    const std::size_t frame_bytes = std::size_t(info_.width) * info_.height * bytes_of(info_.type);
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

/// What MicroManager writes into the names of single images: img_channel000_position000_time000000000_z000.tif, and before version 2
/// img_000000000_GFP_000.tif (time, channel, z). Empty where a file is named otherwise.
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

/// Whether the file's metadata say which pages of which files are the frames: not the order of names then.
bool is_of_ome_set(const fs::path& path) {
    const TiffMovieFile file = open_tiff_movie(path);
    return file.ome.files.size() > 1 && needs_ome_set(file, path);
}

}  // namespace

bool is_tiff_folder(const fs::path&) { return true; }

std::unique_ptr<Movie> open_tiff_folder(const fs::path& folder, const MovieChoice& choice) {
    std::vector<fs::path> files = tiffs_in(folder);
    const std::vector<PlaneAt> planes = planes_by_name(files);
    if (!planes.empty()) {
        PlanesAt chosen = chosen_planes(planes, choice, folder.string());
        std::vector<fs::path> of_choice;
        for (const std::size_t k : chosen.indices) of_choice.push_back(files[k]);
        auto movie = std::make_unique<FolderMovie>(folder, std::move(of_choice));
        movie->add_warnings(std::move(chosen.warnings));
        return picked(std::move(movie), {0, 1, std::int64_t(chosen.indices.size()), chosen.described});
    }
    if (is_of_ome_set(files.front())) return open_joined_movie(files, choice);
    auto movie = std::make_unique<FolderMovie>(folder, std::move(files));
    if (!movie->axes().empty())
        throw InputError(
            fmt::format("{}: {} alone holds several channels, z planes or positions: give the files, with a choice, "
                        "in place of their folder",
                        folder.string(), movie->info().files.front().filename().string()));
    require_single_planes(choice, folder.string());
    return movie;
}

}  // namespace glint
