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

/// Returns true if groups of molecules may take most of the time: most spots have neighbours, or none were examined.
bool may_be_crowded(const LocalizeJob& job);

/// Returns all work on `frames` frames, from counts in memory to rows. unknown_end counts as a long movie.
offload::Work movie_work(const MovieInfo& movie, const LocalizeJob& job, std::int64_t frames);
/// Returns `frames`, or the number that is assumed for unknown_end.
std::int64_t expected_frames(std::int64_t frames);

struct CpuSample {
    std::int64_t frames = 0;  ///< number of localized frames; 0: nothing is known
    double seconds = 0;       ///< expected time of the remaining frames on all threads
    std::string in_words() const;
};

/// Localizes frames spread evenly over the movie, one on each thread, and drops their rows. Takes the time of one
/// frame. Localizes no frames if they cannot be read, since the run will report it. Also localizes none if that would
/// take more than a twentieth of the whole time, unless `at_any_price`.
/// - `frames`: the number still to localize, less than the job's in a resumed run.
/// - `precisely`: frames that take a few milliseconds are localized twice, because the start of a thread dominates the
///   first time.
CpuSample sample_cpu(Movie& movie, const LocalizeJob& job, std::int64_t frames, bool at_any_price, bool precisely);

/// If the options leave the backend open, decides from earlier measurements of movies of that size and from one sample
/// of this movie. Calls Callbacks::on_decision, and sets FitInfo::decision.
std::optional<offload::Decision> place_movie(Movie& movie, const LocalizeJob& job, std::int64_t frames,
                                             offload::Advisor& advisor, MovieService& service, FitInfo& info);

}  // namespace glint
