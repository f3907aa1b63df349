// Spells the options that messages name as arguments of the Python module.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace glint::python {

/// "give `gain=0.5`, or `overwrite`" becomes "give gain=0.5, or overwrite=True".
std::string in_python(std::string_view message);
std::vector<std::string> in_python(const std::vector<std::string>& messages);

}  // namespace glint::python
