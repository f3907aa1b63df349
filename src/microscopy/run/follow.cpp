// Localizes a movie while it is written.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/median.hpp"
#include "glint/error.hpp"
#include "glint/localize.hpp"
#include "run/run.hpp"

namespace glint {
namespace {

/// Returns the median of the finite values; NaN if there are none.
double median_of_known(std::vector<float> values) {
    std::erase_if(values, [](float value) { return !std::isfinite(value); });
    return values.empty() ? std::numeric_limits<double>::quiet_NaN() : median(std::move(values));
}

/// Reports progress. Called by the thread that waits for frames and by those that end blocks.
class Reporter {
  public:
    /// `done`, `rows`: frames and rows of the resumed run.
    Reporter(const FollowOptions& follow, double pixel_size_nm, const MovieInfo& movie, std::int64_t done,
             std::int64_t rows)
        : follow_(follow), pixel_size_nm_(pixel_size_nm) {
        frame_um2_ = double(movie.width) * movie.height * pixel_size_nm * pixel_size_nm * 1e-6;
        status_.frames = status_.complete_frames = found_ = done, status_.localizations = rows;
    }
    void there_are(std::int64_t frames, std::int64_t found) {
        const std::lock_guard lock(mutex_);
        if (found > found_) seen_.push_back({found, asked_}), found_ = found;
        asked_ = Clock::now();
        status_.complete_frames = std::max(frames, status_.complete_frames);
        report_when_due(false);
    }
    void done(const BlockResult& block) {
        const std::lock_guard lock(mutex_);
        const Localizations& rows = block.rows;
        frames_ += block.frames(), rows_ += std::int64_t(rows.size()), spots_ += block.counts.spots;
        status_.frames = block.end_frame(), status_.localizations += std::int64_t(rows.size());
        while (!seen_.empty() && seen_.front().frames <= status_.frames) seen_.pop_front();
        noise_.insert(noise_.end(), block.noise_checks.begin(), block.noise_checks.end());
        for (std::size_t k = 0; k < rows.size(); ++k) precision_px_.push_back((rows.lpx_px[k] + rows.lpy_px[k]) / 2);
        photons_.insert(photons_.end(), rows.photons.begin(), rows.photons.end());
        background_.insert(background_.end(), rows.bg.begin(), rows.bg.end());
        report_when_due(false);
    }
    void last() {
        const std::lock_guard lock(mutex_);
        report_when_due(true);
    }

  private:
    struct Seen {
        std::int64_t frames;
        Clock::time_point when;
    };
    void report_when_due(bool now);

    const FollowOptions& follow_;
    double pixel_size_nm_ = 0, frame_um2_ = 0;
    std::mutex mutex_;
    FollowStatus status_;
    std::deque<Seen> seen_;  // frames not localized yet, and the earliest possible time of their arrival
    std::int64_t found_ = 0;
    Clock::time_point asked_ = Clock::now();  // the last request for frames
    std::int64_t frames_ = 0, rows_ = 0, spots_ = 0;
    std::vector<float> precision_px_, photons_, background_, noise_;
    Clock::time_point reported_ = Clock::now();
};

void Reporter::report_when_due(bool now) {
    if (!follow_.report || (!now && seconds_since(reported_) < follow_.report_s)) return;
    const double frames = frames_ > 0 ? double(frames_) : std::numeric_limits<double>::quiet_NaN();
    status_.spots_per_frame = double(spots_) / frames;
    status_.density_per_um2 = double(rows_) / frames / frame_um2_;
    status_.precision_nm = median_of_known(std::exchange(precision_px_, {})) * pixel_size_nm_;
    status_.photons = median_of_known(std::exchange(photons_, {}));
    status_.background = median_of_known(std::exchange(background_, {}));
    status_.noise_check = median_of_known(std::exchange(noise_, {}));
    status_.lag_s = seen_.empty() ? 0 : seconds_since(seen_.front().when);
    frames_ = rows_ = spots_ = 0;
    reported_ = Clock::now();
    follow_.report(status_);
}

constexpr double look_s = 0.25;  // interval of checking the stop flag; longer than that of scanning the files

/// Returns true if the fits of job `then` are the ones that the ended movie requires, whose job is `now`.
bool are_same_fits(const LocalizeJob& then, const LocalizeJob& now) {
    const LoneSpots &a = then.lone, &b = now.lone;
    return a.psf_misfit == b.psf_misfit && a.satellites == b.satellites && a.min_width_nm == b.min_width_nm &&
           a.max_width_nm == b.max_width_nm && a.pair_excess == b.pair_excess && !now.known_light;
}

/// Returns true if both surveys leave out the same pixels.
bool are_same_pixels(const PixelSurvey& then, const PixelSurvey& now) {
    return now.saturation_adu == then.saturation_adu && now.defective == then.defective;
}

/// Returns a warning about pixels that should have been left out of a pipe's frames, which cannot be read again.
std::string pixels_of_pipe(const std::string& name, const PixelSurvey& found) {
    std::string what;
    if (!found.defective.empty()) what = fmt::format("{} pixels are defective", found.defective.size());
    if (found.saturation_adu > 0)
        what += fmt::format("{}pixels saturate at {:g} ADU", what.empty() ? "" : ", and ", found.saturation_adu);
    return fmt::format(
        "{}: by its first frames, {}. Nothing of this was left out, since a pipe cannot be read twice: localizations "
        "there may be false, or their positions and photons wrong. Save the movie and localize the file, or mask the "
        "pixels by `camera`",
        name, what);
}

/// Localizes frames as they arrive, until the movie ends. Returns nullopt, and keeps no results, if the whole movie
/// must be localized again.
std::optional<LocalizeResult> localize_while_written(GrowingMovie& movie, const Camera& camera,
                                                     const std::filesystem::path& out, const LocalizeOptions& options,
                                                     const FollowOptions& follow) {
    LocalizeJob job = prepare_job(movie, camera, options);
    Run run(movie, camera, out, job, Writers::this_process);
    Reporter reporter(follow, options.pixel_size_nm, movie.info(), run.finished_frames(), run.finished_rows());
    const auto stopped = [&] { return options.stop && options.stop->load(); };
    const std::vector<FrameRange> gaps = run.to_do();
    auto gap = gaps.begin();
    std::int64_t begun = 0;
    Clock::time_point grew = Clock::now();
    // Starts with the gaps that an interrupted run left. The last gap extends to the movie's end, which is still
    // unknown.
    const auto next = [&]() -> FrameRange {
        if (gap == gaps.end()) return {};
        if (gap->end != unknown_end) return *gap++;
        begun = std::max(begun, gap->begin);
        while (!stopped() && !movie.ended() && seconds_since(grew) < follow.timeout_s) {
            const std::int64_t there = movie.frames_beyond(begun, look_s);
            reporter.there_are(there, movie.frames_found());
            if (there <= begun) continue;
            grew = Clock::now();
            return {std::exchange(begun, there), there};
        }
        return {};
    };
    const PartDone done = run_part(movie, job, unknown_end, next, [&](const BlockResult& block) {
        run.append(block);
        reporter.done(block);
    });
    std::exception_ptr error = done.error;
    if (!error && !stopped()) try {
            // No block has begun the frames that arrived just before the end, so the end is where the last block was
            // begun.
            const std::int64_t end =
                std::min(movie.end(), gaps.empty() ? movie.info().frames : std::max(begun, gaps.back().begin));
            for (const std::string& warning : movie.info().warnings)
                if (options.warn) options.warn(warning);
            if (end <= 0) throw InputError(movie.info().name + ": has no frames");
            if (follow.check_ended) follow.check_ended();
            run.end_at(end);
        } catch (const Error&) {
            error = std::current_exception();
        }
    if (!error && run.to_do().empty()) {
        LocalizeOptions quiet = options;
        quiet.warn = {};  // it has already warned
        // A pipe keeps only its first frames: they show how wide spots are, but its fits cannot be repeated.
        const bool is_pipe = movie.info().files.empty();
        if (is_pipe) {
            quiet.frames.end = std::min(job.frames.end, quiet.frames.begin + 64);
            quiet.fit.psf_misfit = job.options.fit.psf_misfit;
        }
        LocalizeJob whole = prepare_job(movie, camera, quiet);
        if (is_pipe && options.warn && !are_same_pixels(job.pixels, whole.pixels))
            options.warn(pixels_of_pipe(movie.info().name, whole.pixels));
        if (is_pipe) {
            whole.lone.min_width_nm = whole.lone.max_width_nm = 0;
            whole.known_light = {}, whole.background.is_known = false;
        }
        if (!are_same_fits(job, whole) || (!is_pipe && !are_same_pixels(job.pixels, whole.pixels))) {
            run.give_up();
            reporter.last();
            return {};
        }
        job.lone = whole.lone, job.background = whole.background;
    }
    LocalizeResult result = run.finish({}, error);
    result.fit = done.fit;
    reporter.last();
    return result;
}

}  // namespace

LocalizeResult follow(GrowingMovie& movie, const Camera& camera, const std::filesystem::path& out,
                      const LocalizeOptions& options, const FollowOptions& follow) {
    const auto start = Clock::now();
    if (auto result = localize_while_written(movie, camera, out, options, follow)) return *result;
    if (follow.before_rerun) follow.before_rerun();
    LocalizeOptions again = options;
    again.resume = false;
    LocalizeResult result = localize(movie, camera, out, again);
    result.seconds = seconds_since(start);
    return result;
}

}  // namespace glint
