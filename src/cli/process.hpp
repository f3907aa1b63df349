// The process of a glint program: the signals that stop it, and the driver's queues to GPUs.
// SPDX-License-Identifier: MIT
#pragma once

#include <stdlib.h>

#include "glint/progress.hpp"

namespace glint::cli {

/// Catches SIGINT, SIGTERM and SIGHUP from now on, and returns the flag that they set. Signals that were ignored when
/// glint began, as by nohup, stay ignored. Repeated SIGHUPs count as one.
const StopFlag& stop_on_signals();

/// The same for a program of many processes. Its launcher or batch system sends signals to all processes, and more than
/// once. Therefore it also catches SIGUSR1, and repeated signals do not end the program immediately. Announces the stop
/// only if `speaks`. Call it before stop_on_signals().
const StopFlag& stop_on_launcher_signals(bool speaks);

/// Asks the driver for 4 queues to each GPU. They suffice for the streams of a movie, and the GPU opens and closes
/// faster (docs/decisions/0022-four-connections.md). Call it before threads are started, and only in processes that run
/// nothing but glint: it sets an environment variable, which children inherit. A value that the user has set stays.
inline void open_few_connections() noexcept {
    (void)setenv("CUDA_DEVICE_MAX_CONNECTIONS", "4", 0);  // if it fails, opening takes longer
}

}  // namespace glint::cli
