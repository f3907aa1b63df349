// Locates frames and results in a movie's memory.
// SPDX-License-Identifier: MIT
#include "warm_worker/shared_movie.hpp"

#include <utility>

#include "pipeline/block_plan.hpp"

namespace glint::warm_worker {

SharedMovie::SharedMovie(LocalizeJob of, PixelType pixels, SharedMemory with)
    : job(std::move(of)), type(pixels), memory(std::move(with)) {
    job.options.stop = &ends;
}

MovieInfo SharedMovie::info() const {
    MovieInfo info;
    info.width = job.camera.width(), info.height = job.camera.height(), info.type = type;
    return info;
}

bool SharedMovie::holds(const MovieJob& work) const {
    const auto is_inside = [&](std::uint64_t at, std::uint64_t bytes) {
        return at <= memory.size() && bytes <= memory.size() - at;
    };
    const std::size_t frame_bytes = info().frame_bytes();
    if (work.count < 1 || work.count > std::uint32_t(max_frames_of_gpu_block(frame_bytes))) return false;
    if (work.from != FramesFrom::memory && work.from != FramesFrom::file) return false;
    const std::size_t each = work.from == FramesFrom::memory ? frame_bytes : sizeof(std::uint64_t);
    return is_inside(work.at, work.count * each) && work.place % 8 == 0 && is_inside(work.place, work.bytes);
}

}  // namespace glint::warm_worker
