// A process beside a job's supervisor that ends the command's process group when the supervisor is killed: what nobody can list or
// cancel is not to run on. The kernel would tell the group's leader alone (PR_SET_PDEATHSIG).
// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include "cli/jobs/job_file.hpp"

namespace glint::cli {

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
