// Which way up a gain is.
// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string_view>

namespace glint {

enum class GainUnit { e_per_adu, adu_per_e };

/// "e-/ADU", "photoelectrons per count", "ADU/e-" and the like; nothing for another text.
std::optional<GainUnit> parse_gain_unit(std::string_view text);

}  // namespace glint
