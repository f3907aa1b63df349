// Runs another program as a shell would: forwards signals to it and returns its exit code.
// SPDX-License-Identifier: MIT
#pragma once

#include <signal.h>

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace glint::cli {

/// Holds signals that end, stop or inform a command, from construction to the end of the process. They stay pending
/// until next() or to_end() returns them, so that none is lost. Ignored signals (nohup) stay ignored. Construct it
/// before any thread is started.
class HeldSignals {
  public:
    HeldSignals();
    /// Returns the next signal; empty if none arrives within `seconds`.
    std::optional<siginfo_t> next(double seconds) const;
    /// Returns the first pending signal that asks this process to end; 0 if there is none. A pending stop signal stops
    /// this process.
    int to_end() const;
    const sigset_t& mask_before() const { return before_; }

  private:
    sigset_t held_, before_;
};

/// Returns 0 if the program can be executed. Otherwise prints the reason on stderr and returns the exit code of shells:
/// 126 if it may not be executed, 127 if it is not found.
int tell_not_executable(const std::string& program);

using Variables = std::vector<std::pair<std::string, std::string>>;

/// Starts a program with these additional environment variables. The new process first calls `before`. Throws Error.
pid_t start_command(const std::vector<std::string>& command, const Variables& variables, const HeldSignals& signals,
                    const std::function<void()>& before = {});

/// Returns the exit code, or 128 + signal, from the status of waitpid().
int exit_code_of(int status);

/// Forwards signals to the command until it ends, and calls `now_and_then` every `period_s`. Returns the exit code, or
/// 128 + signal.
int wait_for_command(pid_t command, const HeldSignals& signals, double period_s,
                     const std::function<void()>& now_and_then);

}  // namespace glint::cli
