// The choice between CPU and GPU.
// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string_view>

namespace glint {

/// Where to compute. As an option:
/// - `automatic`: GLINT_BACKEND if set (environment::backend), else whichever is expected to be faster (glint/offload)
/// - `gpu`: a GPU, or an error
/// - `prefer_gpu`: a GPU if one can be used, else the CPU, without comparing their speeds
///
/// The result of a decision is always `cpu` or `gpu`.
enum class Backend { automatic, cpu, gpu, prefer_gpu };

/// Returns "auto", "cpu", "gpu" or "prefer-gpu".
const char* to_name(Backend backend);
/// Returns the backend of such a name, in upper or lower case; "cuda" means `gpu`. Nullopt for other words.
std::optional<Backend> backend_named(std::string_view word);

}  // namespace glint
