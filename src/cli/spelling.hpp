// Converts options in messages to flags of the command line, and quotes words of printed commands for a shell.
// SPDX-License-Identifier: MIT
#pragma once

#include <cctype>
#include <string>
#include <string_view>

#include "base/option.hpp"

namespace glint::cli {

/// Returns the flag with its value: "--roi 7", "--where \"frame < 9\"".
std::string flag_of(Option option, std::string_view value);

/// Converts "give `roi_size=7`" to "give --roi 7".
std::string in_flags(std::string_view message);

/// The same for `glint run`. Names the key of the recipe if there is no flag.
std::string in_words_of_run(const std::string& message);

/// Returns the word for a shell: quoted, unless no character has a special meaning to a shell.
inline std::string shell_word(std::string_view text) {
    bool is_plain = !text.empty();
    for (const char c : text)
        is_plain = is_plain && (std::isalnum(static_cast<unsigned char>(c)) ||
                                std::string_view("_-./:=,@%+").find(c) != std::string_view::npos);
    if (is_plain) return std::string(text);
    std::string quoted = "'";
    for (const char c : text) quoted += c == '\'' ? "'\\''" : std::string(1, c);
    return quoted + "'";
}

/// The same for a file name. A leading dash does not make it an option.
inline std::string shell_file(const std::string& path) {
    return shell_word(path.starts_with('-') ? "./" + path : path);
}

}  // namespace glint::cli
