// Kernel of the background: each tile's mean after clipping the spots.
// SPDX-License-Identifier: MIT
#pragma once

#include "detect/cuda/kernel_common.hpp"

namespace glint::GLINT_ISA {

/// The background of each tile (eq. 5.8): its shot noise variance f bg, and 1 / sigma. One thread per tile, because
/// clipping iterates over the same few pixels; they are staged in shared memory first, where they fit.
struct TileBackground {
    static constexpr unsigned max_threads = detect_threads;
    /// A tile's place; the last tiles of a row or column include the remainder of the frame.
    struct Tile {
        unsigned frame, first;  // first: its first pixel in the frame
        int width, height;
    };
    static GLINT_DEVICE Tile tile(const FrameLaunch& f, const TileGrid& grid, unsigned k) {
        const unsigned tiles = unsigned(grid.columns * grid.rows);
        const int row = int(k % tiles) / grid.columns, column = int(k % tiles) % grid.columns;
        const int x = column * grid.tile_px, y = row * grid.tile_px;
        return {k / tiles, unsigned(y) * unsigned(f.width) + unsigned(x),
                column + 1 < grid.columns ? grid.tile_px : f.width - x,
                row + 1 < grid.rows ? grid.tile_px : f.height - y};
    }
    static GLINT_DEVICE Share tiles_of(Index index, const FrameLaunch& f, const TileLaunch& t) {
        const unsigned all = f.frames * unsigned(t.grid.columns * t.grid.rows), first = index.block * t.tiles_per_block;
        return {first, first + t.tiles_per_block < all ? first + t.tiles_per_block : all};
    }

    /// Copies the block's tiles to shared memory. Adjacent threads read adjacent pixels of a row: coalesced.
    static GLINT_DEVICE void stage(Index index, Scratch scratch, FrameLaunch f, TileLaunch t,
                                   const float* photoelectrons, const float*, float*, float*) {
        if (t.staged_stride == 0) return;  // tiles for large spots exceed shared memory
        const Share mine = tiles_of(index, f, t);
        constexpr unsigned together = 16;  // adjacent threads; the smallest edge of a tile
        const unsigned lane = index.thread % together, groups = index.block_dim / together;
        for (unsigned k = mine.first; k < mine.end; ++k) {
            const Tile here = tile(f, t.grid, k);
            const float* from = photoelectrons + std::size_t(here.frame) * pixels_of(f) + here.first;
            float* to = scratch.as<float>() + (k - mine.first) * unsigned(t.staged_stride);
            for (int y = int(index.thread / together); y < here.height; y += int(groups))
                for (int x = int(lane); x < here.width; x += int(together))
                    to[y * here.width + x] = from[std::size_t(y) * unsigned(f.width) + unsigned(x)];
        }
    }

    /// Sum and number of the pixels that `keep` accepts: rows are summed in single precision, with four independent
    /// accumulators, and their sums in double precision.
    template <class Keep>
    static GLINT_DEVICE void sum_kept(const Tile& tile, const float* pixels, int stride, const float* variance,
                                      const float* qe, int map_stride, Keep keep, double* sum, double* count) {
        double total = 0;
        int kept = 0;
        for (int y = 0; y < tile.height; ++y) {
            float row[4] = {};
            // Four accumulators break the dependency between additions.
            for (int x = 0; x < tile.width; x += 4) {
                GLINT_UNROLL
                for (int i = 0; i < 4; ++i) {
                    if (x + i >= tile.width) continue;
                    const float pixel = pixels[y * stride + x + i];
                    const int at = y * map_stride + x + i;
                    const bool is_kept = keep.keep(pixel, variance ? variance[at] : 0.0f, qe ? qe[at] : 1.0f);
                    row[i] += is_kept ? pixel : 0.0f;
                    kept += is_kept;
                }
            }
            total += double((row[0] + row[1]) + (row[2] + row[3]));
        }
        *sum = total, *count = kept;
    }
    struct KeepAll {  // but missing pixels
        GLINT_DEVICE bool keep(float pixel, float, float) const { return pixel == pixel; }
    };

    static GLINT_DEVICE void compute(Index index, Scratch scratch, FrameLaunch f, TileLaunch t,
                                     const float* photoelectrons, const float* variance, float* shot,
                                     float* inverse_sigma) {
        const Share mine = tiles_of(index, f, t);
        const unsigned k = mine.first + index.thread;
        if (index.thread >= t.tiles_per_block || k >= mine.end) return;
        const Tile here = tile(f, t.grid, k);
        const bool staged = t.staged_stride > 0;
        const float* pixels = staged ? scratch.as<float>() + index.thread * unsigned(t.staged_stride)
                                     : photoelectrons + std::size_t(here.frame) * pixels_of(f) + here.first;
        const int stride = staged ? here.width : f.width;
        const float* map = variance ? variance + here.first : nullptr;
        const float* qe = f.has_qe ? map + pixels_of(f) : nullptr;
        double sum, count;
        // Plain mean first, then clipping until the mean no longer changes (eq. 5.8).
        sum_kept(here, pixels, stride, nullptr, nullptr, 0, KeepAll{}, &sum, &count);
        if (!is_enough_of_tile(count, here.width, here.height)) {
            shot[k] = not_a_number();
            return;
        }
        const float mean = clipped_mean(
            sum / count, f.shot_noise, f.variance, [&](float around, double* kept_sum, double* kept_count) {
                const auto sum_with = [&](auto keep, const float* of_v, const float* of_q) {
                    sum_kept(here, pixels, stride, of_v, of_q, f.width, keep, kept_sum, kept_count);
                };
                if (qe)
                    sum_with(own_limit_by_qe(around, f.shot_noise), map, qe);
                else if (map)
                    sum_with(own_limit(around, f.shot_noise), map, nullptr);
                else
                    sum_with(one_limit(around, f.shot_noise, f.variance), nullptr, nullptr);
            });
        shot[k] = shot_noise(mean, f.shot_noise);
        inverse_sigma[k] = 1 / __builtin_sqrtf(total_variance(shot[k], f.variance));
    }
};

/// Tiles of frames with missing pixels, of which too few are left: as Background::measure has them. One block per frame.
struct FillMissingTiles {
    static constexpr unsigned max_threads = detect_threads;
    static GLINT_DEVICE void compute(Index index, TileGrid grid, const unsigned* missing, float* shot) {
        if (index.thread > 0 || missing[index.block] == 0) return;
        fill_missing_tiles(shot + std::size_t(index.block) * unsigned(grid.columns * grid.rows), grid.columns,
                           grid.rows);
    }
};

}  // namespace glint::GLINT_ISA
