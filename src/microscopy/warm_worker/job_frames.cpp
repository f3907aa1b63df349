// Copies frames from memory, or reads the parts of a file that the system has cached, and nothing else. A worker that
// waits for a client's disk or network, or for the process behind its file, would delay all its clients.
// SPDX-License-Identifier: MIT
#include "warm_worker/job_frames.hpp"

#include <sys/uio.h>

#include <cerrno>
#include <cstring>

namespace glint::warm_worker {
namespace {

/// Reads from the system's cache. Fails on file systems that do not report whether a read would wait. Reads fewer bytes
/// from a truncated file.
void read_at_once(int file, std::uint64_t offset, std::byte* out, std::size_t bytes) {
    for (std::size_t done = 0; done < bytes;) {
        if (off_t(offset + done) < 0) throw NotThere();  // -1 would be the client's file position
        const iovec part{out + done, bytes - done};
        const ssize_t got = ::preadv2(file, &part, 1, off_t(offset + done), RWF_NOWAIT);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) throw NotThere();
        done += std::size_t(got);
    }
}

}  // namespace

// Copies the offsets, since the client may overwrite them meanwhile.
JobFrames::JobFrames(const SharedMovie& movie, const MovieJob& work, const gpu::lease::Descriptor* file)
    : memory_(movie.memory.data() + work.at),
      from_(work.from),
      frame_bytes_(movie.info().frame_bytes()),
      file_(file ? file->get() : -1) {
    if (from_ == FramesFrom::memory) return;
    offsets_.resize(work.count);
    std::memcpy(offsets_.data(), memory_, offsets_.size() * sizeof offsets_[0]);
}

void JobFrames::read(int first, int count, std::byte* out) const {
    if (from_ == FramesFrom::memory)
        return void(std::memcpy(out, memory_ + std::size_t(first) * frame_bytes_, std::size_t(count) * frame_bytes_));
    const std::uint64_t* const at = offsets_.data() + first;
    for (int done = 0, run = 1; done < count; done += run, run = 1) {
        while (done + run < count && at[done + run] == at[done] + std::uint64_t(run) * frame_bytes_) ++run;
        read_at_once(file_, at[done], out + std::size_t(done) * frame_bytes_, std::size_t(run) * frame_bytes_);
    }
}

}  // namespace glint::warm_worker
