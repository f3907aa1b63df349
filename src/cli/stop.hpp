// Ctrl-C and SIGTERM: the first asks the work to stop, the second ends the program at once.
// SPDX-License-Identifier: MIT
#pragma once

#include "glint/progress.hpp"

namespace glint::cli {

/// Catches SIGINT and SIGTERM from now on and returns the flag they set. A write beyond a file size limit
/// (SIGXFSZ) becomes an error of that write, which is reported, instead of a sudden end.
const StopFlag& stop_on_signals();

/// The same for a program of many processes, whose launcher or batch system sends signals to all, and more than once:
/// SIGUSR1 is one of them, and none ends the program at once. Only where it `speaks` it says that it stops. To be called
/// before stop_on_signals().
const StopFlag& stop_on_launcher_signals(bool speaks);

}  // namespace glint::cli
