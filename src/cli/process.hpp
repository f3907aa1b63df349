// A program of glint's own as a process: the signals that stop it, and how it opens GPUs.
// SPDX-License-Identifier: MIT
#pragma once

#include <stdlib.h>

#include "glint/progress.hpp"

namespace glint::cli {

/// Catches SIGINT, SIGTERM and SIGHUP from now on and returns the flag they set. Those that were ignored when glint
/// began, as by nohup, stay ignored. Repeated SIGHUPs count as one.
const StopFlag& stop_on_signals();

/// The same for a program of many processes, whose launcher or batch system sends signals to all, and more than once:
/// it also catches SIGUSR1, and no repetition ends the program at once. Announces the stop only if `speaks`. Call it
/// before stop_on_signals().
const StopFlag& stop_on_launcher_signals(bool speaks);

/// Asks the driver for 4 queues to each GPU, with which it opens and closes one faster
/// (docs/decisions/0022-four-connections.md), and which are enough for the streams of a movie. For processes that run
/// nothing but glint, before they start threads: it is a variable of the environment, which children inherit. A value
/// that the user has set stays.
inline void open_few_connections() noexcept {
    (void)setenv("CUDA_DEVICE_MAX_CONNECTIONS", "4", 0);  // without memory for it, opening takes longer
}

}  // namespace glint::cli
