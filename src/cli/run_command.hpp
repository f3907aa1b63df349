// Runs another program in this one's place, as a shell would: forwards signals to it and returns its exit code.
// SPDX-License-Identifier: MIT
#pragma once

#include <signal.h>

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace glint::cli {

/// From construction to the end of the process, signals that end, stop or inform a command stay pending until they are
/// asked for, so that none is lost. Ignored ones (nohup) stay ignored. Construct it before any thread is started.
class HeldSignals {
  public:
    HeldSignals();
    /// The next signal; nothing when none arrives within so many seconds.
    std::optional<siginfo_t> next(double seconds) const;
    /// The first pending signal that asks this process to end; 0: none. A pending stop signal stops this process.
    int to_end() const;
    const sigset_t& mask_before() const { return before_; }

  private:
    sigset_t held_, before_;
};

/// 0, or the exit code of shells: 126 for a program that may not be executed, 127 for one that is not found, which is told on
/// stderr.
int tell_not_executable(const std::string& program);

using Variables = std::vector<std::pair<std::string, std::string>>;

/// Starts a program with these variables in its environment too; the new process first calls `before`. Throws Error.
pid_t start_command(const std::vector<std::string>& command, const Variables& variables, const HeldSignals& signals,
                    const std::function<void()>& before = {});

/// Its exit code, or 128 + signal, of what waitpid() tells.
int exit_code_of(int status);

/// Forwards signals to it until it ends, and calls `now_and_then` every `period_s`. Its exit code, or 128 + signal.
int wait_for_command(pid_t command, const HeldSignals& signals, double period_s,
                     const std::function<void()>& now_and_then);

}  // namespace glint::cli
