// Localizes a block, from its frames to its rows.
// SPDX-License-Identifier: MIT
#include "warm_worker/served_movies.hpp"

#include <algorithm>
#include <vector>

#include "glint/environment.hpp"
#include "pipeline/block_plan.hpp"
#include "pipeline/zero_border.hpp"
#include "warm_worker/movie_messages.hpp"

namespace glint::warm_worker {

ServedMovies::ServedMovies(GpuFitter& fitter)
    : fitter_(fitter), for_blocks_(std::max(max_gpu_localizers, std::size_t(environment::usable_threads())), {}) {}

void ServedMovies::run(const SharedPtr& movie, const MovieJob& work, const gpu::lease::Descriptor* file,
                       MovieReply& reply) try {
    const JobFrames frames(*movie, work, file);
    const FramesOnGpu room = room_for(*movie);
    const std::size_t frame_bytes = movie->info().frame_bytes();
    const auto make = [&](std::unique_ptr<ForBlock> former) {
        if (!former)
            former.reset(new ForBlock{{fitter_.context(), frame_bytes, room.frames}, FoundSpots(movie->job)});
        else
            former->upload.reshape(frame_bytes, room.frames), former->found = FoundSpots(movie->job);
        return former;
    };
    reply.done.outcome = Outcome::fitted;
    for_blocks_.on_one(room.uploads, movie, make, [&](ForBlock& mine) {
        BlockResult result;
        localize(mine, movie, work, frames, result, reply);
        add_rows(movie->job, mine.fitter, mine.found, result,
                 [&](std::span<const JointCut> groups) { find(movie, groups, reply); });
        if (!pack(result, movie->place_of(work))) reply.done.outcome = Outcome::too_large;
    });
} catch (const NotThere&) {
    reply.done.outcome = Outcome::not_there;
}

/// The GPU's part up to the fits of single molecules.
void ServedMovies::localize(ForBlock& mine, const SharedPtr& movie, const MovieJob& work, const JobFrames& frames,
                            BlockResult& result, MovieReply& reply) {
    const MovieInfo info = movie->info();
    const FramesOnGpu room = room_for(*movie);
    const auto make = [&](std::unique_ptr<GpuLocalizer> former) {
        former.reset();
        return std::make_unique<GpuLocalizer>(fitter_.context(), detect(), fitter_.kernels(), movie->job, room.frames);
    };
    const double uploads_s = mine.upload.seconds();
    const std::int64_t up = mine.upload.bytes();
    mine.found.clear();
    for (int done = 0, count = int(work.count); done < count;) {
        const int n = mine.upload.bring(count - done, [&](int first, int some, std::byte* counts) {
            frames.read(done + first, some, counts);
            note_zero_borders(counts, info, work.first_frame + done + first, some, result.counts);
            return some;
        });
        for_spots_.on_one(room.localizers, movie, make, [&](GpuLocalizer& localizer) {
            const GpuTimes before = localizer.times();
            int fitted = 0;
            localizer.localize(mine.upload.counts(), movie->type, work.first_frame + done, n, fitted, mine.found,
                               result);
            const GpuTimes& now = localizer.times();
            reply.done.bytes_down += now.bytes_down - before.bytes_down;
            reply.done.kernel_s += now.detect + now.fit - before.detect - before.fit;
        });
        done += n;
    }
    reply.fits = std::int64_t(mine.found.fits.count());
    reply.done.bytes_up += mine.upload.bytes() - up;
    reply.done.transfer_s += mine.upload.seconds() - uploads_s;
}

void ServedMovies::find(const SharedPtr& movie, std::span<const JointCut> groups, MovieReply& reply) {
    const LocalizeJob& job = movie->job;
    const GroupsOnGpu room = groups_on_gpu(fitter_.context(), max_finders);
    const auto make = [&](std::unique_ptr<JointOnGpu> former) {
        former.reset();
        return std::make_unique<JointOnGpu>(fitter_.context(), fitter_.kernels(), job.options.psf,
                                            job.options.pixel_size_nm, joint_options(job), room.bytes);
    };
    for_groups_.on_one(room.finders, movie, make, [&](JointOnGpu& finder) {
        const double seconds = finder.seconds();
        const std::int64_t up = finder.bytes_up(), down = finder.bytes_down();
        finder.find(groups);
        reply.done.bytes_up += finder.bytes_up() - up, reply.done.bytes_down += finder.bytes_down() - down;
        reply.done.kernel_s += finder.seconds() - seconds;
    });
}

FramesOnGpu ServedMovies::room_for(const SharedMovie& movie) const {
    const MovieInfo info = movie.info();
    const int block_frames = max_frames_of_gpu_block(info.frame_bytes());
    const std::size_t uploads = max_uploads(info, movie.job, unknown_end, block_frames, 1);
    return frames_on_gpu(fitter_.context().statistics().limit_bytes, info, movie.job, block_frames,
                         std::min(for_blocks_.count(), uploads));
}

/// Frees idle resources; null: those of all movies.
void ServedMovies::empty_pools(const SharedMovie* movie) {
    std::vector<SharedPtr> movies[3];  // destroyed last: the resources use them
    std::vector<FoundSpots> found;
    std::vector<std::unique_ptr<GpuLocalizer>> spots;
    std::vector<std::unique_ptr<JointOnGpu>> groups;
    movies[0] = for_blocks_.release_idle(
        movie, [&](auto& part) { part->upload.free(), found.push_back(std::move(part->found)); });
    movies[1] = for_spots_.release_idle(movie, [&](auto& part) { spots.push_back(std::move(part)); });
    movies[2] = for_groups_.release_idle(movie, [&](auto& part) { groups.push_back(std::move(part)); });
}

gpu::Module ServedMovies::detect() {
    const std::lock_guard lock(mutex_);
    if (!detect_) detect_ = detect_module(fitter_.context());
    return *detect_;
}

}  // namespace glint::warm_worker
