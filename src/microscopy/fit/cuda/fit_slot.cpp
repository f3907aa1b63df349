// Uploads a batch, launches the fit and downloads the results, directly or staged.
//
// A slot alternates between run() and finish(). In between, everything it owns belongs to the device. Memory that is
// already page-locked is transferred in place. The rest is copied by all cores in parallel to page-locked memory of the
// slot. The runtime's ring of slots (gpu/staging.hpp) is as fast for one large copy. For batches, its threads
// synchronise too often: 42 % of the link instead of 75 to 95 % (7x7).
// SPDX-License-Identifier: MIT
#include "fit/cuda/fit_slot.hpp"

#include <algorithm>
#include <utility>

#include "gpu/foreign.hpp"
#include "gpu/pinned.hpp"

namespace glint {
namespace {

/// Grows page-locked memory to at least `bytes`. Frees the old memory first, so that both never coexist.
void make_room(gpu::Pinned<std::byte>& memory, const gpu::Context& context, std::size_t bytes) {
    if (memory.size() < bytes) memory = {}, memory = gpu::Pinned<std::byte>(context, bytes);
}

}  // namespace

// Streams and events are cheap; memory is allocated by the first batch.
FitSlot::FitSlot(const gpu::Context& context)
    : stream_(context),
      marks_{gpu::Event(context, true), gpu::Event(context, true), gpu::Event(context, true),
             gpu::Event(context, true)} {}

// Frees the old buffer before allocating the new one. In stream order, so the memory can be the same. If the allocation
// fails, the slot has no buffer but remains usable.
void FitSlot::reserve(const BatchLayout& layout) {
    if (up_.size() < layout.up) up_ = {}, up_ = gpu::Buffer<std::byte>(stream_, layout.up);
    if (down_.size() < layout.down) down_ = {}, down_ = gpu::Buffer<std::byte>(stream_, layout.down);
}

/// Enqueues the kernel. read_on() and write_on() order it after other streams' uses, here the upload of the maps.
void FitSlot::launch(const FitVariant& kernel, const FitLaunch& launch, const BatchLayout& layout,
                     const gpu::Buffer<GpuCameraPixel>& maps) {
    const BatchKind& kind = layout.kind;
    // 0 for absent buffers: the kernel tests the pointers, not the layout.
    const std::uint64_t up = up_.read_on(stream_), down = down_.write_on(stream_);
    const auto address = [&](bool there, std::size_t at) { return there ? up + at : std::uint64_t(0); };
    launch_fit(stream_, kernel, launch,
               {up + layout.pixels, kind.maps ? maps.read_on(stream_) : 0, address(kind.corners, layout.corners),
                address(kind.variance, layout.variance), address(kind.additive, layout.additive),
                address(launch.known_starts > 0, layout.start), down + layout.columns, down + layout.bytes});
}

/// Copies the parts to staged_up_ with the same offsets as in the device buffer. Earlier transfers from there are
/// complete, because finish() or drop() was called. Memory of another GPU is also copied through the host.
void FitSlot::stage(const std::vector<Part>& parts) {
    if (parts.empty()) return;
    // From the first to the last part; parts in between that are transferred directly leave a gap.
    const std::size_t begin = parts.front().at, end = parts.back().at + parts.back().bytes;
    make_room(staged_up_, stream_.context(), end - begin);
    std::vector<Part> of_host;
    for (const Part& part : parts)
        if (part.gpu < 0)
            of_host.push_back(part);
        else
            gpu::download_foreign(part.gpu, reinterpret_cast<std::uint64_t>(part.data),
                                  staged_up_.data() + (part.at - begin), part.bytes);
    copy_parts(of_host, staged_up_.data(), begin, CopyTo::batch);
}

/// Enqueues all uploads. Each transfer has a cost to start, so adjacent staged parts are joined, across padding and
/// small direct parts between them. The staging memory contains old data there; direct parts therefore go last.
void FitSlot::send(const std::vector<Part>& direct, const std::vector<Part>& staged) {
    const auto upload = [&](const std::byte* from, std::size_t at, std::size_t bytes) {
        gpu::Buffer<std::byte> to = up_.view(at, bytes);
        gpu::upload(stream_, to, {from, bytes});
    };
    // The parts are consecutive in `up` (with padding): adjacent staged parts are uploaded in one copy.
    for (std::size_t k = 0; k < staged.size();) {
        const std::size_t begin = staged[k].at;
        std::size_t end = begin;
        for (; k < staged.size() && staged[k].at - end < 256; ++k) end = staged[k].at + staged[k].bytes;
        upload(staged_up_.data() + (begin - staged.front().at), begin, end - begin);
    }
    for (const Part& part : direct)
        if (part.gpu < 0) {
            upload(part.data, part.at, part.bytes);
        } else {
            gpu::Buffer<std::byte> to = up_.view(part.at, part.bytes);
            const auto address = reinterpret_cast<std::uint64_t>(part.data);
            // Device memory of another library on this GPU, only borrowed: a copy within the GPU, for one kernel with
            // one layout.
            gpu::copy(stream_, to, gpu::Buffer<std::byte>::adopt(stream_, address, part.bytes, false));
        }
}

void FitSlot::run(const FitVariant& kernel, FitLaunch launch_numbers, const BatchLayout& layout,
                  const gpu::Buffer<GpuCameraPixel>& maps, std::vector<Part> up, std::vector<Part> down) {
    // Decided per part, because only some arrays of a call may be page-locked.
    const gpu::detail::ContextState& home = stream_.context().state();
    const auto pageable = [&](const Part& part) {
        return part.gpu < 0 ? !gpu::detail::is_pinned(home, part.data, part.bytes) : part.gpu != home.ordinal;
    };
    // Results are 2 P + 4 columns. If any is pageable, all are downloaded together and scattered by finish().
    const bool in_one_piece = std::any_of(down.begin(), down.end(), pageable);
    if (in_one_piece) make_room(staged_down_, stream_.context(), layout.down);
    std::vector<Part> direct, staged;
    // Both lists keep the order of the offsets.
    for (const Part& part : up) (pageable(part) ? staged : direct).push_back(part);
    stage(staged);
    // After the staging, so that BatchTimes::up is the time of the link, not of the host's memory.
    marks_[0].record(stream_);
    send(direct, staged);
    marks_[1].record(stream_);
    launch(kernel, launch_numbers, layout, maps);
    marks_[2].record(stream_);
    if (in_one_piece) {
        gpu::download(stream_, {staged_down_.data(), layout.down}, down_.view(0, layout.down));
        scatter_ = std::move(down);
    } else {
        for (const Part& part : down) gpu::download(stream_, {part.data, part.bytes}, down_.view(part.at, part.bytes));
    }
    marks_[3].record(stream_);
}

// The rows are final only now: in the caller's memory, after a synchronisation without error.
void FitSlot::finish() {
    stream_.synchronize();
    // staged_down_ is an image of the whole buffer, so the offsets are the same. exchange(): nothing is written twice.
    copy_parts(std::exchange(scatter_, {}), staged_down_.data(), 0, CopyTo::parts);
}

// Direct downloads may still be writing to the caller's memory: wait, whatever the state.
void FitSlot::drop() noexcept {
    scatter_.clear();
    try {
        stream_.synchronize();
    } catch (...) {  // the original error is being thrown already
    }
}

BatchTimes FitSlot::times() const {
    const auto between = [&](int a, int b) { return marks_[b].milliseconds_since(marks_[a]) / 1000.0; };
    return {between(0, 1), between(1, 2), between(2, 3)};
}

// The input is still in up_ from run(), and the results are overwritten with the same values.
double FitSlot::kernel_seconds(const FitVariant& kernel, FitLaunch numbers, const BatchLayout& layout,
                               const gpu::Buffer<GpuCameraPixel>& maps) {
    marks_[1].record(stream_);
    launch(kernel, numbers, layout, maps);
    marks_[2].record(stream_);
    stream_.synchronize();
    return marks_[2].milliseconds_since(marks_[1]) / 1000.0;
}

}  // namespace glint
