// Loads OpenBLAS.
// SPDX-License-Identifier: MIT
#include "arrays/cpu_blas.hpp"

#include <dlfcn.h>
#include <oneapi/tbb/info.h>

#include <cstdlib>
#include <string>

#include "base/arena.hpp"
#include "glint/error.hpp"

namespace glint::arrays::cpu {
namespace {

/// The names of the multi-threaded library on Debian, Fedora and openSUSE.
constexpr const char* names[] = {"libopenblas.so.0", "libopenblasp.so.0", "libopenblas_pthreads.so.0"};

[[noreturn]] void refuse(const char* why) {
    throw OptionError(std::string("matrix products and decompositions on the CPU need OpenBLAS: ") +
                      (why ? why : "it lacks a function") + "; install it: apt-get install libopenblas0-pthread");
}

/// OpenBLAS starts a thread per core when it is loaded, and terminates the process if it cannot start one.
void require_threads() {
    if (std::getenv("OPENBLAS_NUM_THREADS") || std::getenv("OMP_NUM_THREADS")) return;
    const int cores = tbb::info::default_concurrency();
    if (tbb_threads(cores) < cores)
        throw Error("OpenBLAS cannot be loaded: " + why_no_threads() +
                    "; or limit its threads: OPENBLAS_NUM_THREADS=1");
}

template <class Function>
void find(void* library, const char* name, Function*& function) {
    function = reinterpret_cast<Function*>(dlsym(library, name));
    if (!function) refuse(dlerror());
}

}  // namespace

const OpenBlas& openblas() {
    static const OpenBlas table = [] {
        void* library = nullptr;
        for (const char* name : names)
            if (!library) library = dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
        if (!library) require_threads();
        for (const char* name : names)
            if (!library) library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
        if (!library) refuse(dlerror());
        OpenBlas t{};
        find(library, "cblas_sgemm", t.cblas_sgemm), find(library, "cblas_dgemm", t.cblas_dgemm);
        find(library, "cblas_sgemv", t.cblas_sgemv), find(library, "cblas_dgemv", t.cblas_dgemv);
        find(library, "openblas_get_num_threads", t.get_num_threads);
        find(library, "openblas_set_num_threads", t.set_num_threads);
        find(library, "sgesdd_", t.sgesdd_), find(library, "dgesdd_", t.dgesdd_);
        find(library, "sgesv_", t.of_float.gesv), find(library, "dgesv_", t.of_double.gesv);
        find(library, "ssyevd_", t.of_float.syevd), find(library, "dsyevd_", t.of_double.syevd);
        find(library, "sgeqrf_", t.of_float.geqrf), find(library, "dgeqrf_", t.of_double.geqrf);
        find(library, "sorgqr_", t.of_float.orgqr), find(library, "dorgqr_", t.of_double.orgqr);
        return t;
    }();
    return table;
}

}  // namespace glint::arrays::cpu
