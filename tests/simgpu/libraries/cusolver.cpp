// libcusolver.so.12 of the simulated server: the functions of src/arrays/cusolver_list.inc.
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

/// As the real one: no matrix that is wider than high.
lib::Status size(int m, int n, int* count) {
    if (n < 1 || m < n) return lib::cusolver::invalid_value;
    *count = 4 * (m + n) + 64;
    return lib::success;
}

template <class T>
lib::Status gesvd(lib::Solver handle, const char* function, const char* kernel, signed char job_u, signed char job_vt,
                  int m, int n, T* a, int lda, T* s, T* u, int ldu, T* vt, int ldvt, T* work, int count, int* info) {
    if (const int fault = planned(function)) return fault;
    const bool vectors = job_u == 'S' && job_vt == 'S', none = job_u == 'N' && job_vt == 'N';
    int least = 0;
    if (size(m, n, &least) || count < least || (!vectors && !none) || lda < m || ldu < m || ldvt < n)
        return lib::cusolver::invalid_value;
    SvdShape shape{m, n, lda, ldu, ldvt, vectors, count};
    void* parameters[] = {&a, &s, &u, &vt, &work, &info, &shape};
    return status_of(of(handle).launch(kernel, 1, parameters));
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
