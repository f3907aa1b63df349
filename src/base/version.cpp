// The version, defined by the build system.
// SPDX-License-Identifier: MIT
#include "glint/version.hpp"

namespace glint {

std::string version() { return GLINT_VERSION; }

}  // namespace glint
