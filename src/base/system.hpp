// What Linux offers beyond the C++ library: values in /proc, and closing all that a process has inherited.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>

namespace glint {

/// Closes every descriptor of this number and above.
void close_from(int first);

/// The value after the colon in the first line of a /proc file that begins with `name`; empty: none.
std::string proc_entry(const char* path, const std::string& name);

/// MemTotal or MemAvailable; 0: unknown.
std::uint64_t memory_bytes(const char* name);

}  // namespace glint
