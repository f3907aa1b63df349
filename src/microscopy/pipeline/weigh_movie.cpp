// Counts a movie's work.
// SPDX-License-Identifier: MIT
#include "pipeline/weigh_movie.hpp"

#include "fit/weigh.hpp"
#include "pipeline/lone_spots.hpp"

namespace glint {
namespace {

constexpr double pixels_by_rule = 2e8;          // pixels; without measurements, larger movies go to a GPU
constexpr double flops_of_a_movie_pixel = 150;  // conversion, background, filter, and a few fits
constexpr double pixels_of_a_spot = 5000;

}  // namespace

bool may_be_crowded(const Job& job) {
    return job.options.fit.emitters == any_emitters && (job.lone.spots == 0 || is_crowded(job.lone));
}

offload::Work movie_work(const MovieInfo& movie, const Job& job, std::int64_t frames) {
    const double pixels = double(frames) * movie.width * movie.height, spots = pixels / pixels_of_a_spot;
    const double roi = double(job.options.roi_size) * job.options.roi_size;
    offload::Work work;
    // Joint fits take many times as long where there are many: what was measured of each kind is kept apart.
    const char* kind = job.options.fit.emitters == 1 ? "localize singly"
                       : may_be_crowded(job)         ? "localize crowds"
                                                     : "localize";
    work.operation = &model_operation(kind, job.options.psf.model, job.options.roi_size,
                                      !job.camera.variance_map().empty(), "pixels", pixels_by_rule);
    work.size = pixels, work.flops = pixels * flops_of_a_movie_pixel;
    work.bytes_to_gpu = std::uint64_t(pixels * bytes_of(movie.type));
    work.bytes_from_gpu = std::uint64_t(spots * 4 * (roi + 2 * parameter_count(job.options.psf.model) + 10));
    work.bytes = pixels * (bytes_of(movie.type) + 8 * sizeof(float));
    work.pinned = true;
    work.cpu_threads = job.threads, work.library = "movie kernels";
    return work;
}

}  // namespace glint
