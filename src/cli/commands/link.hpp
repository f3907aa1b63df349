// What `glint link` and `glint run` say of links alike.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "glint/link.hpp"

namespace glint::cli {

/// "17 % of the links are expected to be chance", where it is more than a tenth; else empty.
std::string chance_warning(const Links& links);

}  // namespace glint::cli
