// The library's advice, which names flags of the command line, in Python's words.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace glint::python {

/// "give --gain 0.5, or --overwrite" as "give gain=0.5, or overwrite=True".
std::string in_python(std::string message);

}  // namespace glint::python
