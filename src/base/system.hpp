// Linux functions beyond the C++ library: values in /proc, and closing all inherited descriptors.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>

namespace glint {

/// Closes every descriptor from this number on.
void close_from(int first);

/// Returns the value after the colon in the first line of a /proc file that begins with `name`; empty if there is none.
std::string proc_entry(const char* path, const std::string& name);

/// Returns MemTotal or MemAvailable in bytes; 0: unknown.
std::uint64_t memory_bytes(const char* name);

}  // namespace glint
