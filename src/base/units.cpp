// Parsing and converting lengths and times.
// SPDX-License-Identifier: MIT
#include "glint/units.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <string>

#include "glint/error.hpp"

namespace glint {
namespace {

[[noreturn]] void refuse(std::string_view what, std::string_view text, const std::string& because) {
    throw OptionError(std::string(what) + ' ' + std::string(text) + ": " + because);
}

void require_pixel_size(double pixel_size_nm) {
    if (!(pixel_size_nm > 0))
        throw OptionError("a length in nm and one in px can only be compared with a pixel size: `pixel_size=100nm`");
}

}  // namespace

Length parse_length(std::string_view text, std::string_view what, std::string_view example) {
    double value = 0;
    const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    std::string_view unit(rest, text.data() + text.size() - rest);
    unit.remove_prefix(std::min(unit.find_first_not_of(' '), unit.size()));
    Length length{value, Length::Unit::nanometre};
    bool known = true;
    if (unit == "px")
        length.unit = Length::Unit::pixel;
    else if (unit == "um" || unit == "µm")
        length.value *= 1000;
    else
        known = unit == "nm";
    if (error != std::errc() || !known)
        refuse(what, text, "expected a number with its unit, as in " + std::string(example));
    if (!std::isfinite(value) || value <= 0) refuse(what, text, "a length must be greater than zero");
    return length;
}

double to_px(Length length, double pixel_size_nm) {
    if (length.unit == Length::Unit::pixel) return length.value;
    require_pixel_size(pixel_size_nm);
    return length.value / pixel_size_nm;
}

double to_nm(Length length, double pixel_size_nm) {
    if (length.unit == Length::Unit::nanometre) return length.value;
    require_pixel_size(pixel_size_nm);
    return length.value * pixel_size_nm;
}

double parse_seconds(std::string_view text, std::string_view what) {
    if (text == "inf") return std::numeric_limits<double>::infinity();
    double value = 0;
    const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const std::string_view unit(rest, text.data() + text.size() - rest);
    const double scale = unit.empty() || unit == "s" ? 1 : unit == "min" ? 60 : unit == "h" ? 3600 : 0;
    if (error != std::errc() || scale == 0 || !std::isfinite(value) || value < 0)
        refuse(what, text, "expected a time of 0 or more, as in 30s, 5min, 1h or inf");
    return value * scale;
}

std::string with_commas(std::int64_t value) {
    const std::string digits = std::to_string(value);
    const std::size_t first = value < 0 ? 1 : 0;
    std::string text;
    for (std::size_t k = 0; k < digits.size(); ++k) {
        if (k > first && (digits.size() - k) % 3 == 0) text += ',';
        text += digits[k];
    }
    return text;
}

}  // namespace glint
