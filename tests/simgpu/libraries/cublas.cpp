// libcublas.so.13 of the simulated server: the functions of src/runtime/arrays/cublas_list.inc.
// SPDX-License-Identifier: MIT
#include "arrays/library_abi.hpp"
#include "device_part.hpp"
#include "shapes.hpp"

namespace lib = glint::arrays::lib;
using namespace simgpu;

namespace {

struct Handle {
    DevicePart part;
    cu::DevicePtr workspace = 0;
    std::size_t workspace_bytes = 0;
};
Handle& of(lib::Blas handle) { return *reinterpret_cast<Handle*>(handle); }

constexpr std::size_t own_bytes = 4 << 20;

lib::Status status_of(cu::Result result) {
    return result == cu::success         ? lib::success
           : result == cu::out_of_memory ? lib::cublas::alloc_failed
                                         : lib::cublas::execution_failed;
}

template <class T>
lib::Status gemm(lib::Blas handle, const char* kernel, GemmShape g, const T* alpha, const T* a, const T* b,
                 const T* beta, T* c, std::int64_t count) {
    const bool small = g.lda < (g.op_a ? g.k : g.m) || g.ldb < (g.op_b ? g.n : g.k) || g.ldc < g.m;
    if (g.m < 1 || g.n < 1 || g.k < 1 || count < 1 || small || *alpha != 1) return lib::cublas::invalid_value;
    g.beta = double(*beta);
    cu::DevicePtr workspace = of(handle).workspace ? of(handle).workspace : of(handle).part.memory();
    g.workspace_bytes = of(handle).workspace ? of(handle).workspace_bytes : own_bytes;
    void* parameters[] = {&c, &a, &b, &workspace, &g};
    return status_of(of(handle).part.launch(kernel, count, parameters));
}

}  // namespace

EXPORTED lib::Status cublasCreate_v2(lib::Blas* handle) {
    if (const int fault = planned("cublasCreate_v2")) return fault;
    auto* made = new Handle;
    if (const cu::Result failed = made->part.open(own_bytes)) return delete made, status_of(failed);
    hold_primary_context();
    *handle = reinterpret_cast<lib::Blas>(made);
    return lib::success;
}

EXPORTED lib::Status cublasDestroy_v2(lib::Blas handle) {
    of(handle).part.close();
    delete &of(handle);
    return lib::success;
}

/// Like the real function, uses the library's own workspace again.
EXPORTED lib::Status cublasSetStream_v2(lib::Blas handle, cu::Stream stream) {
    of(handle).part.set_stream(stream);
    of(handle).workspace = 0;
    return lib::success;
}

EXPORTED lib::Status cublasSetWorkspace_v2(lib::Blas handle, void* memory, size_t bytes) {
    if (const int fault = planned("cublasSetWorkspace_v2")) return fault;
    of(handle).workspace = reinterpret_cast<cu::DevicePtr>(memory);
    of(handle).workspace_bytes = bytes;
    return lib::success;
}

EXPORTED lib::Status cublasSetMathMode(lib::Blas, int mode) { return mode ? lib::cublas::invalid_value : lib::success; }

#define GEMM(letter, T, kernel)                                                                                       \
    EXPORTED lib::Status cublas##letter##gemm_v2_64(lib::Blas handle, int op_a, int op_b, int64_t m, int64_t n,       \
                                                    int64_t k, const T* alpha, const T* a, int64_t lda, const T* b,   \
                                                    int64_t ldb, const T* beta, T* c, int64_t ldc) {                  \
        if (const int fault = planned("cublas" #letter "gemm_v2_64")) return fault;                                   \
        return gemm(handle, kernel, {op_a, op_b, m, n, k, lda, ldb, ldc, 0, 0, 0, 0, 0}, alpha, a, b, beta, c, 1);    \
    }                                                                                                                 \
    EXPORTED lib::Status cublas##letter##gemmStridedBatched_64(                                                       \
        lib::Blas handle, int op_a, int op_b, int64_t m, int64_t n, int64_t k, const T* alpha, const T* a,            \
        int64_t lda, long long apart_a, const T* b, int64_t ldb, long long apart_b, const T* beta, T* c, int64_t ldc, \
        long long apart_c, int64_t count) {                                                                           \
        if (const int fault = planned("cublas" #letter "gemmStridedBatched_64")) return fault;                        \
        return gemm(handle, kernel, {op_a, op_b, m, n, k, lda, ldb, ldc, apart_a, apart_b, apart_c, 0, 0}, alpha, a,  \
                    b, beta, c, count);                                                                               \
    }
GEMM(S, float, "simlib_gemm_float")
GEMM(D, double, "simlib_gemm_double")
