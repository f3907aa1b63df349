// Loads OpenBLAS on first use, since it starts a thread per CPU core when it is loaded. Sets its number of threads,
// which is a setting of the whole process.
// SPDX-License-Identifier: MIT
#pragma once

#include <cblas.h>

#include <limits>
#include <mutex>
#include <shared_mutex>

namespace glint::arrays::cpu {

template <class T>
using Gesdd = void(const char* job, const blasint* m, const blasint* n, T* a, const blasint* lda, T* s, T* u,
                   const blasint* ldu, T* vt, const blasint* ldvt, T* work, const blasint* work_size, blasint* int_work,
                   blasint* info, std::size_t job_length);

template <class T>
using Gesv = void(const blasint* n, const blasint* columns, T* a, const blasint* lda, blasint* pivots, T* b,
                  const blasint* ldb, blasint* info);
template <class T>
using Syevd = void(const char* job, const char* triangle, const blasint* n, T* a, const blasint* lda, T* w, T* work,
                   const blasint* work_size, blasint* int_work, const blasint* int_work_size, blasint* info,
                   std::size_t job_length, std::size_t triangle_length);
template <class T>
using Geqrf = void(const blasint* m, const blasint* n, T* a, const blasint* lda, T* tau, T* work,
                   const blasint* work_size, blasint* info);
template <class T>
using Orgqr = void(const blasint* m, const blasint* n, const blasint* k, T* a, const blasint* lda, const T* tau,
                   T* work, const blasint* work_size, blasint* info);

/// Functions of LAPACK for a type.
template <class T>
struct Lapack {
    Gesv<T>* gesv;
    Syevd<T>* syevd;
    Geqrf<T>* geqrf;
    Orgqr<T>* orgqr;
};

struct OpenBlas {
    decltype(&::cblas_sgemm) cblas_sgemm;
    decltype(&::cblas_dgemm) cblas_dgemm;
    decltype(&::cblas_sgemv) cblas_sgemv;
    decltype(&::cblas_dgemv) cblas_dgemv;
    decltype(&::openblas_get_num_threads) get_num_threads;
    decltype(&::openblas_set_num_threads) set_num_threads;
    Gesdd<float>* sgesdd_;
    Gesdd<double>* dgesdd_;
    Lapack<float> of_float;
    Lapack<double> of_double;
    template <class T>
    const Lapack<T>& lapack() const {
        if constexpr (sizeof(T) == sizeof(float))
            return of_float;
        else
            return of_double;
    }
};
/// Throws OptionError, with the remedy, if it is not installed.
const OpenBlas& openblas();

/// Sets OpenBLAS's number of threads (0: its initial number) for the scope. Scopes in other threads with the same
/// number may coexist; scopes with another number wait.
class BlasThreads {
  public:
    explicit BlasThreads(int threads) {
        static const int at_first = openblas().get_num_threads();
        int wanted = threads > 0 ? threads : at_first;
        for (;;) {
            lock_ = std::shared_lock(mutex());
            if (openblas().get_num_threads() == wanted) return;
            lock_.unlock();
            const std::unique_lock alone(mutex());
            openblas().set_num_threads(wanted);
            wanted = openblas().get_num_threads();  // it has a limit
        }
    }

  private:
    static std::shared_mutex& mutex() {
        static std::shared_mutex one;
        return one;
    }
    std::shared_lock<std::shared_mutex> lock_;
};

constexpr std::int64_t blas_limit = std::numeric_limits<blasint>::max();

}  // namespace glint::arrays::cpu
