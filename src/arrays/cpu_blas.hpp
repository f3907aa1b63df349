// OpenBLAS's number of threads, which is one for the whole process.
// SPDX-License-Identifier: MIT
#pragma once

#include <cblas.h>

#include <limits>
#include <mutex>
#include <shared_mutex>

namespace glint::arrays::cpu {

/// While it lives OpenBLAS uses that many threads (0: as many as it began with). Those of other threads that want the
/// same number live at the same time, others wait.
class BlasThreads {
  public:
    explicit BlasThreads(int threads) {
        static const int at_first = openblas_get_num_threads();
        int wanted = threads > 0 ? threads : at_first;
        for (;;) {
            lock_ = std::shared_lock(mutex());
            if (openblas_get_num_threads() == wanted) return;
            lock_.unlock();
            const std::unique_lock alone(mutex());
            openblas_set_num_threads(wanted);
            wanted = openblas_get_num_threads();  // it has a limit
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
