// Checks whether a command may write its output files.
// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <vector>

#include "glint/if_exists.hpp"

namespace glint {

using Paths = std::vector<std::filesystem::path>;

/// Call it before any work. Throws OptionError if an output exists and must not be replaced, or if an output is also an
/// input, under any name or link. Throws OutputError if an output cannot be written: its folder does not exist or is
/// read-only, or the output is a folder.
void check_outputs(const Paths& outputs, IfExists if_exists, const Paths& inputs);

/// Like check_outputs(), for a file of localizations and its companion (`files_of_localizations`). NAME.yaml may
/// describe another file, a raw movie or NAME.h5 beside NAME.hdf5. It is then never replaced.
void check_localizations_output(const std::filesystem::path& out, IfExists if_exists, const Paths& inputs);

}  // namespace glint
