// The picture for browsers that cannot draw the localizations.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "glint/localizations.hpp"

namespace glint {

/// Returns a picture of at most 1000 px as base64 of a PNG. Empty if the table cannot be drawn.
std::string still_picture(const Localizations& table);

}  // namespace glint
