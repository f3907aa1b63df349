// The choice between CPU and GPU.
// SPDX-License-Identifier: MIT
#pragma once

namespace glint {

/// As an option, `automatic` means: GLINT_BACKEND if set (environment::backend), else whichever is expected to be faster
/// (glint/offload). As the result of a decision it is `cpu` or `gpu`, never `automatic`.
enum class Backend { automatic, cpu, gpu };

}  // namespace glint
