// Kernel that converts counts to photoelectrons and computes the background: the clipped mean of each tile.
// SPDX-License-Identifier: MIT
#pragma once

#include "detect/cuda/kernel_common.hpp"
#include "detect/cuda/photoelectrons.hpp"

namespace glint::GLINT_ISA {

/// Computes the background of each tile (eq. 5.8): its shot noise variance f bg, and 1 / noise. Also writes the
/// photoelectrons of its pixels (eq. 2.1) for all later kernels. A team of threads processes a tile, one row per thread
/// at a time. The clipping reads the same pixels repeatedly, so they are staged in shared memory if they fit.
template <class Count>
struct TileBackground {
    static constexpr unsigned max_threads = detect_threads;
    /// Photoelectrons, the sum of all pixels, and sums with clipping. The phase after each sum evaluates it.
    static constexpr int phases = 2 + max_clipping_passes + 1;
    struct PerThread {
        double mean;
        bool done;
    };

    /// The position of a tile. The last tiles of a row or column include the remainder of the frame.
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

    /// Sum and number of the kept pixels of a row.
    struct RowSum {
        float sum;
        int kept;
    };
    /// Single precision with four accumulators, which shorten the chain of dependent additions.
    template <class Keep>
    static GLINT_DEVICE RowSum sum_kept(int width, const float* pixels, const float* variance, const float* qe,
                                        Keep keep) {
        float sums[4] = {};
        int kept = 0;
        for (int x = 0; x < width; x += 4) {
            GLINT_UNROLL
            for (int i = 0; i < 4; ++i) {
                if (x + i >= width) continue;
                const float pixel = pixels[x + i];
                const bool is_kept = keep.keep(pixel, variance ? variance[x + i] : 0.0f, qe ? qe[x + i] : 1.0f);
                sums[i] += is_kept ? pixel : 0.0f;
                kept += is_kept;
            }
        }
        return {(sums[0] + sums[1]) + (sums[2] + sums[3]), kept};
    }
    struct KeepAll {  // except missing pixels
        GLINT_DEVICE bool keep(float pixel, float, float) const { return pixel == pixel; }
    };

    static GLINT_DEVICE void phase(int phase, PerThread& own, Index index, Scratch scratch, FrameLaunch f, TileLaunch t,
                                   CountsLaunch c, const Count* counts, const float* offsets, const float* factors,
                                   const unsigned* masked, const float* variance, float* photoelectrons, float* shot,
                                   float* inverse_noise) {
        const unsigned team = index.block_dim / t.tiles_per_block, in_block = index.thread / team,
                       member = index.thread % team, k = index.block * t.tiles_per_block + in_block;
        if (own.done || in_block >= t.tiles_per_block || k >= f.frames * unsigned(t.grid.columns * t.grid.rows)) return;
        const Tile here = tile(f, t.grid, k);
        const std::size_t frame = std::size_t(here.frame) * pixels_of(f);
        const int stride = t.row_stride ? t.row_stride : f.width;
        float* pixels = t.row_stride ? scratch.as<float>() + in_block * unsigned(t.rows * t.row_stride)
                                     : photoelectrons + frame + here.first;
        if (phase == 0) {
            // Adjacent threads read adjacent pixels of a row, so the accesses are coalesced.
            constexpr unsigned together = min_tile_team;
            const ToPhotoelectrons<Count> convert{c, counts + frame, offsets, factors, masked, variance};
            for (int y = int(member / together); y < here.height; y += int(team / together))
                for (int x = int(member % together); x < here.width; x += int(together)) {
                    const unsigned at = here.first + unsigned(y) * unsigned(f.width) + unsigned(x);
                    const float e = convert.pixel(at);
                    photoelectrons[frame + at] = e;
                    pixels[y * stride + x] = e;
                }
            return;
        }
        // Row sums of this pass; `last` has those of the previous pass.
        RowSum* sums = scratch.as<RowSum>() + t.first_sum + (2 * in_block + unsigned(phase % 2)) * unsigned(t.rows);
        const RowSum* last =
            scratch.as<RowSum>() + t.first_sum + (2 * in_block + unsigned((phase + 1) % 2)) * unsigned(t.rows);
        if (phase > 1) {
            // Each thread of the team computes this itself: in double precision, in row order.
            double sum = 0, count = 0;
            int kept = 0;
            for (int y = 0; y < here.height; ++y) sum += double(last[y].sum), kept += last[y].kept;
            count = kept;
            bool more = true;
            if (phase > 2)
                more = clip(own.mean, sum, count, f.shot_noise, f.variance);
            else if (is_enough_of_tile(count, here.width, here.height))
                own.mean = sum / count;
            else
                own.mean = double(not_a_number()), more = false;
            if (!more || phase + 1 == phases) {
                own.done = true;
                if (member > 0) return;
                shot[k] = tile_shot_noise(float(own.mean), f.shot_noise);
                inverse_noise[k] = 1 / __builtin_sqrtf(total_variance(shot[k], f.variance));
                return;
            }
        }
        const float around = float(own.mean);
        for (int y = int(member); y < here.height; y += int(team)) {
            const float* row = pixels + y * stride;
            const float* map = variance ? variance + here.first + unsigned(y) * unsigned(f.width) : nullptr;
            if (phase == 1)
                sums[y] = sum_kept(here.width, row, nullptr, nullptr, KeepAll{});
            else if (f.has_qe)
                sums[y] = sum_kept(here.width, row, map, map + pixels_of(f), own_limit_by_qe(around, f.shot_noise));
            else if (map)
                sums[y] = sum_kept(here.width, row, map, nullptr, own_limit(around, f.shot_noise));
            else
                sums[y] = sum_kept(here.width, row, nullptr, nullptr, one_limit(around, f.shot_noise, f.variance));
        }
    }
};

/// Fills the tiles of frames with missing pixels that have too few pixels left, like Background::measure. One block per
/// frame.
struct FillMissingTiles {
    static constexpr unsigned max_threads = detect_threads;
    static GLINT_DEVICE void compute(Index index, TileGrid grid, const unsigned* missing, float* shot) {
        if (index.thread > 0 || missing[index.block] == 0) return;
        fill_missing_tiles(shot + std::size_t(index.block) * unsigned(grid.columns * grid.rows), grid.columns,
                           grid.rows);
    }
};

}  // namespace glint::GLINT_ISA
