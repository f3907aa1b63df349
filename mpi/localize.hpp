// One movie, localized by all ranks.
// SPDX-License-Identifier: MIT
#pragma once

#include "cli/commands/localize.hpp"
#include "mpi/world.hpp"

namespace glint::mpi {

/// The subcommand on rank 0, which has the others join for each task, and sends them home at the end. Returns the exit
/// code; throws what went wrong, wherever it did.
int lead_localize(const World& world, const cli::LocalizeFlags& flags, const StopFlag& interrupted);
/// On the others: joins until rank 0 sends it home. Prints nothing: rank 0 hears of what goes wrong.
void follow_localize(const World& world, const cli::LocalizeFlags& flags, const StopFlag& interrupted);
/// Sends all others home, whatever rank 0 has done before.
void send_home(const World& world);

}  // namespace glint::mpi
