// Parsing amounts of memory.
// SPDX-License-Identifier: MIT
#include <charconv>
#include <cmath>
#include <string>

#include "glint/error.hpp"
#include "glint/units.hpp"

namespace glint {
namespace {

/// Bytes in a unit; 0: no such unit.
double bytes_in(std::string_view unit) {
    constexpr double kilo = 1000, kibi = 1024;
    if (unit.empty() || unit == "B") return 1;
    if (unit == "kB" || unit == "KB") return kilo;
    if (unit == "MB") return kilo * kilo;
    if (unit == "GB") return kilo * kilo * kilo;
    if (unit == "TB") return kilo * kilo * kilo * kilo;
    // K, M, G and T without B are multiples of 1024, as for Slurm, ulimit and containers.
    if (unit == "KiB" || unit == "K") return kibi;
    if (unit == "MiB" || unit == "M") return kibi * kibi;
    if (unit == "GiB" || unit == "G") return kibi * kibi * kibi;
    if (unit == "TiB" || unit == "T") return kibi * kibi * kibi * kibi;
    return 0;
}

}  // namespace

std::uint64_t parse_bytes(std::string_view text, std::string_view what, std::uint64_t whole_bytes) {
    const bool shares = whole_bytes > 0;
    const auto refuse = [&](const char* because) {
        throw OptionError(std::string(what) + "=" + std::string(text) + ": " + because +
                          (shares ? ", as in 4GiB, 500MB, 25% or 1073741824" : ", as in 10MB, 64KiB or 1048576"));
    };
    double number = 0;
    const char* end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, number);
    std::string_view unit(rest, std::size_t(end - rest));
    while (unit.starts_with(' ')) unit.remove_prefix(1);
    const double scale = shares && unit == "%" ? double(whole_bytes) / 100 : bytes_in(unit);
    if (error != std::errc() || scale == 0)
        refuse(shares ? "expected bytes with a unit, or percent of the GPU's memory" : "expected bytes with a unit");
    if (!std::isfinite(number) || number <= 0) refuse("expected more than nothing");
    if (unit == "%" && number > 100) refuse("expected at most 100%");
    const double bytes = number * scale;
    if (bytes < 1 || bytes >= 9e18) refuse("expected at least one byte and no more than a GPU can have");
    return std::uint64_t(bytes);
}

}  // namespace glint
