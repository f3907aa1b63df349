// Runs another program in this one's place, as a shell would: signals go on to it, and its exit code comes back.
// SPDX-License-Identifier: MIT
#pragma once

#include <signal.h>

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace glint::cli {

/// From its making to the end of the process, signals that end, stop or inform a command wait until they are asked for,
/// so that none is lost. Those that are ignored (nohup) stay ignored. To be made before any thread is started.
class HeldSignals {
  public:
    HeldSignals();
    /// The next one; nothing when none comes within so many seconds.
    std::optional<siginfo_t> next(double seconds) const;
    /// The one that asks this process to end, of those that have come; 0: none. Stops when it is asked to.
    int to_end() const;
    const sigset_t& mask_before() const { return before_; }

  private:
    sigset_t held_, before_;
};

/// 0, or what shells exit with: 126 for a program that may not be executed, 127 for none.
int why_not_executable(const std::string& program);

using Variables = std::vector<std::pair<std::string, std::string>>;

/// Starts a program in this process group, with these variables in its environment too. Throws Error.
pid_t start_command(const std::vector<std::string>& command, const Variables& variables, const HeldSignals& signals);

/// Hands signals on to it until it ends, and calls `now_and_then` every `period_s`. Its exit code, or 128 + signal.
int wait_for_command(pid_t command, const HeldSignals& signals, double period_s,
                     const std::function<void()>& now_and_then);

}  // namespace glint::cli
