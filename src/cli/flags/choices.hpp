// Choices for the values of options and arguments, for completion by the shell, and checks of numbers that CLI11 lacks.
// SPDX-License-Identifier: MIT
#pragma once

#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace glint::cli {

/// The choices for a value. If both lists are empty and `folders` is not set, they are unknown.
struct Choices {
    std::vector<std::string> words;    ///< "auto", "cpu", "gpu"
    std::vector<std::string> endings;  ///< of file names: ".tif"; folders are offered, too
    bool folders = false;              ///< only folders
};

inline const std::vector<std::string> roi_endings{".npy", ".h5", ".hdf5", ".tif", ".tiff"};
inline const std::vector<std::string> toml_endings{".toml"};
inline const std::vector<std::string> camera_endings{".toml", ".hdf5", ".h5", ".mat", ".yaml"};

/// Stores the choices that the shell offers. Other values are still accepted: the command checks them.
CLI::Option* offer_words(CLI::Option* option, const std::vector<std::string>& words);
CLI::Option* offer_files(CLI::Option* option, const std::vector<std::string>& endings);
CLI::Option* offer_folders(CLI::Option* option);

/// Returns the stored choices, or the words of CLI::IsMember.
Choices choices_of(CLI::Option& option);

/// Accepts a decimal number from `least` to the largest Int. CLI11 itself reads -1 as 2^64 - 1, larger numbers as the
/// largest, and 0x10 as 16. The error has the words of CLI::Range, which `explain` understands.
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

/// Accepts a seed, 0 to 2^64 - 1.
inline CLI::Validator any_seed() { return decimal_from(std::uint64_t(0)); }

}  // namespace glint::cli
