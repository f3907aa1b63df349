// Where frames and places are in a movie's memory.
// SPDX-License-Identifier: MIT
#include "pipeline/warm/shared_movie.hpp"

namespace glint::worker {

std::uint64_t SharedMovie::frame_bytes() const {
    return std::uint64_t(job.camera.width()) * std::uint64_t(job.camera.height()) * std::uint64_t(bytes_of(type));
}

MovieInfo SharedMovie::info() const {
    MovieInfo info;
    info.width = job.camera.width(), info.height = job.camera.height(), info.type = type;
    return info;
}

bool SharedMovie::holds(const MovieJob& work) const {
    constexpr std::uint32_t most = 1 << 20;  // frames or groups
    const auto is_inside = [&](std::uint64_t at, std::uint64_t bytes) {
        return at <= memory.size() && bytes <= memory.size() - at;
    };
    if (work.place % 8 != 0 || !is_inside(work.place, work.bytes) || work.count < 1 || work.count > most) return false;
    if (work.work == MovieWork::groups) return job.options.emitters == any_emitters;
    return work.work == MovieWork::block && is_inside(work.frames_at, work.count * frame_bytes());
}

}  // namespace glint::worker
