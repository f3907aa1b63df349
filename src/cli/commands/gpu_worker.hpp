// `glint gpu-worker`, which no user types: no part of the help.
// SPDX-License-Identifier: MIT
#pragma once

#include "cli/command.hpp"

namespace glint::cli {

/// Becomes a warm worker (docs/gpu-sharing.md) with the socket that a command with `--gpu-worker auto` has left to it.
Command add_gpu_worker(CLI::App& program);

}  // namespace glint::cli
