// Amounts of a GPU's memory, as a person writes them.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>

namespace glint::gpu {

/// Bytes of "4GiB", "500 MB", "25%" (of `total_bytes`) or "1073741824". OptionError, which names `what`, for anything
/// else.
std::uint64_t parse_limit(const std::string& value, std::uint64_t total_bytes, const std::string& what);

}  // namespace glint::gpu
