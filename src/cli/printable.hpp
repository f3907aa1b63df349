// Makes foreign text, such as names of processes, safe to print: without control characters for the terminal.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace glint::cli {

inline std::string printable(std::string text) {
    for (char& c : text)
        if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') c = '?';
    return text;
}

}  // namespace glint::cli
