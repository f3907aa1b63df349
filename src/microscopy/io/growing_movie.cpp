// A movie that another program is writing. It is opened again when more frames are needed; readers skip what two scans
// have found.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <mutex>
#include <thread>

#include "base/clock.hpp"
#include "data/frame_block.hpp"
#include "glint/error.hpp"
#include "glint/movie_io.hpp"
#include "io/earlier_looks.hpp"

namespace glint {
namespace {

using Seconds = std::chrono::duration<double>;

constexpr Seconds look_every(0.2);
// Some formats search all frames of a long movie in each scan. This limits the load to a quarter of a core.
constexpr double rest_per_look = 3;

class FilesThatGrow : public GrowingMovie {
  public:
    FilesThatGrow(std::vector<std::filesystem::path> paths, MovieChoice choice)
        : paths_(std::move(paths)), choice_(std::move(choice)) {}

    /// Throws if nothing can be read yet.
    void open_first() {
        now_ = open_joined_movie(paths_, choice_, &looks_);
        info_ = now_->info();
        info_.frames = unknown_frames;
        info_.warnings.clear();  // of an incomplete file; end() sets those of the last scan
        opened_ = Clock::now();
    }
    const MovieInfo& info() const override { return info_; }
    void read(std::int64_t first, int count, FrameBlock& block) override { movie()->read(first, count, block); }
    void read_to(std::int64_t first, int count, std::byte* out) override { movie()->read_to(first, count, out); }
    std::int64_t frames_beyond(std::int64_t have, double wait_s) override;
    std::int64_t frames_found() override { return movie()->info().frames; }
    bool ended() const override { return false; }
    std::int64_t end() override;

  private:
    std::shared_ptr<Movie> movie() {
        const std::lock_guard lock(mutex_);
        return now_;
    }
    void look();

    std::vector<std::filesystem::path> paths_;
    MovieChoice choice_;
    MovieInfo info_;
    std::mutex mutex_;
    std::shared_ptr<Movie> now_;    // guarded by mutex_: threads read during a scan
    std::int64_t seen_before_ = 0;  // frames in the scan before the last
    std::exception_ptr failed_;     // error of the last scan
    ScanState looks_;
    Clock::time_point opened_;
    Seconds took_{0};
};

void FilesThatGrow::look() {
    seen_before_ = movie()->info().frames;
    const Clock::time_point began = Clock::now();
    failed_ = nullptr;
    try {
        std::shared_ptr<Movie> next = open_joined_movie(paths_, choice_, &looks_);
        // A file that became shorter is being rewritten, or its index is in the middle of a change.
        if (next->info().frames >= seen_before_ && next->info().width == info_.width &&
            next->info().height == info_.height && next->info().type == info_.type) {
            const std::lock_guard lock(mutex_);
            now_ = std::move(next);
        }
    } catch (const InputError&) {  // the file may be changing: the next scan decides
        failed_ = std::current_exception();
    }
    opened_ = Clock::now();
    took_ = opened_ - began;
}

std::int64_t FilesThatGrow::frames_beyond(std::int64_t have, double wait_s) {
    if (seen_before_ > have) return seen_before_;
    const auto deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(Seconds(wait_s));
    const auto next =
        opened_ + std::chrono::duration_cast<Clock::duration>(std::max(look_every, rest_per_look * took_));
    std::this_thread::sleep_until(std::min(next, deadline));
    if (next <= deadline) look();
    return seen_before_;
}

std::int64_t FilesThatGrow::end() {
    // The next scan reads everything, so that the result equals a new opening, and unexpected changes are noticed.
    looks_.read_all_next();
    look();
    if (failed_) std::rethrow_exception(failed_);
    if (const std::string unlike = looks_.unlike(); !unlike.empty()) throw InputError(unlike);
    info_ = movie()->info();
    for (const auto& [path, tiff] : looks_.tiffs)
        if (tiff.changed)
            info_.warnings.push_back(
                fmt::format("{}: was replaced, or its frames changed, while it was read: what was localized may be of "
                            "either state. Localize it again",
                            path.filename().string()));
    if (!looks_.unlisted.empty())
        info_.warnings.push_back(fmt::format(
            "{}: was replaced, removed, or found at another place among the files, while they were read: what was "
            "localized may be of either state. Localize them again",
            looks_.unlisted.filename().string()));
    return info_.frames;
}

}  // namespace

std::unique_ptr<GrowingMovie> open_growing_movie(const std::vector<std::filesystem::path>& paths,
                                                 const MovieChoice& choice, double wait_s, const StopFlag* stop) {
    auto movie = std::make_unique<FilesThatGrow>(paths, choice);
    const auto deadline = Clock::now() + Seconds(wait_s);
    while (true) try {
            movie->open_first();
            return movie;
        } catch (const InputError& error) {  // the file does not exist yet, or has no complete frame
            if (stop && stop->load()) throw;
            if (Clock::now() >= deadline)
                throw InputError(fmt::format("{} (waited {:g} s for it)", error.what(), wait_s));
            std::this_thread::sleep_for(look_every);
        }
}

}  // namespace glint
