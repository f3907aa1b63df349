// GPU kernels of detection, for many frames at once (docs/theory.md, section 5). The arithmetic is shared with the CPU
// (detect/row_math.hpp and detect/frame_math.hpp); this file distributes it over threads.
//
// The kernels run in the order of this file. Each is a struct with `compute` and, where threads of a block share data,
// `stage`, which runs before it with a barrier in between (gpu/kernel_abi.hpp).
//
// All sums have a fixed order and there are no atomics: the spots and their order depend on the frames only, bit for
// bit.
// SPDX-License-Identifier: MIT
#ifdef __CUDACC__
#define GLINT_ISA cuda
#else
#define GLINT_ISA simulated_gpu
#endif

#include "detect/cuda/detect_launch.hpp"
#include "detect/row_math.hpp"
#include "gpu/kernel_abi.hpp"

#include <cstddef>

namespace glint::GLINT_ISA {

using gpu::Index;
using gpu::Scratch;

GLINT_DEVICE unsigned pixels_of(const FrameLaunch& f) { return unsigned(f.width) * unsigned(f.height); }
GLINT_DEVICE float not_a_number() { return __builtin_nanf(""); }
GLINT_DEVICE int least(int a, int b) { return a < b ? a : b; }

/// A thread's part [first, end) of n items.
struct Share {
    unsigned first, end;
};
GLINT_DEVICE Share share_of(Index index, unsigned n) {
    const unsigned each = (n + index.block_dim - 1) / index.block_dim, first = index.thread * each;
    return {first < n ? first : n, first + each < n ? first + each : n};
}

/// Converts counts to photoelectrons (eq. 2.1); NaN and infinity become 0. Each thread converts pixels_of_a_thread
/// pixels, one block width apart, so that accesses are coalesced.
template <class Count>
struct ToPhotoelectrons {
    static constexpr unsigned max_threads = detect_threads, pixels_of_a_thread = 4;

    static GLINT_DEVICE float value(const FrameLaunch& f, float offset, float factor, const float* offsets,
                                    const float* factors, Count count, unsigned k) {
        if (!offsets) return (float(count) - offset) * factor;
        const unsigned pixel = k % pixels_of(f);
        return (float(count) - offsets[pixel]) * factors[pixel];
    }
    /// False for NaN and infinity.
    static GLINT_DEVICE bool good(float value) { return value - value == 0.0f; }

    static GLINT_DEVICE void compute(Index index, FrameLaunch f, float offset, float factor, const Count* counts,
                                     const float* offsets, const float* factors, float* photoelectrons) {
        const unsigned n = f.frames * pixels_of(f), first = index.block * index.block_dim * pixels_of_a_thread;
        GLINT_UNROLL
        for (unsigned i = 0; i < pixels_of_a_thread; ++i) {
            const unsigned k = first + i * index.block_dim + index.thread;
            if (k >= n) continue;
            const float e = value(f, offset, factor, offsets, factors, counts[k], k);
            // Integer counts are always finite; only float32 frames need the test.
            photoelectrons[k] = sizeof(Count) < 4 || good(e) ? e : 0.0f;
        }
    }
};

/// Counts the NaN and infinite pixels of each frame; one block per frame.
struct CountBadPixels {
    static constexpr unsigned max_threads = detect_threads;
    static GLINT_DEVICE void stage(Index index, Scratch scratch, FrameLaunch f, float offset, float factor,
                                   const float* counts, const float* offsets, const float* factors, unsigned*) {
        unsigned bad = 0;
        for (unsigned k = index.thread; k < pixels_of(f); k += index.block_dim) {
            const float count = counts[index.block * pixels_of(f) + k];
            bad += !ToPhotoelectrons<float>::good(
                ToPhotoelectrons<float>::value(f, offset, factor, offsets, factors, count, k));
        }
        scratch.as<unsigned>()[index.thread] = bad;
    }
    static GLINT_DEVICE void compute(Index index, Scratch scratch, FrameLaunch, float, float, const float*,
                                     const float*, const float*, unsigned* bad) {
        if (index.thread > 0) return;
        unsigned sum = 0;
        for (unsigned t = 0; t < index.block_dim; ++t) sum += scratch.as<unsigned>()[t];
        bad[index.block] = sum;
    }
};

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
    struct KeepAll {
        GLINT_DEVICE bool keep(float, float, float) const { return true; }
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

/// Samples the noise (eq. 5.9): observed variance, NaN for an unusable sample, and expected variance. One thread per
/// sample.
struct SampleNoise {
    static constexpr unsigned max_threads = detect_threads;
    static GLINT_DEVICE void compute(Index index, FrameLaunch f, TileGrid tiles, NoiseGrid grid, float factor,
                                     const float* photoelectrons, const float* offsets, const float* factors,
                                     const float* variance, const float* shot, float* observed, float* expected) {
        const unsigned samples = unsigned(grid.columns * grid.rows), k = index.global();
        if (k >= f.frames * samples) return;
        const unsigned frame = k / samples;
        const int row = int(k % samples) / grid.columns, column = int(k % samples) % grid.columns;
        const int x = noise_margin_px + column * grid.step_px, y = noise_margin_px + row * grid.step_px;
        const unsigned at = unsigned(y) * unsigned(f.width) + unsigned(x);
        const int tile_column = least(x / tiles.tile_px, tiles.columns - 1),
                  tile_row = least(y / tiles.tile_px, tiles.rows - 1);
        const unsigned tile =
            (frame * unsigned(tiles.rows) + unsigned(tile_row)) * unsigned(tiles.columns) + unsigned(tile_column);
        const NoiseSample sample =
            noise_sample({photoelectrons + std::size_t(frame) * pixels_of(f) + at, f.width,
                          variance ? variance + at : nullptr, f.has_qe ? variance + pixels_of(f) + at : nullptr,
                          offsets ? offsets + at : nullptr, factors ? factors + at : nullptr, f.shot_noise, f.variance,
                          factor, total_variance(shot[tile], f.variance)});
        observed[k] = sample.observed;
        expected[k] = sample.expected;
    }
};

/// The median of each frame's samples, by counting: the sample with half of the others below it. One thread per sample,
/// in several blocks per frame, so that all of the GPU's threads are busy although a frame has few samples.
struct NoiseMedian {
    static constexpr unsigned max_threads = 2 * detect_threads;
    static GLINT_DEVICE unsigned blocks_of_frame(Index index, unsigned samples) {
        return (samples + index.block_dim - 1) / index.block_dim;
    }
    static GLINT_DEVICE void stage(Index index, Scratch scratch, unsigned samples, const float* observed, float*) {
        const std::size_t frame = index.block / blocks_of_frame(index, samples);
        for (unsigned k = index.thread; k < samples; k += index.block_dim)
            scratch.as<float>()[k] = observed[frame * samples + k];
    }
    static GLINT_DEVICE void compute(Index index, Scratch scratch, unsigned samples, const float*, float* median) {
        const float* all = scratch.as<float>();
        const unsigned blocks = blocks_of_frame(index, samples);
        const unsigned k = index.block % blocks * index.block_dim + index.thread;
        if (k >= samples) return;
        const float mine = all[k];
        unsigned below = 0, used = 0;
        for (unsigned q = 0; q < samples; ++q) {
            const float other = all[q];
            // Ties are ordered by index, so that exactly one sample is the median. Unused samples are NaN: all
            // comparisons with them are false.
            below += (other < mine) | ((other == mine) & (q < k));
            used += other == other;
        }
        if (mine == mine && below == used / 2) median[index.block / blocks] = mine;
    }
};

/// Each frame's noise check (EmptyNoise::spread) and, if requested, its threshold. One block per frame; per-thread sums
/// are added in the order of threads.
struct NoiseSpread {
    static constexpr unsigned max_threads = detect_threads;
    struct Sums {
        double observed, expected, samples;
    };
    static GLINT_DEVICE void stage(Index index, Scratch scratch, unsigned samples, float, const float* observed,
                                   const float* expected, const float* median, float*, float*) {
        // Each thread sums its samples in double precision; outliers above the limit are counted but not summed.
        const double limit = noise_limit(median[index.block]);
        Sums sums{0, 0, 0};
        for (unsigned k = index.thread; k < samples; k += index.block_dim) {
            const float square = observed[std::size_t(index.block) * samples + k];
            if (square != square) continue;
            sums.samples += 1;
            if (!(square <= limit)) continue;
            sums.observed += square;
            sums.expected += expected[std::size_t(index.block) * samples + k];
        }
        scratch.as<Sums>()[index.thread] = sums;
    }
    static GLINT_DEVICE void compute(Index index, Scratch scratch, unsigned, float threshold, const float*,
                                     const float*, const float*, float* spread, float* least_score) {
        if (index.thread > 0) return;
        Sums all{0, 0, 0};
        for (unsigned t = 0; t < index.block_dim; ++t) {
            const Sums part = scratch.as<Sums>()[t];
            all.observed += part.observed, all.expected += part.expected, all.samples += part.samples;
        }
        const double found = noise_spread(all.observed, all.expected, all.samples);
        spread[index.block] = float(found);
        if (least_score) least_score[index.block] = threshold * noise_excess(found);
    }
};

/// Common to the score kernels: a block scores `rows` rows of score_columns(radius) columns by separable convolution.
/// First each thread computes the sums of one column, including the filter's radius on both sides, and stores them in
/// shared memory; then the threads sum along the rows. A thread keeps its column's pixels in registers, since adjacent
/// rows share most of them.
template <int R, int rows>
struct ScoreBlock {
    unsigned frame;
    int x, y;  // of the block's first score
    int radius;

    GLINT_DEVICE ScoreBlock(Index index, const FrameLaunch& f, const ScoreLaunch& s) {
        radius = R ? R : s.radius;
        const unsigned across_frame = unsigned((f.width + score_columns(radius) - 1) / score_columns(radius));
        const unsigned down_frame = unsigned((f.height + rows - 1) / rows);
        const unsigned block = index.block / across_frame;
        x = int(index.block % across_frame) * score_columns(radius);
        y = int(block % down_frame) * rows;
        frame = block / down_frame;
    }
    /// The n-th of `kinds` sums of a row in shared memory; adjacent columns are contiguous: no bank conflicts.
    static GLINT_DEVICE float* sums(Scratch scratch, int kinds, int row, int n) {
        return scratch.as<float>() + (row * kinds + n) * int(detect_threads);
    }
};

/// Interpolates the values of tiles at row y of one column, with the arithmetic of Background::interpolate.
struct ColumnOfTiles {
    int before, after, offset;  // tiles along x; px from the centre of `before`

    GLINT_DEVICE ColumnOfTiles(const TileGrid& grid, int x) {
        const int half = grid.tile_px / 2, place = x - half;
        before = place < 0 ? 0 : least(place / grid.tile_px, grid.columns - 1);
        after = place < 0 ? 0 : least(before + 1, grid.columns - 1);
        offset = before == after ? 0 : place - before * grid.tile_px;
    }
    GLINT_DEVICE float at(const TileGrid& grid, const float* nodes, int y) const {
        const Between down = between(y, grid.tile_px, grid.rows);
        const float* above = nodes + down.tile * grid.columns;
        const float* below = above + (grid.rows > 1 ? grid.columns : 0);
        const float first = blend(above[before], below[before], down.fraction);
        if (before == after) return first;
        return along(first, blend(above[after], below[after], down.fraction), grid.tile_px, offset);
    }
};

/// Score (eq. 5.6) and narrow filter (eq. 5.7) for uniform read noise. `norms`: for each class of rows (EdgeNorms;
/// `class_of` maps rows to classes) one row each of box_ratio, norm and narrow_norm.
template <int R>
struct UniformScore {
    static constexpr unsigned max_threads = detect_threads;
    static constexpr int rows = uniform_score_rows, kinds = 3;
    using Block = ScoreBlock<R, rows>;

    static GLINT_DEVICE void stage(Index index, Scratch scratch, FrameLaunch f, ScoreLaunch s,
                                   const float* photoelectrons, const float*, const float*, const int*, float*,
                                   float*) {
        const Block block(index, f, s);
        const int column = block.x - block.radius + int(index.thread), t = int(index.thread);
        const bool is_inside = column >= 0 && column < f.width;
        const float* from = photoelectrons + std::size_t(block.frame) * pixels_of(f) + (is_inside ? column : 0);
        const auto pixel = [&](int y) {
            return is_inside && y >= 0 && y < f.height ? from[std::size_t(unsigned(y)) * unsigned(f.width)] : 0.0f;
        };
        const auto put = [&](int row, const DownSums& sums) {
            Block::sums(scratch, kinds, row, 0)[t] = sums.wide;
            Block::sums(scratch, kinds, row, 1)[t] = sums.box;
            Block::sums(scratch, kinds, row, 2)[t] = sums.third;
        };
        if constexpr (R > 0) {
            // A known radius: the window stays in registers, and each pixel is read once for all rows of the block.
            float window[rows + 2 * R];
            GLINT_UNROLL
            for (int k = 0; k < rows + 2 * R; ++k) window[k] = pixel(block.y - R + k);
            GLINT_UNROLL
            for (int row = 0; row < rows; ++row)
                put(row, down<R>([&](int i) { return window[row + R + i]; }, s.wide, s.narrow, R, 3));
        } else {
            for (int row = 0; row < rows; ++row)
                put(row, down<0>([&](int i) { return pixel(block.y + row + i); }, s.wide, s.narrow, block.radius, 3));
        }
    }

    static GLINT_DEVICE void compute(Index index, Scratch scratch, FrameLaunch f, ScoreLaunch s, const float*,
                                     const float* inverse_sigma, const float* norms, const int* class_of, float* score,
                                     float* narrow) {
        const Block block(index, f, s);
        const int column = block.x + int(index.thread), at = int(index.thread) + block.radius;
        if (int(index.thread) >= score_columns(block.radius) || column >= f.width) return;
        const ColumnOfTiles tiles(s.grid, column);
        const float* nodes = inverse_sigma + std::size_t(block.frame) * unsigned(s.grid.columns * s.grid.rows);
        float noise = 0;
        GLINT_UNROLL
        for (int row = 0; row < rows; ++row) {
            const int y = block.y + row;
            if (y >= f.height) return;
            // As on the CPU, some rows share the interpolated noise: the same rounding, hence the same spots.
            if (row % noise_rows == 0) noise = tiles.at(s.grid, nodes, y + noise_rows / 2);
            const float signal = across<R>(Block::sums(scratch, kinds, row, 0) + at, s.wide, block.radius);
            const float flat = box_across<R>(Block::sums(scratch, kinds, row, 1) + at, block.radius);
            const float third = across<3>(Block::sums(scratch, kinds, row, 2) + at, s.narrow, 0);
            const float* by = norms + std::size_t(unsigned(3 * class_of[y])) * unsigned(f.width) + column;
            const std::size_t to =
                std::size_t(block.frame) * pixels_of(f) + unsigned(y) * unsigned(f.width) + unsigned(column);
            score[to] = uniform_score(signal, flat, by[0], by[f.width], noise);
            narrow[to] = third * by[2 * f.width];
        }
    }
};
static_assert(uniform_score_rows % noise_rows == 0);

/// The same with maps of read noise or quantum efficiency (eq. 5.5): seven sums per pixel instead of three, so fewer
/// rows per block fit into shared memory.
template <int R>
struct WeightedScore {
    static constexpr unsigned max_threads = detect_threads;
    static constexpr int rows = weighted_score_rows, kinds = 7;
    using Block = ScoreBlock<R, rows>;

    static GLINT_DEVICE void stage(Index index, Scratch scratch, FrameLaunch f, ScoreLaunch s,
                                   const float* photoelectrons, const float* shot, const float* variance, float*,
                                   float*) {
        const Block block(index, f, s);
        const int column = block.x - block.radius + int(index.thread), t = int(index.thread);
        const bool is_inside = column >= 0 && column < f.width;
        const ColumnOfTiles tiles(s.grid, is_inside ? column : 0);
        const float* nodes = shot + std::size_t(block.frame) * unsigned(s.grid.columns * s.grid.rows);
        const float* from = photoelectrons + std::size_t(block.frame) * pixels_of(f);
        const auto weigh = [&](int y, float& w, float& signal) {
            w = signal = 0;
            if (!is_inside || y < 0 || y >= f.height) return;
            const unsigned pixel = unsigned(y) * unsigned(f.width) + unsigned(column);
            const float light = tiles.at(s.grid, nodes, y);
            // Eq. 5.2. The map of q follows that of v. Outside the frame the weight is 0, which clips the window.
            w = weight(f.has_qe ? light / variance[pixels_of(f) + pixel] : light, variance[pixel], least_variance);
            signal = w * from[pixel];
        };
        const auto put = [&](int row, const auto& weight_at, const auto& signal_at) {
            const DownSums weights = down<R>(weight_at, s.wide, s.squared, block.radius, block.radius);
            const DownSums signal = down<R>(signal_at, s.wide, s.narrow, block.radius, 3);
            const float values[kinds] = {weights.wide,
                                         weights.box,
                                         weights.third,
                                         signal.wide,
                                         signal.box,
                                         signal.third,
                                         down<3>(weight_at, s.narrow, s.narrow, 3, 3).wide};
            GLINT_UNROLL
            for (int n = 0; n < kinds; ++n) Block::sums(scratch, kinds, row, n)[t] = values[n];
        };
        if constexpr (R > 0) {
            float w[rows + 2 * R], we[rows + 2 * R];
            GLINT_UNROLL
            for (int k = 0; k < rows + 2 * R; ++k) weigh(block.y - R + k, w[k], we[k]);
            GLINT_UNROLL
            for (int row = 0; row < rows; ++row)
                put(
                    row, [&](int i) { return w[row + R + i]; }, [&](int i) { return we[row + R + i]; });
        } else {
            const auto value = [&](int y, bool signal) {
                float w, we;
                weigh(y, w, we);
                return signal ? we : w;
            };
            for (int row = 0; row < rows; ++row)
                put(
                    row, [&](int i) { return value(block.y + row + i, false); },
                    [&](int i) { return value(block.y + row + i, true); });
        }
    }

    static GLINT_DEVICE void compute(Index index, Scratch scratch, FrameLaunch f, ScoreLaunch s, const float*,
                                     const float*, const float*, float* score, float* narrow) {
        const Block block(index, f, s);
        const int column = block.x + int(index.thread), at = int(index.thread) + block.radius, radius = block.radius;
        if (int(index.thread) >= score_columns(radius) || column >= f.width) return;
        GLINT_UNROLL
        for (int row = 0; row < rows; ++row) {
            const int y = block.y + row;
            if (y >= f.height) return;
            const auto sums = [&](int n) { return Block::sums(scratch, kinds, row, n) + at; };
            // The sums A, B, C, P and Q of eq. 5.3, then eq. 5.5.
            const float a = across<R>(sums(0), s.wide, radius), b = box_across<R>(sums(1), radius);
            const float c = across<R>(sums(2), s.squared, radius);
            const float p = across<R>(sums(3), s.wide, radius), q = box_across<R>(sums(4), radius);
            const std::size_t to =
                std::size_t(block.frame) * pixels_of(f) + unsigned(y) * unsigned(f.width) + unsigned(column);
            score[to] = weighted_score(a, b, c, p, q);
            narrow[to] = across<3>(sums(5), s.narrow, 0) / across<3>(sums(6), s.narrow, 0);
        }
    }
};

/// A bitmap of the maxima of the narrow filter whose score reaches the threshold. With one bit per pixel, listing them
/// in order is cheap, without atomics.
struct MarkMaxima {
    static constexpr unsigned max_threads = detect_threads;
    static constexpr unsigned pixels = search_columns * search_rows, words = pixels / 32;
    static_assert(words <= detect_threads);

    struct Place {
        unsigned frame;
        int x, y;
    };
    static GLINT_DEVICE Place place(Index index, const FrameLaunch& f) {
        const unsigned across_frame = unsigned((f.width + search_columns - 1) / search_columns);
        const unsigned down_frame = unsigned((f.height + search_rows - 1) / search_rows);
        const unsigned block = index.block / across_frame;
        return {block / down_frame, int(index.block % across_frame) * search_columns,
                int(block % down_frame) * search_rows};
    }

    /// Whether (x, y) is a maximum; pixels outside the frame are lower than any.
    static GLINT_DEVICE bool is_hit(const FrameLaunch& f, const float* narrow, int x, int y) {
        float around[3][3];
        GLINT_UNROLL
        for (int j = 0; j < 3; ++j) GLINT_UNROLL
        for (int i = 0; i < 3; ++i) {
            const int column = x + i - 1, row = y + j - 1;
            const bool is_inside = column >= 0 && column < f.width && row >= 0 && row < f.height;
            around[j][i] = is_inside ? narrow[row * f.width + column] : -3.402823466e38f;
        }
        return is_maximum(around[0], around[1], around[2], 1);
    }

    static GLINT_DEVICE void stage(Index index, Scratch scratch, FrameLaunch f, const float* score, const float* narrow,
                                   const float* least_score, unsigned*) {
        const Place at = place(index, f);
        const std::size_t frame = std::size_t(at.frame) * pixels_of(f);
        const float least = least_score[at.frame];
        for (unsigned k = index.thread; k < pixels; k += index.block_dim) {
            const int x = at.x + int(k) % search_columns, y = at.y + int(k) / search_columns;
            scratch.as<unsigned char>()[k] = x < f.width && y < f.height &&
                                             score[frame + unsigned(y * f.width + x)] >= least &&
                                             is_hit(f, narrow + frame, x, y);
        }
    }
    static GLINT_DEVICE void compute(Index index, Scratch scratch, FrameLaunch f, const float*, const float*,
                                     const float*, unsigned* marks) {
        if (index.thread >= words) return;
        const Place at = place(index, f);
        const int y = at.y + int(index.thread) / (search_columns / 32);
        const unsigned word = unsigned(at.x) / 32 + index.thread % (search_columns / 32),
                       row_words = mark_words(f.width);
        if (y >= f.height || word >= row_words) return;
        // One word per thread from the bytes of the first phase: no atomics on shared words.
        unsigned bits = 0;
        for (unsigned i = 0; i < 32; ++i) bits |= unsigned(scratch.as<unsigned char>()[index.thread * 32 + i]) << i;
        marks[(std::size_t(at.frame) * unsigned(f.height) + unsigned(y)) * row_words + word] = bits;
    }
};

/// Each frame's maxima in order of row and column, as pixel indices, and their number: a prefix sum over the bitmap's
/// words. One block per frame.
struct ListMaxima {
    static constexpr unsigned max_threads = 2 * detect_threads;

    static GLINT_DEVICE unsigned words_of(const FrameLaunch& f) { return mark_words(f.width) * unsigned(f.height); }
    static GLINT_DEVICE unsigned ones(unsigned bits) {
#ifdef __CUDACC__
        return unsigned(__popc(int(bits)));
#else
        return unsigned(__builtin_popcount(bits));
#endif
    }
    static GLINT_DEVICE void stage(Index index, Scratch scratch, FrameLaunch f, unsigned, const unsigned* marks,
                                   unsigned*, unsigned*) {
        const Share mine = share_of(index, words_of(f));
        unsigned count = 0;
        for (unsigned k = mine.first; k < mine.end; ++k)
            count += ones(marks[std::size_t(index.block) * words_of(f) + k]);
        scratch.as<unsigned>()[index.thread] = count;
    }
    static GLINT_DEVICE void compute(Index index, Scratch scratch, FrameLaunch f, unsigned capacity,
                                     const unsigned* marks, unsigned* list, unsigned* found) {
        // The maxima of all preceding threads: this thread's first place in the list.
        unsigned before = 0;
        for (unsigned t = 0; t < index.thread; ++t) before += scratch.as<unsigned>()[t];
        const Share mine = share_of(index, words_of(f));
        for (unsigned k = mine.first; k < mine.end; ++k) {
            const unsigned pixel = k / mark_words(f.width) * unsigned(f.width) + k % mark_words(f.width) * 32;
            unsigned bits = marks[std::size_t(index.block) * words_of(f) + k];
            for (unsigned i = 0; bits; ++i, bits >>= 1)
                if (bits & 1) list[std::size_t(index.block) * capacity + before++] = pixel + i;
        }
        if (index.thread + 1 == index.block_dim) found[index.block] = before;
    }
};

/// A saturated area is a plateau of exactly equal values with a maximum at each corner: marks all but the first as
/// dropped, and counts the rest. One block per frame.
struct DropPlateaus {
    static constexpr unsigned max_threads = detect_threads;
    static GLINT_DEVICE bool is_plateau_of_earlier(const FrameLaunch& f, const float* narrow, const unsigned* list,
                                                   unsigned k, int reach) {
        const unsigned width = unsigned(f.width), pixel = list[k];
        const int x = int(pixel % width), y = int(pixel / width);
        for (unsigned q = k; q-- > 0;) {
            const int dx = int(list[q] % width) - x;
            if (y - int(list[q] / width) > reach) return false;  // the list is in row order: all others are farther
            if (narrow[list[q]] == narrow[pixel] && dx <= reach && -dx <= reach) return true;
        }
        return false;
    }
    static GLINT_DEVICE void stage(Index index, Scratch scratch, FrameLaunch f, unsigned capacity, int reach,
                                   const float* narrow, const unsigned* list, const unsigned* found,
                                   unsigned char* keep, unsigned*) {
        const std::size_t first = std::size_t(index.block) * capacity;
        unsigned count = 0;
        for (unsigned k = index.thread; k < found[index.block]; k += index.block_dim) {
            const bool is_kept =
                !is_plateau_of_earlier(f, narrow + std::size_t(index.block) * pixels_of(f), list + first, k, reach);
            keep[first + k] = is_kept;
            count += is_kept;
        }
        scratch.as<unsigned>()[index.thread] = count;
    }
    static GLINT_DEVICE void compute(Index index, Scratch scratch, FrameLaunch, unsigned, int, const float*,
                                     const unsigned*, const unsigned*, unsigned char*, unsigned* kept) {
        if (index.thread > 0) return;
        unsigned sum = 0;
        for (unsigned t = 0; t < index.block_dim; ++t) sum += scratch.as<unsigned>()[t];
        kept[index.block] = sum;
    }
};

/// Gathers the kept spots of all frames in order. `places` has the columns frame, x, y and the corner (x, y) of the
/// ROI; `starts` has x and y in the ROI, and the score. One block per frame; the preceding frames' counts give its
/// first row.
struct GatherSpots {
    static constexpr unsigned max_threads = detect_threads;
    static GLINT_DEVICE void stage(Index index, Scratch scratch, FrameLaunch, SpotLaunch s, const float*,
                                   const unsigned*, const unsigned* found, const unsigned char* keep, const unsigned*,
                                   int*, float*) {
        const Share mine = share_of(index, found[index.block]);
        unsigned count = 0;
        for (unsigned k = mine.first; k < mine.end; ++k) count += keep[std::size_t(index.block) * s.capacity + k];
        scratch.as<unsigned>()[index.thread] = count;
    }
    static GLINT_DEVICE int corner(int at, int size, int length) {
        const int first = at - size / 2;
        return first < 0 ? 0 : least(first, length - size);
    }
    static GLINT_DEVICE void compute(Index index, Scratch scratch, FrameLaunch f, SpotLaunch s, const float* score,
                                     const unsigned* list, const unsigned* found, const unsigned char* keep,
                                     const unsigned* kept, int* places, float* starts) {
        unsigned to = 0;
        for (unsigned frame = 0; frame < index.block; ++frame) to += kept[frame];
        for (unsigned t = 0; t < index.thread; ++t) to += scratch.as<unsigned>()[t];
        const Share mine = share_of(index, found[index.block]);
        const std::size_t first = std::size_t(index.block) * s.capacity;
        const unsigned n = s.count;
        for (unsigned k = mine.first; k < mine.end; ++k) {
            if (!keep[first + k]) continue;
            const unsigned pixel = list[first + k], row = to++ - s.first;
            if (row >= n) continue;  // also rows before s.first: the unsigned difference wraps around
            const int x = int(pixel % unsigned(f.width)), y = int(pixel / unsigned(f.width));
            const int x_corner = corner(x, s.size, f.width), y_corner = corner(y, s.size, f.height);
            places[row] = int(index.block), places[n + row] = x, places[2 * n + row] = y;
            places[3 * n + row] = x_corner, places[4 * n + row] = y_corner;
            starts[row] = float(x - x_corner), starts[n + row] = float(y - y_corner);
            starts[2 * n + row] = score[std::size_t(index.block) * pixels_of(f) + pixel];
        }
    }
};

/// Excludes noise samples near spots. One thread per spot.
struct LeaveOut {
    static constexpr unsigned max_threads = detect_threads;
    static GLINT_DEVICE void compute(Index index, unsigned spots, NoiseGrid grid, const int* places, float* observed) {
        const unsigned k = index.global();
        if (k >= spots) return;
        const GridRange columns = samples_near(places[spots + k], grid.spot_radius_px, grid.step_px, grid.columns);
        const GridRange rows = samples_near(places[2 * spots + k], grid.spot_radius_px, grid.step_px, grid.rows);
        float* of_frame = observed + std::size_t(unsigned(places[k])) * unsigned(grid.columns * grid.rows);
        for (int row = rows.first; row < rows.end; ++row)
            for (int column = columns.first; column < columns.end; ++column)
                of_frame[row * grid.columns + column] = not_a_number();
    }
};

/// Cuts the ROIs around spots, as a contiguous stack. One thread per pixel.
struct CutRois {
    static constexpr unsigned max_threads = detect_threads;
    static GLINT_DEVICE void compute(Index index, FrameLaunch f, int size, unsigned spots, const float* photoelectrons,
                                     const int* places, float* pixels) {
        const unsigned area = unsigned(size) * unsigned(size), q = index.global();
        if (q >= spots * area) return;
        const unsigned k = q / area, p = q % area;
        const unsigned x = unsigned(places[3 * spots + k]) + p % unsigned(size),
                       y = unsigned(places[4 * spots + k]) + p / unsigned(size);
        pixels[q] = photoelectrons[std::size_t(unsigned(places[k])) * pixels_of(f) + y * unsigned(f.width) + x];
    }
};

}  // namespace glint::GLINT_ISA

#define GLINT_DETECT(...) ::glint::GLINT_ISA::__VA_ARGS__
GLINT_KERNEL(photoelectrons_u8, 7, GLINT_DETECT(ToPhotoelectrons<unsigned char>))
GLINT_KERNEL(photoelectrons_u16, 7, GLINT_DETECT(ToPhotoelectrons<unsigned short>))
GLINT_KERNEL(photoelectrons_f32, 7, GLINT_DETECT(ToPhotoelectrons<float>))
GLINT_KERNEL(count_bad_pixels, 7, GLINT_DETECT(CountBadPixels))
GLINT_KERNEL(tile_background, 6, GLINT_DETECT(TileBackground))
GLINT_KERNEL(sample_noise, 11, GLINT_DETECT(SampleNoise))
GLINT_KERNEL(noise_median, 3, GLINT_DETECT(NoiseMedian))
GLINT_KERNEL(noise_spread, 7, GLINT_DETECT(NoiseSpread))
GLINT_KERNEL(uniform_score_3, 8, GLINT_DETECT(UniformScore<3>))
GLINT_KERNEL(uniform_score_4, 8, GLINT_DETECT(UniformScore<4>))
GLINT_KERNEL(uniform_score_5, 8, GLINT_DETECT(UniformScore<5>))
GLINT_KERNEL(uniform_score_6, 8, GLINT_DETECT(UniformScore<6>))
GLINT_KERNEL(uniform_score_0, 8, GLINT_DETECT(UniformScore<0>))
GLINT_KERNEL(weighted_score_3, 7, GLINT_DETECT(WeightedScore<3>))
GLINT_KERNEL(weighted_score_4, 7, GLINT_DETECT(WeightedScore<4>))
GLINT_KERNEL(weighted_score_5, 7, GLINT_DETECT(WeightedScore<5>))
GLINT_KERNEL(weighted_score_6, 7, GLINT_DETECT(WeightedScore<6>))
GLINT_KERNEL(weighted_score_0, 7, GLINT_DETECT(WeightedScore<0>))
GLINT_KERNEL(mark_maxima, 5, GLINT_DETECT(MarkMaxima))
GLINT_KERNEL(list_maxima, 5, GLINT_DETECT(ListMaxima))
GLINT_KERNEL(drop_plateaus, 8, GLINT_DETECT(DropPlateaus))
GLINT_KERNEL(gather_spots, 9, GLINT_DETECT(GatherSpots))
GLINT_KERNEL(leave_out, 4, GLINT_DETECT(LeaveOut))
GLINT_KERNEL(cut_rois, 6, GLINT_DETECT(CutRois))
