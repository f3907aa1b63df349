// XML texts, which need not be well-formed: tag by tag, each byte looked at once.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace glint {

/// The tags of a text, one after the other.
class XmlTags {
  public:
    explicit XmlTags(std::string_view xml) : rest_(xml) {}

    bool next() {
        const auto open = rest_.find('<');
        if (open == rest_.npos) return false;
        rest_.remove_prefix(open + 1);
        const auto end = std::min(rest_.find_first_of("<>"), rest_.size());
        tag_ = rest_.substr(0, end);
        rest_.remove_prefix(end);
        if (rest_.starts_with('>')) rest_.remove_prefix(1);
        name_ = tag_.substr(0, tag_.find_first_of(" \t\r\n/"));
        if (const auto colon = name_.find(':'); colon != name_.npos) name_.remove_prefix(colon + 1);  // <ome:Pixels
        return true;
    }
    std::string_view name() const { return name_; }  ///< without the namespace; empty for </...>
    std::string_view tag() const { return tag_; }
    std::string_view text() const { return rest_.substr(0, rest_.find('<')); }  ///< up to the next tag

  private:
    std::string_view rest_, tag_, name_;
};

/// The value of attribute `key="value"` in a tag; empty where it has none.
std::string_view xml_attribute(std::string_view tag, std::string_view key);

/// With the five entities of XML as the characters that they stand for.
std::string unescaped(std::string_view text);

}  // namespace glint
