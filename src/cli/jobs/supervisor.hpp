// The process in the background that looks after one job: it waits for its turn, runs the command, and records how it ends.
//
// There is no daemon and no other state than the files (job_folder.hpp). The queue is one user's on one machine, in the order of
// numbers: a supervisor waits for the locks of those before it, one after the other, then until few enough of them run. Memory of
// GPUs is not its business: a command that leases has its place in the queue of all users (docs/gpu-sharing.md).
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "cli/jobs/job_folder.hpp"

namespace glint::cli {

/// How long a cancelled command has between SIGTERM and SIGKILL.
constexpr int job_grace_s = 30;

/// Starts the supervisor, in a session of its own, with the environment and limits of this process; returns the number of the job
/// when it has one. The command starts when fewer than `at_once` earlier ones run; 0: as many as the machine has GPUs. Throws
/// OutputError, and nothing is left then. Call it before any thread is started.
std::int64_t submit(const JobFolder& jobs, const JobCommand& command, int at_once);

/// Asks the supervisor to end the command, or to go if that has not started; JobFile::wait_for_end() waits until it has. Nothing
/// happens to a job that has ended. Throws InputError where the supervisor runs in another container.
void cancel(const JobFile& job);

}  // namespace glint::cli
