// Escapes JSON.
// SPDX-License-Identifier: MIT
#include "report/page_json.hpp"

namespace glint {

std::string text_in_page(const PageJson& json) {
    const std::string text = json.dump(-1, ' ', true, PageJson::error_handler_t::replace);
    std::string escaped;
    escaped.reserve(text.size() + text.size() / 64);
    for (const char letter : text) {
        if (letter == '<')
            escaped += "\\u003c";
        else if (letter == '>')
            escaped += "\\u003e";
        else if (letter == '&')
            escaped += "\\u0026";
        else
            escaped += letter;
    }
    return escaped;
}

}  // namespace glint
