// Everything that the result of a run depends on, by name and value: only a run with the same may adopt its records.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace glint {

using Fingerprint = std::vector<std::pair<std::string, std::string>>;

/// The differences, as text: "threshold (5 then, 6 now); ...".
std::string differences(const Fingerprint& then, const Fingerprint& now);

}  // namespace glint
