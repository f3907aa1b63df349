// The memory limit of a context, from its options or the environment.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>

namespace glint::gpu {

/// "4GiB", "500 MB", "25%" of `total_bytes`, "1073741824". OptionError, which names `what`, for anything else.
std::uint64_t parse_limit(const std::string& value, std::uint64_t total_bytes, const std::string& what);

/// Of GLINT_GPU_MEMORY_LIMIT; 0 when it is not set or empty.
std::uint64_t limit_of_environment(std::uint64_t total_bytes);

/// The one that holds when both are given: a program may keep to less than its user allows, never take more. 0: none.
std::uint64_t smaller_limit(std::uint64_t one, std::uint64_t other);

}  // namespace glint::gpu
