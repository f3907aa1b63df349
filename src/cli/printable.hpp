// Words of other people's making, such as names of processes: nothing of them may move a terminal's cursor.
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
