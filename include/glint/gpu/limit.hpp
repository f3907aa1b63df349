// Parses amounts of GPU memory: absolute, or in percent of the GPU.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>

namespace glint::gpu {

/// Returns the bytes of "4GiB", "500 MB", "25%" (of `total_bytes`) or "1073741824". Throws OptionError for other texts;
/// the message contains `what` (for example "gpu_memory").
std::uint64_t parse_limit(const std::string& value, std::uint64_t total_bytes, const std::string& what);

}  // namespace glint::gpu
