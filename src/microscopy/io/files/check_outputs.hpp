// Whether a command may write the files that it is going to write.
// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <vector>

#include "glint/if_exists.hpp"

namespace glint {

using Paths = std::vector<std::filesystem::path>;

/// Call it before any work. Throws OptionError for an output that exists, unless it may be replaced, and always for
/// an output that is also read, under whatever name or link. Throws OutputError for an output that cannot be
/// written: its folder does not exist or is read-only, or it is a folder itself.
void check_outputs(const Paths& outputs, IfExists if_exists, const Paths& inputs);

/// The same for a file of localizations with its companion (`files_of_localizations`). NAME.yaml may describe
/// something else, a raw movie or NAME.h5 beside NAME.hdf5; then it is never replaced.
void check_localizations_output(const std::filesystem::path& out, IfExists if_exists, const Paths& inputs);

}  // namespace glint
