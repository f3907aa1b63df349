// The process in the background that looks after one job: it waits for its turn, runs the command, and records how it ends.
//
// There is no daemon and no other state than the files (job_folder.hpp). There are two queues, both one user's on one machine and in the
// order of numbers, for short jobs and for the others: a supervisor waits for the locks of those before it in its queue, one after the
// other, then until few enough of them run. Memory of GPUs is not its business: a command that leases has its place in the queue of all
// users (docs/explanation/gpu-sharing.md).
// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "cli/jobs/job_file.hpp"
#include "cli/jobs/job_folder.hpp"

namespace glint::cli {

/// How long a cancelled command has between SIGTERM and SIGKILL.
constexpr int job_grace_s = 30;

/// When a job starts.
struct JobTurn {
    bool is_short = false;  ///< it waits for earlier short ones only, and others do not wait for it
    /// It starts when fewer earlier ones of its queue run than this; 0: than the machine has GPUs, or 1.
    int at_once = 0;
};

/// Starts the supervisor, in a session of its own, with the environment and limits of this process; returns the number of the job
/// when it has one. Throws OutputError, and nothing is left then. Call it before any thread is started.
std::int64_t submit(const JobFolder& jobs, const JobCommand& command, JobTurn turn);

/// Asks the supervisor to end the command, or to go if that has not started; JobFile::wait_for_end() waits until it has. Nothing
/// happens to a job that has ended. Throws InputError where the supervisor runs in another container.
void cancel(const JobFile& job);

/// A process beside the supervisor that ends the command's process group when the supervisor is killed: what nobody can list or cancel is
/// not to run on. The kernel would tell the group's leader alone (PR_SET_PDEATHSIG).
class GroupGuard {
  public:
    /// Starts the process, which ends with nothing done when this object is destroyed. Throws OutputError. Construct it where the signals
    /// are held: they are not meant for the process.
    GroupGuard();
    ~GroupGuard();
    GroupGuard(const GroupGuard&) = delete;
    GroupGuard& operator=(const GroupGuard&) = delete;

    /// From here on, this group gets SIGTERM when the process that made this object is killed, and SIGKILL `job_grace_s` later.
    void watch(pid_t group) const;

  private:
    Descriptor to_guard_;
};

}  // namespace glint::cli
