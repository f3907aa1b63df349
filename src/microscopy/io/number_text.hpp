// Numbers as texts of metadata have them.
// SPDX-License-Identifier: MIT
#pragma once

#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>

namespace glint {

/// The whole text as a number of this type; nothing for other texts, for one out of range, infinity or NaN.
template <class T>
std::optional<T> number_of(std::string_view text) {
    if (text.starts_with('+')) text.remove_prefix(1);
    T value{};
    const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || rest != text.data() + text.size() || !std::isfinite(double(value))) return std::nullopt;
    return value;
}

/// The same of a quantity that is above 0 where it is known.
inline std::optional<double> positive_number_of(std::string_view text) {
    const auto value = number_of<double>(text);
    return value && *value > 0 ? value : std::nullopt;
}

}  // namespace glint
