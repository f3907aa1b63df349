// One movie, localized by all ranks.
// SPDX-License-Identifier: MIT
#pragma once

#include "cli/commands/localize.hpp"
#include "mpi/world.hpp"

namespace glint::mpi {

/// Runs the subcommand on rank 0, which calls the other ranks for each task. Returns the exit code. Throws the first
/// error of any rank.
int lead_localize(const World& world, const cli::LocalizeFlags& flags, const StopFlag& interrupted);
/// Runs on the other ranks: joins each task until rank 0 calls send_home(). Prints nothing, because rank 0 reports
/// the errors of all ranks.
void follow_localize(const World& world, const cli::LocalizeFlags& flags, const StopFlag& interrupted);
/// Ends follow_localize() on all other ranks, even if rank 0 has started no task.
void send_home(const World& world);

}  // namespace glint::mpi
