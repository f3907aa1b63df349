// From shared memory to the GPU and back, in one piece.
// SPDX-License-Identifier: MIT
#include "pipeline/warm/movies_on_gpu.hpp"

#include <algorithm>
#include <tuple>
#include <vector>

#include "glint/error.hpp"
#include "pipeline/block_plan.hpp"
#include "pipeline/warm/movie_parts.hpp"

namespace glint::worker {
namespace {

void find_groups(JointOnGpu& finder, const SharedMovie& movie, const MovieJob& work, MovieReply& reply) {
    const std::span<std::byte> place = movie.place_of(work);
    Groups groups(movie.job);
    if (!groups.add(place, work.count)) throw OptionError("these are no groups of molecules");
    const double seconds = finder.seconds();
    const std::int64_t up = finder.bytes_up(), down = finder.bytes_down();
    finder.find(groups.all());
    reply.done.bytes_up = finder.bytes_up() - up, reply.done.bytes_down = finder.bytes_down() - down;
    reply.done.kernel_s = finder.seconds() - seconds;
    if (!pack_fits(groups.all(), place)) reply.done.outcome = Outcome::too_large;
}

}  // namespace

/// One that has the movie already; else an empty one, or that which was used longest ago.
template <class Seats>
auto& MoviesOnGpu::take_seat(Seats& seats, const std::shared_ptr<const SharedMovie>& movie) {
    std::unique_lock lock(mutex_);
    auto best = seats.begin();
    seat_is_free_.wait(lock, [&] {
        const auto rank = [&](const auto& seat) { return std::tuple(seat.taken, seat.movie != movie, seat.last_use); };
        best = std::min_element(seats.begin(), seats.end(),
                                [&](const auto& a, const auto& b) { return rank(a) < rank(b); });
        return !best->taken;
    });
    best->taken = true, best->last_use = ++uses_;
    if (best->movie == movie) return *best;
    const auto former = std::exchange(best->movie, movie);
    const auto its_part = std::move(best->part);
    lock.unlock();  // to free that part takes a while
    return *best;
}

template <class Seats, class Make, class Work>
void MoviesOnGpu::on_seat(Seats& seats, const std::shared_ptr<const SharedMovie>& movie, const Make& make,
                          const Work& work) {
    auto& seat = take_seat(seats, movie);
    const auto put_back = [&] {
        const std::lock_guard lock(mutex_);
        seat.taken = false;
        seat_is_free_.notify_all();
    };
    try {
        if (!seat.part) seat.part = make();
        work(*seat.part);
    } catch (...) {
        put_back();
        throw;
    }
    put_back();
}

void MoviesOnGpu::run(const std::shared_ptr<const SharedMovie>& movie, const MovieJob& work, MovieReply& reply) {
    const Job& job = movie->job;
    const gpu::Context& context = fitter_.context();
    reply.done.outcome = Outcome::fitted;
    if (work.work == MovieWork::block) {
        const auto make = [&] {
            return std::make_unique<ForBlocks>(places_of(movie), context, detect(), fitter_.kernels(), *movie,
                                               share_of(*movie));
        };
        on_seat(for_blocks_, movie, make, [&](ForBlocks& part) { localize(part, *movie, work, reply); });
    } else {
        const auto make = [&] {
            return std::make_unique<JointOnGpu>(context, fitter_.kernels(), job.options.psf, job.pixel_size_um,
                                                joint_options(job), groups_on_gpu(context, most_finders).bytes);
        };
        on_seat(for_groups_, movie, make, [&](JointOnGpu& finder) { find_groups(finder, *movie, work, reply); });
    }
}

/// Each seat has an upload.
FramesOnGpu MoviesOnGpu::share_of(const SharedMovie& movie) const {
    return frames_on_gpu(fitter_.context().statistics().limit_bytes, movie.info(), movie.job,
                         most_frames_of_gpu_block(movie.frame_bytes()), 1);
}

std::size_t MoviesOnGpu::at_once(const SharedMovie& movie, MovieWork work) const {
    return work == MovieWork::block ? share_of(movie).workers : groups_on_gpu(fitter_.context(), most_finders).finders;
}

/// Null: of all movies.
void MoviesOnGpu::empty_seats(const SharedMovie* movie) {
    std::vector<std::shared_ptr<const SharedMovie>> movies;  // go last: the parts use them
    std::vector<std::unique_ptr<ForBlocks>> blocks;
    std::vector<std::unique_ptr<JointOnGpu>> groups;
    const auto empty = [&](auto& seats, auto& parts) {
        for (auto& seat : seats) {
            if (seat.taken || !seat.movie || (movie && seat.movie.get() != movie)) continue;
            movies.push_back(std::exchange(seat.movie, {})), parts.push_back(std::move(seat.part));
            seat.last_use = 0;
        }
    };
    const std::lock_guard lock(mutex_);
    empty(for_blocks_, blocks), empty(for_groups_, groups);
}

void MoviesOnGpu::forget(const SharedMovie& movie) { empty_seats(&movie); }
void MoviesOnGpu::forget_all() { empty_seats(nullptr); }

std::shared_ptr<LockedPlaces> MoviesOnGpu::places_of(const std::shared_ptr<const SharedMovie>& movie) {
    const std::lock_guard lock(mutex_);
    std::erase_if(places_, [](const auto& one) { return one.second.expired(); });
    std::weak_ptr<LockedPlaces>& known = places_[movie.get()];
    std::shared_ptr<LockedPlaces> places = known.lock();
    if (!places) known = places = std::make_shared<LockedPlaces>(fitter_.context(), movie);
    return places;
}

gpu::Module MoviesOnGpu::detect() {
    const std::lock_guard lock(mutex_);
    if (!detect_) detect_ = detect_module(fitter_.context());
    return *detect_;
}

void MoviesOnGpu::localize(ForBlocks& part, const SharedMovie& movie, const MovieJob& work, MovieReply& reply) {
    const std::size_t frame_bytes = movie.frame_bytes();
    part.places->used(work.frames_at, work.count * frame_bytes);
    const GpuTimes before = part.worker.times();
    const double uploads_s = part.upload.seconds();
    const std::byte* const counts = movie.memory.data() + work.frames_at;
    FoundSpots found(movie.job);
    BlockResult result;
    for (int done = 0, count = int(work.count); done < count;) {
        const std::size_t at = std::size_t(done) * frame_bytes, left = std::size_t(count - done) * frame_bytes;
        const int n = part.upload.bring(count - done, {counts + at, left});
        int fitted = 0;
        part.worker.localize(part.upload.counts(), movie.type, work.first_frame + done, n, fitted, found, result);
        done += n;
    }
    if (!pack(found, result, movie.place_of(work))) reply.done.outcome = Outcome::too_large;
    const GpuTimes& now = part.worker.times();
    reply.fits = std::int64_t(found.fits.count());
    reply.done.bytes_up = std::int64_t(work.count * frame_bytes);
    reply.done.bytes_down = now.bytes_down - before.bytes_down;
    reply.done.transfer_s = part.upload.seconds() - uploads_s;
    reply.done.kernel_s = now.detect + now.fit - before.detect - before.fit;
}

}  // namespace glint::worker
