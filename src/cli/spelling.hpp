// Spells options as the command line's flags, and words of commands that are printed to be pasted into a shell.
// SPDX-License-Identifier: MIT
#pragma once

#include <cctype>
#include <string>
#include <string_view>

#include "base/option.hpp"

namespace glint::cli {

/// "--roi 7", "--where \"frame < 9\"".
std::string flag_of(Option option, std::string_view value);

/// "give `roi_size=7`" becomes "give --roi 7".
std::string in_flags(std::string_view message);

/// The same for `glint run`, which names keys of the recipe where it has no flag.
std::string in_words_of_run(const std::string& message);

/// As the shell has to be given it: quoted, unless it is of characters that mean nothing to any shell.
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

/// The same of a file's name, which no dash makes an option.
inline std::string shell_file(const std::string& path) {
    return shell_word(path.starts_with('-') ? "./" + path : path);
}

}  // namespace glint::cli
