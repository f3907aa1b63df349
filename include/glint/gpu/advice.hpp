// Explains exceptions and error codes of GPUs: what happened, and what to do.
// SPDX-License-Identifier: MIT
#pragma once

#include <exception>
#include <string>

namespace glint::gpu {

/// An error explained to a user. Each text is sentences or clauses, without a final period.
struct FriendlyError {
    std::string message;     ///< what happened
    std::string suggestion;  ///< what to do; never empty
};

/// Returns an explanation of any exception. Explains GPU errors by the driver's code and the amounts that they contain
/// (bytes requested, free, required), other exceptions by what() and their type. Calls neither the driver nor NVML.
/// Thread-safe.
///
///     try {
///         const glint::gpu::Context context(0);
///     } catch (const std::exception& error) {
///         const auto [message, suggestion] = glint::gpu::explain_error(error);
///         std::printf("%s\n%s\n", message.c_str(), suggestion.c_str());
///     }
FriendlyError explain_error(const std::exception& error);

/// Returns an explanation of a result code of the CUDA driver (e.g. 700) or of NVML (e.g. 15), from any library.
FriendlyError explain_cuda_code(int code);
FriendlyError explain_nvml_code(int code);

}  // namespace glint::gpu
