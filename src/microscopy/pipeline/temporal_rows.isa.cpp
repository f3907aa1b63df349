// Loops over the frames of a row that the compiler vectorises; one source for every instruction set.
// SPDX-License-Identifier: MIT
#include "pipeline/temporal_rows.hpp"

#include <cstddef>

#include "detect/frame_math.hpp"
#include "psf/lane.hpp"

namespace glint::GLINT_ISA {
namespace {

typedef std::uint8_t Bytes __attribute__((vector_size(lane_width)));
constexpr int registers = 4;  // processed together, since each sum waits for the previous one
constexpr int together = registers * lane_width;
static_assert(row_step % together == 0);
constexpr float beyond_any = __builtin_inff();

Mask marked(const std::uint8_t* from) {
    Bytes bytes;
    __builtin_memcpy(&bytes, from, sizeof bytes);
    return __builtin_convertvector(bytes, Mask) != 0;
}
/// NaN minus NaN and infinity minus infinity are NaN.
Mask is_finite(Lane values) { return values - values == Lane{}; }

/// Returns sum and number of the values up to their limits.
void sum_up_to(const float* values, long stride, int frames, const float* limits, float* sums, float* counts) {
    Lane limit[registers], sum[registers], count[registers];
    GLINT_UNROLL
    for (int r = 0; r < registers; ++r) limit[r] = load(limits + r * lane_width), sum[r] = count[r] = Lane{};
    for (int k = 0; k < frames; ++k, values += stride) GLINT_UNROLL
    for (int r = 0; r < registers; ++r) {
        const Lane value = load(values + r * lane_width);
        const Mask is_low = value <= limit[r];
        sum[r] += is_low ? value : Lane{};
        count[r] += is_low ? Lane{} + 1.0f : Lane{};
    }
    GLINT_UNROLL
    for (int r = 0; r < registers; ++r) store(sums + r * lane_width, sum[r]), store(counts + r * lane_width, count[r]);
}

void min_of(const float* values, long stride, int frames, float* least) {
    Lane low[registers];
    GLINT_UNROLL
    for (int r = 0; r < registers; ++r) low[r] = Lane{} + beyond_any;
    for (int k = 0; k < frames; ++k, values += stride) GLINT_UNROLL
    for (int r = 0; r < registers; ++r) {
        const Lane value = load(values + r * lane_width);
        low[r] = value < low[r] ? value : low[r];  // false for NaN
    }
    GLINT_UNROLL
    for (int r = 0; r < registers; ++r) store(least + r * lane_width, low[r]);
}

}  // namespace

void find_row_limits(const RowOfFrames& row, const float* shot_of, const float* read_of, float* limits) {
    constexpr int passes = 4;
    float mean[together], limit[together], sum[together], count[together];
    for (int x = 0; x < row.width; x += together) {
        const float *shot = shot_of + x, *read = read_of + x, *values = row.values + x;
        min_of(values, row.stride, row.frames, mean);
        // The lowest of 16 to 256 values is 1.8 to 2.8 standard deviations below their mean.
        for (int i = 0; i < together; ++i) {
            const float light = mean[i] > shot[i] ? mean[i] : shot[i];
            mean[i] += 1.5f * __builtin_sqrtf(shot_noise(light, shot[i]) + read[i]);
        }
        for (int pass = 0; pass <= passes; ++pass) {
            int changed = 0;
            for (int i = 0; i < together; ++i) {
                const float next = mean[i] + 3 * __builtin_sqrtf(shot_noise(mean[i], shot[i]) + read[i]) + 2 * shot[i];
                changed |= pass == 0 || !(next == limit[i]);
                limit[i] = next;
            }
            if (pass == passes || !changed) break;
            sum_up_to(values, row.stride, row.frames, limit, sum, count);
            for (int i = 0; i < together; ++i) mean[i] = sum[i] / count[i];
        }
        __builtin_memcpy(limits + x, limit, sizeof limit);
    }
}

void mark_bright(const float* values, const float* limits, int width, int reach, std::uint8_t* __restrict padded,
                 std::uint8_t* __restrict marks) {
    __builtin_memset(padded, 0, std::size_t(width) + 2 * std::size_t(reach));
    std::uint8_t* __restrict above = padded + reach;
    for (int x = 0; x < width; ++x) above[x] = values[x] > limits[x];
    __builtin_memcpy(marks, padded, std::size_t(width));
    for (int k = 1; k <= 2 * reach; ++k)
        for (int x = 0; x < width; ++x) marks[x] |= padded[x + k];
}

void unite_marks(const std::uint8_t* __restrict marks, int width, std::uint8_t* __restrict to) {
    for (int x = 0; x < width; ++x) to[x] |= marks[x];
}

void take_row_means(const RowOfFrames& row, const std::uint8_t* marks, long marks_stride, const float* level_of_half,
                    const RowMeans& to) {
    const Lane zero{}, one = zero + 1.0f;
    const int middle = (row.frames + 1) / 2;
    for (int x = 0; x < row.width; x += lane_width) {
        Lane sum[4], count[4], all = zero, present = zero;  // of even and odd frames, in the first and the second half
        for (int k = 0; k < 4; ++k) sum[k] = count[k] = zero;
        const float* at = row.values + x;
        const std::uint8_t* mark = marks + x;
        const auto add = [&](Lane& to_sum, Lane& to_count) {
            const Lane value = load(at);
            const Mask is_there = value < zero + beyond_any;  // false for NaN
            const Mask is_kept = is_there & ~marked(mark);
            to_sum += is_kept ? value : zero, to_count += is_kept ? one : zero;
            all += is_there ? value : zero, present += is_there ? one : zero;
            at += row.stride, mark += marks_stride;
        };
        for (int k = 0; k < middle; ++k) k % 2 == 0 ? add(sum[0], count[0]) : add(sum[1], count[1]);
        for (int k = middle; k < row.frames; ++k) k % 2 == 0 ? add(sum[2], count[2]) : add(sum[3], count[3]);
        const Lane kept = count[0] + count[1] + count[2] + count[3];
        const Lane mean = (sum[0] + sum[1] + sum[2] + sum[3]) / kept;
        const Lane even = (sum[0] + sum[2]) / (count[0] + count[2]), odd = (sum[1] + sum[3]) / (count[1] + count[3]);
        const Lane early = (sum[0] + sum[1]) / (count[0] + count[1]), late = (sum[2] + sum[3]) / (count[2] + count[3]);
        const Mask is_unsteady = (4 * kept < zero + float(row.frames)) | ~is_finite(even + odd);
        const Mask has_both = is_finite(early + late);  // otherwise a molecule is on during one half
        const auto put = [&](Lane values, float* into) { store(into + x, is_unsteady ? zero : values); };
        put(mean, to.all), put(even, to.even), put(odd, to.odd);
        put((has_both ? early : mean) * level_of_half[0] / float(middle), to.early);
        put((has_both ? late : mean) * level_of_half[1] / float(row.frames - middle), to.late);
        store(to.plain + x, present > zero ? all / present : zero);
        for (int i = 0; i < lane_width; ++i) to.unsteady[x + i] = is_unsteady[i] != 0;
    }
}

}  // namespace glint::GLINT_ISA
