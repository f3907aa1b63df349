// The tables of error codes of cuBLAS, cuFFT and cuSOLVER.
// SPDX-License-Identifier: MIT
#include "arrays/library_advice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace glint::arrays {
namespace {

constexpr const char* report_it = "report it, with this message: it is an error in the program";
constexpr const char* for_memory = "request less, reduce the use by others, or use another GPU";
constexpr const char* one_version = "install all CUDA libraries of one version";
constexpr const char* on_cpu = "use the CPU (GLINT_BACKEND=cpu)";
constexpr const char* earlier =
    "an earlier kernel may have failed: compute-sanitizer finds the place; else `dmesg | grep -i xid`";

constexpr LibraryAdvice of_cublas[] = {
    {1, "CUBLAS_STATUS_NOT_INITIALIZED", "cuBLAS did not start: the driver is too old for it, or memory is short",
     "install a driver that is as new as the library, or free memory of the GPU"},
    {3, "CUBLAS_STATUS_ALLOC_FAILED", "the GPU has no memory left for cuBLAS", for_memory},
    {7, "CUBLAS_STATUS_INVALID_VALUE", "cuBLAS was given an invalid value", report_it},
    {8, "CUBLAS_STATUS_ARCH_MISMATCH", "this GPU does not support the request", on_cpu},
    {11, "CUBLAS_STATUS_MAPPING_ERROR", "the GPU's memory could not be reached", earlier},
    {13, "CUBLAS_STATUS_EXECUTION_FAILED", "a kernel of cuBLAS failed", earlier},
    {14, "CUBLAS_STATUS_INTERNAL_ERROR", "something failed inside cuBLAS", one_version},
    {15, "CUBLAS_STATUS_NOT_SUPPORTED", "cuBLAS does not support this", on_cpu},
    {16, "CUBLAS_STATUS_LICENSE_ERROR", "cuBLAS finds no license", one_version},
};

constexpr LibraryAdvice of_cufft[] = {
    {1, "CUFFT_INVALID_PLAN", "cuFFT does not know the plan", report_it},
    {2, "CUFFT_ALLOC_FAILED", "the GPU has no memory left for cuFFT", for_memory},
    {3, "CUFFT_INVALID_TYPE", "cuFFT was given a type that it does not know", report_it},
    {4, "CUFFT_INVALID_VALUE", "cuFFT was given an invalid value", report_it},
    {5, "CUFFT_INTERNAL_ERROR", "something failed inside cuFFT", one_version},
    {6, "CUFFT_EXEC_FAILED", "a kernel of cuFFT failed", earlier},
    {7, "CUFFT_SETUP_FAILED", "cuFFT did not start: the driver is too old for it, or memory is short",
     "install a driver that is as new as the library, or free memory of the GPU"},
    {8, "CUFFT_INVALID_SIZE", "cuFFT does not support transforms of this length", on_cpu},
    {9, "CUFFT_UNALIGNED_DATA", "an address is not aligned", report_it},
    {10, "CUFFT_INCOMPLETE_PARAMETER_LIST", "cuFFT was given too few parameters", report_it},
    {11, "CUFFT_INVALID_DEVICE", "the plan belongs to another GPU", report_it},
    {12, "CUFFT_PARSE_ERROR", "something failed inside cuFFT", one_version},
    {13, "CUFFT_NO_WORKSPACE", "the plan was given no work area", report_it},
    {14, "CUFFT_NOT_IMPLEMENTED", "cuFFT does not support this", on_cpu},
    {15, "CUFFT_LICENSE_ERROR", "cuFFT finds no license", one_version},
    {16, "CUFFT_NOT_SUPPORTED", "cuFFT does not support this", on_cpu},
    {17, "CUFFT_MISSING_DEPENDENCY", "a library that cuFFT needs is missing", one_version},
    {18, "CUFFT_NVRTC_FAILURE", "cuFFT could not compile a kernel", one_version},
    {19, "CUFFT_NVJITLINK_FAILURE", "cuFFT could not link a kernel", one_version},
    {20, "CUFFT_NVSHMEM_FAILURE", "cuFFT could not connect GPUs", one_version},
};

constexpr LibraryAdvice of_cusolver[] = {
    {1, "CUSOLVER_STATUS_NOT_INITIALIZED", "cuSOLVER did not start: the driver is too old for it, or memory is short",
     "install a driver that is as new as the library, or free memory of the GPU"},
    {2, "CUSOLVER_STATUS_ALLOC_FAILED", "the GPU has no memory left for cuSOLVER", for_memory},
    {3, "CUSOLVER_STATUS_INVALID_VALUE", "cuSOLVER was given an invalid value", report_it},
    {4, "CUSOLVER_STATUS_ARCH_MISMATCH", "this GPU does not support the request", on_cpu},
    {5, "CUSOLVER_STATUS_MAPPING_ERROR", "the GPU's memory could not be reached", earlier},
    {6, "CUSOLVER_STATUS_EXECUTION_FAILED", "a kernel of cuSOLVER failed", earlier},
    {7, "CUSOLVER_STATUS_INTERNAL_ERROR", "something failed inside cuSOLVER", one_version},
    {8, "CUSOLVER_STATUS_MATRIX_TYPE_NOT_SUPPORTED", "cuSOLVER does not support this", on_cpu},
    {9, "CUSOLVER_STATUS_NOT_SUPPORTED", "cuSOLVER does not support this", on_cpu},
    {10, "CUSOLVER_STATUS_ZERO_PIVOT", "a pivot is 0", report_it},
    {11, "CUSOLVER_STATUS_INVALID_LICENSE", "cuSOLVER finds no license", one_version},
    {12, "CUSOLVER_STATUS_IRS_PARAMS_NOT_INITIALIZED", "an iterative solver was not set up", report_it},
    {13, "CUSOLVER_STATUS_IRS_PARAMS_INVALID", "an iterative solver was set up wrongly", report_it},
    {14, "CUSOLVER_STATUS_IRS_PARAMS_INVALID_PREC", "an iterative solver was set up wrongly", report_it},
    {15, "CUSOLVER_STATUS_IRS_PARAMS_INVALID_REFINE", "an iterative solver was set up wrongly", report_it},
    {16, "CUSOLVER_STATUS_IRS_PARAMS_INVALID_MAXITER", "an iterative solver was set up wrongly", report_it},
    {20, "CUSOLVER_STATUS_IRS_INTERNAL_ERROR", "something failed inside cuSOLVER", one_version},
    {21, "CUSOLVER_STATUS_IRS_NOT_SUPPORTED", "cuSOLVER does not support this", on_cpu},
    {22, "CUSOLVER_STATUS_IRS_OUT_OF_RANGE", "an iterative solver left the range of its numbers", on_cpu},
    {23, "CUSOLVER_STATUS_IRS_NRHS_NOT_SUPPORTED_FOR_REFINE_GMRES", "cuSOLVER does not support this", on_cpu},
    {25, "CUSOLVER_STATUS_IRS_INFOS_NOT_INITIALIZED", "an iterative solver was not set up", report_it},
    {26, "CUSOLVER_STATUS_IRS_INFOS_NOT_DESTROYED", "an iterative solver was not ended", report_it},
    {30, "CUSOLVER_STATUS_IRS_MATRIX_SINGULAR", "the matrix is singular", on_cpu},
    {31, "CUSOLVER_STATUS_INVALID_WORKSPACE", "cuSOLVER was given too little work space", report_it},
};

template <std::size_t N>
const LibraryAdvice* find(const LibraryAdvice (&table)[N], lib::Status status) {
    const auto* found = std::find_if(std::begin(table), std::end(table),
                                     [=](const LibraryAdvice& one) { return one.status == status; });
    return found == std::end(table) ? nullptr : found;
}

}  // namespace

const char* to_name(Library library) {
    switch (library) {
        case Library::cublas: return "cuBLAS";
        case Library::cufft: return "cuFFT";
        case Library::cusolver: return "cuSOLVER";
    }
    return "";
}

const LibraryAdvice* advice_on(Library library, lib::Status status) {
    switch (library) {
        case Library::cublas: return find(of_cublas, status);
        case Library::cufft: return find(of_cufft, status);
        case Library::cusolver: return find(of_cusolver, status);
    }
    return nullptr;
}

std::string describe(Library library, const char* call, lib::Status status) {
    if (const LibraryAdvice* known = advice_on(library, status))
        return fmt::format("{}: {} ({}): {}; {}", call, known->name, status, known->meaning, known->remedy);
    return fmt::format("{}: status {} of {}, which is not known", call, status, to_name(library));
}

bool lacks_memory(Library library, lib::Status status) {
    return status == (library == Library::cublas ? lib::cublas::alloc_failed : lib::cufft::alloc_failed);
}

bool may_lack_memory(Library library, lib::Status status) {
    switch (library) {
        case Library::cublas: return status == lib::cublas::not_initialized || status == lib::cublas::internal_error;
        case Library::cufft: return status == lib::cufft::internal_error || status == lib::cufft::setup_failed;
        case Library::cusolver:
            return status == lib::cusolver::not_initialized || status == lib::cusolver::internal_error;
    }
    return false;
}

}  // namespace glint::arrays
