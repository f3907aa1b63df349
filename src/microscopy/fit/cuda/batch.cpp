// Offsets of a batch's parts, and copies of them.
// SPDX-License-Identifier: MIT
#include "fit/cuda/batch.hpp"

#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <cstring>

#include "base/arena.hpp"

namespace glint {
namespace {

/// Returns the offset of a part that is appended at `end`: a multiple of 256 bytes, for the kernel's 16-byte loads and
/// for whole memory transactions.
std::size_t place(std::size_t& end, std::size_t bytes) {
    const std::size_t at = end;
    end += (bytes + 255) / 256 * 256;
    return at;
}

}  // namespace

BatchKind kind_of(const RoiView& rois, const Starts& starts, const Psf& psf) {
    const bool has_maps = rois.camera && !rois.camera->uniform();
    return {.size = rois.size,
            .type = rois.type,
            .corners = has_maps || psf.has_field(),
            .variance = !rois.variance.empty(),
            .qe = !rois.qe.empty(),
            .additive = !rois.additive.empty(),
            .maps = has_maps,
            .known_starts = starts.known,
            .parameters = parameter_count(psf.model)};
}

// up_parts() and down_parts() use the same order, by increasing offset; FitSlot::stage() and send() rely on it. Parts
// of one kind (two corners, variance and q, start values) are contiguous, because the kernel finds the second through
// the first.
BatchLayout layout_of(const BatchKind& kind, std::int64_t rows) {
    const std::size_t count = std::size_t(rows), pixels = count * kind.pixels();
    BatchLayout l{.kind = kind, .rows = rows};
    l.pixels = place(l.up, pixels * std::size_t(num_bytes(kind.type)));
    if (kind.corners) l.corners = place(l.up, 2 * count * sizeof(std::int32_t));
    if (kind.variance) l.variance = place(l.up, (kind.qe ? 2 : 1) * pixels * sizeof(float));
    if (kind.additive) l.additive = place(l.up, pixels * sizeof(float));
    if (kind.known_starts) l.start = place(l.up, std::size_t(kind.known_starts) * count * sizeof(float));
    // Contiguous with the columns: one download.
    l.bytes = (2 * std::size_t(kind.parameters) + 2) * count * sizeof(float);
    // Iterations and status, one byte each.
    l.down = l.bytes + 2 * count;
    return l;
}

std::vector<Part> up_parts(const RoiView& rois, const Starts& starts, const BatchLayout& l, std::int64_t first) {
    const BatchKind& kind = l.kind;
    const std::size_t count = std::size_t(l.rows), from = std::size_t(first), pixels = kind.pixels();
    std::vector<Part> parts;
    const auto add = [&](const void* data, std::size_t element, std::size_t each, std::size_t at) {
        // Part has one pointer for both directions; uploads only read through it.
        std::byte* begin = const_cast<std::byte*>(static_cast<const std::byte*>(data)) + from * each * element;
        parts.push_back({begin, count * each * element, at});
    };
    add(rois.pixels, std::size_t(num_bytes(rois.type)), pixels, l.pixels);
    parts.back().gpu = rois.gpu;
    if (kind.corners) {
        add(rois.x_corner.data(), 4, 1, l.corners);
        add(rois.y_corner.data(), 4, 1, l.corners + count * 4);
    }
    if (kind.variance) add(rois.variance.data(), 4, pixels, l.variance);
    if (kind.qe) add(rois.qe.data(), 4, pixels, l.variance + count * pixels * 4);
    if (kind.additive) add(rois.additive.data(), 4, pixels, l.additive);
    for (int k = 0; k < kind.known_starts; ++k) add(starts.of[k], 4, 1, l.start + std::size_t(k) * count * 4);
    return parts;
}

std::vector<Part> down_parts(const FitsView& out, const BatchLayout& l, std::int64_t first) {
    const std::size_t count = std::size_t(l.rows);
    std::vector<Part> parts;
    std::size_t column = l.columns;
    const auto add = [&](float* data) {
        parts.push_back({reinterpret_cast<std::byte*>(data + first), count * 4, column});
        column += count * 4;
    };
    for (int k = 0; k < l.kind.parameters; ++k) add(out.theta[std::size_t(k)]);
    for (int k = 0; k < l.kind.parameters; ++k) add(out.crlb[std::size_t(k)]);
    add(out.log_likelihood_ratio);
    add(out.p_value);
    parts.push_back({reinterpret_cast<std::byte*>(out.iterations + first), count, l.bytes});
    parts.push_back({reinterpret_cast<std::byte*>(out.status + first), count, l.bytes + count});
    return parts;
}

void copy_parts(const std::vector<Part>& parts, std::byte* batch, std::size_t begin, CopyTo to) {
    constexpr std::size_t piece = 256 << 10;  // bytes; many more pieces than cores, for load balance
    struct Piece {
        std::byte *part, *batch;
        std::size_t bytes;
    };
    // Parts are split and not assigned whole: the pixels are one part with most of the bytes.
    std::vector<Piece> pieces;
    for (const Part& part : parts)
        for (std::size_t at = 0; at < part.bytes; at += piece)
            pieces.push_back({part.data + at, batch + (part.at - begin) + at, std::min(piece, part.bytes - at)});
    const auto copy = [&](std::size_t k) {
        const Piece& p = pieces[k];
        to == CopyTo::batch ? std::memcpy(p.batch, p.part, p.bytes) : std::memcpy(p.part, p.batch, p.bytes);
    };
    constexpr std::size_t not_worth_waking = 4;  // pieces; waking the threads costs more
    if (pieces.size() < not_worth_waking || tbb_threads() == 1) {
        for (std::size_t k = 0; k < pieces.size(); ++k) copy(k);
    } else {
        // Isolated: while this thread waits for the pieces, it must not run a task of the caller, which may hold locks
        // or run for long.
        tbb::this_task_arena::isolate([&] { tbb::parallel_for(std::size_t(0), pieces.size(), copy); });
    }
}

}  // namespace glint
