// Compares our declarations of cuBLAS, cuFFT and cuSOLVER with their headers; compiled if CMake finds a toolkit's.
// SPDX-License-Identifier: MIT
#include "arrays/library_abi.hpp"

#include <gtest/gtest.h>

#include "tests/same_abi.hpp"

#ifdef GLINT_HAS_CUDA_HEADERS
#include <cublas_v2.h>
#include <cufft.h>
#include <cusolverDn.h>
#if __has_include(<nvrtc.h>)
#include <nvrtc.h>
#endif

namespace glint::arrays {
namespace {

using test::same_function;

#define X(name, parameters) static_assert(same_function<lib::Status(*) parameters, decltype(&::name)>, #name);
#include "arrays/cublas_list.inc"
#include "arrays/cufft_list.inc"
#include "arrays/cusolver_list.inc"
#if __has_include(<nvrtc.h>)
#include "arrays/nvrtc_list.inc"
#endif
#undef X

#define SAME(ours, theirs) static_assert(long(ours) == long(theirs), #ours)
SAME(lib::cublas::not_initialized, CUBLAS_STATUS_NOT_INITIALIZED);
SAME(lib::cublas::alloc_failed, CUBLAS_STATUS_ALLOC_FAILED);
SAME(lib::cublas::invalid_value, CUBLAS_STATUS_INVALID_VALUE);
SAME(lib::cublas::execution_failed, CUBLAS_STATUS_EXECUTION_FAILED);
SAME(lib::cublas::internal_error, CUBLAS_STATUS_INTERNAL_ERROR);
SAME(lib::cublas::as_it_is, CUBLAS_OP_N);
SAME(lib::cublas::transposed, CUBLAS_OP_T);
SAME(lib::cublas::default_math, CUBLAS_DEFAULT_MATH);
SAME(lib::cufft::invalid_plan, CUFFT_INVALID_PLAN);
SAME(lib::cufft::alloc_failed, CUFFT_ALLOC_FAILED);
SAME(lib::cufft::internal_error, CUFFT_INTERNAL_ERROR);
SAME(lib::cufft::exec_failed, CUFFT_EXEC_FAILED);
SAME(lib::cufft::setup_failed, CUFFT_SETUP_FAILED);
SAME(lib::cufft::r2c, CUFFT_R2C);
SAME(lib::cufft::c2r, CUFFT_C2R);
SAME(lib::cufft::c2c, CUFFT_C2C);
SAME(lib::cufft::d2z, CUFFT_D2Z);
SAME(lib::cufft::z2d, CUFFT_Z2D);
SAME(lib::cufft::z2z, CUFFT_Z2Z);
SAME(lib::cufft::forward, CUFFT_FORWARD);
SAME(lib::cufft::inverse, CUFFT_INVERSE);
SAME(lib::cusolver::not_initialized, CUSOLVER_STATUS_NOT_INITIALIZED);
SAME(lib::cusolver::alloc_failed, CUSOLVER_STATUS_ALLOC_FAILED);
SAME(lib::cusolver::invalid_value, CUSOLVER_STATUS_INVALID_VALUE);
SAME(lib::cusolver::execution_failed, CUSOLVER_STATUS_EXECUTION_FAILED);
SAME(lib::cusolver::internal_error, CUSOLVER_STATUS_INTERNAL_ERROR);
SAME(lib::cusolver::values_only, CUSOLVER_EIG_MODE_NOVECTOR);
SAME(lib::cusolver::with_vectors, CUSOLVER_EIG_MODE_VECTOR);
SAME(lib::cusolver::lower, CUBLAS_FILL_MODE_LOWER);
SAME(lib::cusolver::upper, CUBLAS_FILL_MODE_UPPER);

}  // namespace
}  // namespace glint::arrays

TEST(LibraryAbi, agrees_with_the_headers_of_the_toolkit) { SUCCEED() << "by static_assert"; }
#else
TEST(LibraryAbi, agrees_with_the_headers_of_the_toolkit) { GTEST_SKIP() << "built where no CUDA headers were found"; }
#endif
