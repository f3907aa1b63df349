// Rewrites advice in messages from command-line flags to Python arguments.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace glint::python {

/// "give --gain 0.5, or --overwrite" becomes "give gain=0.5, or overwrite=True".
std::string in_python(std::string message);

}  // namespace glint::python
