// The version, as the build states it.
// SPDX-License-Identifier: MIT
#include "glint/version.hpp"

namespace glint {

std::string version() { return GLINT_VERSION; }

}  // namespace glint
