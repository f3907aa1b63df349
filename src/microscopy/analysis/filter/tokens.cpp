// Splits the text of a condition into numbers, names and symbols.
// SPDX-License-Identifier: MIT
#include "analysis/filter/tokens.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <span>
#include <utility>

#include "glint/error.hpp"

namespace glint::conditions {
namespace {

constexpr std::size_t longest_text = 65536;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool begins_name(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || static_cast<unsigned char>(c) >= 0x80;
}
bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
/// Returns whether the byte continues a UTF-8 character.
bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

using Signs = std::span<const std::pair<std::string_view, std::string_view>>;
/// Symbols of other languages, and their equivalents in conditions.
constexpr std::pair<std::string_view, std::string_view> others[] = {
    {"&&", "and"}, {"||", "or"}, {"&", "and"}, {"|", "or"}, {"!", "not"}, {"~", "not"},
    {"<>", "!="},  {"^", "**"},  {"=", "=="},  {"[", "("},  {"]", ")"},
};
/// The same for signs beyond ASCII, which would otherwise count as letters of names.
constexpr std::pair<std::string_view, std::string_view> signs[] = {
    {"\u2265", ">="},
    {"\u2a7e", ">="},
    {"\u2264", "<="},
    {"\u2a7d", "<="},
    {"\u2260", "!="},
    {"\u2248", "within 10% of"},
    {"\u00d7", "*"},
    {"\u00b7", "*"},
    {"\u00f7", "/"},
    {"\u2212", "-"},
    {"\u2013", "-"},
    {"\u2014", "-"},
    {"\u00b2", "**2"},
    {"\u00b3", "**3"},
    {"\u221a", "sqrt()"},
    {"\u2227", "and"},
    {"\u2228", "or"},
    {"\u00ac", "not"},
    {"\u00a0", "a plain space"},
};
constexpr std::string_view symbols[] = {"**", "<=", ">=", "==", "!=", "<", ">", "+", "-", "*", "/", "(", ")", ",", "%"};

std::size_t name_end(std::string_view text, std::size_t begin) {
    const auto is_sign = [&](std::size_t at) {
        return std::any_of(std::begin(signs), std::end(signs),
                           [&](const auto& sign) { return text.substr(at).starts_with(sign.first); });
    };
    std::size_t end = begin;
    while (end < text.size() && (begins_name(text[end]) || (end > begin && is_digit(text[end]))) && !is_sign(end))
        ++end;
    return end;
}

Token number_at(std::string_view text, std::size_t begin) {
    Token token{Token::Kind::number, {begin, begin}, {}, 0};
    const auto [end, error] = std::from_chars(text.data() + begin, text.data() + text.size(), token.number);
    token.place.end = std::size_t(end - text.data());
    if (error != std::errc()) {
        token.place.end = std::max(token.place.end, begin + 1);
        refuse(text, token.place, "this is not a number, or it is beyond the range of a double");
    }
    token.text = text.substr(begin, token.place.end - begin);
    return token;
}

Token quoted_at(std::string_view text, std::size_t begin) {
    const std::size_t end = text.find('`', begin + 1);
    if (end == text.npos) refuse(text, {begin, text.size()}, "the name that begins here has no closing `");
    return {Token::Kind::quoted_name, {begin, end + 1}, text.substr(begin + 1, end - begin - 1), 0};
}

Token symbol_at(std::string_view text, std::size_t begin) {
    for (std::string_view symbol : symbols)
        if (text.substr(begin, symbol.size()) == symbol)
            return {Token::Kind::symbol, {begin, begin + symbol.size()}, text.substr(begin, symbol.size()), 0};
    for (const auto list : {Signs(others), Signs(signs)})
        for (const auto& [theirs, ours] : list)
            if (text.substr(begin, theirs.size()) == theirs)
                refuse(text, {begin, begin + theirs.size()}, fmt::format("write {} for {}", ours, theirs));
    refuse(text, {begin, begin + 1},
           "conditions cannot contain this character; write a column of such a name in `backquotes`");
}

}  // namespace

void refuse(std::string_view text, TextRange place, const std::string& message) {
    constexpr std::size_t shown = 60;  // characters on each side of the place
    std::size_t begin = place.begin > shown ? place.begin - shown : 0;
    std::size_t end = std::min(text.size(), std::max(place.end, place.begin + 1) + shown);
    while (begin < place.begin && is_continuation(text[begin])) ++begin;
    while (end < text.size() && is_continuation(text[end])) ++end;
    std::string line = begin > 0 ? "... " : "", carets(line.size(), ' ');
    for (std::size_t k = begin; k < end; ++k) {
        const bool is_control = static_cast<unsigned char>(text[k]) < 0x20 || text[k] == 0x7f;
        line += is_control ? ' ' : text[k];
        if (!is_continuation(text[k])) carets += k >= place.begin && k < place.end ? '^' : ' ';
    }
    if (place.begin >= text.size()) carets += '^';
    carets.erase(carets.find_last_not_of(' ') + 1);
    throw OptionError(fmt::format("{}\n  {}{}\n  {}", message, line, end < text.size() ? " ..." : "", carets));
}

bool is_name(std::string_view text) { return !text.empty() && name_end(text, 0) == text.size(); }

std::vector<Token> tokens_of(std::string_view text) {
    if (text.size() > longest_text)
        throw OptionError(
            fmt::format("a condition has {} bytes, more than the limit of {}", text.size(), longest_text));
    std::vector<Token> tokens;
    for (std::size_t k = 0; k < text.size(); k = tokens.back().place.end) {
        while (k < text.size() && is_blank(text[k])) ++k;
        if (k == text.size()) break;
        if (is_digit(text[k]) || (text[k] == '.' && k + 1 < text.size() && is_digit(text[k + 1]))) {
            tokens.push_back(number_at(text, k));
        } else if (const std::size_t end = name_end(text, k); end > k) {
            tokens.push_back({Token::Kind::name, {k, end}, text.substr(k, end - k), 0});
        } else {
            tokens.push_back(text[k] == '`' ? quoted_at(text, k) : symbol_at(text, k));
        }
    }
    tokens.push_back({Token::Kind::end, {text.size(), text.size()}, {}, 0});
    return tokens;
}

}  // namespace glint::conditions
