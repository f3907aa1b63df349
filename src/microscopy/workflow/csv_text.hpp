// Text as a field of a CSV.
// SPDX-License-Identifier: MIT
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace glint {

/// Returns the text in quotes, on one line, and in UTF-8. Invalid bytes of a name become the replacement character, as
/// in --json.
inline std::string csv_text(const std::string& text) {
    const std::string json = nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    std::string out = "\"";
    for (const char c : nlohmann::json::parse(json).get<std::string>())
        out += c == '"' ? std::string("\"\"") : std::string(1, c == '\n' || c == '\r' ? ' ' : c);
    return out + '"';
}

}  // namespace glint
