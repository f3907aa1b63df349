// Teams compute joint fits. A team is
// - a CPU thread that uses SIMD over the columns of a row,
// - a block of a GPU, over some rows of 16 columns, or
// - a single thread of the simulated GPU.
//
// The whole team works on steps that concern all pixels. Images of single molecules are divided among its warps, which
// do not wait for each other in that phase. On a CPU, the team is the only warp.
//
// Every member of a team runs the same code with the same scalars. Members differ in the pixels and images they visit;
// sum() gives the total to all members. Data that one member writes may be read by other members only after sync().
// SPDX-License-Identifier: MIT
#pragma once

#include "fit/cuda/joint_launch.hpp"
#include "fit/joint/joint_abi.hpp"
#include "psf/lane.hpp"

namespace glint::GLINT_ISA {

/// Returns the first element of a Lane: of a splat, its value.
GLINT_INLINE float first_of(Lane a) {
#if defined(GLINT_SCALAR_LANE)
    return a;
#else
    return a[0];
#endif
}

// On a GPU these functions are called instead of inlined, since they are large and used in several places. Loops over
// pixels and matrices are not unrolled. The code that a multiprocessor's teams run has to fit into its instruction
// cache (docs/decisions/0077-joint-fit-gpu-teams.md).
#if defined(__CUDACC__)
#define GLINT_JOINT_CALL __device__ __noinline__
#define GLINT_ROLL _Pragma("unroll 1")
#else
#define GLINT_JOINT_CALL GLINT_NOINLINE
#define GLINT_ROLL
#endif

struct Warp {
    static constexpr int columns_at_once = joint_columns;
#if defined(__CUDACC__)
    static constexpr int row_step = 2, column_step = 16, size = 32;
    static GLINT_INLINE int rank() { return int(threadIdx.x % 32); }
    static GLINT_INLINE int row() { return rank() / 16; }
    static GLINT_INLINE int column() { return rank() % 16; }
    static GLINT_INLINE void sync() { __syncwarp(); }
    static GLINT_INLINE float sum(float a) {
        GLINT_UNROLL
        for (int distance = 16; distance > 0; distance /= 2) a += __shfl_xor_sync(~0u, a, distance);
        return a;
    }
    static GLINT_INLINE float greatest(float a) {
        GLINT_UNROLL
        for (int distance = 16; distance > 0; distance /= 2) a = fmaxf(a, __shfl_xor_sync(~0u, a, distance));
        return a;
    }
#else
    static constexpr int row_step = 1, column_step = lane_width, size = 1;
    static GLINT_INLINE int rank() { return 0; }
    static GLINT_INLINE int row() { return 0; }
    static GLINT_INLINE int column() { return 0; }
    static GLINT_INLINE void sync() {}
#if defined(GLINT_SCALAR_LANE)
    static GLINT_INLINE float sum(Lane a) { return a; }
    static GLINT_INLINE float greatest(Lane a) { return a; }
#else
    static GLINT_INLINE float sum(Lane a) {
#if defined(GLINT_ISA_avx512)
        return _mm512_reduce_add_ps(a);
#else
        float total = 0;
        for (int k = 0; k < lane_width; ++k) total += a[k];
        return total;
#endif
    }
    static GLINT_INLINE float greatest(Lane a) {
        float most = a[0];
        for (int k = 1; k < lane_width; ++k) most = a[k] > most ? a[k] : most;
        return most;
    }
#endif
#endif
    /// Returns the sum of one value per member.
    static GLINT_INLINE float sum_of_members(float a) { return size == 1 ? a : sum(splat(a)); }
    static GLINT_INLINE float greatest_of_members(float a) { return size == 1 ? a : greatest(splat(a)); }
    /// Calls act(k, the sum of a[k] over all members) for each k, in one member or in all.
    template <int n, class Act>
    static GLINT_INLINE void for_sums(const Lane* a, const Act& act) {
#if defined(GLINT_ISA_avx512)
        // Sixteen sums together: each stage adds the halves of two Lanes, so the last has a sum in every element.
        for (int first = 0; first < n; first += 16) {
            __m512 v[16];
            GLINT_UNROLL
            for (int k = 0; k < 16; ++k) v[k] = first + k < n ? __m512(a[first + k]) : _mm512_setzero_ps();
            GLINT_UNROLL
            for (int k = 0; k < 8; ++k)
                v[k] = _mm512_shuffle_f32x4(v[k], v[k + 8], 0x44) + _mm512_shuffle_f32x4(v[k], v[k + 8], 0xee);
            GLINT_UNROLL
            for (int k = 0; k < 4; ++k)
                v[k] = _mm512_shuffle_f32x4(v[k], v[k + 4], 0x88) + _mm512_shuffle_f32x4(v[k], v[k + 4], 0xdd);
            GLINT_UNROLL
            for (int k = 0; k < 2; ++k)
                v[k] = _mm512_shuffle_ps(v[k], v[k + 2], 0x44) + _mm512_shuffle_ps(v[k], v[k + 2], 0xee);
            v[0] = _mm512_shuffle_ps(v[0], v[1], 0x88) + _mm512_shuffle_ps(v[0], v[1], 0xdd);
            float all[16];
            _mm512_storeu_ps(all, v[0]);
            // The stages leave each pair of bits of the number exchanged.
            GLINT_UNROLL
            for (int k = 0; k < 16; ++k)
                if (first + k < n) act(first + k, all[(k & 5) << 1 | (k >> 1 & 5)]);
        }
#elif defined(__CUDACC__)
        // Sixteen sums together: each stage adds the halves of two numbers, so the last has a sum in every other
        // member.
        GLINT_UNROLL
        for (int first = 0; first < n; first += 16) {
            float v[16];
            GLINT_UNROLL
            for (int k = 0; k < 16; ++k) v[k] = first + k < n ? a[first + k] : 0.0f;
            GLINT_UNROLL
            for (int distance = 16, half = 8; half > 0; distance /= 2, half /= 2) {
                const bool upper = rank() & distance;
                GLINT_UNROLL
                for (int k = 0; k < half; ++k) {
                    const float kept = upper ? v[k + half] : v[k], given = upper ? v[k] : v[k + half];
                    v[k] = kept + __shfl_xor_sync(~0u, given, distance);
                }
            }
            v[0] += __shfl_xor_sync(~0u, v[0], 1);
            if (rank() % 2 == 0 && first + rank() / 2 < n) act(first + rank() / 2, v[0]);
        }
#else
        GLINT_UNROLL
        for (int k = 0; k < n; ++k) act(k, sum(a[k]));
#endif
    }
    /// Elements begin(), begin() + step, ... of a row of n floats, n a multiple of 16: a Lane at each.
    static constexpr int step = size * lane_width;
    static GLINT_INLINE int begin() { return rank() * lane_width; }
    /// 0, 1, ... in the elements of a Lane.
    static GLINT_INLINE Lane offsets() {
#if defined(GLINT_SCALAR_LANE)
        return 0;
#else
        Lane a;
        for (int k = 0; k < lane_width; ++k) a[k] = float(k);
        return a;
#endif
    }
};

/// All members that share a group.
#if defined(__CUDACC__)
struct Team {
    static constexpr int columns_at_once = joint_columns, warps = joint_team_threads / 32, size = joint_team_threads;
    static constexpr int row_step = size / 16, column_step = 16, step = size;
    static GLINT_INLINE int warp() { return rank() / 32; }
    static GLINT_INLINE int rank() { return int(threadIdx.x); }
    static GLINT_INLINE int begin() { return rank(); }
    static GLINT_INLINE int row() { return rank() / 16; }
    static GLINT_INLINE int column() { return rank() % 16; }
    /// The first row and column from there on that this member visits: always the same pixels, whatever the box.
    static GLINT_INLINE int row_from(int y) { return y + ((row() - y) & (row_step - 1)); }
    static GLINT_INLINE int column_from(int x) { return x + ((column() - x) & (column_step - 1)); }
    static GLINT_INLINE void sync() {
        if (warps == 1)
            __syncwarp();
        else
            __syncthreads();
    }
    static GLINT_INLINE float offsets() { return 0; }
    static GLINT_INLINE float sum(float a) {
        return of_warps(Warp::sum(a), [](float x, float y) { return x + y; });
    }
    static GLINT_INLINE float greatest(float a) {
        return of_warps(Warp::greatest(a), [](float x, float y) { return fmaxf(x, y); });
    }
    static GLINT_INLINE float sum_of_members(float a) { return sum(a); }
    static GLINT_INLINE float greatest_of_members(float a) { return greatest(a); }
    /// Returns the first warp's value.
    static GLINT_INLINE float of_first_warp(float a) {
        return of_warps(a, [](float x, float) { return x; });
    }

  private:
    template <class Join>
    static GLINT_INLINE float of_warps(float a, const Join& join) {
        if (warps == 1) return a;
        __shared__ float parts[warps];
        sync();  // the previous values have been read
        if (rank() % 32 == 0) parts[warp()] = a;
        sync();
        a = parts[0];
        GLINT_UNROLL
        for (int k = 1; k < warps; ++k) a = join(a, parts[k]);
        return a;
    }
};
static_assert(Team::row_step * Team::column_step == Team::size && (Team::row_step & (Team::row_step - 1)) == 0);
#else
struct Team : Warp {
    static constexpr int warps = 1;
    static GLINT_INLINE int warp() { return 0; }
    static GLINT_INLINE int row_from(int y) { return y; }
    static GLINT_INLINE int column_from(int x) { return x; }
    static GLINT_INLINE float of_first_warp(float a) { return a; }
};
#endif

GLINT_INLINE int rounded_up(int n) {
    return (n + Team::columns_at_once - 1) / Team::columns_at_once * Team::columns_at_once;
}
/// Columns of pixels as a Lane visits them: if a Lane has several elements, rounded up to whole Lanes.
GLINT_INLINE int filled(int columns) { return lane_width == 1 ? columns : rounded_up(columns); }
GLINT_INLINE int rounded_down(int n) { return n / Team::columns_at_once * Team::columns_at_once; }
GLINT_INLINE int floor_of(float a) {
    const int whole = int(a);
    return whole - (float(whole) > a);
}
GLINT_INLINE float root_of(float a) { return first_of(sqrt(splat(a))); }
GLINT_INLINE float min_of(float a, float b) { return a < b ? a : b; }
GLINT_INLINE float max_of(float a, float b) { return a > b ? a : b; }
GLINT_INLINE float within(float a, float low, float high) { return a < low ? low : a > high ? high : a; }
GLINT_INLINE int min_of(int a, int b) { return a < b ? a : b; }
GLINT_INLINE int max_of(int a, int b) { return a > b ? a : b; }
GLINT_INLINE int within(int a, int low, int high) { return a < low ? low : a > high ? high : a; }

}  // namespace glint::GLINT_ISA
