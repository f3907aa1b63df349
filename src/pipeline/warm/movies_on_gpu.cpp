// From shared memory to the GPU and back, in one piece.
// SPDX-License-Identifier: MIT
#include "pipeline/warm/movies_on_gpu.hpp"

#include <algorithm>

#include "glint/error.hpp"
#include "gpu/pinned.hpp"

namespace glint::worker {
namespace {

constexpr std::size_t most_movies = 4;  // on the GPU at once: each has so large a part of its memory
constexpr std::size_t most_places = 1024;

MovieInfo info_of(const SharedMovie& movie) {
    MovieInfo info;
    info.width = movie.job.camera.width(), info.height = movie.job.camera.height(), info.type = movie.type;
    return info;
}

std::span<std::byte> place_of(const SharedMovie& movie, const MovieJob& job) {
    return {movie.memory.data() + job.place, std::size_t(job.bytes)};
}

}  // namespace

bool SharedMovie::holds(const MovieJob& work) const {
    constexpr std::uint32_t most = 1 << 20;  // frames or groups
    const auto is_inside = [&](std::uint64_t at, std::uint64_t bytes) {
        return at <= memory.size() && bytes <= memory.size() - at;
    };
    if (work.place % 8 != 0 || !is_inside(work.place, work.bytes) || work.count < 1 || work.count > most) return false;
    if (work.work == MovieWork::groups) return job.options.emitters == any_emitters;
    return work.work == MovieWork::block && is_inside(work.frames_at, work.count * frame_bytes());
}

MoviesOnGpu::LockedPlaces::~LockedPlaces() {
    for (const auto& [at, place] : places_)
        if (place.first == Place::locked)
            gpu::detail::unlock_pages(context_.state(), memory_.data() + at, std::size_t(place.second));
}

void MoviesOnGpu::LockedPlaces::used(std::uint64_t at, std::uint64_t bytes) {
    const auto known = places_.find(at);
    if (known == places_.end()) {
        if (places_.size() < most_places) places_.emplace(at, std::pair(Place::used, bytes));
    } else if (auto& [state, size] = known->second; state == Place::used) {
        size = bytes;
        state = gpu::detail::lock_pages(context_.state(), memory_.data() + at, std::size_t(bytes))
                    ? Place::locked
                    : Place::not_lockable;
    }
}

void MoviesOnGpu::forget_ended() {
    std::erase_if(movies_, [](const OnGpu& one) { return one.movie.use_count() == 1; });
}

MoviesOnGpu::OnGpu& MoviesOnGpu::of(const std::shared_ptr<const SharedMovie>& movie) {
    const auto known =
        std::find_if(movies_.begin(), movies_.end(), [&](const OnGpu& one) { return one.movie == movie; });
    if (known != movies_.end()) {
        movies_.splice(movies_.begin(), movies_, known);
    } else {
        if (movies_.size() == most_movies) movies_.pop_back();
        movies_.emplace_front(movie, fitter_.context());
    }
    return movies_.front();
}

/// What a movie may take, for frames and for groups each.
std::size_t MoviesOnGpu::share_bytes(const Job& job) const {
    const std::size_t limit = fitter_.context().statistics().limit_bytes / most_movies;
    return job.options.emitters == any_emitters ? limit / 2 : limit;
}

void MoviesOnGpu::run(const std::shared_ptr<const SharedMovie>& movie, std::span<const MovieJob> jobs,
                      std::span<MovieReply> replies) {
    OnGpu& on_gpu = of(movie);
    for (MovieReply& reply : replies) reply.done.outcome = Outcome::fitted;
    find(on_gpu, jobs, replies);
    for (std::size_t k = 0; k < jobs.size(); ++k)
        if (jobs[k].work == MovieWork::block) localize(on_gpu, jobs[k], replies[k]);
}

void MoviesOnGpu::localize(OnGpu& on_gpu, const MovieJob& work, MovieReply& reply) {
    const SharedMovie& movie = *on_gpu.movie;
    const Job& job = movie.job;
    if (!detect_) detect_ = detect_module(fitter_.context());
    if (!on_gpu.worker) {
        constexpr std::size_t most_frames = 1 << 12;
        const std::size_t frames = share_bytes(job) / gpu_bytes_of_frame(info_of(movie), job);
        on_gpu.worker.emplace(fitter_.context(), *detect_, fitter_.kernels(), job,
                              int(std::clamp<std::size_t>(frames, 1, most_frames)));
    }
    on_gpu.places.used(work.frames_at, work.count * movie.frame_bytes());
    const GpuTimes before = on_gpu.worker->times();
    FoundSpots found(job);
    BlockResult result;
    on_gpu.worker->localize(movie.memory.data() + work.frames_at, movie.type, work.first_frame, int(work.count), found,
                            result);
    if (!pack(found, result, place_of(movie, work))) reply.done.outcome = Outcome::too_large;
    const GpuTimes& now = on_gpu.worker->times();
    reply.fits = std::int64_t(found.fits.count());
    reply.done.bytes_up = now.bytes_up - before.bytes_up, reply.done.bytes_down = now.bytes_down - before.bytes_down;
    reply.done.transfer_s = now.upload - before.upload;
    reply.done.kernel_s = now.detect + now.fit - before.detect - before.fit;
}

void MoviesOnGpu::find(OnGpu& on_gpu, std::span<const MovieJob> jobs, std::span<MovieReply> replies) {
    const Job& job = on_gpu.movie->job;
    struct Sent {
        std::span<std::byte> place;
        std::size_t first, count;  // of all groups
        FitReply& reply;
    };
    std::vector<Sent> all;
    Groups groups(job);
    for (std::size_t k = 0; k < jobs.size(); ++k) {
        if (jobs[k].work != MovieWork::groups) continue;
        const std::span<std::byte> place = place_of(*on_gpu.movie, jobs[k]);
        all.push_back({place, groups.all().size(), jobs[k].count, replies[k].done});
        if (!groups.add(place, jobs[k].count)) throw OptionError("these are no groups of molecules");
    }
    if (all.empty()) return;
    if (!on_gpu.finder)
        on_gpu.finder.emplace(fitter_.context(), fitter_.kernels(), job.options.psf, job.pixel_size_um,
                              joint_options(job), share_bytes(job));
    JointOnGpu& finder = *on_gpu.finder;
    FitReply& first = all.front().reply;  // has what all took
    const double seconds = finder.seconds();
    const std::int64_t up = finder.bytes_up(), down = finder.bytes_down();
    finder.find(groups.all());
    first.bytes_up = finder.bytes_up() - up, first.bytes_down = finder.bytes_down() - down;
    first.kernel_s = finder.seconds() - seconds;
    for (const Sent& sent : all)
        if (!pack_fits(groups.all().subspan(sent.first, sent.count), sent.place))
            sent.reply.outcome = Outcome::too_large;
}

}  // namespace glint::worker
