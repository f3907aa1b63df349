// The memory limit of a context, from its options and the environment.
// SPDX-License-Identifier: MIT
#pragma once

#include "glint/gpu/limit.hpp"

namespace glint::gpu {

/// Returns the smaller of two limits; 0 means none. A program may use less memory than its user allows, but never more.
std::uint64_t smaller_limit(std::uint64_t one, std::uint64_t other);

}  // namespace glint::gpu
