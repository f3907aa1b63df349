// Decides whether the CPU or GPUs localize a movie, from the amount of work and the CPU's time for a few of its frames.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "glint/fit.hpp"
#include "glint/movie.hpp"
#include "offload/advisor.hpp"
#include "pipeline/localize_job.hpp"
#include "pipeline/movie_service.hpp"

namespace glint {

/// Whether groups of molecules may take most of the time: most spots have neighbours, or none were looked at.
bool may_be_crowded(const LocalizeJob& job);

/// All work on `frames` frames, from counts in memory to rows. unknown_end: of a long movie.
offload::Work movie_work(const MovieInfo& movie, const LocalizeJob& job, std::int64_t frames);
/// `frames`, or the number that is assumed for unknown_end.
std::int64_t expected_frames(std::int64_t frames);

struct CpuSample {
    std::int64_t frames = 0;  ///< that were localized; 0: nothing is known
    double seconds = 0;       ///< that the frames to do would take on all threads
    std::string in_words() const;
};

/// Localizes frames that lie evenly over the movie, one on each thread, and drops their rows. `frames`: the number to
/// do, less than the job's in a resumed run. Takes the time of one frame. No frames are localized if that would be more
/// than a twentieth of the whole, unless `at_any_price`, or if they cannot be read: the run will report why.
/// `precisely`: frames of a few milliseconds are localized twice, since the first time is mostly the start of a thread.
CpuSample sample_cpu(Movie& movie, const LocalizeJob& job, std::int64_t frames, bool at_any_price, bool precisely);

/// If the options leave the backend open, decides by earlier measurements of movies of that size and by one sample of
/// this one. Calls Callbacks::on_decision, and sets FitInfo::decision.
std::optional<offload::Decision> place_movie(Movie& movie, const LocalizeJob& job, std::int64_t frames,
                                             offload::Advisor& advisor, MovieService& service, FitInfo& info);

}  // namespace glint
