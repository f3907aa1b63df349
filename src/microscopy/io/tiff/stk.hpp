// MetaMorph's stacks (STK): a TIFF with one directory, and as many planes behind its first as a tag has values.
// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string_view>

#include "io/files/input_file.hpp"
#include "io/tiff/handle.hpp"
#include "io/tiff/metadata.hpp"

namespace glint {

/// "Exposure: 50 ms" in a description by MetaMorph; nothing without a unit.
std::optional<double> exposure_ms_of(std::string_view description);

/// Number of planes, pixel size where it is calibrated, exposure. Files without MetaMorph's tags say nothing.
void take_stk(const TiffHandle& tiff, const InputFile& file, TiffMetadata& metadata);

}  // namespace glint
