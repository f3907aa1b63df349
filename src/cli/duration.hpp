// Lengths of time as a person writes them: "60s", "5min", "2h", "0.5s", "inf".
// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace glint::cli {

/// Seconds; a number without a unit is of seconds, "inf" is for ever. OptionError, which names `what`, for anything else.
double parse_seconds(const std::string& value, const std::string& what);

/// 75 as "1:15", 4000 as "1:06:40".
std::string clock_text(double seconds);

}  // namespace glint::cli
