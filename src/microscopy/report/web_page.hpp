// The page without its data. The build makes it from the folder web (cmake/web_page.cmake).
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

namespace glint {

/// A text that is part of the page, and the SHA-256 of it as hexadecimal digits, by which the page's security policy
/// permits it.
struct PageText {
    std::string_view text, sha256;
};

extern const std::string_view page_template;  ///< HTML with {{POLICY}}, {{STYLE}}, {{SCRIPT}} and {{DATA}}
extern const PageText page_style, page_script;

}  // namespace glint
