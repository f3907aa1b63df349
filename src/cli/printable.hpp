// Makes foreign text safe to print.
// SPDX-License-Identifier: MIT
#pragma once

#include "gpu/text.hpp"

namespace glint::cli {

using gpu::printable;

}  // namespace glint::cli
