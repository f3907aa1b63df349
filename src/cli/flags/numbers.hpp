// Checks of numbers on the command line that CLI11 has not.
// SPDX-License-Identifier: MIT
#pragma once

#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdint>
#include <limits>
#include <string>

namespace glint::cli {

/// A seed, 0 to 2^64 - 1: CLI11 takes -1 for 2^64 - 1, and larger numbers too. The words are those of CLI::Range, which
/// `explain` understands.
inline CLI::Validator any_seed() {
    return CLI::Validator(
        [](const std::string& text) {
            std::uint64_t value = 0;
            const char* end = text.data() + text.size();
            const auto [rest, error] = std::from_chars(text.data(), end, value);
            if (error == std::errc() && rest == end) return std::string();
            return "Value " + text + " not in range 0 to " + std::to_string(std::numeric_limits<std::uint64_t>::max());
        },
        "");
}

}  // namespace glint::cli
