// Uploads a batch, launches the fit and downloads the results, direct or staged.
// SPDX-License-Identifier: MIT
#include "fit/cuda/fit_slot.hpp"

#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/arena.hpp"
#include "gpu/foreign.hpp"
#include "gpu/pinned.hpp"

namespace glint {
namespace {

std::size_t place(std::size_t& end, std::size_t bytes) {
    const std::size_t at = end;
    end += (bytes + 255) / 256 * 256;
    return at;
}

/// Copies with all cores: a single one is slower than the link. `staged` mirrors the device buffer from `begin` on.
void copy_parts(const std::vector<Part>& parts, std::byte* staged, std::size_t begin, bool to_staged) {
    constexpr std::size_t piece = 256 << 10;  // bytes; many more pieces than cores, for load balance
    struct Piece {
        std::byte *host, *staged;
        std::size_t bytes;
    };
    std::vector<Piece> pieces;
    for (const Part& part : parts)
        for (std::size_t at = 0; at < part.bytes; at += piece)
            pieces.push_back({part.data + at, staged + (part.at - begin) + at, std::min(piece, part.bytes - at)});
    const auto copy = [&](std::size_t k) {
        const Piece& p = pieces[k];
        to_staged ? std::memcpy(p.staged, p.host, p.bytes) : std::memcpy(p.host, p.staged, p.bytes);
    };
    constexpr std::size_t not_worth_waking = 4;  // pieces; waking the threads costs more
    if (pieces.size() < not_worth_waking || tbb_threads() == 1) {
        for (std::size_t k = 0; k < pieces.size(); ++k) copy(k);
    } else {
        tbb::this_task_arena::isolate([&] { tbb::parallel_for(std::size_t(0), pieces.size(), copy); });
    }
}

void make_room(gpu::Pinned<std::byte>& memory, const gpu::Context& context, std::size_t bytes) {
    if (memory.size() < bytes) memory = {}, memory = gpu::Pinned<std::byte>(context, bytes);
}

}  // namespace

BatchLayout layout_of(const RoiView& rois, const Starts& starts, int parameters, std::int64_t n) {
    const std::size_t count = std::size_t(n), pixels = count * rois.size * rois.size;
    BatchLayout l;
    l.has_corners = rois.camera && !rois.camera->uniform();
    l.has_variance = !rois.variance.empty(), l.has_additive = !rois.additive.empty(), l.has_qe = !rois.qe.empty();
    l.pixels = place(l.up, count * rois.roi_bytes());
    if (l.has_corners) l.corners = place(l.up, 2 * count * sizeof(std::int32_t));
    if (l.has_variance) l.variance = place(l.up, (l.has_qe ? 2 : 1) * pixels * sizeof(float));
    if (l.has_additive) l.additive = place(l.up, pixels * sizeof(float));
    if (starts.known) l.start = place(l.up, starts.known * count * sizeof(float));
    l.bytes = (2 * parameters + 2) * count * sizeof(float);  // contiguous with the columns: one download
    l.down = l.bytes + 2 * count;
    return l;
}

FitSlot::FitSlot(const gpu::Context& context)
    : stream_(context),
      marks_{gpu::Event(context, true), gpu::Event(context, true), gpu::Event(context, true),
             gpu::Event(context, true)} {}

void FitSlot::reserve(const BatchLayout& layout) {
    if (up_.size() < layout.up) up_ = {}, up_ = gpu::Buffer<std::byte>(stream_, layout.up);
    if (down_.size() < layout.down) down_ = {}, down_ = gpu::Buffer<std::byte>(stream_, layout.down);
}

void FitSlot::launch(const FitVariant& kernel, const FitLaunch& launch, const BatchLayout& layout,
                     const gpu::Buffer<GpuCameraPixel>& maps) {
    const std::uint64_t up = up_.read_on(stream_), down = down_.write_on(stream_);
    const auto address = [&](bool there, std::size_t at) { return there ? up + at : std::uint64_t(0); };
    launch_fit(stream_, kernel, launch,
               {up + layout.pixels, layout.has_corners ? maps.read_on(stream_) : 0,
                address(layout.has_corners, layout.corners), address(layout.has_variance, layout.variance),
                address(layout.has_additive, layout.additive), address(launch.known_starts > 0, layout.start),
                down + layout.columns, down + layout.bytes});
}

/// Copies the parts to staged_up_.
void FitSlot::stage(const std::vector<Part>& parts) {
    if (parts.empty()) return;
    const std::size_t begin = parts.front().at, end = parts.back().at + parts.back().bytes;
    make_room(staged_up_, stream_.context(), end - begin);
    std::vector<Part> of_host;
    for (const Part& part : parts)
        if (part.gpu < 0)
            of_host.push_back(part);
        else
            gpu::download_foreign(part.gpu, reinterpret_cast<std::uint64_t>(part.data),
                                  staged_up_.data() + (part.at - begin), part.bytes);
    copy_parts(of_host, staged_up_.data(), begin, true);
}

void FitSlot::send(const std::vector<Part>& direct, const std::vector<Part>& staged) {
    const auto upload = [&](const std::byte* from, std::size_t at, std::size_t bytes) {
        gpu::Buffer<std::byte> to = up_.view(at, bytes);
        gpu::upload(stream_, to, {from, bytes});
    };
    for (const Part& part : direct)
        if (part.gpu < 0) {
            upload(part.data, part.at, part.bytes);
        } else {
            gpu::Buffer<std::byte> to = up_.view(part.at, part.bytes);
            const auto address = reinterpret_cast<std::uint64_t>(part.data);
            gpu::copy(stream_, to, gpu::Buffer<std::byte>::adopt(stream_, address, part.bytes, false));
        }
    // The parts are consecutive in `up` (with padding): adjacent staged parts are uploaded in one copy.
    for (std::size_t k = 0; k < staged.size();) {
        const std::size_t begin = staged[k].at;
        std::size_t end = begin;
        for (; k < staged.size() && staged[k].at - end < 256; ++k) end = staged[k].at + staged[k].bytes;
        upload(staged_up_.data() + (begin - staged.front().at), begin, end - begin);
    }
}

void FitSlot::run(const FitVariant& kernel, FitLaunch launch_numbers, const BatchLayout& layout,
                  const gpu::Buffer<GpuCameraPixel>& maps, std::vector<Part> up, std::vector<Part> down) {
    const gpu::detail::ContextState& home = stream_.context().state();
    const auto pageable = [&](const Part& part) {
        return part.gpu < 0 ? !gpu::detail::is_pinned(home, part.data, part.bytes) : part.gpu != home.ordinal;
    };
    const bool in_one_piece = std::any_of(down.begin(), down.end(), pageable);
    if (in_one_piece) make_room(staged_down_, stream_.context(), layout.down);
    std::vector<Part> direct, staged;
    for (const Part& part : up) (pageable(part) ? staged : direct).push_back(part);
    stage(staged);
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

void FitSlot::finish() {
    stream_.synchronize();
    copy_parts(std::exchange(scatter_, {}), staged_down_.data(), 0, false);
}

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

double FitSlot::kernel_seconds(const FitVariant& kernel, FitLaunch numbers, const BatchLayout& layout,
                               const gpu::Buffer<GpuCameraPixel>& maps) {
    marks_[1].record(stream_);
    launch(kernel, numbers, layout, maps);
    marks_[2].record(stream_);
    stream_.synchronize();
    return marks_[2].milliseconds_since(marks_[1]) / 1000.0;
}

}  // namespace glint
