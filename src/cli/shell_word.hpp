// Words of a command line that is printed to be pasted into a shell.
// SPDX-License-Identifier: MIT
#pragma once

#include <cctype>
#include <string>
#include <string_view>

namespace glint::cli {

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
