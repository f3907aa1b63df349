// libcusolver.so.12 of the simulated server: the functions of src/runtime/arrays/cusolver_list.inc.
// SPDX-License-Identifier: MIT
#include "arrays/library_abi.hpp"
#include "device_part.hpp"
#include "shapes.hpp"

namespace lib = glint::arrays::lib;
using namespace simgpu;

namespace {

DevicePart& of(lib::Solver handle) { return *reinterpret_cast<DevicePart*>(handle); }

lib::Status status_of(cu::Result result) {
    return result == cu::success         ? lib::success
           : result == cu::out_of_memory ? lib::cusolver::alloc_failed
                                         : lib::cusolver::execution_failed;
}

/// Like the real function, refuses a matrix that is wider than high.
lib::Status size(int m, int n, int* count) {
    if (n < 1 || m < n) return lib::cusolver::invalid_value;
    *count = 4 * (m + n) + 64;
    return lib::success;
}

template <class T>
lib::Status gesvd(lib::Solver handle, const char* function, const char* kernel, signed char job_u, signed char job_vt,
                  int m, int n, T* a, int lda, T* s, T* u, int ldu, T* vt, int ldvt, T* work, int count, int* info) {
    if (const int fault = planned(function)) return fault;
    const bool vectors = (job_u == 'S' || job_u == 'A') && job_vt == 'S', none = job_u == 'N' && job_vt == 'N';
    int least = 0;
    if (size(m, n, &least) || count < least || (!vectors && !none) || lda < m || ldu < m || ldvt < n)
        return lib::cusolver::invalid_value;
    SvdShape shape{m, n, lda, ldu, ldvt, vectors, job_u == 'A' ? m : n, count};
    void* parameters[] = {&a, &s, &u, &vt, &work, &info, &shape};
    return status_of(of(handle).launch(kernel, 1, parameters));
}

constexpr int work_for(int n) { return 8 * n + 32; }

template <class T>
constexpr const char* kernel_of(const char* of_float, const char* of_double) {
    return sizeof(T) == sizeof(float) ? of_float : of_double;
}

template <class T>
lib::Status getrf(lib::Solver handle, const char* function, int m, int n, T* a, int lda, T* work, int* pivots,
                  int* info) {
    if (const int fault = planned(function)) return fault;
    if (m != n || lda < m) return lib::cusolver::invalid_value;
    DenseShape shape{.m = m, .n = n, .lda = lda, .work_count = work_for(n)};
    void* parameters[] = {&a, &work, &pivots, &info, &shape};
    return status_of(of(handle).launch(kernel_of<T>("simlib_lu_float", "simlib_lu_double"), 1, parameters));
}

template <class T>
lib::Status getrs(lib::Solver handle, const char* function, int op, int n, int columns, const T* a, int lda,
                  const int* pivots, T* b, int ldb, int* info) {
    if (const int fault = planned(function)) return fault;
    if (lda < n || ldb < n) return lib::cusolver::invalid_value;
    DenseShape shape{.n = n, .lda = lda, .columns = columns, .ldb = ldb, .transposed = op};
    void* parameters[] = {&a, &pivots, &b, &info, &shape};
    return status_of(of(handle).launch(kernel_of<T>("simlib_solve_float", "simlib_solve_double"), 1, parameters));
}

template <class T>
lib::Status syevd(lib::Solver handle, const char* function, int job, int triangle, int n, T* a, int lda, T* w, T* work,
                  int count, int* info) {
    if (const int fault = planned(function)) return fault;
    if (lda < n || count < work_for(n)) return lib::cusolver::invalid_value;
    DenseShape shape{.n = n, .lda = lda, .vectors = job, .upper = triangle, .work_count = count};
    void* parameters[] = {&a, &w, &work, &info, &shape};
    return status_of(of(handle).launch(kernel_of<T>("simlib_eigen_float", "simlib_eigen_double"), 1, parameters));
}

template <class T>
lib::Status geqrf(lib::Solver handle, const char* function, int m, int n, T* a, int lda, T* tau, T* work, int count,
                  int* info) {
    if (const int fault = planned(function)) return fault;
    if (lda < m || count < work_for(n)) return lib::cusolver::invalid_value;
    DenseShape shape{.m = m, .n = n, .lda = lda, .work_count = count};
    void* parameters[] = {&a, &tau, &work, &info, &shape};
    return status_of(of(handle).launch(kernel_of<T>("simlib_qr_float", "simlib_qr_double"), 1, parameters));
}

template <class T>
lib::Status orgqr(lib::Solver handle, const char* function, int m, int n, int k, T* a, int lda, const T* tau, T* work,
                  int count, int* info) {
    if (const int fault = planned(function)) return fault;
    if (lda < m || n > m || k > n || count < work_for(n)) return lib::cusolver::invalid_value;
    DenseShape shape{.m = m, .n = n, .lda = lda, .columns = k, .work_count = count};
    void* parameters[] = {&a, &tau, &work, &info, &shape};
    return status_of(of(handle).launch(kernel_of<T>("simlib_q_float", "simlib_q_double"), 1, parameters));
}

}  // namespace

EXPORTED lib::Status cusolverDnCreate(lib::Solver* handle) {
    if (const int fault = planned("cusolverDnCreate")) return fault;
    auto* part = new DevicePart;
    if (const cu::Result failed = part->open(4 << 20)) return delete part, status_of(failed);
    hold_primary_context();
    *handle = reinterpret_cast<lib::Solver>(part);
    return lib::success;
}

EXPORTED lib::Status cusolverDnDestroy(lib::Solver handle) {
    of(handle).close();
    delete &of(handle);
    return lib::success;
}

EXPORTED lib::Status cusolverDnSetStream(lib::Solver handle, cu::Stream stream) {
    of(handle).set_stream(stream);
    return lib::success;
}

EXPORTED lib::Status cusolverDnSgesvd_bufferSize(lib::Solver, int m, int n, int* count) { return size(m, n, count); }
EXPORTED lib::Status cusolverDnDgesvd_bufferSize(lib::Solver, int m, int n, int* count) { return size(m, n, count); }

EXPORTED lib::Status cusolverDnSgesvd(lib::Solver handle, signed char job_u, signed char job_vt, int m, int n, float* a,
                                      int lda, float* s, float* u, int ldu, float* vt, int ldvt, float* work, int count,
                                      float*, int* info) {
    return gesvd(handle, "cusolverDnSgesvd", "simlib_svd_float", job_u, job_vt, m, n, a, lda, s, u, ldu, vt, ldvt, work,
                 count, info);
}
EXPORTED lib::Status cusolverDnDgesvd(lib::Solver handle, signed char job_u, signed char job_vt, int m, int n,
                                      double* a, int lda, double* s, double* u, int ldu, double* vt, int ldvt,
                                      double* work, int count, double*, int* info) {
    return gesvd(handle, "cusolverDnDgesvd", "simlib_svd_double", job_u, job_vt, m, n, a, lda, s, u, ldu, vt, ldvt,
                 work, count, info);
}

#define DENSE(T, letter)                                                                                             \
    EXPORTED lib::Status cusolverDn##letter##getrf_bufferSize(lib::Solver, int, int n, T*, int, int* count) {        \
        *count = work_for(n);                                                                                        \
        return lib::success;                                                                                         \
    }                                                                                                                \
    EXPORTED lib::Status cusolverDn##letter##getrf(lib::Solver handle, int m, int n, T* a, int lda, T* work,         \
                                                   int* pivots, int* info) {                                         \
        return getrf(handle, "cusolverDn" #letter "getrf", m, n, a, lda, work, pivots, info);                        \
    }                                                                                                                \
    EXPORTED lib::Status cusolverDn##letter##getrs(lib::Solver handle, int op, int n, int columns, const T* a,       \
                                                   int lda, const int* pivots, T* b, int ldb, int* info) {           \
        return getrs(handle, "cusolverDn" #letter "getrs", op, n, columns, a, lda, pivots, b, ldb, info);            \
    }                                                                                                                \
    EXPORTED lib::Status cusolverDn##letter##syevd_bufferSize(lib::Solver, int, int, int n, const T*, int, const T*, \
                                                              int* count) {                                          \
        *count = work_for(n);                                                                                        \
        return lib::success;                                                                                         \
    }                                                                                                                \
    EXPORTED lib::Status cusolverDn##letter##syevd(lib::Solver handle, int job, int triangle, int n, T* a, int lda,  \
                                                   T* w, T* work, int count, int* info) {                            \
        return syevd(handle, "cusolverDn" #letter "syevd", job, triangle, n, a, lda, w, work, count, info);          \
    }                                                                                                                \
    EXPORTED lib::Status cusolverDn##letter##geqrf_bufferSize(lib::Solver, int, int n, T*, int, int* count) {        \
        *count = work_for(n);                                                                                        \
        return lib::success;                                                                                         \
    }                                                                                                                \
    EXPORTED lib::Status cusolverDn##letter##geqrf(lib::Solver handle, int m, int n, T* a, int lda, T* tau, T* work, \
                                                   int count, int* info) {                                           \
        return geqrf(handle, "cusolverDn" #letter "geqrf", m, n, a, lda, tau, work, count, info);                    \
    }                                                                                                                \
    EXPORTED lib::Status cusolverDn##letter##orgqr_bufferSize(lib::Solver, int, int n, int, const T*, int, const T*, \
                                                              int* count) {                                          \
        *count = work_for(n);                                                                                        \
        return lib::success;                                                                                         \
    }                                                                                                                \
    EXPORTED lib::Status cusolverDn##letter##orgqr(lib::Solver handle, int m, int n, int k, T* a, int lda,           \
                                                   const T* tau, T* work, int count, int* info) {                    \
        return orgqr(handle, "cusolverDn" #letter "orgqr", m, n, k, a, lda, tau, work, count, info);                 \
    }
DENSE(float, S)
DENSE(double, D)
