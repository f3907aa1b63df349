// Reads and writes lengths of time.
// SPDX-License-Identifier: MIT
#include "cli/duration.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>

#include "glint/error.hpp"

namespace glint::cli {
namespace {

/// 0: no such unit.
double seconds_in(const std::string& unit) {
    if (unit.empty() || unit == "s") return 1;
    if (unit == "ms") return 0.001;
    if (unit == "min") return 60;
    if (unit == "h") return 3600;
    return 0;
}

}  // namespace

double parse_seconds(const std::string& value, const std::string& what) {
    if (value == "inf") return std::numeric_limits<double>::infinity();
    double number = 0;
    const char* end = value.data() + value.size();
    const auto [rest, error] = std::from_chars(value.data(), end, number);
    const double scale = seconds_in(std::string(rest, end));
    if (error != std::errc() || scale == 0 || !std::isfinite(number) || number < 0)
        throw OptionError(fmt::format("{}={}: expected a length of time, as in 60s, 5min, 2h or inf", what, value));
    return number * scale;
}

std::string clock_text(double seconds) {
    const auto s = std::int64_t(std::clamp(seconds, 0.0, 8.64e6) + 0.5);
    return s < 3600 ? fmt::format("{}:{:02}", s / 60, s % 60)
                    : fmt::format("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60);
}

}  // namespace glint::cli
