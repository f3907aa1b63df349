// JSON as Python writes it, with NaN and Infinity.
// SPDX-License-Identifier: MIT
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace glint {

/// Returns the value of a text, in which NaN and Infinity are null; a discarded value if it is no JSON, longer than
/// 1 MiB, or nested too deeply.
nlohmann::json parse_python_json(const std::string& text);

}  // namespace glint
