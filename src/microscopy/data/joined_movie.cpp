// Joined movies, of which only a few are open at a time.
// SPDX-License-Identifier: MIT
#include "data/joined_movie.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>

#include "data/frame_block.hpp"
#include "glint/error.hpp"

namespace glint {
namespace {

// More than the threads of a run read simultaneously, unless files are shorter than its blocks. Each open movie needs a
// descriptor, and another one for each thread that decodes.
constexpr std::size_t max_open = 8;

bool are_alike(const MovieInfo& a, const MovieInfo& b) {
    return a.width == b.width && a.height == b.height && a.type == b.type;
}

}  // namespace

void MovieParts::add(std::unique_ptr<Movie> movie, Reopen reopen) {
    const MovieInfo& other = movie->info();
    if (parts_.empty()) {
        info_ = other;
        info_.frames = 0;
        info_.warnings.clear();
        info_.files.clear();
    }
    if (!are_alike(other, info_))
        throw InputError(
            fmt::format("{} ({}x{}, {}-byte pixels) does not continue {} ({}x{}, {}-byte pixels): localize them apart",
                        other.name, other.width, other.height, num_bytes(other.type), info_.name, info_.width,
                        info_.height, num_bytes(info_.type)));
    add_contradictions(info_, contradictions(info_, info_.name, other, other.name));
    add_contradictions_within(other, info_);
    const std::int64_t frames = other.frames;
    const std::string name = other.name;
    info_.warnings.insert(info_.warnings.end(), other.warnings.begin(), other.warnings.end());
    info_.files.insert(info_.files.end(), other.files.begin(), other.files.end());
    if (reopen) open_.push_back(parts_.size());
    parts_.push_back({std::move(movie), std::move(reopen), name, info_.frames, frames});
    info_.frames += frames;
    close_oldest();
}

void MovieParts::close_oldest() {
    if (open_.size() <= max_open) return;
    parts_[open_.front()].movie.reset();
    open_.erase(open_.begin());
}

class JoinedMovie : public Movie {
  public:
    JoinedMovie(MovieParts parts, std::vector<std::string> warnings) : of_(std::move(parts)) {
        MovieInfo& info = of_.info_;
        info.warnings.insert(info.warnings.begin(), warnings.begin(), warnings.end());
    }
    const MovieInfo& info() const override { return of_.info_; }
    std::vector<JoinedPart> parts() const {
        std::vector<JoinedPart> parts;
        for (const MovieParts::Part& part : of_.parts_) parts.push_back({part.name, part.first, part.frames});
        return parts;
    }
    void read(std::int64_t first, int count, FrameBlock& block) override {
        shape_like(info(), first, count, block);
        read_to(first, count, block.bytes.data());
    }
    void read_to(std::int64_t first, int count, std::byte* out) override {
        check_frames(info(), first, count);
        const std::size_t frame_bytes = info().frame_bytes();
        for (std::size_t part = part_of(first), done = 0; int(done) < count; ++part) {
            const std::int64_t local = first + std::int64_t(done) - of_.parts_[part].first;
            const int take = int(std::min<std::int64_t>(count - int(done), of_.parts_[part].frames - local));
            if (take <= 0) continue;
            read_part(part, local, take, out + done * frame_bytes);
            done += std::size_t(take);
        }
    }

    std::optional<FramesInFile> in_file(std::int64_t first, int count) override {
        check_frames(info(), first, count);
        const std::size_t k = part_of(first);
        const MovieParts::Part& part = of_.parts_[k];
        if (first + count > part.first + part.frames) return {};
        const std::shared_ptr<Movie> movie = opened(k);
        std::optional<FramesInFile> frames = movie->in_file(first - part.first, count);
        if (frames && !frames->open) frames->open = movie;
        return frames;
    }

  private:
    /// Returns the last part that begins at this frame or before.
    std::size_t part_of(std::int64_t frame) const {
        const auto behind =
            std::upper_bound(of_.parts_.begin(), of_.parts_.end(), frame,
                             [](std::int64_t at, const MovieParts::Part& part) { return at < part.first; });
        return std::size_t(behind - of_.parts_.begin()) - 1;
    }
    void read_part(std::size_t k, std::int64_t local, int count, std::byte* out) {
        try {
            opened(k)->read_to(local, count, out);
        } catch (const UnreadableFrame& error) {
            throw error.moved(of_.parts_[k].first);
        }
    }

    /// Returns an open movie. The reader's pointer keeps it open, even if other readers close it meanwhile. Opened
    /// under the lock, so only once.
    std::shared_ptr<Movie> opened(std::size_t k) {
        MovieParts::Part& part = of_.parts_[k];
        if (!part.reopen) return part.movie;
        const std::lock_guard lock(mutex_);
        if (part.movie) {
            if (of_.open_.back() != k) std::erase(of_.open_, k), of_.open_.push_back(k);
            return part.movie;
        }
        std::shared_ptr<Movie> movie = part.reopen();
        if (!are_alike(movie->info(), info()) || movie->info().frames < part.frames)
            throw InputError(
                fmt::format("{}: changed after it was opened: it has {} frames of {}x{} px now, and had {} of {}x{}",
                            movie->info().name, movie->info().frames, movie->info().width, movie->info().height,
                            part.frames, info().width, info().height));
        part.movie = movie;
        of_.open_.push_back(k);
        of_.close_oldest();
        return movie;
    }

    std::mutex mutex_;  // guards the open movies
    MovieParts of_;
};

std::vector<JoinedPart> parts_of(const Movie& movie) {
    if (const auto* joined = dynamic_cast<const JoinedMovie*>(&movie)) return joined->parts();
    return {{movie.info().name, 0, movie.info().frames}};
}

std::unique_ptr<Movie> concatenate(MovieParts parts, std::vector<std::string> warnings) {
    if (parts.size() == 0) throw InputError("no movie was given");
    return std::make_unique<JoinedMovie>(std::move(parts), std::move(warnings));
}

std::unique_ptr<Movie> concatenate(std::vector<std::unique_ptr<Movie>> movies) {
    return concatenate(std::move(movies), {});
}

std::unique_ptr<Movie> concatenate(std::vector<std::unique_ptr<Movie>> movies, std::vector<std::string> warnings) {
    if (movies.size() == 1 && warnings.empty()) return std::move(movies.front());
    MovieParts parts;
    for (auto& movie : movies) parts.add(std::move(movie));
    return concatenate(std::move(parts), std::move(warnings));
}

}  // namespace glint
