// How a program of glint's own opens GPUs.
// SPDX-License-Identifier: MIT
#pragma once

#include <stdlib.h>

namespace glint::cli {

/// Asks the driver for 4 queues to each GPU, with which it opens and closes one faster (docs/decisions.md), and which are
/// enough for the streams of a movie. For processes that run nothing but glint, before they start threads: it is a
/// variable of the environment, which children inherit. A value that the user has set stays.
inline void open_few_connections() noexcept {
    (void)setenv("CUDA_DEVICE_MAX_CONNECTIONS", "4", 0);  // without memory for it, opening takes longer
}

}  // namespace glint::cli
