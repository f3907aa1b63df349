// Moves the decimal point of a number.
// SPDX-License-Identifier: MIT
#include "base/micrometres.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string>
#include <system_error>

namespace glint {
namespace {

/// Returns the double nearest to value * 10^places, where `value` stands for its shortest decimal.
double moved_point(double value, int places) {
    if (!std::isfinite(value)) return value;
    char digits[32];
    const char* const end = std::to_chars(digits, digits + sizeof digits, value, std::chars_format::scientific).ptr;
    const char* const e = std::find(static_cast<const char*>(digits), end, 'e');
    int exponent = 0;
    std::from_chars(e + (e[1] == '+' ? 2 : 1), end, exponent);
    const std::string text = std::string(static_cast<const char*>(digits), e) + 'e' + std::to_string(exponent + places);
    double moved = 0;
    if (std::from_chars(text.data(), text.data() + text.size(), moved).ec == std::errc{}) return moved;
    return exponent + places > 0 ? std::copysign(HUGE_VAL, value)
                                 : std::copysign(0.0, value);  // beyond a double's range
}

}  // namespace

double nm_to_um(double nm) { return moved_point(nm, -3); }

double um_to_nm(double um) { return moved_point(um, 3); }

}  // namespace glint
