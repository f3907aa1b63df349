// Ctrl-C, SIGTERM and SIGHUP (a closed terminal): the first asks the work to stop, the second ends the program at once.
// SPDX-License-Identifier: MIT
#pragma once

#include "glint/progress.hpp"

namespace glint::cli {

/// Catches SIGINT, SIGTERM and SIGHUP from now on and returns the flag they set. Those that were ignored when glint
/// began, as by nohup, stay ignored. Repeated SIGHUPs count as one.
const StopFlag& stop_on_signals();

/// The same for a program of many processes, whose launcher or batch system sends signals to all, and more than once:
/// it also catches SIGUSR1, and no repetition ends the program at once. Announces the stop only if `speaks`. Call it
/// before stop_on_signals().
const StopFlag& stop_on_launcher_signals(bool speaks);

}  // namespace glint::cli
