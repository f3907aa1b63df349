// SPDX-License-Identifier: MIT
#include "io/lens/python_json.hpp"

#include <algorithm>
#include <string_view>

namespace glint {
namespace {

constexpr std::string_view python_words[] = {"NaN", "Infinity", "-Infinity"};

}  // namespace

nlohmann::json parse_python_json(const std::string& text) {
    constexpr std::size_t max_letters = 1 << 20, max_depth = 50;
    const nlohmann::json none(nlohmann::json::value_t::discarded);
    if (text.size() > max_letters) return none;
    std::string plain;
    std::size_t depth = 0;
    bool is_quoted = false;
    for (std::size_t k = 0; k < text.size(); ++k) {
        const char letter = text[k];
        if (!is_quoted) {
            const std::string_view rest = std::string_view(text).substr(k);
            const auto word = std::find_if(std::begin(python_words), std::end(python_words),
                                           [rest](std::string_view each) { return rest.starts_with(each); });
            if (word != std::end(python_words)) {
                plain += "null", k += word->size() - 1;
                continue;
            }
            if (letter == '{' || letter == '[') ++depth;
            if ((letter == '}' || letter == ']') && depth > 0) --depth;
            if (depth > max_depth) return none;
        }
        if (letter == '"') is_quoted = !is_quoted;
        plain += letter;
        if (is_quoted && letter == '\\' && k + 1 < text.size()) plain += text[++k];
    }
    return nlohmann::json::parse(plain, nullptr, false);
}

}  // namespace glint
