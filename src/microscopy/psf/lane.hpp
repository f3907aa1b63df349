// Lane: the number type of the kernel, with one fit per element.
//
// - On the CPU, a SIMD register of the instruction set that this file is compiled for (GLINT_ISA).
// - In a GPU thread, real or simulated, a float (GLINT_SCALAR_LANE).
// - Outside the fit, a double (GLINT_DOUBLE_LANE): simulations, tables and the reference use the same models.
//
// GCC's vector extensions provide the SIMD operators, so one source serves all variants; only "not" of a mask differs
// (`negate`). SIMD cannot branch on single lanes: `select` chooses one of two values per lane, `any` and `all` test
// all.
// SPDX-License-Identifier: MIT
#pragma once

// All functions are forced inline. A call would pass a Lane through memory if the ABI has no such register. The linker
// must not share a function compiled for another instruction set, hence also one namespace per GLINT_ISA.
//
// Loops over pixels and parameters are unrolled so that arrays of Lanes become registers, which requires constant
// indices. GLINT_UNROLL_BY limits this on GPUs, whose instruction cache is small. Elsewhere the compiler decides.
#if defined(__CUDACC__)
#define GLINT_INLINE __device__ __forceinline__
#define GLINT_NOINLINE __device__ __forceinline__  // a real call on a GPU would spill registers to memory
#define GLINT_TABLE static __device__ constexpr
#define GLINT_UNROLL _Pragma("unroll")
#define GLINT_UNROLL_BY(n) _Pragma(GLINT_TEXT(unroll n))
#define GLINT_TEXT(...) #__VA_ARGS__
#else
#define GLINT_INLINE inline __attribute__((always_inline))
#define GLINT_NOINLINE __attribute__((noinline))
#define GLINT_TABLE constexpr
#define GLINT_UNROLL _Pragma("GCC unroll 16")
#define GLINT_UNROLL_BY(n)
#if defined(__x86_64__) && !defined(GLINT_SCALAR_LANE) && !defined(GLINT_DOUBLE_LANE)
#include <immintrin.h>
#endif
#endif

namespace glint::GLINT_ISA {

#if defined(GLINT_DOUBLE_LANE)

// Has no load() or IntLane: pixels are not read in double precision, and special.hpp uses the C library here.
constexpr int lane_width = 1;
using Scalar = double;
using Lane = double;
using IntLane = int;
using Mask = bool;

GLINT_INLINE Lane splat(double value) { return value; }
GLINT_INLINE Lane select(Mask mask, Lane yes, Lane no) { return mask ? yes : no; }
GLINT_INLINE Mask negate(Mask mask) { return !mask; }
GLINT_INLINE bool any(Mask mask) { return mask; }
GLINT_INLINE Lane min(Lane a, Lane b) { return __builtin_fmin(a, b); }
GLINT_INLINE Lane max(Lane a, Lane b) { return __builtin_fmax(a, b); }
GLINT_INLINE Lane abs(Lane a) { return __builtin_fabs(a); }
GLINT_INLINE Lane copy_sign(Lane size, Lane sign) { return __builtin_copysign(size, sign); }
GLINT_INLINE Lane sqrt(Lane a) { return __builtin_sqrt(a); }
GLINT_INLINE Lane reciprocal(Lane a) { return 1 / a; }
GLINT_INLINE Lane to_float(IntLane a) { return Lane(a); }
GLINT_INLINE IntLane to_int(Lane a) { return IntLane(a); }  // towards zero
GLINT_INLINE Lane lookup(const float* values, IntLane at) { return Lane(values[at]); }

#elif defined(GLINT_SCALAR_LANE)

constexpr int lane_width = 1;
using Scalar = float;
using Lane = float;
using IntLane = int;
// On a GPU select() becomes a predicated move, not a branch, so threads of a warp stay together.
using Mask = bool;

GLINT_INLINE Lane splat(float value) { return value; }
GLINT_INLINE Lane load(const float* values) { return *values; }
GLINT_INLINE void store(float* values, Lane lane) { *values = lane; }
GLINT_INLINE Lane select(Mask mask, Lane yes, Lane no) { return mask ? yes : no; }
GLINT_INLINE Mask negate(Mask mask) { return !mask; }
GLINT_INLINE Mask all_true() { return true; }
GLINT_INLINE Mask all_false() { return false; }
GLINT_INLINE bool any(Mask mask) { return mask; }
GLINT_INLINE Lane rounded(Lane a) { return a; }  // a single lane has no neighbours
GLINT_INLINE Lane to_float(IntLane a) { return Lane(a); }
GLINT_INLINE IntLane to_int(Lane a) { return IntLane(a); }  // towards zero
GLINT_INLINE Lane lookup(const float* values, IntLane at) { return values[at]; }
#if defined(__CUDACC__)
GLINT_INLINE IntLane bits_of(Lane lane) { return __float_as_int(lane); }
GLINT_INLINE Lane lane_of(IntLane bits) { return __int_as_float(bits); }
// For NaN and a number these return the number, like IEEE 754 minNum. SSE and AVX return the second operand instead. If
// a value may be NaN, the order of the arguments matters, and comparisons are written so that NaN fails them.
GLINT_INLINE Lane min(Lane a, Lane b) { return fminf(a, b); }
GLINT_INLINE Lane max(Lane a, Lane b) { return fmaxf(a, b); }
GLINT_INLINE Lane abs(Lane a) { return fabsf(a); }
GLINT_INLINE Lane copy_sign(Lane size, Lane sign) { return copysignf(size, sign); }
GLINT_INLINE Lane sqrt(Lane a) { return sqrtf(a); }
// One instruction with an error of 1 ulp; a division is a subroutine on GPUs.
GLINT_INLINE Lane reciprocal(Lane a) {
    Lane guess;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(guess) : "f"(a));
    return guess;
}
#else
GLINT_INLINE IntLane bits_of(Lane lane) { return __builtin_bit_cast(IntLane, lane); }
GLINT_INLINE Lane lane_of(IntLane bits) { return __builtin_bit_cast(Lane, bits); }
GLINT_INLINE Lane min(Lane a, Lane b) { return __builtin_fminf(a, b); }
GLINT_INLINE Lane max(Lane a, Lane b) { return __builtin_fmaxf(a, b); }
GLINT_INLINE Lane abs(Lane a) { return __builtin_fabsf(a); }
GLINT_INLINE Lane copy_sign(Lane size, Lane sign) { return __builtin_copysignf(size, sign); }
GLINT_INLINE Lane sqrt(Lane a) { return __builtin_sqrtf(a); }
// The simulated GPU rounds correctly. The real one may be off by 1 ulp, so their results differ by rounding.
GLINT_INLINE Lane reciprocal(Lane a) { return 1.0f / a; }
#endif

#else  // a SIMD register

#if defined(GLINT_ISA_avx512)
// Elements of a register: 512, 256 or 128 bits of single precision. ARM and others use four elements with vector
// extensions only.
constexpr int lane_width = 16;
#elif defined(GLINT_ISA_avx2)
constexpr int lane_width = 8;
#else
constexpr int lane_width = 4;
#endif

using Scalar = float;
// A GCC vector: + - * /, comparisons and ?: apply per element. A literal such as 0.5f is splat automatically. A
// function's argument is not, hence splat().
using Lane = float __attribute__((vector_size(4 * lane_width)));
using IntLane = int __attribute__((vector_size(4 * lane_width)));
using Mask = IntLane;  // the result of a comparison: -1 for true, 0 for false

/// Returns the value, as a barrier against contraction: the compiler cannot fuse a product in `a` with a later
/// addition. Needed if other lanes decide which version of the code runs, because a lane's result must not depend on
/// its neighbours, bit for bit. An empty asm pretends to change the register and costs no instruction.
GLINT_INLINE Lane rounded(Lane a) {
#if defined(__x86_64__)
    asm("" : "+v"(a));
#else
    asm("" : "+w"(a));
#endif
    return a;
}
GLINT_INLINE Lane splat(float value) { return Lane{} + value; }
/// Allows any alignment: the copy becomes one unaligned load. A pointer cast would violate the aliasing rules.
GLINT_INLINE Lane load(const float* values) {
    Lane lane;
    __builtin_memcpy(&lane, values, sizeof lane);
    return lane;
}
GLINT_INLINE void store(float* values, Lane lane) { __builtin_memcpy(values, &lane, sizeof lane); }
GLINT_INLINE Lane select(Mask mask, Lane yes, Lane no) { return mask ? yes : no; }
GLINT_INLINE Mask negate(Mask mask) { return ~mask; }
GLINT_INLINE Mask all_true() { return IntLane{} - 1; }
GLINT_INLINE Mask all_false() { return IntLane{}; }
// A cast between vectors of the same size keeps the bits; __builtin_convertvector converts the numbers.
GLINT_INLINE IntLane bits_of(Lane lane) { return reinterpret_cast<IntLane>(lane); }
GLINT_INLINE Lane lane_of(IntLane bits) { return reinterpret_cast<Lane>(bits); }
// Clears the sign bit: one instruction, and correct for NaN and -0.
GLINT_INLINE Lane abs(Lane a) { return lane_of(bits_of(a) & 0x7fffffff); }
GLINT_INLINE Lane copy_sign(Lane size, Lane sign) {
    return lane_of((bits_of(size) & 0x7fffffff) | (bits_of(sign) & int(0x80000000)));
}
GLINT_INLINE Lane to_float(IntLane a) { return __builtin_convertvector(a, Lane); }
GLINT_INLINE IntLane to_int(Lane a) { return __builtin_convertvector(a, IntLane); }  // towards zero

#if defined(GLINT_ISA_avx512)
GLINT_INLINE Lane min(Lane a, Lane b) { return _mm512_min_ps(a, b); }
GLINT_INLINE Lane max(Lane a, Lane b) { return _mm512_max_ps(a, b); }
GLINT_INLINE Lane sqrt(Lane a) { return _mm512_sqrt_ps(a); }
// Cheaper than a division, which is slow at this width: an estimate to 14 bits and one Newton step.
GLINT_INLINE Lane reciprocal(Lane a) {
    const Lane guess = _mm512_rcp14_ps(a);
    return guess * (2.0f - a * guess);
}
GLINT_INLINE Lane lookup(const float* values, IntLane at) { return _mm512_i32gather_ps((__m512i)at, values, 4); }
// Uses the sign bits: a Mask is -1 or 0 per element.
GLINT_INLINE bool any(Mask mask) { return _mm512_movepi32_mask((__m512i)mask) != 0; }
#elif defined(GLINT_ISA_avx2)
GLINT_INLINE Lane min(Lane a, Lane b) { return _mm256_min_ps(a, b); }
GLINT_INLINE Lane max(Lane a, Lane b) { return _mm256_max_ps(a, b); }
GLINT_INLINE Lane sqrt(Lane a) { return _mm256_sqrt_ps(a); }
GLINT_INLINE Lane reciprocal(Lane a) { return 1.0f / a; }
GLINT_INLINE bool any(Mask mask) { return _mm256_movemask_ps((__m256)mask) != 0; }
GLINT_INLINE Lane lookup(const float* values, IntLane at) { return _mm256_i32gather_ps(values, (__m256i)at, 4); }
#elif defined(GLINT_ISA_sse2)
GLINT_INLINE Lane min(Lane a, Lane b) { return _mm_min_ps(a, b); }
GLINT_INLINE Lane max(Lane a, Lane b) { return _mm_max_ps(a, b); }
GLINT_INLINE Lane sqrt(Lane a) { return _mm_sqrt_ps(a); }
GLINT_INLINE Lane reciprocal(Lane a) { return 1.0f / a; }
GLINT_INLINE bool any(Mask mask) { return _mm_movemask_ps((__m128)mask) != 0; }
#else
// Without intrinsics (ARM). Like SSE, returns the second operand if either is NaN.
GLINT_INLINE Lane min(Lane a, Lane b) { return a < b ? a : b; }
GLINT_INLINE Lane max(Lane a, Lane b) { return a > b ? a : b; }
GLINT_INLINE Lane sqrt(Lane a) {
    return Lane{__builtin_sqrtf(a[0]), __builtin_sqrtf(a[1]), __builtin_sqrtf(a[2]), __builtin_sqrtf(a[3])};
}
GLINT_INLINE Lane reciprocal(Lane a) { return 1.0f / a; }
GLINT_INLINE bool any(Mask mask) { return (mask[0] | mask[1] | mask[2] | mask[3]) != 0; }
#endif
#if !defined(GLINT_ISA_avx512) && !defined(GLINT_ISA_avx2)
GLINT_INLINE Lane lookup(const float* values, IntLane at) {
    return Lane{values[at[0]], values[at[1]], values[at[2]], values[at[3]]};
}
#endif

#endif  // GLINT_SCALAR_LANE

// lookup(values, at): elements of a table. Indices must be valid in every lane, even if a parameter is NaN: use clamp()
// before to_int().

GLINT_INLINE bool all(Mask mask) { return !any(negate(mask)); }
/// NaN becomes `low` in every variant, since max(NaN, low) is low.
GLINT_INLINE Lane clamp(Lane a, Lane low, Lane high) { return min(max(a, low), high); }

}  // namespace glint::GLINT_ISA
