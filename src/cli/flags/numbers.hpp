// Checks of numbers on the command line that CLI11 has not.
// SPDX-License-Identifier: MIT
#pragma once

#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdint>
#include <limits>
#include <string>

namespace glint::cli {

/// A decimal number from `least` to the largest Int: CLI11 takes -1 for 2^64 - 1, larger numbers for the largest, and 0x10 for 16. The
/// words are those of CLI::Range, which `explain` understands.
template <class Int>
CLI::Validator decimal_from(Int least) {
    return CLI::Validator(
        [least](const std::string& text) {
            Int value = 0;
            const char* end = text.data() + text.size();
            const auto [rest, error] = std::from_chars(text.data(), end, value);
            if (error == std::errc() && rest == end && value >= least) return std::string();
            return "Value " + text + " not in range " + std::to_string(least) + " to " +
                   std::to_string(std::numeric_limits<Int>::max());
        },
        "");
}

/// A seed, 0 to 2^64 - 1.
inline CLI::Validator any_seed() { return decimal_from(std::uint64_t(0)); }

}  // namespace glint::cli
