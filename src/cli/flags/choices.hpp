// What may follow an option or stand as an argument: choices, for completion by the shell, and checks of numbers that
// CLI11 has not.
// SPDX-License-Identifier: MIT
#pragma once

#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace glint::cli {

/// Both lists empty: nothing is known, unless `folders`.
struct Choices {
    std::vector<std::string> words;    ///< "auto", "cpu", "gpu"
    std::vector<std::string> endings;  ///< of names of files: ".tif"; folders may lead to them
    bool folders = false;              ///< folders alone
};

inline const std::vector<std::string> roi_endings{".npy", ".h5", ".hdf5", ".tif", ".tiff"};
inline const std::vector<std::string> toml_endings{".toml"};
inline const std::vector<std::string> camera_endings{".toml", ".hdf5", ".h5", ".mat", ".yaml"};

/// Notes what the shell may offer. A value that is none of these stays possible: what is wrong is for the command to say.
CLI::Option* offer_words(CLI::Option* option, const std::vector<std::string>& words);
CLI::Option* offer_files(CLI::Option* option, const std::vector<std::string>& endings);
CLI::Option* offer_folders(CLI::Option* option);

/// What was noted, or the words that CLI::IsMember demands.
Choices choices_of(CLI::Option& option);

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
