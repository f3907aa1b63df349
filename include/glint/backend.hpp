// The choice between CPU and GPU.
// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string_view>

namespace glint {

/// As an option, `automatic` means: GLINT_BACKEND if set (environment::backend), else whichever is expected to be faster
/// (glint/offload). As the result of a decision it is `cpu` or `gpu`, never `automatic`.
enum class Backend { automatic, cpu, gpu };

const char* name_of(Backend backend);  ///< "auto", "cpu", "gpu"
/// By that name, in upper or lower case; "cuda" is the GPU's, too. Nothing for other words.
std::optional<Backend> backend_named(std::string_view word);

}  // namespace glint
