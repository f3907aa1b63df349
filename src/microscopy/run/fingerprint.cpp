// Compares fingerprints.
// SPDX-License-Identifier: MIT
#include "run/fingerprint.hpp"

#include <fmt/format.h>

namespace glint {

std::string differences(const Fingerprint& then, const Fingerprint& now) {
    std::string text;
    for (const auto& [name, value] : now) {
        std::string old = "unknown";
        for (const auto& [old_name, old_value] : then)
            if (old_name == name) old = old_value;
        if (old != value) text += fmt::format("{}{} ({} then, {} now)", text.empty() ? "" : "; ", name, old, value);
    }
    return text;
}

}  // namespace glint
