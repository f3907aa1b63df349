// What the CPU takes for a movie, by a few of its frames.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>

#include "glint/movie.hpp"
#include "glint/offload/decision.hpp"
#include "pipeline/job.hpp"

namespace glint {

struct CpuSample {
    std::int64_t frames = 0;  ///< that were localized; 0: nothing is known
    double seconds = 0;       ///< that the frames to do would take on all threads
    std::string in_words() const;
};

/// Localizes frames that lie evenly over the movie, one on each thread, and drops their rows: joint fits take as long as a movie is
/// crowded, which its size does not tell. `frames`: how many are to be done, which are fewer than the job has where a run is
/// resumed. It takes the time of one frame; where that would be more than a twentieth of the whole, no frames are localized, unless
/// `at_any_price`, and none where they cannot be read: the run will say why. `precisely`: frames that take some milliseconds are
/// localized twice, since of the first time much is a thread's start.
CpuSample sample_cpu(Movie& movie, const Job& job, std::int64_t frames, bool at_any_price, bool precisely);

/// Changes the choice where the movie itself says that the CPU takes far less, or far more, than those that were measured before.
/// Where it is more, a GPU takes longer, too, but hardly as much.
void heed(const CpuSample& sample, offload::Decision& decision);

}  // namespace glint
