// The memory limit of a context, from its options and the environment.
// SPDX-License-Identifier: MIT
#pragma once

#include "glint/gpu/limit.hpp"

namespace glint::gpu {

/// The one that holds when both are given: a program may keep to less than its user allows, never take more. 0: none.
std::uint64_t smaller_limit(std::uint64_t one, std::uint64_t other);

}  // namespace glint::gpu
