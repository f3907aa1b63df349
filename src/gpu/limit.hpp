// The memory limit of a context, from its options or the environment.
// SPDX-License-Identifier: MIT
#pragma once

#include "glint/gpu/limit.hpp"

namespace glint::gpu {

/// Of GLINT_GPU_MEMORY_LIMIT; 0 when it is not set or empty.
std::uint64_t limit_of_environment(std::uint64_t total_bytes);

/// The one that holds when both are given: a program may keep to less than its user allows, never take more. 0: none.
std::uint64_t smaller_limit(std::uint64_t one, std::uint64_t other);

}  // namespace glint::gpu
