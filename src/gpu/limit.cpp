// Bytes with their unit, or percent of the GPU.
// SPDX-License-Identifier: MIT
#include "gpu/limit.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>

#include "glint/error.hpp"
#include "gpu/text.hpp"

namespace glint::gpu {
namespace {

constexpr const char* variable = "GLINT_GPU_MEMORY_LIMIT";

/// Bytes in a unit; 0: no such unit.
double bytes_in(const std::string& unit) {
    constexpr double kilo = 1000, kibi = 1024;
    if (unit.empty() || unit == "B") return 1;
    if (unit == "kB" || unit == "KB") return kilo;
    if (unit == "MB") return kilo * kilo;
    if (unit == "GB") return kilo * kilo * kilo;
    if (unit == "TB") return kilo * kilo * kilo * kilo;
    if (unit == "KiB") return kibi;
    if (unit == "MiB") return kibi * kibi;
    if (unit == "GiB") return kibi * kibi * kibi;
    if (unit == "TiB") return kibi * kibi * kibi * kibi;
    return 0;
}

}  // namespace

std::uint64_t parse_limit(const std::string& value, std::uint64_t total_bytes, const std::string& what) {
    const auto refuse = [&](const char* because) {
        throw OptionError(text(what, "=", value, ": ", because, ", as in 4GiB, 500MB, 25% or 1073741824"));
    };
    double number = 0;
    const char* end = value.data() + value.size();
    const auto [rest, error] = std::from_chars(value.data(), end, number);
    std::string unit(rest, end);
    unit.erase(0, unit.find_first_not_of(' '));
    const double scale = unit == "%" ? double(total_bytes) / 100 : bytes_in(unit);
    if (error != std::errc() || scale == 0) refuse("expected bytes with a unit, or percent of the GPU's memory");
    if (!std::isfinite(number) || number <= 0) refuse("expected more than nothing");
    if (unit == "%" && number > 100) refuse("expected at most 100%");
    const double bytes = number * scale;
    if (bytes < 1 || bytes >= 9e18) refuse("expected at least one byte and no more than a GPU can have");
    return std::uint64_t(bytes);
}

std::uint64_t limit_of_environment(std::uint64_t total_bytes) {
    const char* value = std::getenv(variable);
    return value && *value ? parse_limit(value, total_bytes, variable) : 0;
}

std::uint64_t smaller_limit(std::uint64_t one, std::uint64_t other) {
    return one && other ? std::min(one, other) : one + other;
}

}  // namespace glint::gpu
