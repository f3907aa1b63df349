// YAML as Python programs dump it: with objects of NumPy and Python's own tags, which YAML readers refuse.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace YAML {
class Node;
}

namespace glint {

/// Returns a block mapping with NumPy's scalars as numbers, without Python's tags, and without entries that are
/// other objects or no YAML. Texts without such tags are unchanged.
std::string without_python_objects(std::string_view yaml);

/// Keeps the last value of a repeated key, as PyYAML and so Picasso do; yaml-cpp would use the first. Returns the
/// keys that are repeated with other values.
std::vector<std::string> keep_last_values(YAML::Node& mapping);

/// Returns the text up to the first line that ends a YAML document: `---` or `...`, except at the beginning.
std::string_view first_document(std::string_view yaml);

}  // namespace glint
