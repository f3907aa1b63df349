// Ctrl-C, SIGTERM and SIGHUP (a closed terminal): the first asks the work to stop, the second ends the program at once.
// SPDX-License-Identifier: MIT
#pragma once

#include "glint/progress.hpp"

namespace glint::cli {

/// Catches SIGINT, SIGTERM and SIGHUP from now on and returns the flag they set. Those that were ignored when the program
/// began, as by nohup, stay so. Of SIGHUP any number counts as one.
const StopFlag& stop_on_signals();

/// The same for a program of many processes, whose launcher or batch system sends signals to all, and more than once:
/// SIGUSR1 is one of them, and none ends the program at once. Only where it `speaks` it says that it stops. To be called
/// before stop_on_signals().
const StopFlag& stop_on_launcher_signals(bool speaks);

}  // namespace glint::cli
