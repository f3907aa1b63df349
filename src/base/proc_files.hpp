// What Linux tells about the machine in /proc.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>

namespace glint {

/// The value after the colon in the first line of a /proc file that begins with `name`; empty: none.
std::string proc_entry(const char* path, const std::string& name);

/// MemTotal or MemAvailable; 0: unknown.
std::uint64_t memory_bytes(const char* name);

}  // namespace glint
