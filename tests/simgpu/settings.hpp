// The environment variables SIMGPU_*, which configure the simulated server (tests/simgpu/README.md lists them).
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace simgpu {

constexpr std::uint64_t mebibyte = 1 << 20;

std::string setting(const char* name, const char* otherwise = "");
bool is_set(const char* name);  // to anything but "" and "0"
long setting_number(const char* name, long otherwise);

// Returns whether SIMGPU_SICK contains this fault of the device: "0:ecc,1:off-bus".
bool is_sick(int device, const std::string& illness);

std::uint64_t parse_bytes(const std::string& text);  // "8GiB", "512MiB", "1024"
std::vector<std::string> split(std::string_view text, char separator);

// Reports a bug of the program under test: a message, and exit code 86.
[[noreturn]] void bug(const char* format, ...) __attribute__((format(printf, 1, 2)));
// Reports a wrong setting or an unsupported feature of the simulation: a message, and abort().
[[noreturn]] void broken(const char* format, ...) __attribute__((format(printf, 1, 2)));

}  // namespace simgpu
