// The supervisor, a background process of one job: it waits for its turn, runs the command, and records how that ends.
//
// There is no daemon, and the files (job_folder.hpp) are the only state. Each user has two queues per machine, both in
// the order of numbers: one for short jobs, one for the others. A supervisor waits for the locks of the earlier jobs in
// its queue, one after the other, then until few enough of these jobs run. It does not manage GPU memory: a command
// that leases a GPU waits in the queue of all users (docs/explanation/gpu-sharing.md).
// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "cli/jobs/job_file.hpp"
#include "cli/jobs/job_folder.hpp"

namespace glint::cli {

/// Time between SIGTERM and SIGKILL for a cancelled command, in seconds.
constexpr int job_grace_s = 30;

/// Conditions for the start of a job.
struct JobTurn {
    bool is_short = false;  ///< waits only for earlier short jobs, and other jobs do not wait for it
    /// The job starts when fewer than this number of earlier jobs of its queue run. 0: the number of GPUs, or 1 without
    /// a GPU.
    int at_once = 0;
};

/// Starts the supervisor in a new session, with the environment and limits of this process. Returns the number of the
/// job when it has one. Throws OutputError, and then leaves no files. Call it before any thread is started.
std::int64_t submit(const JobFolder& jobs, const JobCommand& command, JobTurn turn);

/// Asks the supervisor to end the command, or itself if the command has not started. JobFile::wait_for_end() waits for
/// the end. Does nothing if the job has ended. Throws InputError if the supervisor runs in another container.
void cancel(const JobFile& job);

/// A guard process, which ends the command's process group if the supervisor is killed: nobody could list or cancel
/// these processes. The kernel would only signal the leader of the group (PR_SET_PDEATHSIG).
class GroupGuard {
  public:
    /// Starts the guard. It ends without an action when this object is destroyed. Throws OutputError. Construct it
    /// while signals are held (HeldSignals), so that the guard does not receive them.
    GroupGuard();
    ~GroupGuard();
    GroupGuard(const GroupGuard&) = delete;
    GroupGuard& operator=(const GroupGuard&) = delete;

    /// Guards this group from now on: if the process that created this object is killed, the group gets SIGTERM, and
    /// SIGKILL `job_grace_s` later.
    void watch(pid_t group) const;

  private:
    Descriptor to_guard_;
};

}  // namespace glint::cli
