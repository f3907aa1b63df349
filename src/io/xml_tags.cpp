// Attributes and entities of XML.
// SPDX-License-Identifier: MIT
#include "io/xml_tags.hpp"

#include <map>

namespace glint {
namespace {

constexpr std::string_view xml_blanks = " \t\r\n";

}  // namespace

std::string_view xml_attribute(std::string_view tag, std::string_view key) {
    for (auto at = tag.find_first_of(xml_blanks); at != tag.npos; at = tag.find_first_of(xml_blanks)) {
        tag.remove_prefix(std::min(tag.find_first_not_of(xml_blanks, at), tag.size()));
        const auto equals = tag.find('=');
        if (equals == tag.npos || equals + 1 >= tag.size()) return {};
        const std::string_view name = tag.substr(0, equals);
        const char quote = tag[equals + 1];
        const auto end = quote == '"' || quote == '\'' ? tag.find(quote, equals + 2) : tag.npos;
        if (end == tag.npos) return {};
        if (name == key) return tag.substr(equals + 2, end - equals - 2);
        tag.remove_prefix(end + 1);
    }
    return {};
}

std::string unescaped(std::string_view text) {
    static const std::map<std::string_view, char> entities = {
        {"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&apos;", '\''}};
    std::string out;
    while (!text.empty()) {
        const auto entity = entities.find(text.substr(0, std::min<std::size_t>(text.find(';'), 5) + 1));
        const bool known = text.front() == '&' && entity != entities.end();
        out += known ? entity->second : text.front();
        text.remove_prefix(known ? entity->first.size() : 1);
    }
    return out;
}

}  // namespace glint
