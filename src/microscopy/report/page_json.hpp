// JSON inside an HTML page.
// SPDX-License-Identifier: MIT
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace glint {

using PageJson = nlohmann::ordered_json;

/// Returns JSON in ASCII that no text can end: the characters < > & become escapes, so that </script> and <!-- cannot
/// occur. Bytes that are not UTF-8 become U+FFFD. Numbers that are not finite become null.
std::string text_in_page(const PageJson& json);

}  // namespace glint
