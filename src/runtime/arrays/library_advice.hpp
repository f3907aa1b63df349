// The meaning of status codes of cuBLAS, cuFFT and cuSOLVER, and what to do about them.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "arrays/library_abi.hpp"

namespace glint::arrays {

enum class Library { cublas, cufft, cusolver };

const char* to_name(Library library);

struct LibraryAdvice {
    lib::Status status;
    const char* name;  ///< CUBLAS_STATUS_ALLOC_FAILED
    const char* meaning;
    const char* remedy;
};

/// Returns null for success and for unknown codes.
const LibraryAdvice* advice_on(Library library, lib::Status status);
/// Returns "cublasSgemm_v2: CUBLAS_STATUS_ALLOC_FAILED (3): the GPU has no memory left for cuBLAS; request less, ..."
std::string describe(Library library, const char* call, lib::Status status);
/// Returns true if the status means out of memory.
bool lacks_memory(Library library, lib::Status status);
/// Returns true if the status may mean out of memory, as unspecific codes may.
bool may_lack_memory(Library library, lib::Status status);

}  // namespace glint::arrays
