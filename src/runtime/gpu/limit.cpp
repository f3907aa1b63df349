// Parses and combines memory limits.
// SPDX-License-Identifier: MIT
#include "gpu/limit.hpp"

#include <algorithm>

#include "glint/units.hpp"

namespace glint::gpu {

std::uint64_t parse_limit(const std::string& value, std::uint64_t total_bytes, const std::string& what) {
    return parse_bytes(value, what, total_bytes);
}

std::uint64_t smaller_limit(std::uint64_t one, std::uint64_t other) {
    return one && other ? std::min(one, other) : one + other;
}

}  // namespace glint::gpu
