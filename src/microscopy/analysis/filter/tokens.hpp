// The words of a condition, and errors that point at them.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace glint::conditions {

/// A part of a condition's text, in bytes.
struct TextRange {
    std::size_t begin = 0, end = 0;
};

/// Throws OptionError: the message, the text, and a line of carets below `place`.
[[noreturn]] void refuse(std::string_view text, TextRange place, const std::string& message);

struct Token {
    enum class Kind { number, name, quoted_name, symbol, end };
    Kind kind = Kind::end;
    TextRange place;
    std::string_view text;  ///< a quoted name's without the quotes
    double number = 0;

    bool is(std::string_view word) const { return kind != Kind::quoted_name && kind != Kind::end && text == word; }
};

/// Whether the text is one name, without quotes.
bool is_name(std::string_view text);

/// All tokens, the last of which is `end`. They are views into `text`. Throws OptionError.
std::vector<Token> tokens_of(std::string_view text);

}  // namespace glint::conditions
