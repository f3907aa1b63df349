// Ctrl-C and SIGTERM: the first asks the work to stop, the second ends the program at once.
// SPDX-License-Identifier: MIT
#pragma once

#include "glint/progress.hpp"

namespace glint::cli {

/// Catches SIGINT and SIGTERM from now on and returns the flag they set. A write beyond a file size limit
/// (SIGXFSZ) becomes an error of that write, which is reported, instead of a sudden end.
const StopFlag& stop_on_signals();

}  // namespace glint::cli
