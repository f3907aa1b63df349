// Explains exceptions and error codes of GPUs: what happened, and what to do about it.
// SPDX-License-Identifier: MIT
#pragma once

#include <exception>
#include <string>

namespace glint::gpu {

/// An error explained to a user, in complete sentences or clauses without a period.
struct FriendlyError {
    std::string message;     ///< what happened
    std::string suggestion;  ///< what to do; never empty
};

/// Explains any exception. GPU errors by the driver's code and the amounts that they carry (bytes requested, free,
/// required); other exceptions by what() and their type. Calls neither the driver nor NVML. Thread-safe.
///
///     try { session.run(...); } catch (const std::exception& error) {
///         const auto [message, suggestion] = glint::gpu::explain_error(error);
FriendlyError explain_error(const std::exception& error);

/// Explains a result code of the CUDA driver (700) or of NVML (15), which another library may have returned.
FriendlyError explain_cuda_code(int code);
FriendlyError explain_nvml_code(int code);

}  // namespace glint::gpu
