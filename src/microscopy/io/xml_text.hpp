// XML texts of movies, read by pugixml, which decodes character references and encodings.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <pugixml.hpp>
#include <string_view>

namespace glint {

/// Calls `visit` for each element, in the order of the text, down to 64 levels. In a malformed text, such as a
/// truncated one, visits the elements before the error. Throws InputError that begins with `name` if there are more
/// tags and attributes than any movie's metadata have.
void for_each_element(std::string_view xml, const std::string& name,
                      const std::function<void(const pugi::xml_node&)>& visit);

/// The element's name without its namespace: "Pixels" of <ome:Pixels>.
std::string_view local_name(const pugi::xml_node& element);

/// An attribute's value; empty if the element lacks it.
inline std::string_view attribute(const pugi::xml_node& element, const char* key) {
    return element.attribute(key).value();
}

/// Returns true if an ancestor element has this name.
bool is_within(const pugi::xml_node& element, std::string_view name);

}  // namespace glint
