// What the result of a run depends on, by name and value: finished frames may be taken over only where all of it is the same.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace glint {

using Fingerprint = std::vector<std::pair<std::string, std::string>>;

/// What differs, for a person: "threshold (5 then, 6 now); ...".
std::string differences(const Fingerprint& then, const Fingerprint& now);

}  // namespace glint
