// An error in words for a person: what happened, and what to do about it.
// SPDX-License-Identifier: MIT
#pragma once

#include <exception>
#include <string>

namespace glint::gpu {

struct FriendlyError {
    std::string message;     ///< what happened
    std::string suggestion;  ///< what to do; never empty
};

/// Of any exception. For those of GPUs by the driver's code and by the numbers that they carry (bytes asked for, free,
/// needed); for others what() and advice for their kind. Asks no GPU anything.
///
///     try { session.run(...); } catch (const std::exception& error) {
///         const auto [message, suggestion] = glint::gpu::explain_error(error);
FriendlyError explain_error(const std::exception& error);

/// Of a result of the CUDA driver (700) or of NVML (15), also where another library got it.
FriendlyError explain_cuda_code(int code);
FriendlyError explain_nvml_code(int code);

}  // namespace glint::gpu
