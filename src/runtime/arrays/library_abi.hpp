// The part of the binary interface of cuBLAS, cuFFT, cuSOLVER and NVRTC that glint uses, declared here, so that glint
// builds without a toolkit. library_abi_test.cpp compares it with their headers if these are installed.
// SPDX-License-Identifier: MIT
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <complex>

#include "gpu/cuda_abi.hpp"

namespace glint::arrays::lib {

using Status = int;
using Blas = struct BlasOpaque*;
using Solver = struct SolverOpaque*;
using Plan = int;
using Program = struct ProgramOpaque*;  // of NVRTC

/// Two numbers as CUDA lays them out.
template <class T>
struct alignas(2 * sizeof(T)) Complex {
    T real, imaginary;
};

/// A number as the libraries declare it.
template <class T>
struct OfNumber {
    using type = T;
};
template <class T>
struct OfNumber<std::complex<T>> {
    using type = Complex<T>;
};
template <class T>
using Of = typename OfNumber<T>::type;

constexpr Status success = 0;

namespace cublas {
constexpr Status not_initialized = 1, alloc_failed = 3, invalid_value = 7, execution_failed = 13, internal_error = 14;
constexpr int as_it_is = 0, transposed = 1;
constexpr int default_math = 0;  // plain float32 for float32: no TF32
}  // namespace cublas

namespace cufft {
constexpr Status invalid_plan = 1, alloc_failed = 2, internal_error = 5, exec_failed = 6, setup_failed = 7;
constexpr int r2c = 0x2a, c2r = 0x2c, c2c = 0x29, d2z = 0x6a, z2d = 0x6c, z2z = 0x69;
constexpr int forward = -1, inverse = 1;
}  // namespace cufft

namespace cusolver {
constexpr Status not_initialized = 1, alloc_failed = 2, invalid_value = 3, execution_failed = 6, internal_error = 7;
constexpr int values_only = 0, with_vectors = 1;  // eigenvalues
constexpr int lower = 0, upper = 1;               // triangle
}  // namespace cusolver

}  // namespace glint::arrays::lib
