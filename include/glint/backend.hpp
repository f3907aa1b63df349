// The choice between CPU and GPU.
// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string_view>

namespace glint {

/// As an option:
/// - `automatic`: GLINT_BACKEND if set (environment::backend), else whichever is expected to be faster (glint/offload);
/// - `gpu`: a GPU, or an error;
/// - `prefer_gpu`: a GPU if one can be used, else the CPU, without comparing their speeds.
/// The result of a decision is `cpu` or `gpu`, never another value.
enum class Backend { automatic, cpu, gpu, prefer_gpu };

const char* name_of(Backend backend);  ///< "auto", "cpu", "gpu", "prefer-gpu"
/// Parses these names, in upper or lower case; "cuda" means `gpu`. Returns nullopt for other words.
std::optional<Backend> backend_named(std::string_view word);

}  // namespace glint
