// Splits a condition into tokens, and throws errors that point to them.
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

/// Throws OptionError with the message, the text, and a line of carets below `place`.
[[noreturn]] void refuse(std::string_view text, TextRange place, const std::string& message);

struct Token {
    enum class Kind { number, name, quoted_name, symbol, end };
    Kind kind = Kind::end;
    TextRange place;
    std::string_view text;  ///< without the quotes of a quoted name
    double number = 0;

    bool is(std::string_view word) const { return kind != Kind::quoted_name && kind != Kind::end && text == word; }
};

/// Returns whether the text is a single name without quotes.
bool is_name(std::string_view text);

/// Returns all tokens, as views into `text`. The last one is `end`. Throws OptionError.
std::vector<Token> tokens_of(std::string_view text);

}  // namespace glint::conditions
